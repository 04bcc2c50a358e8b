package api

import (
	"net/url"
	"strings"

	"github.com/pointsman-tv/pointsman/farms"
)

// withAuthorization adds an Authorization header in place of any that is there.
func withAuthorization(headers []farms.Header, value string) []farms.Header {
	out := make([]farms.Header, 0, len(headers)+1)
	for _, h := range headers {
		if !strings.EqualFold(h.Name, "Authorization") {
			out = append(out, h)
		}
	}
	return append(out, farms.Header{Name: "Authorization", Value: value})
}

// names returns the percent-decoded names of a viewer's whole path on a server,
// the path of the server's base URL included; the last is the manifest. It is
// nil when one of them cannot be a name in an interface's URL.
func names(s Server, path string) []string {
	base, err := url.Parse(s.URL)
	if err != nil {
		return nil
	}
	list := strings.Split(strings.Trim(base.EscapedPath()+path, "/"), "/")
	for i, raw := range list {
		name, err := url.PathUnescape(raw)
		if err != nil || !askable(name) {
			return nil
		}
		list[i] = name
	}
	return list
}
