package playlist

import (
	"errors"
	"fmt"
	"strings"
)

// Resolve is RFC 3986 §5.2 on raw strings: the address that ref means in a document fetched from base, an absolute http
// or https URL. Every escape stays as it was written, because servers sign and compare paths byte for byte, and an
// absolute ref is returned as it is.
//
// A colon in the first segment, as in "2025:x/index.m3u8" or "ch:1/index.m3u8", makes url.Parse refuse the ref; channels
// are named like that, so whatever is not plainly another scheme is relative. Other schemes, control bytes and a URL
// without a host are errors.
func Resolve(base, ref string) (string, error) {
	from, err := splitBase(base)
	if err != nil {
		return "", err
	}
	if err := checkReference(ref); err != nil {
		return "", err
	}
	if scheme := httpScheme(ref); scheme != "" {
		return ref, nil
	}
	rest, fragment := splitAt(ref, "#")
	rest, query := splitAt(rest, "?")
	if strings.HasPrefix(rest, "//") {
		authority, path := splitAt(rest[2:], "/")
		return from.scheme + "://" + authority + removeDotSegments(path) + query + fragment, nil
	}
	root := from.scheme + "://" + from.authority
	switch {
	case rest == "" && query == "":
		return root + from.path + from.query + fragment, nil
	case rest == "":
		return root + from.path + query + fragment, nil
	case rest[0] == '/':
		return root + removeDotSegments(rest) + query + fragment, nil
	default:
		folder := from.path[:strings.LastIndexByte(from.path, '/')+1]
		if folder == "" { // RFC 3986 §5.2.3: a base with a host and no path
			folder = "/"
		}
		return root + removeDotSegments(folder+rest) + query + fragment, nil
	}
}

type baseURL struct{ scheme, authority, path, query string }

func splitBase(base string) (baseURL, error) {
	scheme := httpScheme(base)
	if scheme == "" {
		return baseURL{}, fmt.Errorf("base URL is %s, expected http:// or https://", quote(base))
	}
	if err := checkReference(base); err != nil {
		return baseURL{}, fmt.Errorf("checking the base URL: %w", err)
	}
	rest, _ := splitAt(base, "#")
	rest, query := splitAt(rest, "?")
	authority, path := splitAt(rest[len(scheme)+len("://"):], "/")
	return baseURL{scheme, authority, path, query}, nil
}

// httpScheme returns "http" or "https", as written, when ref begins with it and a colon.
func httpScheme(ref string) string {
	scheme, _, found := strings.Cut(ref[:min(len(ref), len("https:"))], ":")
	if found && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")) {
		return scheme
	}
	return ""
}

// checkReference refuses what must never be asked, whoever wrote it.
func checkReference(ref string) error {
	for i := range len(ref) {
		if ref[i] < ' ' || ref[i] == 0x7f {
			return fmt.Errorf("address %s has the control byte 0x%02x at %d", quote(ref), ref[i], i)
		}
	}
	scheme := httpScheme(ref)
	rest := ref
	if scheme != "" {
		rest = ref[len(scheme)+1:]
		if !strings.HasPrefix(rest, "//") {
			return fmt.Errorf("address is %s, expected // after the scheme", quote(ref))
		}
	} else if isOtherScheme(ref) {
		return fmt.Errorf("address is %s, expected http, https or a relative one", quote(ref))
	}
	if strings.HasPrefix(rest, "//") && (len(rest) == 2 || strings.IndexByte("/?#", rest[2]) >= 0) {
		return errors.New("address " + quote(ref) + " has no host")
	}
	return nil
}

// isOtherScheme tells "rtmp://…" and "data:…" from a channel whose name has a colon in it.
func isOtherScheme(ref string) bool {
	scheme, rest, found := strings.Cut(ref, ":")
	if !found || scheme == "" || !isLetter(scheme[0]) {
		return false
	}
	for i := range len(scheme) {
		if c := scheme[i]; !isLetter(c) && (c < '0' || c > '9') && c != '+' && c != '-' && c != '.' {
			return false
		}
	}
	switch strings.ToLower(scheme) {
	case "about", "blob", "data", "file", "javascript": // schemes that need no slashes to be one
		return true
	default:
		return strings.HasPrefix(rest, "//")
	}
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// splitAt cuts s before the first byte of mark and leaves that byte with the tail.
func splitAt(s, mark string) (head, tail string) {
	if i := strings.Index(s, mark); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

// removeDotSegments is RFC 3986 §5.2.4 for a path that begins with a slash, or is empty. Escaped dots are not dots here:
// decoding them is the server's business.
func removeDotSegments(path string) string {
	if !strings.Contains(path, "/.") {
		return path
	}
	out := make([]byte, 0, len(path))
	for len(path) > 0 {
		end := strings.IndexByte(path[1:], '/') + 1
		if end == 0 {
			end = len(path)
		}
		segment, last := path[:end], end == len(path)
		path = path[end:]
		switch segment {
		case "/.":
		case "/..":
			for len(out) > 0 && out[len(out)-1] != '/' {
				out = out[:len(out)-1]
			}
			out = out[:max(0, len(out)-1)]
		default:
			out = append(out, segment...)
			continue
		}
		if last {
			out = append(out, '/')
		}
	}
	return string(out)
}
