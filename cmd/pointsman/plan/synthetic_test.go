package plan

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestSampleOf(t *testing.T) {
	t.Parallel()
	for _, expr := range []string{
		"^/vod/", "^/(live|vod)/[^/]+/", `\.mpd$`, "/x{3,5}/", "[0-9]+", `^/[[:alpha:]]*news(?:/hd)?`, "(?i)/LIVE/", `^/a.b/`, "^/m\u00fcnchen/",
	} {
		if s := sampleOf(expr); !regexp.MustCompile(expr).MatchString(s) {
			t.Errorf("%q does not match %q", s, expr)
		}
	}
	for _, expr := range []string{"", "(", "^$"} {
		if s := sampleOf(expr); s != "" {
			t.Errorf("sample of %q is %q, expected none", expr, s)
		}
	}
	if s := sampleOf("(((a{1000}){1000}"); s != "" {
		t.Errorf("a sample of %d bytes of an expression that is refused", len(s))
	}
	if s := sampleOf("(?:a{500}){2}b{900}"); len(s) > 2*maxSample {
		t.Errorf("a sample of %d bytes", len(s))
	}
}

// Each location gets as many viewers as any other, and none of another's.
func TestSynthetic(t *testing.T) {
	t.Parallel()
	spec := network(t,
		"farm main share a",
		"location host 0.0.0.0/0 host:tv.example main", "location wide 0.0.0.0/0,::/0 main", "location inner 10.0.0.0/8,2001:db8::/32 main", "location vod 0.0.0.0/0,::/0 re:^/vod/ main",
		"location dash 10.0.0.0/8 re:\\.mpd$ main", "location exact 0.0.0.0/0 re:^/one/path$ main",
		"location never 10.0.0.0/8 re:a\\bb main", "location hidden 10.0.0.0/8 main",
	)
	side := newTestSide(t, spec)
	population, notes := Synthetic(spec, side, SyntheticOptions{Viewers: 6000, Channels: 5, SessionKey: "sid", URIPath: ""})
	if got := strings.Join(notes, "\n"); len(notes) != 2 || !strings.Contains(got, `"never"`) || !strings.Contains(got, `"hidden"`) {
		t.Errorf("notes %q", notes)
	}
	got := map[string]int{}
	v6 := map[string]int{}
	sessions := map[string]bool{}
	for v := range population {
		l := side.Place(&v).Location
		if l == nil {
			t.Fatalf("%+v is in no location", v)
		}
		got[l.Name]++
		if v.Addr.Is6() {
			v6[l.Name]++
		}
		sessions[v.Target] = true
	}
	each := 6000 / (len(spec.Locations) - len(notes))
	for _, name := range []string{"wide", "inner", "vod", "dash", "exact", "host"} {
		if got[name] < each-1 || got[name] > each+1 {
			t.Errorf("location %s has %d viewers, expected %d: %v", name, got[name], each, got)
		}
	}
	for _, name := range []string{"wide", "inner", "vod"} {
		if v6[name] < each*4/10 || v6[name] > each*6/10 {
			t.Errorf("location %s: %d of %d viewers come by IPv6, expected half", name, v6[name], each)
		}
	}
	if len(sessions) != 6000 {
		t.Errorf("%d sessions, expected 6000", len(sessions))
	}
	again, _ := Synthetic(spec, side, SyntheticOptions{Viewers: 6000, Channels: 5, SessionKey: "sid"})
	if !slices.Equal(slices.Collect(population), slices.Collect(again)) {
		t.Error("the same viewers do not come again")
	}
}

// The n-th channel is watched 1/n as much as the first.
func TestZipf(t *testing.T) {
	t.Parallel()
	spec := network(t, "farm main share a", everybody)
	population, _ := Synthetic(spec, newTestSide(t, spec), SyntheticOptions{Viewers: 50_000, Channels: 4})
	got := map[string]int{}
	for v := range population {
		got[v.Channel]++
	}
	for i, name := range []string{"ch1", "ch2", "ch3", "ch4"} {
		want := 50_000 / float64(i+1) / (1 + 1./2 + 1./3 + 1./4)
		if math.Abs(float64(got[name])-want) > 0.03*want {
			t.Errorf("%s is watched by %d, expected %.0f", name, got[name], want)
		}
	}
	if len(got) != 4 {
		t.Errorf("%d channels: %v", len(got), got)
	}
}
