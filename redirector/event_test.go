package redirector

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/farms/config"
)

// secret must not be in any line.
const secret = "S3CR3T"

// logged returns the line of a decision and what it says.
func (s *stage) logged(d Decision) (string, map[string]any) {
	s.t.Helper()
	var b bytes.Buffer
	s.e.decisions = zerolog.New(&b)
	s.e.Swap(s.table, s.set)
	s.e.record(&d, s.e.view.Load())
	line := b.String()
	if strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") {
		s.t.Errorf("%q is not one line", line)
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(line), &fields); err != nil {
		s.t.Fatalf("%q is no JSON: %v", line, err)
	}
	return line, fields
}

func TestSecretsAreNotLogged(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStageOf(t, stageSpec(t, "weight a"), func(set *Settings) {
			set.Redact = config.Log{Redact: []string{"PIN", "user-id"}}.RedactedNames()
		})
		s.knows("a", farms.Present, nil)
		type row struct{ target, want string }
		rows := []row{
			{"/ch/index.m3u8?a=1&b=2", "/ch/index.m3u8?a=1&b=2"},
			{"/ch/index.m3u8?token=" + secret, "/ch/index.m3u8?token=***"},
			{"/ch/index.m3u8?a=1&token=" + secret + "&b=2", "/ch/index.m3u8?a=1&token=***&b=2"},
			{"/ch/index.m3u8?token=" + secret + "&token=" + secret + "2&sig=" + secret, "/ch/index.m3u8?token=***&token=***&sig=***"},
			{"/ch/index.m3u8?Token=" + secret + "&SIGNATURE=" + secret, "/ch/index.m3u8?Token=***&SIGNATURE=***"},
			{"/ch/index.m3u8?token=&token&a=1", "/ch/index.m3u8?token=&token&a=1"},
			{"/ch/index.m3u8?token=" + secret + "=" + secret, "/ch/index.m3u8?token=***"},
			{"/ch/index.m3u8?token=" + secret + ";" + secret + "&a=1", "/ch/index.m3u8?token=***&a=1"},
			{"/ch/index.m3u8?&&token=" + secret + "&", "/ch/index.m3u8?&&token=***&"},
			{"/ch/index.m3u8?pin=" + secret + "&User-Id=" + secret, "/ch/index.m3u8?pin=***&User-Id=***"},
			// Servers decode names, some take a semicolon or a second question mark
			// for a separator.
			{"/ch/index.m3u8?%74oken=" + secret, "/ch/index.m3u8?%74oken=***"},
			{"/ch/index.m3u8?%54%4f%4B%45%4e=" + secret + "&a=%zz", "/ch/index.m3u8?%54%4f%4B%45%4e=***&a=%zz"},
			{"/ch/index.m3u8?a=1;token=" + secret, "/ch/index.m3u8?a=1;token=***"},
			{"/ch/index.m3u8?a;token=" + secret + ";b=2&c=3", "/ch/index.m3u8?a;token=***&c=3"},
			{"/ch/index.m3u8?u=/x?token=" + secret + "&c=3", "/ch/index.m3u8?u=/x?token=***&c=3"},
			// Not the names, but others that hold them.
			{"/ch/index.m3u8?tokens=1&atoken=2&x=token", "/ch/index.m3u8?tokens=1&atoken=2&x=token"},
			{"/ch/token=1/index.m3u8", "/ch/token=1/index.m3u8"},
			// Refused, and logged all the same.
			{"http://viewer:" + secret + "@tv.example/ch/index.m3u8?token=" + secret, "http://***@tv.example/ch/index.m3u8?token=***"},
			{"//x/../?token=" + secret, "//x/../?token=***"},
			{"no-slash?key=" + secret, "no-slash?key=***"},
		}
		for _, name := range strings.Fields("token tkn sig signature auth hdnts hdnea password pass key pm_ticket pm_sid") {
			for _, spelling := range []string{name, strings.ToUpper(name), strings.ToUpper(name[:1]) + name[1:]} {
				rows = append(rows, row{"/ch/index.m3u8?x=1&" + spelling + "=" + secret + "%20%zz", "/ch/index.m3u8?x=1&" + spelling + "=***"})
			}
		}
		for _, r := range rows {
			line, fields := s.logged(s.visits(visit{target: r.target}))
			if strings.Contains(line, secret) {
				t.Errorf("%s: the line holds the secret: %s", r.target, line)
			}
			if fields["target"] != r.want {
				t.Errorf("%s is logged as %v, want %s", r.target, fields["target"], r.want)
			}
		}
	})
}

func TestDecisionLine(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStage(t, "first_response a")
		s.answers("a", 40*ms, farms.Present)
		_, got := s.logged(s.visits(visit{target: "/ch/index.m3u8?a=1", agent: "player/1"}))
		want := map[string]any{
			"time": time.Now().Add(-40 * ms).UTC().Format(TimeFormat), "door": "http", "method": "GET", "client": stageViewer, "peer": stageViewer, "host": "tv.example",
			"target": "/ch/index.m3u8?a=1", "ua": "player/1", "reason": "ok", "status": 302.0, "location": "everybody", "channel": "ch",
			"kind": "live", "protocol": "hls", "farm": "f1", "server": "a", "why": "chosen", "waited_ms": 40.0, "generation": 1.0, "msg": "decision",
		}
		for name, value := range want {
			if name == "msg" {
				value, name = "decision", zerolog.MessageFieldName // the command gives it its name
			}
			if got[name] != value {
				t.Errorf("%s is %v, want %v", name, got[name], value)
			}
			delete(got, name)
		}
		if len(got) > 0 {
			t.Errorf("not expected: %v", got)
		}
		_, refused := s.logged(s.visits(visit{method: "POST"}))
		if refused["reason"] != "method_not_allowed" || refused["status"] != 405.0 || refused["detail"] == "" || refused["server"] != nil || refused["location"] != nil {
			t.Errorf("a refusal: %v", refused)
		}
		d := s.visits(visit{})
		d.Request.Viewer.Peer = netip.MustParseAddr("10.0.0.1")
		if _, proxied := s.logged(d); proxied["peer"] != "10.0.0.1" || proxied["client"] != stageViewer {
			t.Errorf("behind a proxy: %v", proxied)
		}
	})
}

// TestAddressesAreMasked: with log.mask_addresses no line has more of a viewer's
// address than its network.
func TestAddressesAreMasked(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStageOf(t, stageSpec(t, "weight a"), func(set *Settings) { set.MaskAddresses = true })
		s.knows("a", farms.Present, nil)
		for _, row := range []struct{ client, peer, wantClient, wantPeer string }{
			{"203.0.113.77", "198.51.100.9", "203.0.113.0", "198.51.100.0"},
			{"2001:db8:1234:5678::9", "10.1.2.3", "2001:db8:1234::", "10.1.2.0"},
			{"0.0.0.1", "::1", "0.0.0.0", "::"},
		} {
			for _, method := range []string{"GET", "POST"} {
				d := s.visits(visit{method: method, addr: row.client})
				d.Request.Viewer.Peer = netip.MustParseAddr(row.peer)
				line, fields := s.logged(d)
				if fields["client"] != row.wantClient || fields["peer"] != row.wantPeer {
					t.Errorf("%s from %s by %s: the line says %s", method, row.client, row.peer, line)
				}
			}
		}
		if _, fields := s.logged(Decision{Host: "x"}); fields["client"] != "invalid IP" {
			t.Errorf("no address is logged as %v", fields["client"])
		}
	})
}

func TestMaskedText(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		for _, mask := range []bool{false, true} {
			s := newStageOf(t, stageSpec(t, "weight a"), func(set *Settings) { set.MaskAddresses = mask })
			for text, want := range map[string]string{
				"http: TLS handshake error from 203.0.113.77:4711: EOF":          "http: TLS handshake error from 203.0.113.0:4711: EOF",
				"http: panic serving [2001:db8:1:2:3::9]:80: x":                  "http: panic serving [2001:db8:1::]:80: x",
				"read 203.0.113.77, twice ::ffff:203.0.113.78 and 2001:db8::1:2": "read 203.0.113.0, twice 203.0.113.0 and 2001:db8::",
				"http: 1.2 12:30 nothing":                                        "http: 1.2 12:30 nothing",
			} {
				if !mask {
					want = text
				}
				if got := s.e.Masked(text); got != want {
					t.Errorf("mask %v: %q is %q, want %q", mask, text, got, want)
				}
			}
		}
	})
}

// FuzzAppendText: what is appended is JSON of what clip leaves, within its bound.
func FuzzAppendText(f *testing.F) {
	for _, s := range []string{"", "plain", "a\"b\\c", "\x00\x1f\x7f", "é\u2028𝄞", "\xff\xf0\x9d", "<&>"} {
		f.Add(s, 64)
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, s string, n int) {
		n = min(max(n, 0), 1<<16)
		b := appendText(nil, s, n)
		var got string
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatalf("%q is no JSON: %v", b, err)
		}
		if want := string([]rune(clip(s, n))); got != want {
			t.Errorf("%q was appended as %q, want %q", s, got, want)
		}
		if len(b) > n+len(`""…`) {
			t.Errorf("%d bytes, want at most %d", len(b), n)
		}
	})
}

// TestHostileLinesAreShortAndWhole: whatever a viewer sends, his line is JSON
// and shorter than a pipe's atomic write.
func TestHostileLinesAreShortAndWhole(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStageOf(t, stageSpec(t, "weight a"), func(set *Settings) { set.Redact = []string{"token"} })
		s.knows("a", farms.Present, nil)
		long := func(unit string) string { return strings.Repeat(unit, 12<<10/len(unit)) }
		for _, unit := range []string{"a", "\x00", "\xff", "\"", "\\", "\n", "\x7f", "é", "\u2028", "𝄞", "\xf0\x9d", "%00", "<&>", "&token=x", "\x1b[2J"} {
			short := long(unit)[:2000]
			for _, v := range []visit{
				{target: "/" + long(unit)},
				{target: "/ch/index.m3u8?" + long(unit)},
				{target: "/ch/" + short + "/index.m3u8"},
				{target: long(unit)},
				{agent: long(unit)},
				{host: long(unit)},
				{method: long(unit)},
				{target: "/" + short + "/index.m3u8?" + long(unit), agent: long(unit), host: long(unit)},
			} {
				d := s.visits(v)
				d.Detail = long(unit)
				if line, _ := s.logged(d); len(line) >= 4<<10 {
					t.Errorf("%q: a line of %d bytes: %.300s", unit, len(line), line)
				}
			}
		}
	})
}

func FuzzDecisionLine(f *testing.F) {
	f.Add("GET", "/ch/index.m3u8?token=x&a=\xff", "tv.example", "player\x00")
	f.Add("G\nT", "http://u:p@h/?;token=%", "\"", "…")
	f.Fuzz(func(t *testing.T, method, target, host, agent string) {
		in(t, func(t *testing.T) {
			s := newStageOf(t, stageSpec(t, "weight a"), func(set *Settings) { set.Redact = []string{"token"} })
			d := s.visits(visit{method: method, target: target, host: host, agent: agent})
			if line, _ := s.logged(d); len(line) >= 4<<10 {
				t.Errorf("a line of %d bytes", len(line))
			}
		})
	})
}

// TestLogDecisionsOff: log.decisions is the operator's.
func TestLogDecisionsOff(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		for _, on := range []bool{true, false} {
			s := newStageOf(t, stageSpec(t, "weight a"), func(set *Settings) { set.LogDecisions = on })
			s.knows("a", farms.Present, nil)
			var b bytes.Buffer
			s.e.decisions = zerolog.New(&b)
			s.e.Swap(s.table, s.set)
			if rw := s.get(http.MethodGet, stagePath); rw.Code != http.StatusFound {
				t.Fatalf("answered %d", rw.Code)
			}
			if (b.Len() > 0) != on {
				t.Errorf("decisions %v: logged %q", on, b.String())
			}
		}
	})
}

func TestClip(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		in   string
		n    int
		want string
	}{
		{"", 4, ""},
		{"abcd", 4, "abcd"},
		{"abcde", 4, "abcd…"},
		{"ab\"d", 4, "ab\"…"},
		{"abc\"", 4, "abc…"},
		{"ab\"", 4, "ab\""},
		{"éé", 4, "éé"},
		{"ééé", 5, "éé…"},
		{"a\xffb", 7, "a\xff…"},
		{"a\x00", 6, "a…"},
	} {
		if got := clip(row.in, row.n); got != row.want {
			t.Errorf("%q to %d: %q, want %q", row.in, row.n, got, row.want)
		}
	}
}
