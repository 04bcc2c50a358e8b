package test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// TestSteeringDecorateCommand shows `pointsman decorate`.
func TestSteeringDecorateCommand(t *testing.T) {
	t.Parallel()
	stages := map[string]*rig.Stage{"a": rig.NewStage(t, "a"), "b": rig.NewStage(t, "b")}
	a, b := stages["a"], stages["b"]
	c := steeringConfig([]rig.Config{probed("a", "share", "a "+a.URL()+"/cdn"), probed("b", "share", "b "+b.URL())},
		place("all", "a b", "0.0.0.0/0"), place("ten", "b a", "10.0.0.0/8"))
	with(c, "steering", rig.Config{"public_url": "http://steer.example.net", "path": "/cs"})
	file := configFile(t, c)
	delete(c["steering"].(rig.Config), "public_url")
	nameless := configFile(t, c)
	delete(c, "steering")
	without := configFile(t, c)
	a.Play("/cdn/typed/index.m3u8", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(rw, rig.StageMultivariant)
	})
	a.Play("/cdn/gone/index.m3u8", rig.Refusing(404))

	for _, run := range []struct {
		name, stdin string
		args        []string
		status      int
		out, errs   []string
	}{
		{
			"URL_of_HLS", "",
			[]string{"-config", file, a.URL() + "/cdn/ch/index.m3u8?token=a%2Fb"},
			0,
			[]string{`SERVER-URI="http://steer.example.net/cs/ch/index.m3u8?token=a%2Fb",PATHWAY-ID="a"`, "\n" + a.URL() + "/cdn/ch/low.m3u8\n", "\n" + b.URL() + "/ch/low.m3u8\n"},
			nil,
		},
		{
			"URL_of_DASH", "",
			[]string{"-config", file, b.URL() + "/ch/manifest.mpd"},
			0,
			[]string{`<BaseURL serviceLocation="a">` + a.URL() + "/cdn/ch/</BaseURL>", ">http://steer.example.net/cs/ch/manifest.mpd</ContentSteering>"},
			nil,
		},
		{"whatever_its_media_type", "", []string{"-config", file, a.URL() + "/cdn/typed/index.m3u8"}, 0, []string{"#EXT-X-CONTENT-STEERING"}, nil},
		{
			"standard_input", rig.StageMultivariant,
			[]string{"-config", file, "-url", a.URL() + "/cdn/ch/index.m3u8", "-"},
			0,
			[]string{`SERVER-URI="http://steer.example.net/cs/ch/index.m3u8",PATHWAY-ID="a"`},
			nil,
		},
		{"standard_input_MPD", rig.StageMPD, []string{"-config", file, "-url", "http://packager.example/ch/manifest.mpd", "-"}, 0, []string{`serviceLocation="b">` + b.URL() + "/ch/"}, nil},
		{
			"for_a_viewer_of_another_location", rig.StageMultivariant,
			[]string{"-config", file, "-ip", "10.0.0.1", "-url", a.URL() + "/cdn/ch/index.m3u8", "-"},
			0,
			[]string{`PATHWAY-ID="b"` + "\n"},
			nil,
		},
		{"no_session_in_it", "", []string{"-config", file, a.URL() + "/cdn/ch/index.m3u8"}, 0, []string{"#EXTM3U"}, nil},
		{"standard_input_without_url", rig.StageMultivariant, []string{"-config", file, "-"}, 0, []string{"\n" + a.URL() + "/cdn/low.m3u8\n", `/cs/index.m3u8",`}, nil},
		{"standard_input_MPD_without_url", rig.StageMPD, []string{"-config", file, "-"}, 0, []string{`serviceLocation="a">` + a.URL() + "/cdn/</BaseURL>", "/cs/manifest.mpd<"}, nil},
		{"a_path", "", []string{"-config", file, "/ch/index.m3u8"}, 0, []string{"\n" + a.URL() + "/cdn/ch/low.m3u8\n"}, nil},
		{"url_with_a_URL", "", []string{"-config", file, "-url", "http://x/y", a.URL() + "/cdn/ch/index.m3u8"}, 1, nil, []string{"-url is for"}},
		{"no_playlist_there", "", []string{"-config", file, a.URL() + "/cdn/gone/index.m3u8"}, 1, nil, []string{"404"}},
		{"nobody_there", "", []string{"-config", file, "http://127.0.0.1:1/ch/index.m3u8"}, 1, nil, []string{"127.0.0.1:1"}},
		{"media_playlist", "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n1.ts\n", []string{"-config", file, "-url", a.URL() + "/cdn/ch/low.m3u8", "-"}, 1, nil, []string{"not a multivariant playlist"}},
		{"a_page", "<!doctype html><p>hello", []string{"-config", file, "-url", a.URL() + "/cdn/ch/index.m3u8", "-"}, 1, nil, []string{"malformed"}},
		{"nothing", "", []string{"-config", file, "-url", a.URL() + "/cdn/ch/index.m3u8", "-"}, 1, nil, []string{"malformed"}},
		{"too_large", rig.StageMultivariant + strings.Repeat("#\n", 2<<20), []string{"-config", file, "-url", a.URL() + "/cdn/ch/index.m3u8", "-"}, 1, nil, []string{"more than"}},
		{"no_URL", "", []string{"-config", file, "ftp://x/y"}, 1, nil, []string{"not an http or https URL"}},
		{"no_address", "", []string{"-config", file, "-ip", "somebody", a.URL() + "/cdn/ch/index.m3u8"}, 1, nil, []string{"expected an address"}},
		{"no_location", "", []string{"-config", file, "-ip", "2001:db8::1", a.URL() + "/cdn/ch/index.m3u8"}, 1, nil, []string{"no location"}},
		{"no_config", "", []string{a.URL() + "/cdn/ch/index.m3u8"}, 2, nil, []string{"-config FILE is needed"}},
		{"no_public_url", "", []string{"-config", nameless, a.URL() + "/cdn/ch/index.m3u8"}, 0, []string{`SERVER-URI="http://127.0.0.1:9201/cs/ch/index.m3u8",`}, []string{"steering.public_url is absent"}},
		{"no_section", "", []string{"-config", without, a.URL() + "/cdn/ch/index.m3u8"}, 1, nil, []string{"no section steering"}},
	} {
		t.Run(run.name, func(t *testing.T) {
			t.Parallel()
			out, errs, status := rig.Run(t, run.stdin, append([]string{"decorate"}, run.args...)...)
			if status != run.status || status != 0 && out != "" || strings.Contains(out, "pm_sid") {
				t.Errorf("exit status %d, expected %d\n%s%s", status, run.status, out, errs)
			}
			for _, part := range run.out {
				if !strings.Contains(out, part) {
					t.Errorf("no %q in\n%s", part, out)
				}
			}
			for _, part := range run.errs {
				if !strings.Contains(errs, part) {
					t.Errorf("no %q in\n%s", part, errs)
				}
			}
		})
	}
	t.Run("a_second_time", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{rig.StageMultivariant, rig.StageMPD} {
			args := []string{"decorate", "-config", file, "-url", a.URL() + "/cdn/ch/x", "-"}
			out, errs, status := rig.Run(t, text, args...)
			if status != 0 {
				t.Fatalf("%s", errs)
			}
			if again, errs, status := rig.Run(t, out, args...); status != 1 || again != "" || !strings.Contains(errs, "steered already") {
				t.Errorf("exit status %d\n%s%s", status, again, errs)
			}
		}
	})
}
