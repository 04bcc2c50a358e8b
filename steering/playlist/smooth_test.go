package playlist_test

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pointsman-tv/pointsman/steering/playlist"
)

// mistSmooth is shaped like MistServer's live manifest, which it sends in UTF-16 (little endian, with a BOM).
const mistSmooth = `<?xml version="1.0" encoding="utf-16"?>
<SmoothStreamingMedia MajorVersion="2" MinorVersion="0" TimeScale="1000" Duration="0" IsLive="TRUE" LookAheadFragmentCount="2" DVRWindowLength="30000" CanSeek="TRUE" CanPause="TRUE">
<StreamIndex Type="audio" Name="Ton 🎵" QualityLevels="1" Chunks="3"><QualityLevel Index="0" Bitrate="128000"/><c t="100000" d="2000"/><c d="2000"/><c d="2048"/></StreamIndex>
<StreamIndex Type="video" QualityLevels="1" Chunks="2"><QualityLevel Index="0"/><c t="100000" d="2000" r="2"/></StreamIndex>
</SmoothStreamingMedia>`

func encodeUTF16(order binary.AppendByteOrder, text string, bom bool) string {
	if bom {
		text = "\ufeff" + text
	}
	var out []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, unit)
	}
	return string(out)
}

func utf16LE(text string, bom bool) string { return encodeUTF16(binary.LittleEndian, text, bom) }
func utf16BE(text string, bom bool) string { return encodeUTF16(binary.BigEndian, text, bom) }

func parseSmooth(t testing.TB, body string) *playlist.Smooth {
	t.Helper()
	s, err := playlist.ParseSmooth([]byte(body))
	if err != nil {
		t.Fatalf("ParseSmooth(%.200q): %v", body, err)
	}
	return s
}

func TestParseSmooth(t *testing.T) {
	t.Parallel()
	live := playlist.Smooth{Live: true, DVRWindow: 30 * time.Second, Streams: 2, Chunks: 5, LastEnd: 106048 * time.Millisecond}
	tests := []struct {
		name, body string
		want       playlist.Smooth
	}{
		{"utf8_declared_as_utf16", mistSmooth, live},
		{"utf8_with_bom", "\xef\xbb\xbf" + strings.Replace(mistSmooth, "utf-16", "UTF-8", 1), live},
		{"utf16_le_with_bom_as_mistserver", utf16LE(mistSmooth, true), live},
		{"utf16_le_without_bom", utf16LE(mistSmooth, false), live},
		{"utf16_be_with_bom_as_iis", utf16BE(mistSmooth, true), live},
		{"utf16_be_without_bom", utf16BE(mistSmooth, false), live},
		{"utf16_with_an_odd_byte_at_the_end", utf16LE(mistSmooth, true) + "\n", live},
		{"utf16_with_half_a_pair", strings.Replace(utf16LE(mistSmooth, true), "\xb5\xdf", "x\x00", 1), live},
		{
			"vod_with_the_default_timescale", `<SmoothStreamingMedia Duration="1200000000"><StreamIndex><c d="20000000"/><c t="20000000"/></StreamIndex></SmoothStreamingMedia>`,
			playlist.Smooth{Duration: 2 * time.Minute, Streams: 1, Chunks: 2, LastEnd: 2 * time.Second},
		},
		{
			"stream_with_its_own_timescale", `<SmoothStreamingMedia IsLive="1"><StreamIndex TimeScale="10"><c t="50" d="25"/></StreamIndex></SmoothStreamingMedia>`,
			playlist.Smooth{Live: true, Streams: 1, Chunks: 1, LastEnd: 7500 * time.Millisecond},
		},
		{
			"live_without_limit_and_without_fragments", `<SmoothStreamingMedia IsLive="True" DVRWindowLength="0"><StreamIndex/></SmoothStreamingMedia>`,
			playlist.Smooth{Live: true, Streams: 1},
		},
		{"not_live", `<SmoothStreamingMedia IsLive="FALSE"/>`, playlist.Smooth{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := parseSmooth(t, test.body)
			if diff := cmp.Diff(&test.want, got, cmpopts.IgnoreFields(playlist.Smooth{}, "Signature")); diff != "" {
				t.Errorf("ParseSmooth differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseSmoothErrors(t *testing.T) {
	t.Parallel()
	stream := func(inner string) string {
		return "<SmoothStreamingMedia>\n<StreamIndex>" + inner + "</StreamIndex></SmoothStreamingMedia>"
	}
	tests := []struct{ name, body, want string }{
		{"empty", "", `the body has no element, expected an XML document`},
		{"mpd", "<MPD/>", `line 1: the root element is "MPD", expected SmoothStreamingMedia`},
		{"cut_off_in_utf16", utf16LE("<SmoothStreamingMedia>\n<Strea", true), `line 2: expected well-formed XML: unexpected EOF`},
		{"timescale", `<SmoothStreamingMedia TimeScale="0"/>`, `line 1: SmoothStreamingMedia@TimeScale is 0, expected units per second`},
		{"duration", `<SmoothStreamingMedia Duration="x"/>`, `line 1: SmoothStreamingMedia@Duration is "x", expected a whole number`},
		{"window_beyond_time", `<SmoothStreamingMedia TimeScale="1" DVRWindowLength="18446744073709551615"/>`, `line 1: SmoothStreamingMedia@DVRWindowLength is 18446744073709551615, expected a time at 1 a second`},
		{"stream_timescale", `<SmoothStreamingMedia><StreamIndex TimeScale="x"/></SmoothStreamingMedia>`, `line 1: StreamIndex@TimeScale is "x", expected a whole number`},
		{"c_t", stream(`<c t="-1"/>`), `line 2: c@t is "-1", expected a whole number`},
		{"c_d", stream(`<c d="x"/>`), `line 2: c@d is "x", expected a whole number`},
		{"c_r", stream(`<c r="x"/>`), `line 2: c@r is "x", expected a whole number`},
		{"c_r_beyond_reason", stream(`<c d="1" r="9999999999"/>`), `line 2: c@r is 9999999999, expected at most 2147483648`},
		{"overflow", stream(`<c t="18446744073709551615" d="2"/>`), `line 2: the stream ends beyond 2^63 units, expected t + r·d to be a time`},
		{"end_beyond_time", `<SmoothStreamingMedia TimeScale="1"><StreamIndex><c t="9223372036854775807"/></StreamIndex></SmoothStreamingMedia>`, `line 1: StreamIndex ends 9223372036854775807 units in, expected a time at 1 a second`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, err := playlist.ParseSmooth([]byte(test.body))
			if err == nil || err.Error() != test.want || s != nil {
				t.Errorf("ParseSmooth = %v, error\n%v, want\n%s", s, err, test.want)
			}
		})
	}
}

func TestSmoothSignature(t *testing.T) {
	t.Parallel()
	base := parseSmooth(t, mistSmooth).Signature
	if got := parseSmooth(t, utf16BE(mistSmooth, false)).Signature; got != base {
		t.Errorf("the encoding changed the signature from %x to %x", base, got)
	}
	for name, body := range map[string]string{
		"one_more_fragment": strings.Replace(mistSmooth, `d="2048"/>`, `d="2048"/><c d="2000"/>`, 1),
		"window_slid":       strings.Replace(mistSmooth, `t="100000" d="2000" r="2"`, `t="102000" d="2000" r="2"`, 1),
	} {
		if got := parseSmooth(t, body).Signature; got == base {
			t.Errorf("%s: the signature stayed %x", name, got)
		}
	}
}
