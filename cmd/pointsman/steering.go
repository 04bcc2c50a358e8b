package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/farms/config"
	"github.com/pointsman-tv/pointsman/probe/fetch"
	"github.com/pointsman-tv/pointsman/redirector"
	"github.com/pointsman-tv/pointsman/steering"
)

// steeringSettings are the document's settings of content steering, nil when it
// is off.
func steeringSettings(doc *config.Document, ring *steering.Ring) *redirector.SteeringSettings {
	s := doc.Steering
	if s == nil {
		return nil
	}
	set := &redirector.SteeringSettings{
		Path: s.Path, PublicURL: s.PublicURL, ContentType: s.ContentType, Deadline: s.Deadline(), Decorate: s.Decorate, Ring: ring,
		TTL:     steering.TTLRules{TTL: s.TTL, Degraded: s.DegradedTTL, Min: s.MinTTL, Max: s.MaxTTL, Jitter: s.Jitter},
		Retired: make(map[string]bool, len(s.Retired)),
	}
	for _, channel := range s.Retired {
		set.Retired[channel] = true
	}
	if f := s.Feedback; f != nil {
		set.Feedback = steering.FeedbackRules{LowBPS: int64(f.LowBPS), Polls: f.Polls, Dwell: f.Dwell}
	}
	for i := range s.Clones {
		c := &s.Clones[i]
		clone := redirector.SteeringClone{
			Clone: steering.Clone{
				Base: c.Base, ID: c.ID, Host: c.Host,
				Params: members(c.Params), PerVariant: members(c.PerVariantURIs), PerRendition: members(c.PerRenditionURIs),
			},
			Locations: make(map[string]bool, len(c.Locations)),
		}
		for _, name := range c.Locations {
			clone.Locations[name] = true
		}
		set.Clones = append(set.Clones, clone)
	}
	return set
}

// members lists an object by key, in code-point order, in which players are to
// apply parameters.
func members(m map[string]string) []steering.KeyValue {
	var out []steering.KeyValue
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = append(out, steering.KeyValue{Key: key, Value: m[key]})
	}
	return out
}

// keyRing returns the keys that sign sessions. Where nothing is kept, and for
// commands that only explain, they are made anew.
func (c *core) keyRing(doc *config.Document) (*steering.Ring, error) {
	if doc.Steering == nil {
		return nil, nil
	}
	if c.keep && doc.Steering.KeysFile != "" {
		return steering.LoadOrCreate(doc.Steering.KeysFile, rand.Reader)
	}
	if c.ownKeys == nil {
		key := make([]byte, steering.MinKey)
		_, _ = rand.Read(key) // it never fails
		ring, err := steering.NewRing([][]byte{key})
		if err != nil {
			return nil, err
		}
		c.ownKeys = ring
	}
	return c.ownKeys, nil
}

// manifests fetches what steering.decorate decorates. The operator's own token is
// not sent: it would open to everybody what the server shows to some.
type manifests struct{ client *fetch.Client }

// Fetch implements redirector.Fetcher.
func (m manifests) Fetch(ctx context.Context, url, client string, most int64) (redirector.Fetched, error) {
	return getManifest(ctx, m.client, fetch.Request{
		URL: url, Headers: []farms.Header{{Name: "X-Forwarded-For", Value: client}}, MaxBody: most,
	})
}

// getManifest gets a playlist; anything else than a 200 is an error.
func getManifest(ctx context.Context, client *fetch.Client, r fetch.Request) (redirector.Fetched, error) {
	res, err := client.Get(ctx, r)
	if err != nil {
		return redirector.Fetched{}, err
	}
	if res.Status != http.StatusOK {
		return redirector.Fetched{}, fmt.Errorf("it answered %d", res.Status)
	}
	kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		kind = ""
	}
	return redirector.Fetched{Body: res.Body, URL: res.URL, ContentType: kind}, nil
}
