package steering

import (
	"strconv"
	"unicode/utf8"
)

// KeyValue is one member of an object of strings.
type KeyValue struct{ Key, Value string }

// Clone is a pathway that players make from another by changing its URIs
// (PATHWAY-CLONES). Players' support is poor, so that every pathway should be
// declared in the playlist as well; clones reach those who were given an old one.
type Clone struct {
	Base, ID string // BASE-ID: a pathway, or an earlier clone
	Host     string // a bare host name without port; "" keeps the base's
	// Params are query parameters, percent-encoded already, sorted by key (the
	// specification applies them in that order).
	Params []KeyValue
	// PerVariant and PerRendition give absolute URIs by STABLE-VARIANT-ID and
	// STABLE-RENDITION-ID. Only HLS has them.
	PerVariant, PerRendition []KeyValue
}

// AppendManifest appends a steering manifest for HLS and DASH alike. The caller
// sees to it that reloadURI is absolute, because Shaka Player ends steering at a
// relative one; that priority has an entry and none twice, and clones sound ids,
// because Media3 and strict DASH players stop at either; and that ttl comes from
// [TTLRules.Seconds]. The order of keys is always the same. RELOAD-URI is left out
// when it is "" (players then ask the URI they have), and clones when there are
// none: Media3 throws at an empty list.
func AppendManifest(dst []byte, ttl int, reloadURI string, priority []string, clones []Clone) []byte {
	dst = append(dst, `{"VERSION":1,"TTL":`...)
	dst = strconv.AppendInt(dst, int64(ttl), 10)
	if reloadURI != "" {
		dst = append(dst, `,"RELOAD-URI":`...)
		dst = appendString(dst, reloadURI)
	}
	dst = append(dst, `,"PATHWAY-PRIORITY":[`...)
	for i, id := range priority {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, id)
	}
	dst = append(dst, ']')
	if len(clones) > 0 {
		dst = append(dst, `,"PATHWAY-CLONES":[`...)
		for i := range clones {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendClone(dst, &clones[i])
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

func appendClone(dst []byte, c *Clone) []byte {
	dst = append(dst, `{"BASE-ID":`...)
	dst = appendString(dst, c.Base)
	dst = append(dst, `,"ID":`...)
	dst = appendString(dst, c.ID)
	dst = append(dst, `,"URI-REPLACEMENT":{`...)
	inner := len(dst)
	if c.Host != "" { // if present it must not be empty
		dst = append(dst, `"HOST":`...)
		dst = appendString(dst, c.Host)
	}
	dst = appendObject(dst, inner, `"PARAMS":{`, c.Params)
	dst = appendObject(dst, inner, `"PER-VARIANT-URIS":{`, c.PerVariant)
	dst = appendObject(dst, inner, `"PER-RENDITION-URIS":{`, c.PerRendition)
	return append(dst, "}}"...)
}

// appendObject appends a member of the object that begins at dst[inner], nothing
// when it would be empty.
func appendObject(dst []byte, inner int, open string, members []KeyValue) []byte {
	if len(members) == 0 {
		return dst
	}
	if len(dst) > inner {
		dst = append(dst, ',')
	}
	dst = append(dst, open...)
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, m.Key)
		dst = append(dst, ':')
		dst = appendString(dst, m.Value)
	}
	return append(dst, '}')
}

// appendString appends s as a JSON string. Unlike encoding/json it leaves & < >
// as they are: a body of URIs is read by people and compared by caches.
func appendString(dst []byte, s string) []byte {
	const hexDigits = "0123456789abcdef"
	dst = append(dst, '"')
	done := 0 // s[:done] is in dst
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		size := 1
		if c >= utf8.RuneSelf {
			var r rune
			if r, size = utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		dst = append(dst, s[done:i]...)
		switch {
		case c >= utf8.RuneSelf:
			dst = append(dst, "\uFFFD"...) // JSON is UTF-8
		case c < 0x20:
			dst = append(dst, `\u00`...)
			dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
		default:
			dst = append(dst, '\\', c)
		}
		i += size
		done = i
	}
	dst = append(dst, s[done:]...)
	return append(dst, '"')
}
