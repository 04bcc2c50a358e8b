package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/cmd/pointsman/plan"
)

const planDoc = `{"redirection": {"uri_path": "/tv", "session_key": ["sid"], "channel_regex": "([^/]+)/.*",
"farms": [
	{"name": "main", "policy": "share", "servers": [
		{"name": "a", "url": "http://a.example", "tags": {"site": "x"}}, {"name": "b", "url": "http://b.example"}, {"name": "c", "url": "http://c.example"}]},
	{"name": "vod", "policy": "content_id", "servers": [{"name": "<v>&", "url": "http://v.example"}, {"name": "w", "url": "http://w.example", "state": "draining"}]}],
"locations": [{"name": "home", "farms": ["main"]}, {"name": "vod", "uri_regex": "^/vod/", "farms": ["vod"]}]}}`

// planFile writes a file into a directory of the test's.
func planFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPlanUsage(t *testing.T) {
	t.Parallel()
	file := planFile(t, "a.json", planDoc)
	for _, row := range []struct {
		name   string
		args   []string
		status int
		errs   string
	}{
		{"without_config", nil, exitUsage, "-config FILE is needed"},
		{"an_argument", []string{"-config", file, "x"}, exitUsage, "expected 0"},
		{"standard_input_twice", []string{"-config", "-", "-log", "-"}, exitUsage, "only one of -config, -log and -against"},
		{"no_viewers", []string{"-config", file, "-viewers", "0"}, exitUsage, "-viewers is 0, expected 1 to 10000000"},
		{"too_many_viewers", []string{"-config", file, "-viewers", "10000001"}, exitUsage, "-viewers is 10000001"},
		{"no_channels", []string{"-config", file, "-channels", "-1"}, exitUsage, "-channels is -1, expected 1 to"},
		{"no_file", []string{"-config", "/nonexistent/a.json"}, exitError, "/nonexistent/a.json"},
		{"bad_config", []string{"-config", planFile(t, "bad.json", "{")}, exitError, "bad.json has errors"},
		{"no_other_file", []string{"-config", file, "-against", "/nonexistent/b.json"}, exitError, "/nonexistent/b.json"},
		{"no_log", []string{"-config", file, "-log", "/nonexistent/log"}, exitError, "/nonexistent/log"},
		{"log_is_a_folder", []string{"-config", file, "-log", t.TempDir()}, exitError, "reading the log"},
		{"empty_log", []string{"-config", file, "-log", planFile(t, "log", "")}, exitError, "has no viewers: of 0 lines"},
		{"log_of_something_else", []string{"-config", file, "-log", planFile(t, "log", "GET / 200\n")}, exitError, "of 1 lines 1 are malformed; expected lines with \"msg\":\"decision\""},
		{"page_into_nowhere", []string{"-config", file, "-viewers", "10", "-html", "/nonexistent/x.html"}, exitError, "writing the page"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := runs("", append([]string{"plan"}, row.args...)...)
			if got.status != row.status || !strings.Contains(got.err, row.errs) || got.out != "" {
				t.Errorf("status %d, errors %q, output %q; expected %d and %q", got.status, got.err, got.out, row.status, row.errs)
			}
		})
	}
}

func planOf(t *testing.T, in string, args ...string) *plan.Report {
	t.Helper()
	got := runs(in, append([]string{"plan", "-json"}, args...)...)
	var r plan.Report
	if err := json.Unmarshal([]byte(got.out), &r); err != nil || got.status != exitOK || got.err != "" {
		t.Fatalf("status %d, %v: %s%s", got.status, err, got.out, got.err)
	}
	return &r
}

// Viewers are made up for every location, behind uri_path and uri_regex.
func TestPlanMadeUp(t *testing.T) {
	t.Parallel()
	r := planOf(t, planDoc, "-config", "-", "-viewers", "6000")
	if len(r.Refused) > 0 || r.Viewers != 6000 || r.Farms[0].Viewers != 3000 || r.Farms[1].Viewers != 3000 {
		t.Errorf("refused %v, farms %+v", r.Refused, r.Farms)
	}
	if got := r.Failures[len(r.Failures)-1]; got.Kind != plan.FailSite || got.Name != "x" || got.Hit != r.Servers[0].Viewers || got.Refused != 0 {
		t.Errorf("%+v", got)
	}
}

// Lines that are no viewers are counted and named, and stop nothing.
func TestPlanLog(t *testing.T) {
	t.Parallel()
	line := func(extra string) string {
		return fmt.Sprintf(`{"msg":"decision","door":"http","method":"GET","client":"192.0.2.1","target":"/tv/ch/index.m3u8?sid=%%d"%s}`, extra)
	}
	var log strings.Builder
	for i := range 300 {
		fmt.Fprintf(&log, line(`,"reason":"ok","server":"a"`)+"\n", i)
	}
	for _, other := range []string{
		fmt.Sprintf(line(`,"reason":"ok","server":"a","kind":"child"`), 0),
		fmt.Sprintf(line(`,"reason":"content_missing"`), 0),
		`{"msg":"decision","door":"http","method":"HEAD","client":"192.0.2.1","target":"/tv/ch/index.m3u8"}`,
		`{"msg":"decision","door":"steering","method":"GET","client":"192.0.2.1","target":"/tv/ch/index.m3u8"}`,
		`{"msg":"ready"}`, `{"msg":"decision","door":"http","client":"nobody","target":"/"}`, `{"msg":"decision","door":"http","client":"192.0.2.1"}`,
		`[`, `{"msg":{}}`, "", "\x00\xff", `{"msg":"` + strings.Repeat("x", 3*maxLogLine) + `"}`,
	} {
		log.WriteString(other + "\n")
	}
	fmt.Fprintf(&log, line(`,"reason":"no_location","ua":"the last, without an end of line"`), 300)
	file := planFile(t, "log", log.String())
	r := planOf(t, "", "-config", planFile(t, "a.json", planDoc), "-log", file)
	const left = "of 313 log lines 7 are malformed, 2 are no decision of the HTTP door, 1 are segments and media playlists, 1 are not GET, 1 are refused for what they ask for"
	if r.Viewers != 301 || !strings.Contains(strings.Join(r.Warnings, "\n"), left) {
		t.Errorf("%d viewers, expected 301; warnings %q, expected %q", r.Viewers, r.Warnings, left)
	}
	if a := r.Servers[0]; *a.Logged != 1 || a.Share > 0.5 {
		t.Errorf("server a: %.2f, logged %.2f, expected a third and 1", a.Share, *a.Logged)
	}
	if got := strings.Join(r.Warnings, "\n"); !strings.Contains(got, `server "a" was given 100.0 % in the log`) || !strings.Contains(got, `server "w" is draining`) {
		t.Errorf("warnings %q", got)
	}
}

// A session key that the log hides does not make one session of all lines.
func TestPlanLogHidesSessions(t *testing.T) {
	t.Parallel()
	doc := strings.Replace(planDoc, `["sid"]`, `["token"]`, 1)
	log := strings.Repeat(`{"msg":"decision","door":"http","method":"GET","reason":"ok","client":"192.0.2.1","target":"/tv/ch/index.m3u8?token=***","server":"b"}`+"\n", 3000)
	r := planOf(t, log, "-config", planFile(t, "a.json", doc), "-log", "-")
	for _, s := range r.Servers[:3] {
		if s.Viewers < 900 || s.Viewers > 1100 {
			t.Errorf("%s carries %d, expected a third of 3000", s.Name, s.Viewers)
		}
	}
	if got := strings.Join(r.Warnings, "\n"); !strings.Contains(got, `session_key "token" is not in the log`) {
		t.Errorf("warnings %q", got)
	}
}

func TestPlanText(t *testing.T) {
	t.Parallel()
	file, page := planFile(t, "a.json", planDoc), filepath.Join(t.TempDir(), "plan.html")
	other := planFile(t, "b.json", strings.Replace(planDoc, `"url": "http://b.example"`, `"url": "http://b.example", "weight": 3`, 1))
	got := runs("", "plan", "-config", file, "-against", other, "-html", page, "-viewers", "20000")
	if got.status != exitOK || got.err != "" {
		t.Fatalf("status %d: %s", got.status, got.err)
	}
	for _, want := range []string{
		"20,000 viewers (made up: 200 channels", "5 servers in 2 farms", "While nothing fails", "1.50 x", "server a", "site x",
		"farm vod fails: 10,000 viewers (50.0 %) have no server left", "Against " + other, "weight changed", "main/a", "Notes", `server "w" is draining`,
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("the output has no %q:\n%s", want, got.out)
		}
	}
	html, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<title>Pointsman plan</title>", "&lt;v&gt;&amp;", "<svg ", "20,000 viewers", "weight changed", "prefers-color-scheme: dark"} {
		if !strings.Contains(string(html), want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(string(html), "<v>") || strings.Contains(string(html), "ZgotmplZ") {
		t.Error("the page has a name that was not escaped, or a value that the template refused")
	}
}

func FuzzPlanLog(f *testing.F) {
	f.Add([]byte(`{"msg":"decision","door":"http","method":"GET","client":"192.0.2.1","target":"/ch/index.m3u8?sid=***","time":"2026-07-01T20:00:00.000Z"}`))
	f.Add([]byte(`{"msg":"decision","door":"http","method":"GET","client":"fe80::1%eth0","target":"*"}` + "\n\n{"))
	f.Add([]byte("\x00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l := newPlanLog(strings.NewReader(string(text)), false)
		n := 0
		for v := range l.viewers {
			n++
			if !v.Addr.IsValid() || v.Addr.Zone() != "" || v.Target == "" {
				t.Errorf("%+v", v)
			}
		}
		if l.err != nil || n+l.malformed+l.other+l.children+l.noViewers+l.useless != l.lines {
			t.Errorf("%d viewers of %d lines; %+v", n, l.lines, l)
		}
	})
}
