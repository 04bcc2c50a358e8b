package redirector

import (
	"cmp"
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/redirector/clientip"
)

// reply is how a server of a script answers every question.
type reply struct {
	presence farms.Presence
	after    time.Duration
	edit     func(*farms.Fact) // may be nil
}

// script is a Prober whose servers answer as written. What is not written stays
// silent for ever. It needs a synctest bubble, unless nobody asks.
type script struct {
	ready chan struct{}
	names map[farms.Endpoint]string

	mu       sync.Mutex
	health   map[farms.Endpoint]*farms.Health
	known    map[farms.Content]*farms.Known
	channels map[string]farms.Content // the manifest of a channel, for children
	parents  map[string]string        // media playlist path to channel
	replies  map[farms.Endpoint]reply
	busy     bool                    // the bucket is empty
	deferred map[farms.Endpoint]bool // no place in time
	asking   map[farms.Content][]farms.Endpoint
	asked    []question
	checked  []string
	touched  int
}

// question is one that a script's server was asked.
type question struct {
	server string
	at     time.Time
}

func newScript(t *farms.Table) *script {
	p := &script{
		ready: make(chan struct{}), names: map[farms.Endpoint]string{},
		health: map[farms.Endpoint]*farms.Health{}, known: map[farms.Content]*farms.Known{},
		channels: map[string]farms.Content{}, parents: map[string]string{}, replies: map[farms.Endpoint]reply{},
		deferred: map[farms.Endpoint]bool{}, asking: map[farms.Content][]farms.Endpoint{},
	}
	close(p.ready)
	for _, s := range t.Servers {
		p.names[s.Endpoint] = s.Name
		p.health[s.Endpoint] = &farms.Health{Condition: farms.ConditionUp, Since: time.Now()}
	}
	return p
}

func (p *script) Health(ep farms.Endpoint) *farms.Health {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.health[ep]
}

func (p *script) Content(c farms.Content) *farms.Known {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.Kind == farms.KindChild {
		return p.known[p.channels[c.Channel]]
	}
	return p.known[c]
}

func (p *script) Ask(c farms.Content, servers []*farms.Server, force bool) farms.Asked {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out farms.Asked
	if p.known[c] == nil {
		if p.busy {
			return farms.Asked{Busy: true}
		}
		p.known[c] = &farms.Known{Changed: make(chan struct{})}
		p.channels[c.Channel] = c
	}
	for _, s := range servers {
		f := p.known[c].Of(s.Endpoint)
		switch {
		case slices.Contains(p.asking[c], s.Endpoint):
			out.Joined++
			continue
		case f != nil && !force && time.Now().Before(f.FreshUntil):
			continue
		case p.busy:
			out.Busy = true
			return out
		case p.deferred[s.Endpoint]:
			out.Deferred++
			continue
		}
		out.Opened++
		p.asked = append(p.asked, question{s.Name, time.Now()})
		p.asking[c] = append(p.asking[c], s.Endpoint)
		if r, ok := p.replies[s.Endpoint]; ok {
			time.AfterFunc(r.after, func() { p.take(c, s.Endpoint, r) })
		}
	}
	return out
}

// take publishes an answer as probe.Board does.
func (p *script) take(c farms.Content, ep farms.Endpoint, r reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asking[c] = slices.DeleteFunc(p.asking[c], func(a farms.Endpoint) bool { return a == ep })
	now := time.Now()
	f := farms.Fact{Endpoint: ep, Presence: r.presence, Multivariant: true, At: now, FreshUntil: now.Add(10 * time.Second)}
	f.ServeUntil = f.FreshUntil.Add(10 * time.Second)
	if r.presence == farms.Present {
		f.HeldAt, f.MovedAt = now, now
	}
	if r.edit != nil {
		r.edit(&f)
	}
	p.put(c, f)
}

// put replaces the view of a content. p.mu is held.
func (p *script) put(c farms.Content, f farms.Fact) {
	old := p.known[c]
	next := &farms.Known{Changed: make(chan struct{})}
	if old != nil {
		next.Facts = slices.DeleteFunc(slices.Clone(old.Facts), func(x farms.Fact) bool { return x.Endpoint == f.Endpoint })
	}
	next.Facts = append(next.Facts, f)
	slices.SortFunc(next.Facts, func(a, b farms.Fact) int { return cmp.Compare(a.Endpoint, b.Endpoint) })
	p.known[c], p.channels[c.Channel] = next, c
	if old != nil {
		close(old.Changed)
	}
}

func (p *script) Check(_ farms.Content, s *farms.Server) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.checked = append(p.checked, s.Name)
	return true
}

func (p *script) Touch(farms.Content, time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.touched++
}

func (p *script) Manifest(channel string) (farms.Content, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok := p.channels[channel]
	return c, ok
}

func (p *script) Parent(path string) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok := p.parents[path]
	return c, ok
}

func (p *script) Ready() <-chan struct{} { return p.ready }
func (p *script) Sizes() (int, int)      { return len(p.known), len(p.known) }

// questions lists who was asked, in order.
func (p *script) questions() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, q := range p.asked {
		out = append(out, q.server)
	}
	return out
}

// askedAt lists who was asked at a time after start, sorted.
func (p *script) askedAt(start time.Time, after time.Duration) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, q := range p.asked {
		if q.at.Equal(start.Add(after)) {
			out = append(out, q.server)
		}
	}
	slices.Sort(out)
	return out
}

// checks lists the servers that a returning viewer had checked, and forgets
// them.
func (p *script) checks() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.checked
	p.checked = nil
	return out
}

// stage is an engine in front of a script.
type stage struct {
	t     testing.TB
	e     *Engine
	p     *script
	table *farms.Table
	set   *Settings
	start time.Time
}

// The content that the stages' viewers ask for, when they ask for nothing else.
const (
	stagePath   = "/ch/index.m3u8"
	stageViewer = "192.0.2.1"
)

func stageContent() farms.Content {
	return farms.Content{Channel: "ch", Path: stagePath, Protocol: farms.ProtocolHLS, Kind: farms.KindLive}
}

// stageSpec reads one line for each farm, the policy and then the servers with
// their weights: "weight a=10 b=5 c". A policy may be followed by "/assume".
func stageSpec(t testing.TB, lines ...string) *farms.Spec {
	t.Helper()
	spec := &farms.Spec{Rules: farms.Rules{
		StaleIfError: 10 * time.Minute, OffAir: 10 * time.Minute, SlowStart: 30 * time.Second, Sticky: time.Minute,
	}}
	location := farms.LocationSpec{
		Name: "everybody", URIRegex: ".*",
		Prefixes: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")},
	}
	for i, line := range lines {
		fields := strings.Fields(line)
		word, option, _ := strings.Cut(fields[0], "/")
		policy, ok := farms.ParsePolicy(word)
		if !ok {
			t.Fatalf("%q is no policy", word)
		}
		farm := farms.FarmSpec{Name: "f" + strconv.Itoa(i+1), Policy: policy, Assume: option == "assume"}
		for _, field := range fields[1:] {
			name, w, found := strings.Cut(field, "=")
			weight := 1.0
			if found {
				var err error
				if weight, err = strconv.ParseFloat(w, 64); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.ContainsFunc(spec.Servers, func(s farms.ServerSpec) bool { return s.Name == name }) {
				spec.Servers = append(spec.Servers, farms.ServerSpec{Name: name, URL: "http://" + name + ".example", StatusPath: "/"})
			}
			farm.Members = append(farm.Members, farms.MemberSpec{Server: name, Weight: weight})
		}
		spec.Farms = append(spec.Farms, farm)
		location.Farms = append(location.Farms, farm.Name)
	}
	spec.Locations = []farms.LocationSpec{location}
	return spec
}

func newStage(t testing.TB, lines ...string) *stage {
	t.Helper()
	return newStageOf(t, stageSpec(t, lines...), nil)
}

func newStageOf(t testing.TB, spec *farms.Spec, edit func(*Settings)) *stage {
	t.Helper()
	table, err := farms.Build(spec, 1)
	if err != nil {
		t.Fatal(err)
	}
	clients, err := clientip.New(nil, clientip.XForwardedFor)
	if err != nil {
		t.Fatal(err)
	}
	m := NewMetrics("test", "test")
	s := &stage{
		t: t, p: newScript(table), table: table, start: time.Now(),
		set: &Settings{Clients: clients, DecisionTimeout: 1500 * time.Millisecond, HealthPath: "/.pointsman/health", LogSample: 1},
	}
	if edit != nil {
		edit(s.set)
	}
	s.e = New(Options{
		Prober: s.p, Log: zerolog.Nop(), Decisions: zerolog.Nop(), Metrics: m, Alarms: NewAlarms(zerolog.Nop(), m.Alarm),
	})
	s.e.Swap(table, s.set)
	return s
}

func (s *stage) server(name string) *farms.Server {
	s.t.Helper()
	for _, x := range s.table.Servers {
		if x.Name == name {
			return x
		}
	}
	s.t.Fatalf("there is no server %q", name)
	return nil
}

// answers writes how a server answers questions.
func (s *stage) answers(name string, after time.Duration, p farms.Presence) {
	s.t.Helper()
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.p.replies[s.server(name).Endpoint] = reply{presence: p, after: after}
}

// said is an answer and when it comes after the question.
type said struct {
	after    time.Duration
	presence farms.Presence
}

// say writes how several servers answer.
func (s *stage) say(answers map[string]said) {
	s.t.Helper()
	for name, a := range answers {
		s.answers(name, a.after, a.presence)
	}
}

// knows makes a server's answer about the stage's content known already.
func (s *stage) knows(name string, p farms.Presence, edit func(*farms.Fact)) {
	s.t.Helper()
	s.p.take(stageContent(), s.server(name).Endpoint, reply{presence: p, edit: edit})
}

// down makes a server fail its status probes.
func (s *stage) down(name string, since time.Duration) {
	s.t.Helper()
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.p.health[s.server(name).Endpoint] = &farms.Health{Condition: farms.ConditionDown, Since: time.Now().Add(-since), Reason: "refused"}
}

// visit is what a viewer asks; zero fields stand for the usual.
type visit struct {
	method, target, addr, agent, host string
	ctx                               context.Context
}

// visits answers a viewer as the HTTP door does, without writing the answer.
func (s *stage) visits(v visit) Decision {
	s.t.Helper()
	addr := netip.MustParseAddr(cmp.Or(v.addr, stageViewer))
	if v.ctx == nil {
		v.ctx = context.Background()
	}
	view := s.e.view.Load()
	w := s.e.begin()
	defer s.e.end(w)
	s.e.decide(v.ctx, w, view, Request{
		Method: cmp.Or(v.method, http.MethodGet), RawTarget: cmp.Or(v.target, stagePath), Host: cmp.Or(v.host, "tv.example"),
		UserAgent: cmp.Or(v.agent, "player"), Viewer: clientip.Viewer{Addr: addr, Peer: addr},
	})
	s.e.commit(w, view)
	return w.decision
}

// get sends a request through the HTTP door.
func (s *stage) get(method, target string, header ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequest(method, "/", nil)
	r.RequestURI, r.Host, r.RemoteAddr = target, "tv.example", stageViewer+":1234"
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	rw := httptest.NewRecorder()
	s.e.Viewers().ServeHTTP(rw, r)
	return rw
}

// wants checks where a decision sends the viewer ("" for nowhere), why, and how
// long he waited.
func (s *stage) wants(d Decision, server string, reason farms.Reason, waited time.Duration) {
	s.t.Helper()
	got := ""
	if d.Server != nil {
		got = d.Server.Name
	}
	if got != server || d.Reason != reason || d.Waited != waited {
		s.t.Errorf("decided %q, %v after %v; want %q, %v after %v", got, d.Reason, d.Waited, server, reason, waited)
	}
}
