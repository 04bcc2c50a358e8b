package redirector

import (
	"net/netip"
	"reflect"
	"testing"

	"github.com/pointsman-tv/pointsman/farms"
)

// What is read of a request is what a decision about it begins with, and nothing
// comes of reading.
func TestReadAgreesWithDecisions(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStageOf(t, stageSpec(t, "share/assume a b"), func(set *Settings) {
			set.SessionKeys, set.URIPath, set.Hosts = []string{"sid"}, "/tv", map[string]bool{"tv.example": true}
		})
		for _, v := range []visit{
			{target: "/tv/ch/index.m3u8?sid=1"},
			{target: "/tv/ch/index.m3u8", addr: "2001:db8::1"},
			{target: "http://tv.example/tv/a/b/manifest.mpd?x", agent: "other"},
			{target: "/other/ch/index.m3u8"},
			{target: "/tv/../index.m3u8"},
			{target: "/tv/ch/index.m3u8", host: "elsewhere.example"},
		} {
			if v.addr == "" {
				v.addr = stageViewer
			}
			if v.agent == "" {
				v.agent = "player"
			}
			if v.host == "" {
				v.host = "tv.example"
			}
			before := s.traces()
			addr := netip.MustParseAddr(v.addr)
			got := s.e.Read(ReadRequest{Addr: addr, Host: v.host, RawTarget: v.target, UserAgent: v.agent})
			if after := s.traces(); !reflect.DeepEqual(before, after) {
				t.Errorf("%+v: reading left %v, before it was %v", v, after, before)
			}
			d := s.visits(v)
			want := Reading{Location: d.Location, Reason: d.Reason, Channel: d.Content.Channel, Session: d.Session}
			if d.Location != nil {
				want.Reach = reachOf(addr)
			}
			if got != want || (got.Reason == farms.ReasonOK) != (got.Location != nil) {
				t.Errorf("%+v: read %+v, decided %+v", v, got, want)
			}
		}
	})
}
