package steering

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"sync"
	"testing"
	"time"
)

// keyOf returns a key of 32 equal bytes.
func keyOf(b byte) []byte { return bytes.Repeat([]byte{b}, MinKey) }

func ringOf(t testing.TB, keys ...byte) *Ring {
	t.Helper()
	var list [][]byte
	for _, b := range keys {
		list = append(list, keyOf(b))
	}
	r, err := NewRing(list)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var issued = time.Date(2026, 5, 18, 12, 0, 0, 0, time.UTC)

func sessionAt(t time.Time) Session { return Session{0x0123456789abcdef, 0xfedcba9876543210, t} }

func TestTokenIsOneOfUnreservedCharacters(t *testing.T) {
	t.Parallel()
	r := ringOf(t, 1)
	token := r.Seal(sessionAt(issued))
	if len(token) != TokenLen || TokenLen != 52 || strings.Trim(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
		t.Errorf("token %q", token)
	}
	if got := string(r.AppendSeal([]byte("x="), sessionAt(issued))); got != "x="+token {
		t.Errorf("AppendSeal gives %q, Seal %q", got, token)
	}
	if p := ReadParams("pm_sid=" + token); p.Token != token {
		t.Errorf("the query's reader makes %q of %q", p.Token, token)
	}
}

// TestTokenIsFixed: another instance, another release, must open it.
func TestTokenIsFixed(t *testing.T) {
	t.Parallel()
	body := "\x01" + string(keyID(keyOf(1))) + "\x00\x6a\x0a\xfe\x40" + "\x01\x23\x45\x67\x89\xab\xcd\xef" + "\xfe\xdc\xba\x98\x76\x54\x32\x10"
	h := hmac.New(sha256.New, keyOf(1))
	h.Write([]byte("pm_sid\x00" + body))
	want := base64.RawURLEncoding.EncodeToString([]byte(body + string(h.Sum(nil)[:16])))
	at := time.Unix(0x6a0afe40, 0)
	if got := ringOf(t, 1).Seal(sessionAt(at)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func keyID(key []byte) []byte {
	sum := sha256.Sum256([]byte("key id\x00" + string(key)))
	return sum[:1]
}

func TestOpenWhatWasSealed(t *testing.T) {
	t.Parallel()
	r := ringOf(t, 1)
	want := sessionAt(issued)
	token := r.Seal(want)
	for name, c := range map[string]struct {
		now     time.Time
		ok, due bool
	}{
		"at_once":            {issued, true, false},
		"fraction":           {issued.Add(time.Millisecond), true, false},
		"half_its_life":      {issued.Add(12 * time.Hour), true, false},
		"more_than_half":     {issued.Add(12*time.Hour + time.Second), true, true},
		"last_second":        {issued.Add(24 * time.Hour), true, true},
		"expired":            {issued.Add(24*time.Hour + time.Second), false, false},
		"clock_5_min_behind": {issued.Add(-5 * time.Minute), true, false},
		"from_the_future":    {issued.Add(-5*time.Minute - time.Second), false, false},
	} {
		got, ok := r.Open(token, c.now)
		if ok != c.ok {
			t.Errorf("%s: ok %v, want %v", name, ok, c.ok)
			continue
		}
		if ok && (got.Identity != want.Identity || got.Content != want.Content || !got.Issued.Equal(issued) || got.Due(c.now) != c.due) {
			t.Errorf("%s: got %+v, due %v, want due %v", name, got, got.Due(c.now), c.due)
		}
		if !ok && got != (Session{}) {
			t.Errorf("%s: a refused token gives %+v", name, got)
		}
	}
	for _, s := range []Session{{}, {^uint64(0), ^uint64(0), issued}, {Issued: time.Unix(0, 0)}, {Issued: time.Unix(1<<40-1, 0)}} {
		if got, ok := r.Open(r.Seal(s), s.Issued); s.Issued.Unix() >= 0 && (!ok || got.Identity != s.Identity || !got.Issued.Equal(s.Issued.Truncate(time.Second))) {
			t.Errorf("sealed %+v, opened %+v %v", s, got, ok)
		}
	}
}

// TestOpenRefuses: check 28.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	r := ringOf(t, 1)
	token := r.Seal(sessionAt(issued))
	signed := func(change func(body []byte)) string {
		body, err := base64.RawURLEncoding.DecodeString(token)
		if err != nil {
			t.Fatal(err)
		}
		body = body[:tokenBody]
		change(body)
		h := hmac.New(sha256.New, keyOf(1))
		h.Write([]byte("pm_sid\x00"))
		h.Write(body)
		return base64.RawURLEncoding.EncodeToString(append(body, h.Sum(nil)[:tokenMAC]...))
	}
	if got := signed(func([]byte) {}); got != token {
		t.Fatalf("the test signs %q, not %q", got, token)
	}
	for name, bad := range map[string]string{
		"empty":               "",
		"truncated":           token[:51],
		"longer":              token + "A",
		"padded":              token + "==",
		"quoted":              `"` + token[1:],
		"line_break_inside":   token[:20] + "\n" + token[21:],
		"line_break_added":    token[:20] + "\n" + token[20:],
		"standard_base64":     strings.Repeat("+", 52),
		"nul":                 strings.Repeat("\x00", 52),
		"other_key":           ringOf(t, 2).Seal(sessionAt(issued)),
		"future_version":      signed(func(b []byte) { b[0] = 2 }),
		"version_0":           signed(func(b []byte) { b[0] = 0 }),
		"unknown_key_id":      signed(func(b []byte) { b[1]++ }),
		"issued_in_34,000_AD": signed(func(b []byte) { b[2] = 0xff }),
	} {
		if s, ok := r.Open(bad, issued); ok {
			t.Errorf("%s: %q opened: %+v", name, bad, s)
		}
	}
	for i := range len(token) * 8 {
		bad := []byte(token)
		bad[i/8] ^= 1 << (i % 8)
		if s, ok := r.Open(string(bad), issued); ok {
			t.Errorf("bit %d of the token does not matter: %+v", i, s)
		}
	}
}

func TestRingRotates(t *testing.T) {
	t.Parallel()
	old, both, turned, fresh := ringOf(t, 1), ringOf(t, 1, 2), ringOf(t, 2, 1), ringOf(t, 2)
	of := sessionAt(issued)
	for name, c := range map[string]struct {
		from, to *Ring
		ok       bool
	}{
		"added_key_does_not_sign_yet": {both, old, true},
		"before_and_after_the_turn":   {both, turned, true},
		"after_and_before_the_turn":   {turned, both, true},
		"turned_signs_with_the_new":   {turned, fresh, true},
		"old_is_gone":                 {old, fresh, false},
		"new_is_unknown":              {fresh, old, false},
	} {
		if _, ok := c.to.Open(c.from.Seal(of), issued); ok != c.ok {
			t.Errorf("%s: opened %v, want %v", name, ok, c.ok)
		}
	}
}

// TestKeysMayShareAnID: two keys of one ring whose ids are the same byte.
func TestKeysMayShareAnID(t *testing.T) {
	t.Parallel()
	first := keyOf(0)
	second := keyOf(0)
	for i := 1; !bytes.Equal(keyID(first), keyID(second)) || bytes.Equal(first, second); i++ {
		second[0], second[1] = byte(i), byte(i>>8)
	}
	both, err := NewRing([][]byte{first, second})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range [][]byte{first, second} {
		one, err := NewRing([][]byte{key})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := both.Open(one.Seal(sessionAt(issued)), issued); !ok {
			t.Errorf("a key that shares its id does not verify")
		}
	}
}

func TestNewRingRefuses(t *testing.T) {
	t.Parallel()
	for want, keys := range map[string][][]byte{
		"no keys: at least one must sign":          {},
		"key 2 has 31 bytes, a key has 32 to 128":  {keyOf(1), keyOf(2)[:31]},
		"key 1 has 129 bytes, a key has 32 to 128": {bytes.Repeat([]byte{7}, 129)},
		"key 3 is key 1 again":                     {keyOf(1), keyOf(2), keyOf(1)},
		"17 keys, at most 16 are allowed":          make([][]byte, 17),
		"key 1 has 0 bytes, a key has 32 to 128":   {nil},
	} {
		if _, err := NewRing(keys); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestRingKeepsItsKeys: the caller may wipe his.
func TestRingKeepsItsKeys(t *testing.T) {
	t.Parallel()
	key := keyOf(1)
	r, err := NewRing([][]byte{key})
	if err != nil {
		t.Fatal(err)
	}
	clear(key)
	if got, want := r.Seal(sessionAt(issued)), ringOf(t, 1).Seal(sessionAt(issued)); got != want {
		t.Error("the ring signs with what the caller made of the key")
	}
}

func TestRingIsConcurrent(t *testing.T) {
	t.Parallel()
	r := ringOf(t, 1, 2)
	var all sync.WaitGroup
	for worker := range uint64(8) {
		all.Go(func() {
			for i := range uint64(2000) {
				want := Session{worker, i, issued}
				if got, ok := r.Open(r.Seal(want), issued); !ok || got.Identity != worker || got.Content != i {
					t.Errorf("sealed %+v, opened %+v %v", want, got, ok)
					return
				}
			}
		})
	}
	all.Wait()
}

func TestOpenAllocatesNothing(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector makes pools forget")
	}
	r := ringOf(t, 1, 2)
	token := r.Seal(sessionAt(issued))
	buf := make([]byte, 0, TokenLen)
	if n := testing.AllocsPerRun(1000, func() {
		if _, ok := r.Open(token, issued); !ok {
			t.Fatal("refused")
		}
		buf = r.AppendSeal(buf[:0], sessionAt(issued))
	}); n >= 1 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzOpen: no token opens that the ring has not sealed, and what opens seals to
// the same token.
func FuzzOpen(f *testing.F) {
	r := ringOf(f, 1)
	at := issued.Add(time.Hour)
	token := r.Seal(sessionAt(issued))
	f.Add(token, uint64(1), uint64(2), uint32(3))
	f.Add(token[:51], uint64(0), uint64(0), uint32(0))
	f.Add(token+"\n", ^uint64(0), ^uint64(0), ^uint32(0))
	f.Add(ringOf(f, 2).Seal(sessionAt(issued)), uint64(1), uint64(1), uint32(86400))
	f.Add("", uint64(1), uint64(1), uint32(86401))
	f.Fuzz(func(t *testing.T, forged string, identity, content uint64, age uint32) {
		if s, ok := r.Open(forged, at); ok && forged != token {
			t.Fatalf("%q opened: %+v", forged, s)
		}
		s := Session{identity, content, at.Add(-time.Duration(age) * time.Second)}
		sealed := r.Seal(s)
		got, ok := r.Open(sealed, at)
		if ok != (age <= 86400) || ok && (got.Identity != identity || got.Content != content || !got.Issued.Equal(s.Issued)) {
			t.Fatalf("sealed %+v, opened %+v %v", s, got, ok)
		}
		if ok && r.Seal(got) != sealed {
			t.Fatal("a session has two tokens")
		}
	})
}
