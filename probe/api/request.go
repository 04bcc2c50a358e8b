package api

import (
	"context"
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/probe/fetch"
)

// askable tells whether a channel's name can be put into a URL without meaning
// another place there: names come from viewers.
func askable(channel string) bool {
	for part := range strings.SplitSeq(channel, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return !strings.ContainsFunc(channel, func(r rune) bool { return r < 0x20 || r == 0x7f })
}

// unaskable is the answer for a name that is not [askable].
func unaskable() Answer {
	return say(farms.Trouble, "the channel's name cannot be asked for")
}

// escapePath escapes a name for a URL's path and keeps its slashes.
func escapePath(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}

// authorized returns the headers of a request to the interface: those of every
// request, with Basic or, without a user, Bearer credentials in place of any
// Authorization meant for the viewer's side.
func (s Server) authorized() []farms.Header {
	if s.Secret == "" {
		return s.Headers
	}
	value := "Bearer " + s.Secret
	if s.User != "" {
		value = "Basic " + base64.StdEncoding.EncodeToString([]byte(s.User+":"+s.Secret))
	}
	headers := make([]farms.Header, 0, len(s.Headers)+1)
	for _, h := range s.Headers {
		if !strings.EqualFold(h.Name, "Authorization") {
			headers = append(headers, h)
		}
	}
	return append(headers, farms.Header{Name: "Authorization", Value: value})
}

// viewerQuery returns the operator's query for requests to URL, behind sep,
// or nothing when there is none.
func (s Server) viewerQuery(sep string) string {
	if s.Query == "" {
		return ""
	}
	return sep + s.Query
}

// page fetches one JSON document under the cap.
func (get Get) page(ctx context.Context, url string, headers []farms.Header) (*fetch.Response, error) {
	return get(ctx, fetch.Request{URL: url, Headers: headers, MaxBody: maxPage})
}
