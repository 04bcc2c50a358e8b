package config

import (
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// Ignored is a key that is accepted, whatever its value, and has no effect.
type Ignored struct{}

// bindValue reads a node that is one value, and tells whether target is of such
// a type.
func (l *loader) bindValue(n *node, target any, f *field) bool {
	switch t := target.(type) {
	case *Ignored:
	case *bool:
		if l.isKind(n, kindBoolean, reflect.TypeOf(*t), f) {
			*t = n.text == "true"
		}
	case *int:
		l.bindInt(n, t, f)
	case *float64:
		if x, ok := l.number(n, reflect.TypeOf(*t), f); ok && l.within(n, x, f, "") {
			*t = x
		}
	case *time.Duration:
		if x, ok := l.number(n, reflect.TypeOf(*t), f); ok && l.within(n, x, f, "") {
			*t = time.Duration(x * float64(time.Second))
		}
	case *time.Time:
		l.bindTime(n, t)
	case **time.Location:
		l.bindZone(n, t)
	case *netip.Addr:
		l.bindAddr(n, t)
	case *[]netip.Prefix:
		l.bindPrefixes(n, t, f)
	case *[]string:
		l.bindStrings(n, t, f)
	case *farms.Policy:
		if l.isKind(n, kindString, reflect.TypeOf(*t), f) && l.isWord(n, f) {
			*t, _ = farms.ParsePolicy(n.text)
		}
	case *farms.State:
		if l.isKind(n, kindString, reflect.TypeOf(*t), f) && l.isWord(n, f) {
			*t, _ = farms.ParseState(n.text)
		}
	case *Secret:
		l.bindSecret(n, t)
	default:
		return false
	}
	return true
}

// number reads a JSON number; too large for a float64 is an error.
func (l *loader) number(n *node, t reflect.Type, f *field) (float64, bool) {
	if !l.isKind(n, kindNumber, t, f) {
		return 0, false
	}
	x, err := strconv.ParseFloat(n.text, 64)
	if err != nil {
		l.errorf(n, "is a number %s, which is too large", clip(n.text, maxQuotedBytes))
		return 0, false
	}
	return x, true
}

// maxExactInt is the largest integer up to which every one is a float64.
const maxExactInt = 1 << 53

func (l *loader) bindInt(n *node, to *int, f *field) {
	x, ok := l.number(n, reflect.TypeOf(*to), f)
	switch {
	case !ok:
	case x != math.Trunc(x):
		l.errorf(n, "is a number %s, expected an integer", clip(n.text, maxQuotedBytes))
	case math.Abs(x) > maxExactInt:
		l.errorf(n, "is a number %s, which is too large", clip(n.text, maxQuotedBytes))
	case l.within(n, x, f, ""):
		*to = int(x)
	}
}

// lastUnixSecond is the end of the year 9999, the last that RFC 3339 can write.
const lastUnixSecond = 253402300799

func (l *loader) bindTime(n *node, to *time.Time) {
	switch n.kind {
	case kindString:
		t, err := time.Parse(time.RFC3339, n.text)
		if err != nil {
			l.errorf(n, "is %s, expected %s", quote(n.text), expectation(reflect.TypeOf(*to), nil))
			return
		}
		*to = t
	case kindNumber:
		x, ok := l.number(n, reflect.TypeOf(*to), nil)
		if ok && (x < 0 || x > lastUnixSecond) {
			l.errorf(n, "is a number %s, expected Unix seconds from 0 to %d", clip(n.text, maxQuotedBytes), lastUnixSecond)
			return
		}
		whole, part := math.Modf(x)
		*to = time.Unix(int64(whole), int64(part*1e9)).UTC()
	default:
		l.errorf(n, "%s, expected %s", n.describe(), expectation(reflect.TypeOf(*to), nil))
	}
}

func (l *loader) bindAddr(n *node, to *netip.Addr) {
	if !l.isKind(n, kindString, reflect.TypeOf(*to), nil) {
		return
	}
	a, err := netip.ParseAddr(n.text)
	if err != nil || a.Zone() != "" {
		l.errorf(n, "is %s, expected an IP address without zone", quote(n.text))
		return
	}
	*to = a.Unmap()
}

// bindStrings reads an array of strings, or one string where f allows it. The
// limits are those of the array; each string has at most maxStringBytes.
func (l *loader) bindStrings(n *node, to *[]string, f *field) {
	out := []string{}
	l.eachString(n, reflect.TypeOf(*to), f, func(_ *node, s string) { out = append(out, s) })
	if !n.failed {
		*to = out
	}
}

// maxStringBytes bounds every string that has no limits of its own.
const maxStringBytes = 4096

// eachString calls use for the strings of an array. Where one is wrong it
// reports so and calls use with "", so that positions are kept.
func (l *loader) eachString(n *node, t reflect.Type, f *field, use func(*node, string)) {
	first, count := n.first, float64(n.count)
	if n.kind == kindString && f.single {
		first, count = n, 1
	} else if !l.isKind(n, kindArray, t, f) {
		return
	}
	if !l.within(n, count, f, " entries") {
		return
	}
	for c := first; c != nil; c = c.next {
		switch {
		case c.kind != kindString:
			l.errorf(c, "%s, expected a string", c.describe())
			use(c, "")
		case !l.fits(c, &field{}):
			use(c, "")
		default:
			use(c, c.text)
		}
		if c == n {
			return
		}
	}
}

// bindPrefixes reads networks. One that is wrong leaves the zero prefix.
func (l *loader) bindPrefixes(n *node, to *[]netip.Prefix, f *field) {
	out := make([]netip.Prefix, 0, n.count)
	l.eachString(n, reflect.TypeOf(*to), f, func(c *node, s string) {
		var p netip.Prefix
		if !c.failed {
			p = l.prefix(c, "", s)
		}
		out = append(out, p)
	})
	if !n.failed {
		*to = out
	}
}

// prefix reads one network at n. where goes before the message, for one that
// stands in a file.
func (l *loader) prefix(n *node, where, s string) netip.Prefix {
	p, masked, problem := parsePrefix(s)
	switch {
	case problem != "":
		l.errorf(n, "%sis %s, expected a network such as 192.0.2.0/24: %s", where, quote(s), problem)
	case masked:
		l.warnf(n, "%sis %s, which has bits behind the prefix length; it is taken as %s", where, quote(s), p)
	}
	return p
}

// parsePrefix reads a CIDR or a bare address. Bits behind the prefix length are
// taken off, which masked tells. An IPv4 network in IPv6 clothes is that IPv4
// network.
func parsePrefix(s string) (p netip.Prefix, masked bool, problem string) {
	switch {
	case s == "":
		return p, false, "it is empty"
	case strings.Contains(s, "%"):
		return p, false, "a zone has no meaning in a network"
	case !strings.Contains(s, "/"):
		a, err := netip.ParseAddr(s)
		if err != nil {
			return p, false, "it is neither an address nor a CIDR"
		}
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), false, ""
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		address, _, _ := strings.Cut(s, "/")
		if a, err := netip.ParseAddr(address); err == nil {
			return p, false, fmt.Sprintf("its prefix length is no number from 0 to %d", a.BitLen())
		}
		return p, false, "it is neither an address nor a CIDR"
	}
	if a := p.Addr(); a.Is4In6() {
		if p.Bits() < 96 {
			return netip.Prefix{}, false, "it mixes IPv4-mapped and other IPv6 addresses"
		}
		p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
	}
	return p.Masked(), p != p.Masked(), ""
}
