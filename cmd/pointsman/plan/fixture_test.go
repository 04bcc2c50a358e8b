package plan

import (
	"fmt"
	"hash/fnv"
	"iter"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

func now() time.Time { return time.Date(2026, 7, 1, 20, 0, 0, 0, time.UTC) }

func options(viewers int) Options { return Options{Viewers: viewers, Workers: 2, Now: now()} }

// network is a configuration in lines: "farm NAME POLICY SERVER…" and "location
// NAME PREFIX FARM…". A server is NAME with words behind it: w3, last, disabled,
// draining, site:X, url:X; a policy may have /bound1.25 behind it; a farm of a
// location may have =PERCENT behind it, and "re:EXPR", "host:X" and "fallback" are
// the location's.
func network(t testing.TB, lines ...string) *farms.Spec {
	t.Helper()
	spec := &farms.Spec{Rules: farms.Rules{Sticky: time.Minute}}
	known := map[string]bool{}
	for _, line := range lines {
		words := strings.Fields(line)
		if words[0] == "location" {
			spec.Locations = append(spec.Locations, locationSpec(t, words[1:]))
			continue
		}
		policy, bound, _ := strings.Cut(words[2], "/bound")
		f := farms.FarmSpec{Name: words[1]}
		var ok bool
		if f.Policy, ok = farms.ParsePolicy(policy); !ok {
			t.Fatalf("%q is no policy", policy)
		}
		f.BoundedLoad, _ = strconv.ParseFloat(bound, 64)
		for _, word := range words[3:] {
			server, weight := serverSpec(t, word)
			if !known[server.Name] {
				known[server.Name] = true
				spec.Servers = append(spec.Servers, server)
			}
			f.Members = append(f.Members, farms.MemberSpec{Server: server.Name, Weight: weight})
		}
		spec.Farms = append(spec.Farms, f)
	}
	return spec
}

func serverSpec(t testing.TB, text string) (s farms.ServerSpec, weight float64) {
	t.Helper()
	words := strings.Split(text, ",")
	s, weight = farms.ServerSpec{Name: words[0], URL: "http://" + words[0] + ".example", StatusPath: "/"}, 1
	for _, w := range words[1:] {
		switch key, value, _ := strings.Cut(w, ":"); {
		case key == "last":
			s.LastResort = true
		case key == "disabled":
			s.State = farms.StateDisabled
		case key == "draining":
			s.State = farms.StateDraining
		case key == "site":
			s.Tags = map[string]string{"site": value}
		case key == "url":
			s.URL = "http://" + value
		case key[0] == 'w':
			var err error
			if weight, err = strconv.ParseFloat(key[1:], 64); err != nil {
				t.Fatal(err)
			}
		default:
			t.Fatalf("server %s: what is %q?", s.Name, w)
		}
	}
	return s, weight
}

func locationSpec(t testing.TB, words []string) farms.LocationSpec {
	t.Helper()
	l := farms.LocationSpec{Name: words[0]}
	for _, p := range strings.Split(words[1], ",") {
		l.Prefixes = append(l.Prefixes, netip.MustParsePrefix(p))
	}
	for _, w := range words[2:] {
		if expr, ok := strings.CutPrefix(w, "re:"); ok {
			l.URIRegex = expr
			continue
		}
		if host, ok := strings.CutPrefix(w, "host:"); ok {
			l.Hosts = append(l.Hosts, host)
			continue
		}
		if w == "fallback" {
			l.FallbackURL = "http://fallback.example"
			continue
		}
		name, percent, split := strings.Cut(w, "=")
		l.Farms = append(l.Farms, name)
		if split {
			n, err := strconv.ParseFloat(percent, 64)
			if err != nil {
				t.Fatal(err)
			}
			l.Split = append(l.Split, farms.SplitSpec{Farm: name, Percent: n})
		}
	}
	return l
}

// newTestSide builds a table; requests are read in a simple way: the channel is
// the path's last folder, the session is the User-Agent.
func newTestSide(t testing.TB, spec *farms.Spec) Side {
	t.Helper()
	table, err := farms.Build(spec, 1)
	if err != nil {
		t.Fatal(err)
	}
	return Side{Table: table, Place: func(v *Viewer) Place {
		path, _, _ := strings.Cut(v.Target, "?")
		l := table.Locate(v.Addr, v.Host, path)
		if l == nil {
			return Place{Reason: farms.ReasonNoLocation}
		}
		folders := strings.Split(path, "/")
		h := fnv.New64a()
		_, _ = h.Write([]byte(v.UserAgent))
		reach := farms.ReachV4
		if v.Addr.Is6() {
			reach = farms.ReachV6
		}
		return Place{Location: l, Channel: folders[max(len(folders)-2, 0)], Session: h.Sum64(), Reach: reach}
	}}
}

// crowd is a population of n viewers in 10.0.0.0/8, each a session of his own, on
// channels that are watched alike.
func crowd(n, channels int) iter.Seq[Viewer] {
	return func(yield func(Viewer) bool) {
		for i := range n {
			if !yield(Viewer{
				Addr: netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), UserAgent: fmt.Sprint("viewer ", i),
				Target: fmt.Sprintf("/ch%d/index.m3u8", i%channels),
			}) {
				return
			}
		}
	}
}

// failure returns the failure of this kind and name.
func failure(t testing.TB, r *Report, kind, name string) *Failure {
	t.Helper()
	for i := range r.Failures {
		if f := &r.Failures[i]; f.Kind == kind && f.Name == name {
			return f
		}
	}
	t.Fatalf("the report has no failure of %s %s", kind, name)
	return nil
}

// carried is what servers carry while nothing fails, by name.
func carried(r *Report) map[string]int {
	out := map[string]int{}
	for i := range r.Servers {
		out[r.Servers[i].Name] = r.Servers[i].Viewers
	}
	return out
}
