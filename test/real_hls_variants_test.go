package test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// TestRealVariants expects explain to tell live from VoD by what a real packager
// writes.
func TestRealVariants(t *testing.T) {
	n := rig.NewNginx(t, "127.0.0.13", rig.Files)
	dir := func(name string) string { return filepath.Join(n.Root, name) }
	live := rig.NewEncoder(t, dir("live-fmp4"), rig.Form{HLS: true, FMP4: true, DASH: true})
	const length = 12 * time.Second
	rig.EncodeVoD(t, dir("film-ts"), rig.Form{HLS: true}, length)
	rig.EncodeVoD(t, dir("film-fmp4"), rig.Form{HLS: true, FMP4: true, DASH: true}, length)
	live.Wait("seg1.m4s")
	live.Wait("manifest.mpd")
	config, err := json.Marshal(rig.Config{"redirection": rig.Config{
		"farms":     []rig.Config{{"name": "near", "servers": []rig.Config{{"name": "near-1", "url": n.URL()}}}},
		"locations": []rig.Config{{"farms": []string{"near"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}

	for _, test := range []struct{ name, path, kind, protocol, detail string }{
		{"live-hls-fmp4", "/live-fmp4/index.m3u8", "live", "hls", "live, media sequence"},
		{"live-hls-media-playlist", "/live-fmp4/media.m3u8", "live", "hls", "live, media sequence"},
		{"live-dash", "/live-fmp4/manifest.mpd", "live", "dash", "live MPD"},
		{"vod-hls-ts", "/film-ts/index.m3u8", "vod", "hls", "VoD of 12s"},
		{"vod-hls-fmp4", "/film-fmp4/index.m3u8", "vod", "hls", "VoD of 12s"},
		{"vod-hls-media-playlist", "/film-fmp4/media.m3u8", "vod", "hls", "VoD of 12s"},
		{"vod-dash", "/film-fmp4/manifest.mpd", "vod", "dash", "VoD of 12s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			stdout, stderr, status := rig.Run(t, string(config), "explain", "-json", "-config", "-", "-ip", "198.51.100.7", test.path)
			var x realExplanation
			if err := json.Unmarshal([]byte(stdout), &x); err != nil || status != 0 || stderr != "" {
				t.Fatalf("explain ended with %d and printed %s%s (%v)", status, stdout, stderr, err)
			}
			if x.Status != 302 || x.Server != "near-1" || x.Content.Kind != test.kind || x.Content.Protocol != test.protocol {
				t.Errorf("explain says %s, expected a redirect to near-1, %s, %s", stdout, test.kind, test.protocol)
			}
			if detail := x.Farms[0].Servers[0].Detail; !strings.Contains(detail, test.detail) {
				t.Errorf("explain says %q of the server, expected %q", detail, test.detail)
			}
		})
	}
}
