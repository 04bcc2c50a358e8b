package redirector

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/redirector/clientip"
	"github.com/pointsman-tv/pointsman/redirector/status"
)

// trafficStage is a stage whose one server has every content, in a synctest
// bubble.
func trafficStage(t *testing.T, edit func(*Settings)) *stage {
	t.Helper()
	return newStageOf(t, stageSpec(t, "share/assume a"), func(set *Settings) {
		if edit != nil {
			edit(set)
		}
		clients, err := clientip.New(set.TrustedProxies, clientip.XForwardedFor)
		if err != nil {
			t.Fatal(err)
		}
		set.Clients = clients
	})
}

// from sends a request from a peer.
func (s *stage) from(peer, target string, header ...string) {
	s.t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RequestURI, r.Host, r.RemoteAddr = target, "tv.example", peer+":1234"
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	s.e.Viewers().ServeHTTP(httptest.NewRecorder(), r)
}

// paced lets the slots pass in which no more is looked at.
func paced(i int) {
	if i%senseShare == 0 {
		<-time.After(senseSlot)
	}
}

// advice returns the one advice that is on, as /status has it.
func (s *stage) advice() status.Advice {
	s.t.Helper()
	s.e.Watch(time.Now())
	switch got := s.e.Status(time.Now()).Advices; len(got) {
	case 0:
		return status.Advice{}
	case 1:
		var v any
		if err := json.Unmarshal([]byte("{"+got[0].Config+"}"), &v); err != nil {
			s.t.Errorf("%q is no part of a JSON document: %v", got[0].Config, err)
		}
		return got[0]
	default:
		s.t.Errorf("advices: %+v", got)
		return got[0]
	}
}

func TestAdviceTrustedProxies(t *testing.T) {
	t.Parallel()
	trust := func(list ...string) func(*Settings) {
		return func(set *Settings) {
			for _, p := range list {
				set.TrustedProxies = append(set.TrustedProxies, netip.MustParsePrefix(p))
			}
		}
	}
	for _, row := range []struct {
		name         string
		edit         func(*Settings)
		proxied, all int
		header       string
		want         string
	}{
		{"all", nil, 100, 100, "X-Forwarded-For", `"core": { "trusted_proxies": ["10.0.0.5"] }`},
		{"just_above", nil, 31, 100, "X-Forwarded-For", `"core": { "trusted_proxies": ["10.0.0.5"] }`},
		{"just_not", nil, 30, 100, "X-Forwarded-For", ""},
		{"not_enough", nil, 99, 99, "X-Forwarded-For", ""},
		{"no_header", nil, 100, 100, "", ""},
		{"other_header", nil, 100, 100, "X-Real-Ip", ""},
		{"forwarded", nil, 100, 100, "Forwarded", `"core": { "trusted_proxies": ["10.0.0.5"], "client_ip_header": "Forwarded" }`},
		{"one_more", trust("10.9.0.0/16"), 100, 100, "X-Forwarded-For", `"core": { "trusted_proxies": ["10.9.0.0/16", "10.0.0.5"] }`},
		{"trusted", trust("10.0.0.0/24"), 100, 100, "X-Forwarded-For", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			in(t, func(t *testing.T) {
				s := trafficStage(t, row.edit)
				for i := range row.all {
					paced(i)
					var header []string
					peer := fmt.Sprintf("192.0.2.%d", i%200)
					if i < row.proxied {
						peer = "10.0.0.5"
						if row.header != "" {
							header = []string{row.header, "203.0.113.9"}
						}
					}
					s.from(peer, "/ch/index.m3u8", header...)
				}
				if got := s.advice(); got.Config != row.want {
					t.Errorf("advice %+v, want %q", got, row.want)
				}
			})
		})
	}
}

// TestAdviceFromRefusals: viewers whose location is not found because of an
// unknown proxy are the ones who need the advice.
func TestAdviceFromRefusals(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		spec := stageSpec(t, "share/assume a")
		spec.Locations[0].Prefixes = []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}
		s := newStageOf(t, spec, nil)
		for i := range 100 {
			paced(i)
			s.from("10.0.0.5", "/ch/index.m3u8", "X-Forwarded-For", "203.0.113.9")
		}
		if got := s.advice(); got.Code != "advice_trusted_proxies" || !strings.Contains(got.Detail, "100 % of the requests come from 10.0.0.5") {
			t.Errorf("%+v", got)
		}
	})
}

// TestAdviceGoes: ten minutes after it was last found, and at once when a reload
// has mended it.
func TestAdviceGoes(t *testing.T) {
	t.Parallel()
	crowd := func(s *stage) {
		for i := range 100 {
			paced(i)
			s.from("10.0.0.5", "/ch/index.m3u8", "X-Forwarded-For", "203.0.113.9")
		}
	}
	t.Run("by_itself", func(t *testing.T) {
		t.Parallel()
		in(t, func(t *testing.T) {
			s := trafficStage(t, nil)
			crowd(s)
			s.e.Watch(time.Now()) // the window ends here: it had not begun
			<-time.After(verdictHolds)
			if s.advice().Code == "" {
				t.Error("it went early")
			}
			<-time.After(time.Second)
			if got := s.advice(); got.Code != "" {
				t.Errorf("%+v", got)
			}
		})
	})
	t.Run("mended", func(t *testing.T) {
		t.Parallel()
		in(t, func(t *testing.T) {
			s := trafficStage(t, nil)
			crowd(s)
			if s.advice().Code == "" {
				t.Fatal("no advice")
			}
			set := *s.set
			set.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.5/32")}
			s.e.Swap(s.table, &set)
			<-time.After(time.Second)
			if got := s.advice(); got.Code != "" {
				t.Errorf("%+v", got)
			}
		})
	})
	t.Run("another_reload", func(t *testing.T) {
		t.Parallel()
		in(t, func(t *testing.T) {
			s := trafficStage(t, nil)
			crowd(s)
			s.e.Swap(s.table, s.set)
			if s.advice().Code == "" {
				t.Error("a reload that mends nothing took it")
			}
		})
	})
}

func TestAdviceSessionKey(t *testing.T) {
	t.Parallel()
	token := func(set *Settings) { set.SessionKeys = []string{"token"} }
	for _, row := range []struct {
		name string
		edit func(*Settings)
		opens,
		shared int // of opens
		target func(i int) string // of the shared ones
		config string
		words  string
	}{
		{
			"one_token_for_many", token, 1000, 60, func(i int) string { return fmt.Sprintf("/ch/index.m3u8?token=all&device=d%d", i) },
			`"redirection": { "session_key": ["device"] }`, "one value of the session_key token stands behind 6 % of the opens of channel ch",
		},
		{
			"nothing_tells_them_apart", token, 1000, 60, func(int) string { return "/ch/index.m3u8?token=all" },
			`"redirection": { "session_key": ["NAME"] }`, "NAME is to be a query parameter",
		},
		{
			"one_address", nil, 1000, 100, func(i int) string { return fmt.Sprintf("/ch/index.m3u8?q=1&tkn=d%d", i) },
			`"redirection": { "session_key": ["tkn"] }`, "one address and User-Agent stands behind 10 % of the opens",
		},
		{"five_percent", token, 1000, 50, func(int) string { return "/ch/index.m3u8?token=all" }, "", ""},
		{"not_enough_opens", token, 199, 100, func(int) string { return "/ch/index.m3u8?token=all" }, "", ""},
		{"no_more_than_a_player_reloads", token, 300, 39, func(int) string { return "/ch/index.m3u8?token=all" }, "", ""},
		{"media_playlists_of_a_session", token, 1000, 100, func(i int) string { return fmt.Sprintf("/ch/seg%d.ts?token=all", i) }, "", ""},
		{"hostile_names", token, 1000, 100, func(i int) string {
			return fmt.Sprintf("/ch/index.m3u8?token=all&%%22%%3e=%d&%s=%d&_HLS_report=%d", i, strings.Repeat("n", 100), i, i)
		}, `"redirection": { "session_key": ["NAME"] }`, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			in(t, func(t *testing.T) {
				s := trafficStage(t, row.edit)
				for i := range row.opens {
					paced(i)
					if i*row.shared/row.opens != (i+1)*row.shared/row.opens {
						s.from("192.0.2.7", row.target(i))
					} else {
						s.from(fmt.Sprintf("198.51.%d.%d", i>>8, i&255), fmt.Sprintf("/ch/index.m3u8?token=t%d", i))
					}
				}
				got := s.advice()
				if got.Config != row.config || !strings.Contains(got.Detail, row.words) {
					t.Errorf("advice %+v, want %q with %q", got, row.config, row.words)
				}
			})
		})
	}
}

// TestAdviceProbeCredentials: servers that say nothing but 401 and 403.
func TestAdviceProbeCredentials(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newStage(t, "share a b c", "share a d")
		heard := func(name string, answers, guarded int) {
			s.p.mu.Lock()
			defer s.p.mu.Unlock()
			s.p.health[s.server(name).Endpoint] = &farms.Health{Condition: farms.ConditionUp, Answers: answers, Guarded: guarded}
		}
		heard("a", 2, 2)
		heard("b", 100, 99)
		if got := s.advice(); got.Code != "" {
			t.Errorf("%+v", got)
		}
		heard("a", 3, 3)
		heard("d", 50, 50)
		got := s.advice()
		const config = `"redirection": { "farms": [ { "name": "f1", "defaults": { "probe_headers": { "Authorization": { "file": "probe-token" } } } } ] }`
		if got.Code != "advice_probe_credentials" || got.Config != config || !strings.Contains(got.Detail, "a, d.") {
			t.Errorf("%+v", got)
		}
		heard("a", 4, 3)
		heard("d", 51, 50)
		<-time.After(time.Second)
		if got := s.advice(); got.Code != "" {
			t.Errorf("they have answered: %+v", got)
		}
		// What worked once and is refused now shows within twenty minutes.
		for range 3 {
			<-time.After(guardedWindow)
			s.e.Watch(time.Now())
		}
		heard("d", 61, 60)
		if got := s.advice(); !strings.Contains(got.Detail, ": d.") {
			t.Errorf("%+v", got)
		}
	})
}

// TestSenseIsBounded: strangers with random channels, sessions, peers and
// parameters leave no more behind than the sketches hold.
func TestSenseIsBounded(t *testing.T) {
	s := trafficStage(t, func(set *Settings) { set.SessionKeys = []string{"token"} })
	flood := func(n int) {
		for i := range n {
			s.e.sense.left.Store(senseShare) // as if each were in a slot of its own
			s.from(fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255), fmt.Sprintf("/c%d/index.m3u8?token=%d&p%d=%d", i, i, i, i), "X-Forwarded-For", "x")
		}
	}
	sense := s.e.sense
	flood(2000)
	size := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := size()
	flood(20_000)
	if grown := int64(size()) - int64(before); grown > 4<<20 { // the memory of sessions and strangers is elsewhere
		t.Errorf("the heap grew by %d bytes", grown)
	}
	if p, c := len(sense.peers.entries), len(sense.channels.entries); p != sensePeers || c != senseChannels {
		t.Errorf("%d peers and %d channels, want %d and %d", p, c, sensePeers, senseChannels)
	}
}

// TestSenseShare: of a busy service only a part is looked at.
func TestSenseShare(t *testing.T) {
	t.Parallel()
	in(t, func(t *testing.T) {
		s := newSense()
		for range 3 {
			n := 0
			for range 1000 {
				if s.due(time.Now()) {
					n++
				}
			}
			if n != senseShare {
				t.Errorf("%d of 1000 were looked at, want %d", n, senseShare)
			}
			<-time.After(senseSlot)
		}
	})
}

// TestSenseNeverWaits: whoever finds it in use goes on.
func TestSenseNeverWaits(t *testing.T) {
	t.Parallel()
	s := trafficStage(t, nil)
	s.e.sense.mu.Lock()
	s.from("192.0.2.1", "/ch/index.m3u8")
	s.e.sense.mu.Unlock()
	if s.e.sense.requests != 0 {
		t.Error("it was looked at")
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 500 {
				s.from("192.0.2.1", fmt.Sprintf("/ch/index.m3u8?a=%d", i), "X-Forwarded-For", "1.1.1.1")
				s.e.Watch(time.Now())
			}
		})
	}
	wg.Wait()
}

// TestHeavy: what is frequent is found in any order, and never counted too high
// for sure.
func TestHeavy(t *testing.T) {
	t.Parallel()
	h := newHeavy[int, struct{}](40)
	const n = 10_000
	real := map[int]int{}
	for i := range n {
		key := i
		if i%16 == 0 { // 6.25 %
			key = -1
		}
		real[key]++
		h.add(key)
	}
	top := h.top()
	if top.key != -1 || top.sure() > real[-1] || top.count < real[-1] || top.sure()*100 < n*5 {
		t.Errorf("top is %d, %d to %d times; -1 came %d times", top.key, top.sure(), top.count, real[-1])
	}
	for i := range h.entries {
		if e := &h.entries[i]; e.sure() > real[e.key] || e.count < real[e.key] {
			t.Errorf("%d counted %d to %d times, it came %d times", e.key, e.sure(), e.count, real[e.key])
		}
	}
	if empty := newHeavy[int, int](3); empty.top() != nil {
		t.Error("an empty one has a top")
	}
}
