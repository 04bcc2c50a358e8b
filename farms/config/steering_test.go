package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman-tv/pointsman/farms"
)

// steered is minimal with two farms, each of one server, and a steering section
// that gives no reason for a warning but those servers'.
func steered(t *testing.T, steering string) string {
	t.Helper()
	text := change(t, `"farms": [{"name": "a", "servers": [{"url": "http://192.0.2.1"}, {"url": "http://192.0.2.2"}]}]`,
		`"farms": [{"name": "a", "servers": [{"url": "http://192.0.2.1", "name": "a1"}]}, {"name": "b", "servers": [{"url": "http://192.0.2.2", "name": "b1"}]}]`)
	text = strings.Replace(text, `"farms": ["a"]`, `"farms": ["a", "b"]`, 1)
	return `{"core": {"hosts": ["tv.example"], "state_dir": "state"}, "steering": ` + steering + `, ` + strings.TrimPrefix(text, "{")
}

// besides returns the findings other than those about farms of one server.
func besides(findings []Finding) []string {
	var out []string
	for _, s := range texts(findings) {
		if !strings.HasSuffix(s, "takes its place") {
			out = append(out, s)
		}
	}
	return out
}

func TestSteeringIsOffUnlessSaid(t *testing.T) {
	t.Parallel()
	d, findings := parse(change(t, `"name": "a",`, `"name": "a", "pathway": "north", "public_url": "http://north.example/",`), nil)
	if d == nil || len(findings) > 0 {
		t.Fatal(texts(findings))
	}
	if d.Steering != nil || Default().Steering != nil {
		t.Error("steering is on without its section")
	}
	spec := d.Spec()
	if f := spec.Farms[0]; f.Pathway != "north" || f.PublicURL != "http://north.example" || spec.PathwayPerServer {
		t.Errorf("the spec has pathway %q, public URL %q, a pathway per server %v", f.Pathway, f.PublicURL, spec.PathwayPerServer)
	}
}

func TestSteeringDefaults(t *testing.T) {
	t.Parallel()
	d, findings := parse(steered(t, `{"_note": "all defaults", "feedback": {"low_bps": 1}}`), nil)
	if d == nil || len(besides(findings)) > 0 {
		t.Fatal(texts(findings))
	}
	want := &Steering{
		Path: "/steering", TTL: 5 * time.Minute, DegradedTTL: 30 * time.Second, MinTTL: 2 * time.Second, MaxTTL: time.Hour,
		Jitter: 0.1, ContentType: "application/vnd.apple.steering-list", Level: SteerFarms,
		Feedback: &Feedback{LowBPS: 1, Polls: 2, Dwell: time.Minute}, KeysFile: "conf/state/steering.keys", DeadlineMS: 300,
	}
	if diff := cmp.Diff(want, d.Steering); diff != "" {
		t.Error(diff)
	}
	if got := d.Steering.Deadline(); got != 300*time.Millisecond {
		t.Errorf("the deadline is %v, expected 300ms", got)
	}
}

func TestSteeringKeys(t *testing.T) {
	t.Parallel()
	d, findings := parse(string(readFile(t, "testdata/steering.json")), nil)
	if d == nil || len(findings) > 0 {
		t.Fatal(texts(findings))
	}
	want := &Steering{
		Path: "/hls/steer", PublicURL: "https://tv.example:8443", TTL: 2 * time.Minute, DegradedTTL: 10 * time.Second, MinTTL: 5 * time.Second, MaxTTL: 10 * time.Minute,
		ContentType: "application/json", Level: SteerFarms, Decorate: true,
		Feedback: &Feedback{LowBPS: 1_500_000, Polls: 3, Dwell: 90500 * time.Millisecond},
		Clones: []Clone{
			{Base: "north", ID: "north-2", Host: "two.cdn.example", Params: map[string]string{"a": "", "b": "2%203"}, Locations: []string{"home", "1"}},
			{
				Base: "north-2", ID: "north-3", Locations: []string{"1"},
				PerVariantURIs:   map[string]string{"v/1+=": "https://three.cdn.example/v1.m3u8?t=1"},
				PerRenditionURIs: map[string]string{"a.1": "https://three.cdn.example/a1.m3u8"},
			},
		},
		Retired: []string{"old/one", "old two"}, KeysFile: "conf/keys/ring", DeadlineMS: 150,
	}
	if diff := cmp.Diff(want, d.Steering); diff != "" {
		t.Error(diff)
	}
	table, err := farms.Build(d.Spec(), 1)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range table.Pathways {
		got = append(got, p.ID+" "+p.Base(false))
	}
	if diff := cmp.Diff([]string{"north https://north.example/tv", "south http://south.example:8080"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestServersArePathways has a server in two farms and a farm without an address
// of its own, neither of which matters then.
func TestServersArePathways(t *testing.T) {
	t.Parallel()
	text := strings.Replace(steered(t, `{"level": "server", "clones": [{"base": "a1", "id": "a", "host": "c.example", "locations": ["0"]}]}`),
		`"name": "b1"}`, `"name": "b1"}, {"url": "http://192.0.2.1", "name": "a1"}`, 1)
	d, findings := parse(text, nil)
	if d == nil || len(besides(findings)) > 0 {
		t.Fatal(texts(findings))
	}
	table, err := farms.Build(d.Spec(), 1)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range table.Pathways {
		got = append(got, p.ID)
	}
	if diff := cmp.Diff([]string{"a1", "b1"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestSteeringRefusals(t *testing.T) {
	t.Parallel()
	core := func(text, object string) string {
		return strings.Replace(text, `"core": {`, `"core": {`+object+`, `, 1)
	}
	uriPath := func(text, path string) string {
		return strings.Replace(text, `"uri_path": "/"`, `"uri_path": "`+path+`"`, 1)
	}
	for _, tc := range []struct{ name, text, want string }{
		{"not_an_object", steered(t, `true`), `error steering: is a boolean true, expected an object`},
		{"path_root", steered(t, `{"path": "/"}`), `error steering.path: has 1 bytes, expected 2 to 256`},
		{"path_slash", steered(t, `{"path": "/s/"}`), `error steering.path: is "/s/", which ends with /; expected a path such as /steering`},
		{"path_query", steered(t, `{"path": "/s?a"}`), `error steering.path: is "/s?a", which has a character '?' that a URL path cannot hold; expected a path such as /steering`},
		{"path_dots", steered(t, `{"path": "/s/.."}`), `error steering.path: is "/s/..", which has a dot segment; expected a path such as /steering`},
		{"path_health", steered(t, `{"path": "/.pointsman/health"}`), `error steering.path: is "/.pointsman/health", which is not apart from core.health_path "/.pointsman/health"; expected neither within the other`},
		{"path_above_health", steered(t, `{"path": "/.pointsman"}`), `error steering.path: is "/.pointsman", which is not apart from core.health_path "/.pointsman/health"; expected neither within the other`},
		{"path_below_health", steered(t, `{"path": "/.pointsman/health/s"}`), `error steering.path: is "/.pointsman/health/s", which is not apart from core.health_path "/.pointsman/health"; expected neither within the other`},
		{"health_below_default", core(steered(t, `{}`), `"health_path": "/steering/health/"`), `error steering.path: is absent, which means "/steering", which is not apart from core.health_path "/steering/health"; expected neither within the other`},
		{"path_is_uri_path", uriPath(steered(t, `{"path": "/hls"}`), "/hls/"), `error steering.path: is "/hls", which takes every request under redirection.uri_path "/hls"; expected another path`},
		{"path_above_uri_path", uriPath(steered(t, `{}`), "/steering/hls"), `error steering.path: is absent, which means "/steering", which takes every request under redirection.uri_path "/steering/hls"; expected another path`},
		{"path_is_uri_path_by_name_only", uriPath(steered(t, `{"path": "/hls2"}`), "/hls"), ``},
		{"public_url_scheme", steered(t, `{"public_url": "tv.example"}`), `error steering.public_url: has no scheme, expected http:// or https://`},
		{"public_url_path", steered(t, `{"public_url": "https://tv.example/x/"}`), `error steering.public_url: has a path, expected scheme, host and port only; the path is steering.path`},
		{"public_url_query", steered(t, `{"public_url": "https://tv.example?x"}`), `error steering.public_url: has a query, expected none`},
		{"ttl_zero", steered(t, `{"ttl_sec": 0}`), `error steering.ttl_sec: is 0, expected 1 to 86400`},
		{"ttl_fraction", steered(t, `{"ttl_sec": 2.5}`), `error steering.ttl_sec: is 2.5, expected whole seconds; the TTL of a steering manifest is an integer`},
		{"ttl_below_default_min", steered(t, `{"ttl_sec": 1}`), `error steering.ttl_sec: is 1, less than min_ttl_sec, which is 2`},
		{"ttl_above_default_max", steered(t, `{"ttl_sec": 3601}`), `error steering.ttl_sec: is 3601, more than max_ttl_sec, which is 3600`},
		{"ttl_above_max", steered(t, `{"ttl_sec": 101, "max_ttl_sec": 100}`), `error steering.ttl_sec: is 101, more than max_ttl_sec, which is 100`},
		{"min_above_ttl", steered(t, `{"ttl_sec": 29, "min_ttl_sec": 30}`), `error steering.min_ttl_sec: is 30, more than ttl_sec, which is 29`},
		{"min_above_default_degraded", steered(t, `{"min_ttl_sec": 31}`), `error steering.min_ttl_sec: is 31, more than degraded_ttl_sec, which is 30`},
		{"max_below_default_ttl", steered(t, `{"max_ttl_sec": 299}`), `error steering.max_ttl_sec: is 299, less than ttl_sec, which is 300`},
		{"degraded_above_max", steered(t, `{"degraded_ttl_sec": 3601}`), `error steering.degraded_ttl_sec: is 3601, more than max_ttl_sec, which is 3600`},
		{"degraded_below_min", steered(t, `{"degraded_ttl_sec": 1}`), `error steering.degraded_ttl_sec: is 1, less than min_ttl_sec, which is 2`},
		{"min_above_max", steered(t, `{"min_ttl_sec": 400, "max_ttl_sec": 300}`), `error steering.min_ttl_sec: is 400, more than max_ttl_sec, which is 300`},
		{"all_ttls_one", steered(t, `{"ttl_sec": 1, "degraded_ttl_sec": 1, "min_ttl_sec": 1, "max_ttl_sec": 1}`), ``},
		{"jitter", steered(t, `{"jitter": 0.51}`), `error steering.jitter: is 0.51, expected 0 to 0.5`},
		{"content_type_parameter", steered(t, `{"content_type": "application/json;charset=utf-8"}`), `error steering.content_type: is "application/json;charset=utf-8", expected a media type without parameters such as application/json`},
		{"content_type_slashes", steered(t, `{"content_type": "a/b/c"}`), `error steering.content_type: is "a/b/c", expected a media type without parameters such as application/json`},
		{"feedback_nothing", steered(t, `{"feedback": {}}`), `error steering.feedback.low_bps: is missing, expected the bits a second below which a report is low`},
		{"feedback_zero", steered(t, `{"feedback": {"low_bps": 0}}`), `error steering.feedback.low_bps: is 0, expected 1 to 1000000000000`},
		{"feedback_word", steered(t, `{"feedback": "off"}`), `error steering.feedback: is a string "off", expected an object`},
		{"too_many_clones", steered(t, `{"clones": [`+strings.Repeat(`{},`, 32)+`{}]}`), `error steering.clones: has 33 entries, expected at most 32`},
		{"too_many_params", steered(t, `{"clones": [{"base": "a", "id": "c", "params": {`+numbered(17)+`}, "locations": ["0"]}]}`), `error steering.clones[0].params: has 17 entries, expected at most 16`},
		{"clone_of_server_pathway", steered(t, `{"level": "server", "clones": [{"base": "a", "id": "c", "host": "c.example", "locations": ["0"]}]}`), `error steering.clones[0].base: is "a", which is neither a pathway nor a clone before this one`},
		{"clone_of_unreadable_pathways", strings.Replace(steered(t, `{"clones": [{"base": "x", "id": "c", "host": "c.example", "locations": ["0"]}]}`), `"name": "b",`, `"name": "b", "pathway": 1,`, 1), `error redirection.farms[1].pathway: is a number 1, expected a string`},
		{"clone_in_unreadable_locations", strings.Replace(steered(t, `{"clones": [{"base": "a", "id": "c", "host": "c.example", "locations": ["x"]}]}`), `"ip_mask"`, `"name": 1, "ip_mask"`, 1), `error redirection.locations[0].name: is a number 1, expected a string`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d, findings := parse(tc.text, nil)
			var want []string
			if tc.want != "" {
				want = []string{tc.want}
			}
			if diff := cmp.Diff(want, besides(findings)); diff != "" {
				t.Error(diff)
			}
			if (d == nil) != (tc.want != "") {
				t.Errorf("the document is accepted: %v", d != nil)
			}
		})
	}
}

// numbered returns n members of a JSON object.
func numbered(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`"p%d": ""`, i))
	}
	return strings.Join(list, ", ")
}

func TestSteeringWarnings(t *testing.T) {
	t.Parallel()
	with := func(text, from, to string) string {
		if strings.Count(text, from) != 1 {
			t.Fatalf("%q is not once in %s", from, text)
		}
		return strings.Replace(text, from, to, 1)
	}
	var many, names []string
	for i := range farms.MaxPathways + 1 {
		many = append(many, fmt.Sprintf(`{"name": "f%d", "servers": [{"url": "http://198.51.100.%d", "name": "s%d"}]}`, i, i, i))
		names = append(names, fmt.Sprintf(`"f%d"`, i))
	}
	manyFarms := func(steering string, n int) string {
		text := with(steered(t, steering), `"farms": ["a", "b"]`, `"farms": [`+strings.Join(names[:n], ", ")+`]`)
		before, after, _ := strings.Cut(text, `"farms": [{`)
		_, after, _ = strings.Cut(after, `"locations"`)
		return before + `"farms": [` + strings.Join(many[:n], ", ") + `], "locations"` + after
	}
	const clone = `"clones": [{"base": "a", "id": "c", "host": "c.example", "locations": ["0"]}]`
	twoLocations := func(steering string) string {
		return with(steered(t, steering), `"locations": [{`, `"locations": [{"name": "home", "farms": ["b"], "ip_mask": "10.0.0.0/8"}, {`)
	}
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"none", steered(t, `{}`), nil},
		{"any_host", with(steered(t, `{}`), `"hosts": ["tv.example"], `, ``), []string{
			`warning steering.public_url: is missing and core.hosts is empty, so that RELOAD-URI carries whatever Host a viewer sends; expected one of them`,
		}},
		{"any_host_said", with(steered(t, `{"public_url": "https://tv.example", "decorate": true}`), `"hosts": ["tv.example"], `, ``), nil},
		{"host_of_others", steered(t, `{"public_url": "https://steer.example"}`), []string{
			`warning steering.public_url: has the host "steer.example", which is not in core.hosts, so that players who ask there again get 421 unknown_host`,
		}},
		{"passing_keys", with(steered(t, `{}`), `, "state_dir": "state"`, ``), []string{
			`warning steering.keys_file: is missing and so is core.state_dir, so that keys are made anew at every start: all sessions are then new, and a second instance takes none of ours`,
		}},
		{"keys_file", with(steered(t, `{"keys_file": "k"}`), `, "state_dir": "state"`, ``), nil},
		{"one_pathway", manyFarms(`{}`, 1), []string{
			`warning redirection.locations[0]: has one pathway, so that there is nothing to steer; expected several farms, or steering.level "server" with several servers`,
		}},
		{"one_server", with(steered(t, `{"level": "server"}`), `{"url": "http://192.0.2.2", "name": "b1"}`, `{"url": "http://192.0.2.1", "name": "a1"}`), []string{
			`warning redirection.locations[0]: has one pathway, so that there is nothing to steer; expected several farms, or steering.level "server" with several servers`,
		}},
		{"sixteen_pathways", manyFarms(`{}`, farms.MaxPathways), nil},
		{"many_pathways", manyFarms(`{}`, farms.MaxPathways+1), []string{
			`warning redirection.locations[0]: has more than 16 pathways, of which a steering manifest lists the best 16`,
		}},
		{"many_servers", manyFarms(`{"level": "server"}`, farms.MaxPathways+1), []string{
			`warning redirection.locations[0]: has more than 16 pathways, of which a steering manifest lists the best 16`,
		}},
		{"clone_beside_one", with(twoLocations(`{"clones": [{"base": "b", "id": "c", "host": "c.example", "locations": ["home"]}]}`), `"ip_mask": "10.0.0.0/8"`, `"ip_mask": "10.0.0.0/8", "uri_regex": "x"`), nil},
		{"clone", steered(t, `{`+clone+`}`), nil},
		{"clone_of_another_location", with(twoLocations(`{"clones": [{"base": "a", "id": "c", "host": "c.example", "locations": ["home", "1"]}, {"base": "c", "id": "d", "host": "d.example", "locations": ["home"]}]}`), `"ip_mask": "10.0.0.0/8"`, `"ip_mask": "10.0.0.0/8", "uri_regex": "x"`), []string{
			`warning steering.clones[0].base: is "a", which location "home" does not use, so that its players may know no such pathway to copy`,
		}},
		{"keys_of_the_other_level", with(steered(t, `{"level": "server"}`), `"name": "a",`, `"name": "a", "pathway": "n", "public_url": "http://n.example",`), []string{
			`warning redirection.farms[0].pathway: has no effect while steering.level is "server"`,
			`warning redirection.farms[0].public_url: has no effect while steering.level is "server"`,
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d, findings := parse(tc.text, nil)
			if d == nil {
				t.Errorf("the document is refused")
			}
			if diff := cmp.Diff(tc.want, besides(findings)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPathwayThatHTTPSViewersCannotUse has a farm whose servers do https while
// the address that stands for them does not.
func TestPathwayThatHTTPSViewersCannotUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeCertificate(t, dir)
	text := steered(t, `{}`)
	for _, change := range [][2]string{
		{`"core": {`, `"core": {"tls": {"port": 9443, "certificates": [{"cert_file": "cert.pem", "key_file": "key.pem"}]}, `},
		{`"http://192.0.2.1"`, `"https://192.0.2.1"`},
		{`"http://192.0.2.2"`, `"https://192.0.2.2"`},
		{`"name": "b",`, `"name": "b", "public_url": "http://b.example",`},
	} {
		text = strings.Replace(text, change[0], change[1], 1)
	}
	_, findings := Parse(Source{Data: []byte(text), Dir: dir})
	want := []string{`warning redirection.farms[1].public_url: is http, so that https viewers, whom core.tls lets in, cannot use the pathway`}
	if diff := cmp.Diff(want, besides(findings)); diff != "" {
		t.Error(diff)
	}
}
