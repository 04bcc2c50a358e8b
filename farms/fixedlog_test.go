package farms

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// hashesToTry are the ends of the range, both sides of every power of two and
// of every step of the mantissa table, and random values.
func hashesToTry() []uint64 {
	hs := []uint64{0, 1, 2, 3, 1 << 63, math.MaxUint64, math.MaxUint64 - 1}
	for bit := range 64 {
		p := uint64(1) << bit
		hs = append(hs, p, p-1, p+1, p|p>>1)
	}
	for i := range uint64(1 << logTableBits) {
		step := 1<<63 | i<<(63-logTableBits)
		hs = append(hs, step, step-1, step+1, step|1<<(62-logTableBits))
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		hs = append(hs, random.Uint64()>>random.IntN(64))
	}
	return hs
}

func TestNegLog2AgreesWithFloatingPoint(t *testing.T) {
	t.Parallel()
	for _, h := range hashesToTry() {
		want := 64 - math.Log2(float64(max(h, 1)))
		got := float64(negLog2(h)) / (1 << logFractionBits)
		if math.Abs(got-want) > 1e-6 {
			t.Fatalf("negLog2(%#x) = %.9f, expected %.9f ± 1e-6", h, got, want)
		}
		if negLog2(h) == 0 || negLog2(h) >= 1<<39 {
			t.Fatalf("negLog2(%#x) = %#x, expected 1 to 2^39", h, negLog2(h))
		}
	}
}

func TestNegLog2NeverIncreases(t *testing.T) {
	t.Parallel()
	hs := hashesToTry()
	slices.Sort(hs)
	for i := 1; i < len(hs); i++ {
		if negLog2(hs[i]) > negLog2(hs[i-1]) {
			t.Fatalf("negLog2(%#x) = %#x is more than negLog2(%#x) = %#x", hs[i], negLog2(hs[i]), hs[i-1], negLog2(hs[i-1]))
		}
	}
}
