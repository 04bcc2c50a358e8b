package farms_test

import (
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

func sound() farms.Spec {
	return farms.Spec{
		Servers: []farms.ServerSpec{
			{Name: "a", URL: "http://a.example/", HTTPSURL: "https://a.example/", StatusPath: "/"},
			{Name: "b", URL: "https://b.example/cdn", StatusPath: "/"},
		},
		Farms: []farms.FarmSpec{
			{Name: "f", Members: []farms.MemberSpec{{Server: "a", Weight: 1}, {Server: "b", Weight: 0}}},
			{Name: "g", Members: []farms.MemberSpec{{Server: "a", Weight: 2.5}}},
		},
		Locations: []farms.LocationSpec{{Farms: []string{"f", "g"}, Prefixes: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}}},
	}
}

func TestBuild(t *testing.T) {
	t.Parallel()
	spec := sound()
	table, err := farms.Build(&spec, 7)
	if err != nil {
		t.Fatal(err)
	}
	f, g := table.Farms[0], table.Farms[1]
	switch {
	case table.Generation != 7 || len(table.Servers) != 2 || len(table.Locations) != 1:
		t.Errorf("generation %d with %d servers and %d locations, expected 7 with 2 and 1", table.Generation, len(table.Servers), len(table.Locations))
	case f.Members[0].Server != g.Members[0].Server:
		t.Error("the same name in two farms is one server")
	case f.Members[0].Weight != farms.WeightScale || g.Members[0].Weight != 2.5*farms.WeightScale:
		t.Error("the weight belongs to the membership")
	case f.Members[0].LastResort || !f.Members[1].LastResort:
		t.Error("weight 0 is a last resort, and only that")
	case table.Locations[0].Name != "0":
		t.Errorf("a location without a name is known by its index, not by %q", table.Locations[0].Name)
	case table.Servers[0].URL != "http://a.example" || table.Servers[0].HTTPSURL != "https://a.example":
		t.Error("a base URL has no trailing slash")
	}
	for i, s := range table.Servers {
		if table.Server(s.ID) != s || s.Index != i {
			t.Errorf("server %s is not found by its id or has index %d", s.Name, s.Index)
		}
	}
	if table.Server(0) != nil {
		t.Error("there is a server with id 0")
	}
}

func TestBuildRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		spoil func(*farms.Spec)
		want  string // part of the message
	}{
		{"server_without_name", func(s *farms.Spec) { s.Servers[1].Name = "" }, "server 1"},
		{"server_name_twice", func(s *farms.Spec) { s.Servers[1].Name = "a" }, `"a"`},
		{"server_url", func(s *farms.Spec) { s.Servers[0].URL = "rtmp://a.example" }, `"rtmp://a.example"`},
		{"farm_without_servers", func(s *farms.Spec) { s.Farms[1].Members = nil }, `farm "g"`},
		{"farm_name_twice", func(s *farms.Spec) { s.Farms[1].Name = "f" }, `farm "f"`},
		{"farm_unknown_server", func(s *farms.Spec) { s.Farms[1].Members[0].Server = "x" }, `no server "x"`},
		{"farm_server_twice", func(s *farms.Spec) { s.Farms[0].Members[1].Server = "a" }, `server "a" is in it twice`},
		{"weight_negative", func(s *farms.Spec) { s.Farms[0].Members[0].Weight = -1 }, "weight -1"},
		{"weight_too_large", func(s *farms.Spec) { s.Farms[0].Members[0].Weight = farms.MaxWeight + 1 }, "weight 10001"},
		{"weight_no_number", func(s *farms.Spec) { s.Farms[0].Members[0].Weight = math.NaN() }, "weight NaN"},
		{"location_without_farms", func(s *farms.Spec) { s.Locations[0].Farms = nil }, "location 0"},
		{"location_unknown_farm", func(s *farms.Spec) { s.Locations[0].Farms[1] = "x" }, `no farm "x"`},
		{"location_farm_twice", func(s *farms.Spec) { s.Locations[0].Farms[1] = "f" }, "twice"},
		{"location_regex", func(s *farms.Spec) { s.Locations[0].URIRegex = "(" }, "location 0: uri_regex"},
		{"location_prefix", func(s *farms.Spec) { s.Locations[0].Prefixes = append(s.Locations[0].Prefixes, netip.Prefix{}) }, "location 0: ip_mask"},
		{"split_unknown_farm", func(s *farms.Spec) { s.Locations[0].Split = []farms.SplitSpec{{Farm: "x", Percent: 1}} }, `"x"`},
		{"split_negative", func(s *farms.Spec) { s.Locations[0].Split = []farms.SplitSpec{{Farm: "f", Percent: -1}} }, "-1 percent"},
		{"split_over_100", func(s *farms.Spec) {
			s.Locations[0].Split = []farms.SplitSpec{{Farm: "f", Percent: 60}, {Farm: "g", Percent: 60}}
		}, "120 percent"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			spec := sound()
			tc.spoil(&spec)
			if _, err := farms.Build(&spec, 1); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, expected one that says %s", err, tc.want)
			}
		})
	}
}

func TestServerBase(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ url, httpsURL, http, https string }{
		{"http://a", "", "http://a", ""},
		{"http://a", "https://a", "http://a", "https://a"},
		{"https://a", "", "https://a", "https://a"},
		{"https://a", "https://b", "https://a", "https://b"},
	} {
		s := farms.Server{URL: tc.url, HTTPSURL: tc.httpsURL}
		if got := s.Base(false); got != tc.http {
			t.Errorf("url %q https_url %q: an http viewer goes to %q, expected %q", tc.url, tc.httpsURL, got, tc.http)
		}
		if got := s.Base(true); got != tc.https {
			t.Errorf("url %q https_url %q: an https viewer goes to %q, expected %q", tc.url, tc.httpsURL, got, tc.https)
		}
	}
}

// TestEndpoint holds what ends health and facts: all that a probe sees, and
// nothing else.
func TestEndpoint(t *testing.T) {
	t.Parallel()
	endpoint := func(change func(*farms.ServerSpec)) farms.Endpoint {
		spec := sound()
		change(&spec.Servers[0])
		table, err := farms.Build(&spec, 1)
		if err != nil {
			t.Fatal(err)
		}
		return table.Servers[0].Endpoint
	}
	before := endpoint(func(*farms.ServerSpec) {})
	for name, change := range map[string]func(*farms.ServerSpec){
		"url":           func(s *farms.ServerSpec) { s.URL = "http://other.example" },
		"status_path":   func(s *farms.ServerSpec) { s.StatusPath = "/up" },
		"probe_query":   func(s *farms.ServerSpec) { s.ProbeQuery = "t=1" },
		"probe_headers": func(s *farms.ServerSpec) { s.ProbeHeaders = []farms.Header{{Name: "X-Token", Value: "1"}} },
	} {
		if endpoint(change) == before {
			t.Errorf("another %s is another endpoint", name)
		}
	}
	for name, change := range map[string]func(*farms.ServerSpec){
		"https_url":   func(s *farms.ServerSpec) { s.HTTPSURL = "" },
		"state":       func(s *farms.ServerSpec) { s.State = farms.StateDisabled },
		"drain_until": func(s *farms.ServerSpec) { s.DrainUntil = now().Add(time.Hour) },
		"last_resort": func(s *farms.ServerSpec) { s.LastResort = true },
		"tags":        func(s *farms.ServerSpec) { s.Tags = map[string]string{"site": "fra1"} },
	} {
		if endpoint(change) != before {
			t.Errorf("another %s changes nothing that a probe sees", name)
		}
	}
}

// TestWords holds the strings that are an interface: logs, metrics and the
// admin API are read by other people's programs.
func TestWords(t *testing.T) {
	t.Parallel()
	var reasons, whys []string
	for _, r := range farms.Reasons() {
		reasons = append(reasons, r.String())
	}
	for _, w := range farms.Whys() {
		whys = append(whys, w.String())
	}
	for _, tc := range []struct{ what, got, beginsWith string }{
		{"reasons", strings.Join(reasons, " "), "ok bad_request uri_too_long method_not_allowed unknown_host unknown_path no_location farm_down busy off_air content_missing preflight"},
		{"whys", strings.Join(whys, " "), "chosen kept not_picked not_needed disabled draining down scheme family absent ended guarded stale trouble unanswered frozen warming over_bound last_resort avoided"},
		{"policies", strings.Join(farms.PolicyNames(), " "), "first_response content_id weight share"},
		{"protocols", farms.ProtocolOther.String() + " " + farms.ProtocolHLS.String() + " " + farms.ProtocolDASH.String() + " " + farms.ProtocolSmooth.String() + " " + farms.ProtocolMPEGTS.String(), "other hls dash mss mpegts"},
		{"kinds", farms.KindLive.String() + " " + farms.KindVoD.String() + " " + farms.KindChild.String(), "live vod child"},
	} {
		if !strings.HasPrefix(tc.got+" ", tc.beginsWith+" ") {
			t.Errorf("%s: %q, expected words to be appended only, never renamed: %q", tc.what, tc.got, tc.beginsWith)
		}
	}
	for _, s := range []farms.State{farms.StateEnabled, farms.StateDraining, farms.StateDisabled} {
		if back, ok := farms.ParseState(s.String()); !ok || back != s {
			t.Errorf("state %s is read back as %s, %v", s, back, ok)
		}
	}
	for _, p := range []farms.Presence{farms.Unasked, farms.Present, farms.Absent, farms.Guarded, farms.Trouble} {
		if back, ok := farms.ParsePresence(p.String()); !ok || back != p {
			t.Errorf("presence %s is read back as %s, %v", p, back, ok)
		}
	}
	for _, name := range farms.PolicyNames() {
		if back, ok := farms.ParsePolicy(name); !ok || back.String() != name {
			t.Errorf("policy %s is read back as %s, %v", name, back, ok)
		}
	}
	if _, ok := farms.ParsePolicy("fastest"); ok || farms.Policy(99).String() != "invalid" {
		t.Error("a word or a value out of the enum is accepted")
	}
}
