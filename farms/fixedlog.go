package farms

import "math/bits"

// logFractionBits is the number of fractional bits of negLog2's result.
const logFractionBits = 32

// logTableBits is the log2 of the number of steps in the mantissa table. With
// linear interpolation between 1024 steps the error is below 2^-22, far under
// what 100,000 ids on 100 servers could show.
const logTableBits = 10

// logTable[i] is log2(1 + i/1024) in 1/2^32, for i of 0 to 1024. It is computed
// with integers only (repeated squaring), because floating-point logarithms
// differ in the last bit between machines and a ranking must not.
var logTable = makeLogTable()

func makeLogTable() *[1<<logTableBits + 1]uint64 {
	var t [1<<logTableBits + 1]uint64
	for i := range t {
		t[i] = log2Mantissa(uint64(i))
	}
	return &t
}

// log2Mantissa returns log2(1 + i/2^logTableBits) with logFractionBits
// fractional bits, truncated, by squaring the mantissa once per bit.
func log2Mantissa(i uint64) uint64 {
	if i == 1<<logTableBits {
		return 1 << logFractionBits
	}
	m := uint64(1)<<63 | i<<(63-logTableBits) // Q1.63 in [1,2)
	var out uint64
	for range logFractionBits {
		hi, lo := bits.Mul64(m, m) // Q2.126 in [1,4)
		out <<= 1
		if hi>>63 == 1 { // ≥ 2: the bit is set, halve
			out |= 1
			m = hi
		} else {
			m = hi<<1 | lo>>63
		}
	}
	return out
}

// negLog2 returns -log2(h / 2^64) in 1/2^32, for a hash h taken as a number
// evenly spread over (0, 1). The result is at least 1.
func negLog2(h uint64) uint64 {
	if h == 0 {
		h = 1
	}
	n := bits.LeadingZeros64(h)
	m := h << n // the leading one is bit 63
	i := (m << 1) >> (64 - logTableBits)
	rest := (m << (1 + logTableBits)) >> (64 - 32) // next 32 bits of the mantissa
	lo, hi := logTable[i], logTable[i+1]
	frac := lo + ((hi-lo)*rest)>>32
	// log2(h) = 63-n + frac, and -log2(h/2^64) = 64 - that.
	return uint64(n+1)<<logFractionBits - frac | 1
}
