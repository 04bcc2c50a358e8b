package rig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// Manifest is a steering manifest as a player reads it.
type Manifest struct {
	TTL      int
	Reload   string   // RELOAD-URI, "" none
	Priority []string // PATHWAY-PRIORITY
	Clones   []ManifestClone
	Keys     []string // of the object, in order
}

// ManifestClone is one of PATHWAY-CLONES.
type ManifestClone struct {
	Base        string          `json:"BASE-ID"`
	ID          string          `json:"ID"`
	Replacement *URIReplacement `json:"URI-REPLACEMENT"`
}

// URIReplacement is what a clone changes of its base's URIs.
type URIReplacement struct {
	Host         *string           `json:"HOST"`
	Params       map[string]string `json:"PARAMS"`
	PerVariant   map[string]string `json:"PER-VARIANT-URIS"`
	PerRendition map[string]string `json:"PER-RENDITION-URIS"`
}

// First is the pathway that comes first.
func (m Manifest) First() string { return m.Priority[0] }

// Session is the session token that RELOAD-URI carries, "" none.
func (m Manifest) Session() string {
	_, query, _ := strings.Cut(m.Reload, "?")
	for _, pair := range strings.Split(query, "&") {
		if token, ok := strings.CutPrefix(pair, "pm_sid="); ok {
			return token
		}
	}
	return ""
}

var pathwayID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// ReadManifest reads a steering manifest and holds it to everything that some
// player needs, whatever the situation: no test has to ask for it again.
func ReadManifest(body string) (Manifest, error) {
	var m Manifest
	keys, values, err := members(body)
	if err != nil {
		return m, fmt.Errorf("steering manifest %.200q: %w", body, err)
	}
	m.Keys = keys
	fail := func(format string, args ...any) (Manifest, error) {
		return m, fmt.Errorf("steering manifest %.400s: %s", body, fmt.Sprintf(format, args...))
	}
	if string(values["VERSION"]) != "1" {
		return fail("VERSION is %s, expected the number 1", values["VERSION"])
	}
	if !regexp.MustCompile(`^[1-9]\d*$`).Match(values["TTL"]) || json.Unmarshal(values["TTL"], &m.TTL) != nil {
		return fail("TTL is %s, expected a positive integer", values["TTL"])
	}
	if raw, ok := values["RELOAD-URI"]; ok {
		if err := json.Unmarshal(raw, &m.Reload); err != nil || checkReload(m.Reload) != nil {
			return fail("RELOAD-URI: %v", errors.Join(err, checkReload(m.Reload)))
		}
	}
	if err := json.Unmarshal(values["PATHWAY-PRIORITY"], &m.Priority); err != nil || len(m.Priority) == 0 {
		return fail("PATHWAY-PRIORITY is %s, expected at least one string", values["PATHWAY-PRIORITY"])
	}
	seen := map[string]bool{}
	for _, id := range m.Priority {
		if !pathwayID.MatchString(id) || strings.Trim(id, ".") == "" || seen[id] {
			return fail("pathway %q is none or there twice", id)
		}
		seen[id] = true
	}
	if raw, ok := values["PATHWAY-CLONES"]; ok {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&m.Clones); err != nil || len(m.Clones) == 0 {
			return fail("PATHWAY-CLONES: %v, expected at least one clone", err)
		}
		if err := checkClones(m.Clones, m.Priority); err != nil {
			return fail("%v", err)
		}
	}
	return m, nil
}

// members reads the one JSON object that a text must be.
func members(text string) (keys []string, values map[string]json.RawMessage, err error) {
	if !strings.HasPrefix(text, "{") {
		return nil, nil, errors.New("does not begin with {")
	}
	values = map[string]json.RawMessage{}
	dec := json.NewDecoder(strings.NewReader(text))
	if _, err = dec.Token(); err != nil {
		return nil, nil, err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, nil, err
		}
		name, ok := key.(string)
		if _, twice := values[name]; !ok || twice {
			return nil, nil, fmt.Errorf("key %v is there twice", key)
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, nil, err
		}
		keys, values[name] = append(keys, name), raw
	}
	if _, err = dec.Token(); err != nil {
		return nil, nil, err
	}
	if _, err = dec.Token(); !errors.Is(err, io.EOF) {
		return nil, nil, errors.New("something follows the object")
	}
	return keys, values, nil
}

// checkReload holds a RELOAD-URI to what all players take.
func checkReload(reload string) error {
	u, err := url.Parse(reload)
	switch {
	case err != nil:
		return err
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "":
		return fmt.Errorf("%q is no absolute http or https URL", reload)
	case len(reload) > 2000:
		return fmt.Errorf("has %d bytes", len(reload))
	}
	for i := range len(reload) {
		if c := reload[i]; c <= ' ' || c > '~' || strings.IndexByte("\"<>\\^`{|}", c) >= 0 {
			return fmt.Errorf("%q has the byte 0x%02x", reload, c)
		}
	}
	for _, pair := range strings.Split(u.RawQuery, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		if strings.HasPrefix(name, "_HLS_") || strings.HasPrefix(name, "_DASH_") || name == "CMCD" {
			return fmt.Errorf("%q repeats what the player said", reload)
		}
	}
	return nil
}

// checkClones: every id is new and in the list, every base is known before it,
// and what is replaced can be.
func checkClones(clones []ManifestClone, priority []string) error {
	listed := map[string]bool{}
	for _, id := range priority {
		listed[id] = true
	}
	later := map[string]bool{}
	for _, c := range clones {
		if later[c.ID] {
			return fmt.Errorf("clone %q is there twice", c.ID)
		}
		later[c.ID] = true
	}
	for _, c := range clones {
		r := c.Replacement
		switch {
		case !listed[c.ID] || !listed[c.Base] || later[c.Base]:
			return fmt.Errorf("clone %q of %q: the ids are not in the list, or the base comes later", c.ID, c.Base)
		case r == nil:
			return fmt.Errorf("clone %q has no URI-REPLACEMENT", c.ID)
		case r.Host != nil && (*r.Host == "" || strings.ContainsAny(*r.Host, ":/@?# ")):
			return fmt.Errorf("clone %q has HOST %q", c.ID, *r.Host)
		}
		delete(later, c.ID)
		for _, uris := range []map[string]string{r.PerVariant, r.PerRendition} {
			for id, uri := range uris {
				if u, err := url.Parse(uri); err != nil || u.Host == "" || id == "" {
					return fmt.Errorf("clone %q has the URI %q for %q", c.ID, uri, id)
				}
			}
		}
	}
	return nil
}

// Steer asks the viewer listener for a steering manifest and fails the test
// unless that is a 200 with a good one.
func (p *Pointsman) Steer(path string, header ...string) Manifest {
	p.T.Helper()
	m, _ := p.SteerRaw(path, header...)
	return m
}

// SteerRaw is Steer with the answer.
func (p *Pointsman) SteerRaw(path string, header ...string) (Manifest, Response) {
	p.T.Helper()
	res := p.Get(path, header...)
	if res.StatusCode != http.StatusOK {
		p.T.Fatalf("%s: %d %.300s", path, res.StatusCode, res.Body)
	}
	m, err := ReadManifest(res.Body)
	if err != nil {
		p.T.Fatalf("%s: %v", path, err)
	}
	return m, res
}

// Again polls as a player does: RELOAD-URI with what it reports.
func (p *Pointsman) Again(m Manifest, report string, header ...string) Manifest {
	p.T.Helper()
	_, target, found := strings.Cut(m.Reload, "://")
	if i := strings.IndexByte(target, '/'); found && i >= 0 {
		target = target[i:]
	}
	if report != "" {
		target += "&" + report
	}
	return p.Steer(target, header...)
}
