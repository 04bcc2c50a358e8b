package playlist_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/steering/playlist"
)

func TestSniff(t *testing.T) {
	t.Parallel()
	const media, multivariant = "#EXTM3U\n#EXTINF:4,\n1.ts\n", "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nv.m3u8\n"
	tests := []struct {
		name, body string
		want       playlist.Format
	}{
		{"empty", "", playlist.FormatUnknown},
		{"blank", "\r\n\r\n", playlist.FormatUnknown},
		{"mist_balancer_is_full", "FULL", playlist.FormatUnknown},
		{"json", `{"error":"Stream is offline"}`, playlist.FormatUnknown},
		{"html", "<!DOCTYPE html><html><head><title>#EXTM3U</title></head></html>", playlist.FormatUnknown},
		{"html_that_is_not_xml", "<html><br><p class=x>Not found", playlist.FormatUnknown},
		{"other_xml", `<?xml version="1.0"?><rss/>`, playlist.FormatUnknown},
		{"broken_xml", "<", playlist.FormatUnknown},
		{"longer_word", "#EXTM3U8\n#EXTINF:4,\n", playlist.FormatUnknown},
		{"media", media, playlist.HLSMedia},
		{"media_with_bom_and_blank_lines", "\xef\xbb\xbf\r\n\n " + media, playlist.HLSMedia},
		{"header_alone", "#EXTM3U", playlist.HLSMedia},
		{"mistserver_error", mistError, playlist.HLSMedia},
		{"multivariant", multivariant, playlist.HLSMultivariant},
		{"multivariant_in_bare_cr", strings.ReplaceAll(multivariant, "\n", "\r"), playlist.HLSMultivariant},
		{"multivariant_far_down", "#EXTM3U\n" + strings.Repeat("# licence\n", 10000) + multivariant[8:], playlist.HLSMultivariant},
		{"renditions_only", "#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO\n", playlist.HLSMultivariant},
		{"mpd", string(testdata(t, "ffmpeg-live.mpd")), playlist.DASH},
		{"mpd_behind_comments", "\xef\xbb\xbf\n<?xml version=\"1.0\"?>\n<!-- made by <b> -->\n<MPD", playlist.FormatUnknown},
		{"mpd_cut_off_behind_its_root", "<!-- made by <b> -->\n<MPD type=\"static\">\n<Per", playlist.DASH},
		{"mpd_with_a_prefix", `<d:MPD xmlns:d="urn:mpeg:dash:schema:mpd:2011">`, playlist.DASH},
		{"mpd_in_utf16", utf16BE("<MPD/>", false), playlist.DASH},
		{"root_beyond_reach", "<!--" + strings.Repeat("x", 70000) + "--><MPD/>", playlist.FormatUnknown},
		{"smooth", mistSmooth, playlist.SmoothStreaming},
		{"smooth_in_utf16", utf16LE(mistSmooth, true), playlist.SmoothStreaming},
		{"ts", string(testdata(t, "ffmpeg-head.ts")), playlist.MPEGTS},
		{"bytes", "\x00\x01\x02\x03", playlist.FormatUnknown},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := playlist.Sniff([]byte(test.body)); got != test.want {
				t.Errorf("Sniff = %v, want %v", got, test.want)
			}
		})
	}
}

func TestFormatString(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for f := playlist.FormatUnknown; f <= playlist.MPEGTS+1; f++ {
		seen[f.String()] = true
	}
	if len(seen) != 6 { // the one beyond the last is unknown too
		t.Errorf("formats have the names %v, want 6 different ones", seen)
	}
}

func TestIsTS(t *testing.T) {
	t.Parallel()
	packet := append([]byte{0x47}, make([]byte, 187)...)
	ten := bytes.Repeat(packet, 10)
	broken := bytes.Clone(ten)
	broken[188*7] = 0
	tests := []struct {
		name string
		head []byte
		want bool
	}{
		{"as_ffmpeg_writes_it", testdata(t, "ffmpeg-head.ts"), true},
		{"ten_packets", ten, true},
		{"five_packets", ten[:5*188], true},
		{"a_byte_less_than_five_packets", ten[:5*188-1], false},
		{"begins_inside_a_packet", ten[100:], true},
		{"ends_inside_a_packet", ten[:1500], true},
		{"one_sync_byte_lost", broken, false},
		{"packets_of_192_bytes", bytes.Repeat(append(packet, 0, 0, 0, 0), 10), false},
		{"empty", nil, false},
		{"text", []byte(strings.Repeat("not a stream ", 200)), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := playlist.IsTS(test.head); got != test.want {
				t.Errorf("IsTS = %v, want %v", got, test.want)
			}
		})
	}
}
