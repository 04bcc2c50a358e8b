package test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/test/rig"
)

var commandNames = []string{"serve", "check", "explain", "decorate", "plan", "demo", "version"}

func TestCLIUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		args   []string
		status int
		out    string // standard output holds it
		errs   string // standard error holds it
	}{
		{"alone", nil, 0, "usage: pointsman COMMAND", ""},
		{"help", []string{"help"}, 0, "usage: pointsman COMMAND", ""},
		{"one_dash_h", []string{"-h"}, 0, "usage: pointsman COMMAND", ""},
		{"two_dashes_help", []string{"--help"}, 0, "usage: pointsman COMMAND", ""},
		{"unknown_command", []string{"frobnicate"}, 2, "", `no command "frobnicate"`},
		{"unknown_command_of_control_bytes", []string{"\x1b[2J\n"}, 2, "", `"\x1b[2J\n"`},
		{"unknown_flag", []string{"check", "-frobnicate"}, 2, "", "frobnicate"},
		{"flag_for_a_command", []string{"-config", "x"}, 2, "", `no command "-config"`},
		{"check_without_file", []string{"check"}, 2, "", "-config FILE is needed"},
		{"check_with_a_second_file", []string{"check", "-config", "a", "b"}, 2, "", "expected 0"},
		{"serve_without_file", []string{"serve"}, 2, "", "-config FILE is needed"},
		{"serve_a_file_that_is_not_there", []string{"serve", "-config", "/nonexistent/pointsman.json"}, 1, "", "/nonexistent/pointsman.json"},
		{"check_a_file_that_is_not_there", []string{"check", "-config", "/nonexistent/pointsman.json"}, 1, "error: ", ""},
		{"check_a_folder", []string{"check", "-config", "/"}, 1, "error: ", ""},
		{"explain_without_URL", []string{"explain", "-config", "x", "-ip", "192.0.2.1"}, 2, "", "expected 1"},
		{"explain_without_address", []string{"explain", "-config", "x", "/ch/index.m3u8"}, 2, "", "expected an address"},
		{"explain_a_word_as_address", []string{"explain", "-config", "x", "-ip", "localhost", "/ch/index.m3u8"}, 2, "", `"localhost"`},
		{"explain_without_source", []string{"explain", "-ip", "192.0.2.1", "/ch/index.m3u8"}, 2, "", "-config FILE and -admin URL"},
		{"explain_with_two_sources", []string{"explain", "-config", "x", "-admin", "y", "-ip", "192.0.2.1", "/ch/index.m3u8"}, 2, "", "one of"},
		{"version", []string{"version"}, 0, "pointsman ", ""},
		{"version_flag", []string{"--version"}, 0, "revision ", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, errs, status := rig.Run(t, "", c.args...)
			if status != c.status || !strings.Contains(out, c.out) || !strings.Contains(errs, c.errs) {
				t.Errorf("exit status %d, expected %d\nstdout: %s\nstderr: %s", status, c.status, out, errs)
			}
			if c.status == 0 && errs != "" {
				t.Errorf("standard error: %s", errs)
			}
		})
	}
	t.Run("usage_names_every_command", func(t *testing.T) {
		t.Parallel()
		out, _, _ := rig.Run(t, "")
		for _, name := range commandNames {
			if !strings.Contains(out, "\n  "+name+" ") {
				t.Errorf("the usage text does not name %s:\n%s", name, out)
			}
		}
	})
	for _, name := range commandNames {
		for _, flag := range []string{"-h", "--help"} {
			t.Run(name+flag, func(t *testing.T) {
				t.Parallel()
				out, errs, status := rig.Run(t, "", name, flag)
				if status != 0 || !strings.Contains(out+errs, "usage: pointsman "+name) {
					t.Errorf("exit status %d, expected 0 with a usage text\n%s%s", status, out, errs)
				}
			})
		}
	}
}

// samples is where the configuration package keeps its documents.
func sample(name string) string {
	return filepath.Join(rig.Root(), "farms", "config", "testdata", name)
}

func TestCLICheck(t *testing.T) {
	t.Parallel()
	lines := func(out string) []string { return strings.Split(strings.TrimSuffix(out, "\n"), "\n") }

	t.Run("SmartMEDIA_file", func(t *testing.T) {
		t.Parallel()
		for _, flag := range []string{"-config", "--config"} {
			out, errs, status := rig.Run(t, "", "check", flag, sample("smartmedia.json"))
			if status != 0 || strings.Contains(out, "error") || !strings.Contains(errs, "3 farms, 3 locations") {
				t.Errorf("%s: exit status %d\n%s%s", flag, status, out, errs)
			}
		}
	})
	t.Run("example_file", func(t *testing.T) {
		t.Parallel()
		out, _, status := rig.Run(t, "", "check", "-config="+filepath.Join(rig.Root(), "config.example.json"))
		if status != 0 || out != "" {
			t.Errorf("exit status %d\n%s", status, out)
		}
	})
	t.Run("errors", func(t *testing.T) {
		t.Parallel()
		out, _, status := rig.Run(t, "", "check", "-config", sample("invalid-all-at-once.json"))
		found := lines(out)
		if status != 1 || len(found) != 8 {
			t.Fatalf("exit status %d with %d lines, expected 1 with 8\n%s", status, len(found), out)
		}
		for _, line := range found {
			path, message, ok := strings.Cut(line, ": ")
			if !ok || message == "" || !strings.HasPrefix(path, "error ") || strings.Contains(strings.TrimPrefix(path, "error "), " ") {
				t.Errorf("line %q, expected `error PATH: message`", line)
			}
		}
		if !slices.Contains(found, "error core.colour: unknown key") {
			t.Errorf("the unknown key is not among\n%s", out)
		}
	})
	t.Run("warnings", func(t *testing.T) {
		t.Parallel()
		const document = `{"core": {"http_threads": 8}, "redirection": {
			"farms": [{"name": "a", "servers": [{"url": "http://192.0.2.1"}]}],
			"locations": [{"farms": ["a"], "ip_mask": ["10.0.0.1/8"]}]}}`
		out, _, status := rig.Run(t, document, "check", "-config", "-")
		if status != 0 {
			t.Fatalf("exit status %d, expected 0\n%s", status, out)
		}
		for _, line := range lines(out) {
			if !strings.HasPrefix(line, "warning ") || !strings.Contains(line, ": ") {
				t.Errorf("line %q, expected `warning PATH: message`", line)
			}
		}
		for _, path := range []string{"core.http_threads", "redirection.uri_path", "redirection.farms[0]", "redirection.locations[0].ip_mask[0]", "redirection.locations"} {
			if !strings.Contains(out, "warning "+path+": ") {
				t.Errorf("no warning about %s in\n%s", path, out)
			}
		}
	})
	t.Run("pasted_quotes", func(t *testing.T) {
		t.Parallel()
		out, _, status := rig.Run(t, "", "check", "-config", sample("smartmedia-pasted.json"))
		if status != 1 || !strings.HasPrefix(out, "error line 2 column 3: ") || !strings.Contains(out, "quote") {
			t.Errorf("exit status %d\n%s", status, out)
		}
	})
	t.Run("standard_input", func(t *testing.T) {
		t.Parallel()
		good, err := os.ReadFile(sample("smartmedia.json"))
		if err != nil {
			t.Fatal(err)
		}
		if out, errs, status := rig.Run(t, string(good), "check", "-config", "-"); status != 0 || strings.Contains(out, "error") {
			t.Errorf("a good document: exit status %d\n%s%s", status, out, errs)
		}
		for _, bad := range []string{"", "{", "[]", "null", `{"redirection": {}} {}`, "\ufeff{}", "\x00", strings.Repeat("[", 100_000)} {
			out, _, status := rig.Run(t, bad, "check", "-config", "-")
			if status != 1 || !strings.HasPrefix(out, "error ") {
				t.Errorf("%.20q: exit status %d\n%.300s", bad, status, out)
			}
		}
	})
	t.Run("serve_refuses_what_check_refuses", func(t *testing.T) {
		t.Parallel()
		checked, _, _ := rig.Run(t, "", "check", "-config", sample("invalid-all-at-once.json"))
		_, errs, status := rig.Run(t, "", "serve", "-config", sample("invalid-all-at-once.json"))
		if status != 1 || errs != checked {
			t.Errorf("serve exits %d and says\n%sexpected 1 and\n%s", status, errs, checked)
		}
	})
	t.Run("broken_farm_D63", func(t *testing.T) {
		t.Parallel()
		const document = `{"redirection": {"farms": [{"name": "a", "servers": [{"url": "http://192.0.2.1"}]},
			{"name": "b", "servers": [{"url": "ftp://192.0.2.2"}]}], "locations": [{"farms": ["a"], "ip_mask": ["0.0.0.0/0"]}]}}`
		out, _, status := rig.Run(t, document, "check", "-config", "-")
		if status != 1 || !strings.Contains(out, "error redirection.farms[1].servers[0].url: ") {
			t.Errorf("exit status %d\n%s", status, out)
		}
	})
}

// explanation are the documented keys of `explain -json`.
var (
	explanationKeys = []string{
		"status", "reason", "detail", "location_header", "fallback", "retry_after", "location", "farm", "server",
		"generation", "client", "waited_ms", "content", "farms",
		"steps", "if_chosen_died?",
	}
	explainedContentKeys = []string{"channel", "kind", "protocol", "dialect", "start", "end", "open"}
	explainedFarmKeys    = []string{"name", "policy", "servers"}
	explainedServerKeys  = []string{"name", "url", "chosen", "why", "detail", "held_sec", "asked_sec", "fact?"}
)

type explanation struct {
	Status         int
	Reason, Detail string
	LocationHeader string `json:"location_header"`
	Fallback       bool
	RetryAfter     int `json:"retry_after"`
	Location       string
	Farm, Server   string
	Client         string
	Content        struct{ Channel, Kind, Protocol string }
	Farms          []struct {
		Name, Policy string
		Servers      []struct {
			Name, URL   string
			Chosen      bool
			Why, Detail string
		}
	}
}

// explainScene is a running instance with its file: a farm whose heaviest server,
// b, lacks the channel, and one more farm.
func explainScene(t *testing.T, admin rig.Config) (*rig.Pointsman, map[string]*rig.Origin) {
	t.Helper()
	origins := map[string]*rig.Origin{}
	for _, name := range []string{"a", "b", "c"} {
		origins[name] = liveOrigin(t, name)
	}
	origins["b"].Set("ch", rig.Missing)
	for _, o := range origins {
		o.Set("none", rig.Missing)
		o.Set("film", rig.VoD)
	}
	near := probed("near", "weight", "a "+origins["a"].URL(), "b "+origins["b"].URL())
	near["servers"].([]rig.Config)[1]["weight"] = 10
	return rig.Start(t, rig.Config{
		"core": rig.Config{"hosts": []string{"tv.example.net"}}, "admin": admin,
		"redirection": redirection(
			[]rig.Config{
				near,
				probed("far", "first_response", "c "+origins["c"].URL()),
			},
			[]rig.Config{place("all", "near far", "0.0.0.0/0")}),
	}), origins
}

// explain runs the command with -json and holds the keys of its output.
func explain(t *testing.T, args ...string) explanation {
	t.Helper()
	out, errs, status := rig.Run(t, "", append([]string{"explain", "-json"}, args...)...)
	if status != 0 || errs != "" {
		t.Fatalf("explain exits %d\n%s%s", status, out, errs)
	}
	var x explanation
	if err := json.Unmarshal([]byte(out), &x); err != nil {
		t.Fatal(err)
	}
	var raw map[string]any
	if err := json.Unmarshal([]byte(out), &raw); err != nil {
		t.Fatal(err)
	}
	holdKeys(t, "explanation", raw, explanationKeys)
	holdKeys(t, "content", raw["content"].(map[string]any), explainedContentKeys)
	for _, f := range raw["farms"].([]any) {
		farm := f.(map[string]any)
		holdKeys(t, "farm", farm, explainedFarmKeys)
		for _, s := range farm["servers"].([]any) {
			holdKeys(t, "server", s.(map[string]any), explainedServerKeys)
		}
	}
	return x
}

// holdKeys expects an object to have the wanted keys and no other; one with a
// question mark need not be there.
func holdKeys(t *testing.T, what string, object map[string]any, want []string) {
	t.Helper()
	keys := slices.Sorted(maps.Keys(object))
	var expected []string
	for _, key := range want {
		key, optional := strings.CutSuffix(key, "?")
		if _, there := object[key]; there || !optional {
			expected = append(expected, key)
		}
	}
	slices.Sort(expected)
	if !slices.Equal(keys, expected) {
		t.Errorf("%s has the keys %v, expected %v", what, keys, expected)
	}
}

func TestCLIExplain(t *testing.T) {
	t.Parallel()
	p, origins := explainScene(t, rig.Config{})

	t.Run("JSON", func(t *testing.T) {
		for _, source := range [][]string{{"-config", p.File}, {"--admin", p.Admin}, {"-admin", p.Admin + "/"}} {
			x := explain(t, append(source, "-ip", "192.0.2.7", "https://tv.example.net/ch/index.m3u8?a=%2F")...)
			if x.Status != 503 { // no server of it has https
				t.Errorf("%v: an https viewer: %+v", source, x)
			}
			x = explain(t, append(source, "-ip", "192.0.2.7", "http://tv.example.net/ch/index.m3u8?a=%2F")...)
			if x.Status != 302 || x.Reason != "ok" || x.LocationHeader != origins["a"].URL()+"/ch/index.m3u8?a=%2F" || x.Fallback ||
				x.Location != "all" || x.Farm != "near" || x.Server != "a" || x.Client != "192.0.2.7" {
				t.Errorf("%v: %+v", source, x)
			}
			if x.Content.Channel != "ch" || x.Content.Kind != "live" || x.Content.Protocol != "hls" {
				t.Errorf("%v: content %+v", source, x.Content)
			}
			if len(x.Farms) != 2 || len(x.Farms[0].Servers) != 2 || len(x.Farms[1].Servers) != 1 {
				t.Fatalf("%v: farms %+v", source, x.Farms)
			}
			a, b, c := x.Farms[0].Servers[0], x.Farms[0].Servers[1], x.Farms[1].Servers[0]
			if !a.Chosen || a.Why != "chosen" || b.Chosen || b.Why != "absent" || c.Chosen || c.Why != "not_needed" || x.Farms[0].Policy != "weight" {
				t.Errorf("%v: farms %+v", source, x.Farms)
			}
		}
	})
	t.Run("path_alone", func(t *testing.T) {
		if x := explain(t, "-config", p.File, "-ip", "192.0.2.7", "/film/index.m3u8"); x.Status != 302 || x.Content.Kind != "vod" {
			t.Errorf("%+v", x)
		}
	})
	t.Run("refusals_exit_0", func(t *testing.T) {
		for _, c := range []struct {
			ip, url, reason string
			status          int
		}{
			{"192.0.2.7", "/none/index.m3u8", "content_missing", 404},
			{"2001:db8::1", "/ch/index.m3u8", "no_location", 403},
			{"192.0.2.7", "/a/../b", "bad_request", 400},
			{"192.0.2.7", "//evil.example/x", "bad_request", 400},
			{"192.0.2.7", "rtsp://tv.example.net/x", "bad_request", 400},
			{"192.0.2.7", "http://other.example.net/ch/index.m3u8", "unknown_host", 421},
		} {
			for _, source := range [][]string{{"-config", p.File}, {"-admin", p.Admin}} {
				x := explain(t, append(source, "-ip", c.ip, c.url)...)
				if x.Status != c.status || x.Reason != c.reason || x.Detail == "" || x.LocationHeader != "" || x.Server != "" {
					t.Errorf("%v %s %s: %+v, expected %d %s", source, c.ip, c.url, x, c.status, c.reason)
				}
			}
		}
	})
	t.Run("text", func(t *testing.T) {
		for _, source := range [][]string{{"-config", p.File}, {"-admin", p.Admin}} {
			out, errs, status := rig.Run(t, "", append(append([]string{"explain"}, source...), "-ip", "192.0.2.7", "-ua", "VLC", "/ch/index.m3u8")...)
			if status != 0 || errs != "" {
				t.Fatalf("exit status %d\n%s%s", status, out, errs)
			}
			for _, part := range []string{"192.0.2.7", "all", `"ch"`, "near", "far", "> a ", "chosen", "absent", "302", origins["a"].URL() + "/ch/index.m3u8"} {
				if !strings.Contains(out, part) {
					t.Errorf("%v: no %q in\n%s", source, part, out)
				}
			}
		}
		out, _, status := rig.Run(t, "", "explain", "-config", p.File, "-ip", "2001:db8::1", "/ch/index.m3u8")
		if status != 0 || !strings.Contains(out, "403 no_location") {
			t.Errorf("a refusal: exit status %d\n%s", status, out)
		}
	})
	t.Run("remembers_and_counts_nothing", func(t *testing.T) {
		before, _ := p.Metric("pointsman_decisions_total")
		for range 5 {
			explain(t, "-admin", p.Admin, "-ip", "192.0.2.7", "/ch/index.m3u8")
		}
		if after, _ := p.Metric("pointsman_decisions_total"); after != before {
			t.Errorf("explaining counted %v decisions", after-before)
		}
		for _, line := range p.Log() {
			if line["msg"] == "decision" {
				t.Errorf("explaining wrote a decision: %v", line)
			}
		}
	})
	t.Run("errors_exit_1", func(t *testing.T) {
		for _, args := range [][]string{
			{"-config", "/nonexistent/pointsman.json"},
			{"-config", sample("invalid-all-at-once.json")},
			{"-admin", "http://127.0.0.1:1"},
			{"-admin", "127.0.0.1:9202"},
			{"-admin", p.Viewers},
			{"-admin", p.Admin, "-token-file", "/nonexistent/token"},
		} {
			out, errs, status := rig.Run(t, "", append(append([]string{"explain"}, args...), "-ip", "192.0.2.7", "/ch/index.m3u8")...)
			if status != 1 || out != "" || !strings.Contains(errs, "pointsman explain: ") {
				t.Errorf("%v: exit status %d\n%s%s", args, status, out, errs)
			}
		}
	})
}

func TestCLIExplainWithToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	read, act := file("read", "reading-0123456789\n"), file("act", "acting-0123456789\n")
	p, _ := explainScene(t, rig.Config{"read_token_file": read, "act_token_file": act})
	for _, token := range []string{read, act} {
		if x := explain(t, "-admin", p.Admin, "-token-file", token, "-ip", "192.0.2.7", "/ch/index.m3u8"); x.Status != 302 {
			t.Errorf("%+v", x)
		}
	}
	for _, args := range [][]string{{}, {"-token-file", file("wrong", "wrong-0123456789")}} {
		out, errs, status := rig.Run(t, "", append(append([]string{"explain", "-admin", p.Admin}, args...), "-ip", "192.0.2.7", "/ch/index.m3u8")...)
		if status != 1 || !strings.Contains(errs, "401") || strings.Contains(out+errs, "0123456789") {
			t.Errorf("%v: exit status %d\n%s%s", args, status, out, errs)
		}
	}
}
