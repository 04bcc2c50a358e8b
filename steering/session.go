package steering

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"slices"
	"sync"
	"time"
)

const (
	// SessionLife is how long a session's token is good after it was issued. A
	// player polls with the token of its last manifest, so that it outlives every
	// TTL by far.
	SessionLife = 24 * time.Hour
	// clockSkew is how far ahead the clock of another instance may be.
	clockSkew = 5 * time.Minute
	// MinKey and MaxKey bound a key, in bytes.
	MinKey, MaxKey = 32, 128
	// MaxKeys bounds a ring: rotation needs two.
	MaxKeys = 16
)

// Session is who polls. It decides nothing but which bucket of a split the viewer
// falls into; what reports taught is kept by [Feedback].
type Session struct {
	Identity uint64    // the viewer's hash
	Content  uint64    // hash of the channel the token was issued for
	Issued   time.Time // to the second
}

// Due tells whether a new token should be given although this one is good: it is
// older than half its life. So a poll mostly gives the token back that it came
// with and pays for one HMAC instead of two, and caches see the same URI.
func (s Session) Due(now time.Time) bool { return now.Sub(s.Issued) > SessionLife/2 }

// A token is base64url, which needs no escaping in a query, of
//
//	version 1 | key 1 | issued 5 | identity 8 | content 8 | HMAC-SHA256 of the rest, its first 16 bytes
//
// 39 bytes, so that no bit of the last character is spare and one session has one
// spelling.
const (
	tokenVersion = 1
	tokenBody    = 1 + 1 + 5 + 8 + 8
	tokenMAC     = 16
	tokenBytes   = tokenBody + tokenMAC

	// TokenLen is the length of a token in characters.
	TokenLen = (tokenBytes*8 + 5) / 6
)

// tokenUse is what a MAC is computed over before the body, so that the same key
// file elsewhere makes no tokens for here.
const tokenUse = TokenParam + "\x00"

// Ring is the keys that sign sessions: the first signs, all verify, so that a key
// can be added everywhere before it signs and removed a day after. It is
// immutable and safe for concurrent use.
type Ring struct {
	keys []*signer
}

// signer is one key, with the states of HMAC that are not in use.
type signer struct {
	id   byte // names the key in a token; two keys may share one
	macs sync.Pool
}

type mac struct {
	hash hash.Hash
	in   [len(tokenUse) + tokenBody]byte
	out  [sha256.Size]byte
}

// NewRing makes a ring of 1 to [MaxKeys] different keys of [MinKey] to [MaxKey]
// bytes each. An error says which key by its number, never the key.
func NewRing(keys [][]byte) (*Ring, error) {
	switch {
	case len(keys) == 0:
		return nil, errors.New("no keys: at least one must sign")
	case len(keys) > MaxKeys:
		return nil, fmt.Errorf("%d keys, at most %d are allowed", len(keys), MaxKeys)
	}
	r := &Ring{}
	for i, key := range keys {
		if len(key) < MinKey || len(key) > MaxKey {
			return nil, fmt.Errorf("key %d has %d bytes, a key has %d to %d", i+1, len(key), MinKey, MaxKey)
		}
		for j := range i {
			if slices.Equal(keys[j], key) {
				return nil, fmt.Errorf("key %d is key %d again", i+1, j+1)
			}
		}
		r.keys = append(r.keys, newSigner(slices.Clone(key)))
	}
	return r, nil
}

func newSigner(key []byte) *signer {
	// The id comes from the key and not from its place, which a rotation changes.
	id := sha256.Sum256(append([]byte("key id\x00"), key...))
	return &signer{id: id[0], macs: sync.Pool{New: func() any {
		return &mac{hash: hmac.New(sha256.New, key)}
	}}}
}

// sum returns the truncated MAC of a token's body.
func (s *signer) sum(body *[tokenBody]byte) (out [tokenMAC]byte) {
	m := s.macs.Get().(*mac)
	copy(m.in[copy(m.in[:], tokenUse):], body[:])
	m.hash.Reset()
	_, _ = m.hash.Write(m.in[:]) // a hash never fails
	m.hash.Sum(m.out[:0])
	copy(out[:], m.out[:])
	s.macs.Put(m)
	return out
}

// Seal returns the token of a session: [TokenLen] characters that need no
// escaping.
func (r *Ring) Seal(s Session) string {
	var buf [TokenLen]byte
	return string(r.AppendSeal(buf[:0], s))
}

// AppendSeal appends the token of a session to dst.
func (r *Ring) AppendSeal(dst []byte, s Session) []byte {
	key := r.keys[0]
	var raw [tokenBytes]byte
	body := (*[tokenBody]byte)(raw[:])
	var issued [8]byte
	binary.BigEndian.PutUint64(issued[:], uint64(s.Issued.Unix()))
	body[0], body[1] = tokenVersion, key.id
	copy(body[2:7], issued[3:])
	binary.BigEndian.PutUint64(body[7:], s.Identity)
	binary.BigEndian.PutUint64(body[15:], s.Content)
	sum := key.sum(body)
	copy(raw[tokenBody:], sum[:])
	return base64.RawURLEncoding.AppendEncode(dst, raw[:])
}

// Open returns the session of a token that one of the keys has signed, that is no
// older than [SessionLife] and not from the future. Any other token is not ok and
// gets a fresh session, never an error. Whether it is of the channel asked for is
// the caller's to compare ([Session.Content]).
func (r *Ring) Open(token string, now time.Time) (Session, bool) {
	if len(token) != TokenLen {
		return Session{}, false
	}
	var text [TokenLen]byte
	copy(text[:], token)
	var raw [tokenBytes]byte
	// The decoder skips line breaks; a token with some is then too short.
	if n, err := base64.RawURLEncoding.Decode(raw[:], text[:]); err != nil || n != tokenBytes || raw[0] != tokenVersion {
		return Session{}, false
	}
	body := (*[tokenBody]byte)(raw[:])
	if !r.signed(body, raw[tokenBody:]) {
		return Session{}, false
	}
	var issued [8]byte
	copy(issued[3:], body[2:7])
	s := Session{
		Identity: binary.BigEndian.Uint64(body[7:]),
		Content:  binary.BigEndian.Uint64(body[15:]),
		Issued:   time.Unix(int64(binary.BigEndian.Uint64(issued[:])), 0),
	}
	if age := now.Sub(s.Issued); age > SessionLife || age < -clockSkew {
		return Session{}, false
	}
	return s, true
}

func (r *Ring) signed(body *[tokenBody]byte, sum []byte) bool {
	for _, key := range r.keys {
		if key.id != body[1] {
			continue
		}
		if want := key.sum(body); hmac.Equal(want[:], sum) {
			return true
		}
	}
	return false
}
