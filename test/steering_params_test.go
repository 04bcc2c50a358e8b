package test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/steering"
	"github.com/pointsman-tv/pointsman/test/rig"
)

// TestSteeringParameters shows that whatever a player reports, the answer is 200
// and the same. What a report teaches is in TestSteeringFeedback.
func TestSteeringParameters(t *testing.T) {
	t.Parallel()
	s := newSteered(t, 3)
	const path = "/steering/ch/index.m3u8"
	s.known(path, "a", "b", "c")
	for _, c := range []struct {
		name    string
		queries []string
	}{
		{"check_18_no_parameters", []string{"", "?", "?&", "?&&&"}},
		{"check_19_pathway_however_quoted", []string{`?_HLS_pathway=a`, `?_HLS_pathway=%22a%22`, `?_HLS_pathway="a"`, `?_HLS_pathway=%22a`, `?_HLS_pathway=""a""`, `?%5fHLS_pathway=a`}},
		{"check_20_lists_of_DASH", []string{`?_DASH_pathway=%22a%2Cb%22&_DASH_throughput=1000%2C`, `?_DASH_pathway="a,b"&_DASH_throughput=,5`, `?_DASH_pathway=a,b`}},
		{"check_21_throughput_in_quotes", []string{`?_DASH_pathway=a&_DASH_throughput=%22123%22`, `?_HLS_pathway=a&_HLS_throughput="123"`}},
		{"check_22_counts_differ", []string{`?_DASH_pathway=a,b,c&_DASH_throughput=1`, `?_DASH_pathway=a&_DASH_throughput=1,2,3`, `?_DASH_throughput=1,2`, `?_DASH_pathway=,,,&_DASH_throughput=,`}},
		{"check_24_throughputs_that_are_none", []string{
			"-1794967296", "0", "", "NaN", "Infinity", "1e9", "12.5", "1e400", "0x10", "1_000", strings.Repeat("9", 30), "%31%32", "+5", "--", "1,2", "null",
		}},
		{"check_25_repeated_parameters", []string{"?" + strings.Repeat("_HLS_pathway=b&_HLS_throughput=1&pm_sid=x&", 5) + "_HLS_pathway=a"}},
		{"edge_families_mixed", []string{"?_HLS_pathway=a&_DASH_pathway=b,c&_HLS_throughput=7&_DASH_throughput=1,2", "?_HLS_throughput=1", "?_DASH_throughput="}},
		{"edge_strange_ids", []string{
			"?_HLS_pathway=.", "?_HLS_pathway=..", "?_HLS_pathway=a%2Fb", "?_HLS_pathway=a+b", "?_HLS_pathway=%F0%9F%98%80", "?_HLS_pathway=%00",
			"?_HLS_pathway=%0d%0aSet-Cookie:x", "?_HLS_pathway=" + strings.Repeat("i", 10_000), "?_DASH_pathway=" + strings.Repeat("a,", 500), "?_HLS_pathway=A",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, query := range c.queries {
				if c.name == "check_24_throughputs_that_are_none" {
					query = "?_HLS_pathway=a&_HLS_throughput=" + query
				}
				x := rig.Exchange{Addr: s.Addr(), Send: rawGet(path + query), Within: waitLong}
				res, err := x.Do()
				if err != nil || res.StatusCode != 200 {
					t.Errorf("%.200s: %v, %v", query, res.Response, err)
					continue
				}
				m, err := rig.ReadManifest(res.Body)
				if err != nil {
					t.Errorf("%.200s: %v", query, err)
					continue
				}
				wantOrder(t, query, m, "a", "b", "c")
			}
		})
	}
	t.Run("check_23_unknown_ids_come_back_nowhere", func(t *testing.T) {
		const strange = "nobody-is-called-so"
		before := s.Series()
		_, res := s.SteerRaw(path+"?_HLS_pathway="+strange+"&_HLS_throughput=5", "User-Agent", "check_23")
		for name, values := range res.Header {
			if strings.Contains(strings.Join(values, " "), strange) {
				t.Errorf("it is in the header %s: %v", name, values)
			}
		}
		if strings.Contains(res.Body, strange) {
			t.Errorf("it is in the body: %s", res.Body)
		}
		for series := range s.Series() {
			if strings.Contains(series, strange) || !before[series] {
				t.Errorf("there is a new metric %s", series)
			}
		}
		rig.Eventually(t, waitLong, func() error {
			if len(s.Decisions("check_23")) == 0 {
				return errors.New("no log line yet")
			}
			return nil
		})
		for key, value := range s.Decisions("check_23")[0] {
			// The request's own line is logged as it came, bounded and escaped.
			if strings.Contains(fmt.Sprint(value), strange) && key != "target" {
				t.Errorf("it is in the log as %s: %v", key, value)
			}
		}
	})
	t.Run("edge_log_lines_stay_lines", func(t *testing.T) {
		for _, query := range []string{"?_HLS_pathway=%0a%0d{%22msg%22:%22forged%22}", "?x=" + strings.Repeat("\xff", 3000)} {
			x := rig.Exchange{Addr: s.Addr(), Send: rawGet(path + query), Within: waitLong}
			if res, err := x.Do(); err != nil || res.StatusCode != 200 {
				t.Errorf("%v, %v", res.Response, err)
			}
		}
		rig.Eventually(t, waitLong, func() error {
			if n := len(s.Decisions("NAME")); n < 2 {
				return fmt.Errorf("%d log lines", n)
			}
			return nil
		})
		if lines := s.NotJSON(); len(lines) > 0 || s.LongestLine() > 4096 {
			t.Errorf("lines that are no JSON: %q; the longest has %d bytes", lines, s.LongestLine())
		}
	})
	t.Run("check_27_long_request_lines", func(t *testing.T) {
		for _, c := range []struct {
			bytes  int
			status []int
		}{{12 << 10, []int{200}}, {200_000, []int{200, 414, 431}}, {2 << 20, []int{414, 431}}} {
			for _, name := range []string{"token", "_HLS_pathway", "pm_sid"} {
				x := rig.Exchange{Addr: s.Addr(), Send: rawGet(path + "?" + name + "=" + strings.Repeat("x", c.bytes)), Within: waitLong}
				res, err := x.Do()
				if errors.Is(err, rig.ErrClosed) && c.bytes > 1<<20 {
					continue // refused before all of it was sent
				}
				if err != nil || !slices.Contains(c.status, res.StatusCode) {
					t.Errorf("%s of %d bytes: %v, %v, expected %v", name, c.bytes, res.Response, err, c.status)
				}
			}
		}
	})
	t.Run("edge_request_forms", func(t *testing.T) {
		for send, reload := range map[string]string{
			"GET http://abs.example.net" + path + "?_HLS_pathway=a HTTP/1.1\r\nHost: other.example\r\n\r\n": "http://abs.example.net/steering/ch/index.m3u8?pm_sid=",
			"GET /steering/ch/ HTTP/1.1\r\nHost: h.example\r\n\r\n":                                         "http://h.example/steering/ch/?pm_sid=",
			"GET /steering?x=1 HTTP/1.1\r\nHost: h.example\r\n\r\n":                                         "http://h.example/steering?x=1&pm_sid=",
			"GET /steering/a//b/%2e%2E HTTP/1.1\r\nHost: h.example\r\n\r\n":                                 "",
			"GET /steering/../steering/ch HTTP/1.1\r\nHost: h.example\r\n\r\n":                              "",
			"GET /steering/a%00b HTTP/1.1\r\nHost: h.example\r\n\r\n":                                       "",
		} {
			res, err := rig.Exchange{Addr: s.Addr(), Send: send, Within: waitLong}.Do()
			if err != nil {
				t.Errorf("%q: %v", send, err)
				continue
			}
			if reload == "" { // no path of any player's
				if res.StatusCode != http.StatusBadRequest || res.Header.Get("Access-Control-Allow-Origin") != "*" {
					t.Errorf("%q: %v", send, res.Response)
				}
				continue
			}
			if m, err := rig.ReadManifest(res.Body); err != nil || !strings.HasPrefix(m.Reload, reload) {
				t.Errorf("%q: %d %v %s, expected %s", send, res.StatusCode, err, res.Body, reload)
			}
		}
	})
}

// steeringKey is a key that tests sign sessions with.
func steeringKey(fill byte) []byte { return bytes.Repeat([]byte{fill}, steering.MinKey) }

// ringOf is the ring of one key.
func ringOf(t *testing.T, key []byte) *steering.Ring {
	t.Helper()
	ring, err := steering.NewRing([][]byte{key})
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// keysFile writes a key file and returns its path.
func keysFile(t *testing.T, keys ...[]byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "steering.keys")
	if err := os.WriteFile(path, steering.FormatKeys(keys), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSteeringSessions shows the checks of session tokens. A session is known by
// the bucket it falls into: half of them start on a, half on b.
func TestSteeringSessions(t *testing.T) {
	t.Parallel()
	key, old := steeringKey(1), steeringKey(2)
	s := newSteered(t, 2, split(50, 50), quiet, steeringKeys(rig.Config{"keys_file": keysFile(t, key, old)}))
	const path = "/steering/ch/index.m3u8"
	s.Get("/ch/index.m3u8")
	s.known(path, s.Steer(path, from(0)...).Priority...)
	onA, onB := s.viewerOf(t, path, "a"), s.viewerOf(t, path, "b")
	a := s.Steer(path, from(onA)...)

	t.Run("check_26_the_session_counts_beside_bad_escapes", func(t *testing.T) {
		for _, query := range []string{
			"bad=%zz&pm_sid=TOKEN", "pm_sid=TOKEN&bad=%zz&%", "x;y&pm_sid=TOKEN&;", "pm_sid=TOKEN&u=%ff%fe\xff", "n=%00&pm_sid=TOKEN", "_HLS_pathway=%zz&pm_sid=TOKEN&_HLS_throughput=%",
		} {
			x := rig.Exchange{Addr: s.Addr(), Send: rawGet(path+"?"+strings.ReplaceAll(query, "TOKEN", a.Session()), "X-Forwarded-For: "+from(onB)[1]), Within: waitLong}
			res, err := x.Do()
			if err != nil {
				t.Fatal(err)
			}
			if m, err := rig.ReadManifest(res.Body); err != nil || m.First() != "a" || m.Session() != a.Session() {
				t.Errorf("%s: %v %s", query, err, res.Body)
			}
		}
	})
	t.Run("check_28_bad_tokens_get_a_fresh_session", func(t *testing.T) {
		mine, _ := ringOf(t, key).Open(a.Session(), time.Now())
		seal := func(key []byte, issued time.Time) string {
			return ringOf(t, key).Seal(steering.Session{Identity: mine.Identity, Content: mine.Content, Issued: issued})
		}
		if m := s.Steer(path+"?pm_sid="+seal(key, time.Now()), from(onB)...); m.First() != "a" {
			t.Fatalf("a token as the instance makes them is not taken: %+v", m)
		}
		own := a.Session()
		flipped := func(at int) string {
			raw, err := base64.RawURLEncoding.DecodeString(own)
			if err != nil {
				t.Fatal(err)
			}
			raw[at] ^= 1
			return base64.RawURLEncoding.EncodeToString(raw)
		}
		for name, token := range map[string]string{
			"wrong signature": flipped(38), "other version": flipped(0), "other identity": flipped(10), "truncated": own[:len(own)-1], "longer": own + "A",
			"another key": seal(steeringKey(9), time.Now()), "expired": seal(key, time.Now().Add(-25*time.Hour)), "from the future": seal(key, time.Now().Add(time.Hour)),
			"another channel's": s.Steer("/steering/other", from(onA)...).Session(), "garbage": "%ff%00", "empty": "", "7 kB": strings.Repeat("A", 7000),
		} {
			m := s.Steer(path+"?pm_sid="+token, from(onB)...)
			if m.First() != "b" || m.Session() == token || m.Session() == "" {
				t.Errorf("%s: %+v, expected the viewer's own first pathway b and a new token", name, m)
			}
		}
	})
	t.Run("check_28_a_token_of_an_older_key_is_good", func(t *testing.T) {
		session, ok := ringOf(t, key).Open(a.Session(), time.Now())
		if !ok {
			t.Fatal("the token of the manifest is not signed with the first key of the file")
		}
		token := ringOf(t, old).Seal(session)
		if m := s.Steer(path+"?pm_sid="+token, from(onB)...); m.First() != "a" || m.Session() != token {
			t.Errorf("%+v, expected the session of the token", m)
		}
		// Half its life gone it is renewed, and stays the same session.
		session.Issued = time.Now().Add(-13 * time.Hour)
		token = ringOf(t, key).Seal(session)
		if m := s.Steer(path+"?pm_sid="+token, from(onB)...); m.First() != "a" || m.Session() == token {
			t.Errorf("%+v, expected the session of the token in a new one", m)
		}
	})
	t.Run("check_29_a_token_used_elsewhere_changes_nobody", func(t *testing.T) {
		for i := range 20 {
			if m := s.Steer(path+"?pm_sid="+a.Session()+"&_HLS_pathway=b&_HLS_throughput=1", from(1000+i)...); m.First() != "a" {
				t.Errorf("with the token %+v", m)
			}
		}
		if m := s.Steer(path, from(onB)...); m.First() != "b" {
			t.Errorf("the other viewer: %+v", m)
		}
		if m := s.Again(a, "", from(onA)...); m.First() != "a" {
			t.Errorf("its owner: %+v", m)
		}
	})
	t.Run("edge_two_tokens", func(t *testing.T) {
		b := s.Steer(path, from(onB)...)
		for range 5 {
			if m := s.Steer(path+"?pm_sid="+a.Session()+"&pm_sid="+b.Session(), from(onA)...); m.First() != "b" || strings.Count(m.Reload, "pm_sid=") != 1 {
				t.Errorf("%+v, expected the last token to count", m)
			}
		}
	})
}

// viewerOf finds a viewer whose first pathway is this one.
func (s *steered) viewerOf(t *testing.T, path, first string) int {
	t.Helper()
	for i := range 200 {
		if s.Steer(path, from(i)...).First() == first {
			return i
		}
	}
	t.Fatalf("none of 200 viewers starts on %s", first)
	return 0
}
