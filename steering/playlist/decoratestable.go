package playlist

import (
	"strconv"
	"strings"
)

const (
	madePrefix = "pointsman." // of every stable id made here
	maxIDPart  = 48           // bytes of a name that go into an id
)

// stableIDs makes STABLE-VARIANT-IDs or STABLE-RENDITION-IDs: ids of URIs (draft-pantos-hls-rfc8216bis §4.4.6.1), which
// PER-VARIANT-URIS and PER-RENDITION-URIS of a steering manifest refer to. They are made of what the tag says, not of the
// URI, into which many servers write the session, and not of its place, so that the same ladder has the same ids
// tomorrow, on every server, and with a rung missing.
type stableIDs struct {
	byURI map[string]string
	taken map[string]int // how many have asked for the id
}

func newStableIDs() stableIDs { return stableIDs{map[string]string{}, map[string]int{}} }

// of returns the id of a URI: the one it has already, or a new one out of parts.
func (s *stableIDs) of(uri string, parts ...string) string {
	if id := s.byURI[uri]; id != "" {
		return id
	}
	wanted := strings.TrimSuffix(madePrefix, ".")
	for _, part := range parts {
		if part != "" {
			wanted += "." + idPart(part)
		}
	}
	id := wanted
	for s.taken[id] > 0 {
		s.taken[wanted]++
		id = wanted + "." + strconv.Itoa(s.taken[wanted])
	}
	s.taken[id]++
	s.byURI[uri] = id
	return id
}

// idPart leaves of a name what may stand in a stable id; a run of anything else becomes one underscore.
func idPart(name string) string {
	part := make([]byte, 0, maxIDPart)
	for i := 0; i < len(name) && len(part) < maxIDPart; i++ {
		switch c := name[i]; {
		case isLetter(c), '0' <= c && c <= '9', c == '+', c == '/', c == '=', c == '.', c == '-', c == '_':
			part = append(part, c)
		case len(part) == 0 || part[len(part)-1] != '_':
			part = append(part, '_')
		}
	}
	return string(part)
}
