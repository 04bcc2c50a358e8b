package test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// decorating switches steering.decorate on.
func decorating(c rig.Config) { with(c, "steering", rig.Config{"decorate": true}) }

// TestSteeringDecorateFallsBack: whatever goes wrong with the playlist, the viewer
// is redirected, as without steering.decorate, and takes his session along.
func TestSteeringDecorateFallsBack(t *testing.T) {
	t.Parallel()
	s := newSteered(t, 2, decorating, quiet, func(c rig.Config) {
		section := c["redirection"].(rig.Config)
		section["decision_timeout_sec"] = 0.4
		for _, f := range section["farms"].([]rig.Config) {
			f["content"] = "assume"
			f["servers"].([]rig.Config)[0]["probe_headers"] = rig.Config{"X-Probe-Token": "secret"}
		}
	})
	a := s.stages["a"]
	redirected := func(t *testing.T, target string, header ...string) rig.Response {
		t.Helper()
		start := time.Now()
		res := s.Get(target, append(header, from(1)...)...)
		sep := "?"
		if strings.Contains(target, "?") {
			sep = "&"
		}
		if res.StatusCode != 302 || !strings.HasPrefix(res.Location(), a.URL()+target+sep+"pm_sid=") || res.Body != "" {
			t.Errorf("%s: %d %s %.300s", target, res.StatusCode, res.Location(), res.Body)
		}
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("%s took %v", target, took)
		}
		return res
	}
	media := "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n1.ts\n"
	for name, h := range map[string]http.HandlerFunc{
		"hangs": a.Hang, "403": rig.Refusing(403), "404": rig.Refusing(404), "500": rig.Refusing(500),
		"302_elsewhere": func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, "http://192.0.2.1/x.m3u8", http.StatusFound)
		},
		"a_page":          rig.Text("text/html", "<!doctype html><title>Log in</title>"),
		"garbage":         rig.Text("application/vnd.apple.mpegurl", "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH\n"),
		"nothing":         rig.Text("application/vnd.apple.mpegurl", ""),
		"too_large":       rig.Text("application/vnd.apple.mpegurl", rig.StageMultivariant+strings.Repeat("# padding\n", 300_000)),
		"steered_already": rig.Text("application/vnd.apple.mpegurl", strings.Replace(rig.StageMultivariant, "#EXTM3U\n", "#EXTM3U\n#EXT-X-CONTENT-STEERING:SERVER-URI=\"https://other.example/s\"\n", 1)),
		"media_playlist":  rig.Text("application/vnd.apple.mpegurl", media),
		"of_another_host": rig.Text("application/vnd.apple.mpegurl", "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nhttps://cdn.example/v.m3u8\n"),
		"cut_off": func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Length", "5000")
			_, _ = io.WriteString(rw, rig.StageMultivariant)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			channel := "/" + strings.ReplaceAll(name, "_", "-")
			a.Play(channel+"/index.m3u8", h)
			a.Play(channel+"/manifest.mpd", h)
			redirected(t, channel+"/index.m3u8?x=1")
			redirected(t, channel+"/manifest.mpd")
		})
	}
	t.Run("segments_and_what_is_no_manifest", func(t *testing.T) {
		for _, target := range []string{"/ch/seg1.ts", "/ch/v1/1.m4s?token=a%2Fb", "/ch/audio/en/1.aac", "/ch/manifest.mpd/x", "/ch/Manifest", "/ch/mpegts"} {
			redirected(t, target)
		}
	})
	t.Run("media_playlists_by_what_is_in_them", func(t *testing.T) {
		redirected(t, "/ch/low.m3u8?_HLS_msn=7")
		redirected(t, "/ch/audio/en.m3u8")
	})
	t.Run("check_51_programs_that_ask_for_JSON", func(t *testing.T) {
		res := s.Get("/ch/index.m3u8", append([]string{"Accept", "application/json"}, from(1)...)...)
		if res.StatusCode != 200 || res.Header.Get("Content-Type") != "application/json" || !strings.Contains(res.Body, `"url":"`+a.URL()+"/ch/index.m3u8?pm_sid=") {
			t.Errorf("%d %s", res.StatusCode, res.Body)
		}
	})
	t.Run("no_Content_Type", func(t *testing.T) {
		a.Play("/untyped/index.m3u8", func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header()["Content-Type"] = nil
			_, _ = io.WriteString(rw, rig.StageMultivariant)
		})
		if res := s.Get("/untyped/index.m3u8", from(1)...); res.StatusCode != 200 || res.Header.Get("Content-Type") != "application/vnd.apple.mpegurl" {
			t.Errorf("%d, Content-Type %q", res.StatusCode, res.Header["Content-Type"])
		}
	})
	t.Run("the_server_sees_the_viewer_and_no_token_of_ours", func(t *testing.T) {
		s.Get("/ch/index.m3u8?token=his%2Fown", from(9)...)
		seen := a.Seen()
		at := slices.IndexFunc(seen, func(q rig.Seen) bool { return q.URI == "/ch/index.m3u8?token=his%2Fown" })
		if at < 0 {
			t.Fatal("the server was not asked with the viewer's query")
		}
		if h := seen[at].Head; h.Get("X-Forwarded-For") != from(9)[1] || h.Get("X-Probe-Token") != "" {
			t.Errorf("it was asked with %v", h)
		}
	})
	t.Run("too_many_at_once", func(t *testing.T) {
		crowd := newSteered(t, 2, decorating, quiet, func(c rig.Config) {
			section := c["redirection"].(rig.Config)
			section["decision_timeout_sec"] = 20
			for _, f := range section["farms"].([]rig.Config) {
				f["content"] = "assume"
			}
		})
		release := make(chan struct{})
		crowd.stages["a"].Play("/ch/index.m3u8", func(rw http.ResponseWriter, r *http.Request) {
			<-release
			rig.Text("application/vnd.apple.mpegurl", rig.StageMultivariant)(rw, r)
		})
		const viewers, most = 80, 64
		answers := make(chan int, viewers)
		for i := range viewers {
			go func() {
				res, err := rig.Do("GET", crowd.Viewers+"/ch/index.m3u8?token="+url.QueryEscape(fmt.Sprint(i)), "")
				if err != nil {
					answers <- 0
					return
				}
				answers <- res.StatusCode
			}()
		}
		count := map[int]int{}
		for range viewers - most {
			count[<-answers]++
		}
		close(release)
		for range most {
			count[<-answers]++
		}
		if count[200] != most || count[302] != viewers-most {
			t.Errorf("statuses of %d viewers are %v, expected %d redirected at once", viewers, count, viewers-most)
		}
	})
}
