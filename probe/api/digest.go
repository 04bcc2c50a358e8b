package api

import (
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"net/url"
	"strings"
)

// challenge is one scheme of a WWW-Authenticate header (RFC 9110 §11.6.1) with
// its parameters, names in lower case.
type challenge struct {
	scheme string
	params map[string]string
}

// maxChallenges bounds what is read of a server's challenges and of each one's
// parameters.
const maxChallenges = 16

// readChallenges reads all WWW-Authenticate headers of a response. What follows
// something that is no challenge is left out.
func readChallenges(headers []string) (list []challenge) {
	for _, h := range headers {
		var now *challenge
		for len(list) <= maxChallenges {
			h = strings.TrimLeft(h, " \t,")
			end := strings.IndexAny(h, " \t,=")
			if end < 0 {
				end = len(h)
			}
			name := strings.ToLower(h[:end])
			h = strings.TrimLeft(h[end:], " \t")
			if name == "" {
				break
			}
			value, ok := strings.CutPrefix(h, "=")
			if !ok {
				list = append(list, challenge{name, map[string]string{}})
				now = &list[len(list)-1]
				continue
			}
			text, rest, ok := readValue(strings.TrimLeft(value, " \t"))
			if !ok || now == nil || len(now.params) == maxChallenges {
				break
			}
			now.params[name], h = text, rest
		}
	}
	return list
}

// readValue reads a token or a quoted string.
func readValue(s string) (text, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s, " \t,")
		if end < 0 {
			end = len(s)
		}
		return s[:end], s[end:], true
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:], true
		case '\\':
			if i++; i == len(s) {
				return "", "", false
			}
		}
		b.WriteByte(s[i])
	}
	return "", "", false
}

// credentials answer a server's challenge: with Digest where it is offered in a
// form that can be answered, so that the secret does not travel, else with
// Basic.
type credentials struct {
	user, secret string
	digest       *challenge
	basic        bool
	count        int // requests with this nonce
}

// take reads the challenge of a 401; false when it cannot be answered.
func (c *credentials) take(headers []string) bool {
	c.digest, c.basic, c.count = nil, false, 0
	for _, ch := range readChallenges(headers) {
		switch ch.scheme {
		case "digest":
			if _, _, ok := digestHash(ch.params["algorithm"]); ok && c.digest == nil && digestQOP(ch) != "unknown" {
				c.digest = &ch
			}
		case "basic":
			c.basic = true
		}
	}
	return c.digest != nil || c.basic
}

// header is the value of an Authorization header for a GET; empty before a
// challenge.
func (c *credentials) header(rawURL string) string {
	if c.digest == nil {
		if !c.basic {
			return ""
		}
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(c.user+":"+c.secret))
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		return ""
	}
	c.count++
	return digestHeader(*c.digest, c.user, c.secret, u.RequestURI(), rand.Text(), c.count)
}

// digestHeader computes an RFC 7616 response for a GET.
func digestHeader(ch challenge, user, secret, uri, cnonce string, count int) string {
	hash, session, _ := digestHash(ch.params["algorithm"])
	sum := func(parts ...string) string {
		h := hash()
		_, _ = h.Write([]byte(strings.Join(parts, ":")))
		return hex.EncodeToString(h.Sum(nil))
	}
	realm, nonce := ch.params["realm"], ch.params["nonce"]
	who, what := sum(user, realm, secret), sum("GET", uri)
	if session {
		who = sum(who, nonce, cnonce)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `Digest username=%s, realm=%s, nonce=%s, uri=%s`, quoted(user), quoted(realm), quoted(nonce), quoted(uri))
	if a := ch.params["algorithm"]; a != "" {
		b.WriteString(", algorithm=" + a) // one of digestHash's, so a token
	}
	if opaque, ok := ch.params["opaque"]; ok {
		b.WriteString(", opaque=" + quoted(opaque))
	}
	qop := digestQOP(ch)
	if qop == "" { // RFC 2069
		fmt.Fprintf(&b, `, response="%s"`, sum(who, nonce, what))
		if session {
			b.WriteString(", cnonce=" + quoted(cnonce))
		}
		return b.String()
	}
	nc := fmt.Sprintf("%08x", count)
	fmt.Fprintf(&b, `, qop=%s, nc=%s, cnonce=%s, response="%s"`, qop, nc, quoted(cnonce), sum(who, nonce, nc, cnonce, qop, what))
	return b.String()
}

// digestQOP is the quality of protection to answer with: "auth", "" when the
// server offers none, "unknown" when it wants what is not spoken here.
func digestQOP(ch challenge) string {
	offered, ok := ch.params["qop"]
	if !ok {
		return ""
	}
	for _, q := range strings.Split(offered, ",") {
		if strings.EqualFold(strings.TrimSpace(q), "auth") {
			return "auth"
		}
	}
	return "unknown"
}

func digestHash(algorithm string) (h func() hash.Hash, session, ok bool) {
	name, session := strings.CutSuffix(strings.ToLower(algorithm), "-sess")
	switch name {
	case "", "md5":
		return md5.New, session, true
	case "sha-256":
		return sha256.New, session, true
	}
	return nil, false, false
}

// quoted writes a quoted string without bytes that would end a header.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c >= 0x20 && c != 0x7f:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
