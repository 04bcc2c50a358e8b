package config

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"unicode"
)

// webAddress is an absolute http or https URL that something can be appended
// to. It is read by a grammar of our own, far narrower than net/url's, which
// takes hosts such as 2130706433, 0x7f000001 or full-width digits that other
// readers turn into addresses.
type webAddress struct {
	scheme  string     // http or https
	host    string     // lower case, without brackets
	literal netip.Addr // valid when host is an address
	port    string     // as written, "" when it is the scheme's
	path    string     // without trailing slash
}

// parseWebAddress reads a URL. The problem never repeats the URL, in which a
// token may stand.
func parseWebAddress(s string) (u webAddress, problem string) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return u, "has no scheme, expected http:// or https://"
	}
	if u.scheme = strings.ToLower(scheme); u.scheme != "http" && u.scheme != "https" {
		return u, fmt.Sprintf("has the scheme %s, expected http or https", quote(scheme))
	}
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		if rest[i] == '?' {
			return u, "has a query, expected none"
		}
		return u, "has a fragment, expected none"
	}
	authority, path := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	if strings.Contains(authority, "@") {
		return u, "has a user or password, expected none; probe_headers and probe_query carry the operator's token, api_user and api_secret that of the API"
	}
	if problem = u.setAuthority(authority); problem != "" {
		return u, problem
	}
	if path != "" {
		if problem = checkPath(path); problem != "" {
			return u, "has a path that " + problem
		}
	}
	u.path = strings.TrimSuffix(path, "/")
	return u, ""
}

func (u *webAddress) setAuthority(authority string) (problem string) {
	host, port, hasPort := authority, "", false
	if i := strings.LastIndexByte(authority, ':'); i >= 0 && !strings.HasSuffix(authority, "]") {
		host, port, hasPort = authority[:i], authority[i+1:], true
	}
	if hasPort && !validPort(port) {
		return fmt.Sprintf("has the port %s, expected 1 to 65535", quote(port))
	}
	u.port = port
	if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
		return "has an IPv6 address without brackets, expected it as in http://[2001:db8::1]:80"
	}
	if u.host, u.literal, problem = parseHost(host); problem != "" {
		return fmt.Sprintf("has the host %s, which %s", quote(host), problem)
	}
	if u.literal.IsValid() && (u.literal.IsUnspecified() || u.literal.IsMulticast()) {
		return fmt.Sprintf("has the host %s, which is no address of one machine", quote(host))
	}
	return ""
}

func validPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0 && s[0] != '0'
}

// parseHost reads a host without port: ASCII labels of letters, digits and
// hyphens, or an address, an IPv6 one in brackets or bare. It comes back in
// lower case and without brackets.
func parseHost(s string) (host string, literal netip.Addr, problem string) {
	bare := s
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		bare = s[1 : len(s)-1]
	}
	if a, err := netip.ParseAddr(bare); err == nil {
		switch {
		case a.Zone() != "":
			return "", a, "has a zone, expected none"
		case a.Is4In6():
			return "", a, fmt.Sprintf("is an IPv4 address in IPv6 form, expected %s", a.Unmap())
		case a.Is4() && bare != s:
			return "", a, "is an IPv4 address in brackets, expected none"
		}
		return a.String(), a, ""
	}
	switch {
	case s == "":
		return "", literal, "is empty, expected a DNS name or an IP address"
	case len(s) > 253:
		return "", literal, fmt.Sprintf("has %d bytes, expected a DNS name of at most 253", len(s))
	}
	var last string
	for label := range strings.SplitSeq(s, ".") {
		if !validLabel(label) {
			return "", literal, "is neither a DNS name (labels of ASCII letters, digits and hyphens) nor an IP address"
		}
		last = label
	}
	// Many readers take a name whose last label is a number for an IPv4 address.
	if strings.Trim(last, "0123456789") == "" || strings.HasPrefix(strings.ToLower(last), "0x") {
		return "", literal, "ends like a number and is no IPv4 address of four decimal parts"
	}
	return strings.ToLower(s), literal, ""
}

func validLabel(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		if !isLetterOrDigit(s[i]) && s[i] != '-' {
			return false
		}
	}
	return true
}

// String returns the URL without trailing slash.
func (u webAddress) String() string {
	host := u.host
	if u.literal.Is6() {
		host = "[" + host + "]"
	}
	if u.port != "" {
		host += ":" + u.port
	}
	return u.scheme + "://" + host + u.path
}

// effectivePort is the port as written, else the scheme's.
func (u webAddress) effectivePort() string {
	if u.scheme == "https" {
		return cmp.Or(u.port, "443")
	}
	return cmp.Or(u.port, "80")
}

// name returns the name of a server that has none: host, port and path.
func (u webAddress) name() string { return net.JoinHostPort(u.host, u.effectivePort()) + u.path }

// checkPath tells what is wrong with an absolute URL path, if anything. Dot
// segments and escapes of what would change the path's shape are refused,
// because servers and players disagree about them.
func checkPath(path string) (problem string) {
	if !strings.HasPrefix(path, "/") {
		return "does not begin with /"
	}
	if strings.Contains(path, "//") {
		return "has an empty segment"
	}
	plain, problem := decodePath(path)
	if problem != "" {
		return problem
	}
	for segment := range strings.SplitSeq(plain, "/") {
		if segment == "." || segment == ".." {
			return "has a dot segment"
		}
	}
	return ""
}

// decodePath decodes a path once.
func decodePath(path string) (plain, problem string) {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		c := path[i]
		switch {
		case c == '%':
			if i+2 >= len(path) {
				return "", "has a % without two hexadecimal digits"
			}
			v, err := strconv.ParseUint(path[i+1:i+3], 16, 8)
			if err != nil {
				return "", "has a % without two hexadecimal digits"
			}
			if c = byte(v); c < ' ' || c == 0x7f || c == '/' || c == '\\' {
				return "", fmt.Sprintf("has the escape %s, which servers read differently", quote(path[i:i+3]))
			}
			i += 2
		case !isLetterOrDigit(c) && strings.IndexByte("/-._~!$&'()*+,;=:@", c) < 0:
			return "", fmt.Sprintf("has a character %q that a URL path cannot hold", rune(c))
		}
		b.WriteByte(c)
	}
	return b.String(), ""
}

// checkName tells what is wrong with a name that goes into logs, metrics and
// admin URLs.
func checkName(s string) (problem string) {
	switch {
	case s == "":
		return "is empty, expected a name"
	case len(s) > maxNameBytes:
		return fmt.Sprintf("has %d bytes, expected at most %d", len(s), maxNameBytes)
	case strings.TrimSpace(s) != s:
		return "begins or ends with white space"
	}
	for _, c := range s {
		if !unicode.IsPrint(c) || c == '"' || c == '\\' {
			return fmt.Sprintf("has the character %q, expected printable ones without quotes and backslashes", c)
		}
	}
	return ""
}

// maxNameBytes bounds the names of farms, servers and locations. A server's
// default name holds a DNS name.
const maxNameBytes = 256
