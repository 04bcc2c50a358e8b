package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/probe/api"
	"github.com/pointsman-tv/pointsman/probe/fetch"
	"github.com/pointsman-tv/pointsman/test/fake"
)

// now is the time of all tests here: 2026-01-01T00:00:00Z.
var now = time.Unix(1767225600, 0)

func clock() time.Time { return now }

// hushed stands for every credential; no answer and no error may repeat it.
const hushed = "s3cret+/=& token"

// back makes a recording from and to so many minutes ago.
func back(from, to int) fake.Range {
	return fake.Range{From: now.Add(-time.Duration(from) * time.Minute), To: now.Add(-time.Duration(to) * time.Minute)}
}

// minutes are the same as an answer gives them.
func minutes(pairs ...int) []farms.Range {
	var out []farms.Range
	for i := 0; i < len(pairs); i += 2 {
		r := back(pairs[i], pairs[i+1])
		out = append(out, farms.Range{From: r.From.UnixMilli(), To: r.To.UnixMilli()})
	}
	return out
}

// start serves h on the loopback interface and returns a client's method and
// the server's URL.
func start(t testing.TB, h http.Handler) (api.Get, string) {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	c, err := fetch.New(fetch.Options{UserAgent: "pointsman-probe/test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c.Get, srv.URL
}

// question is a question for the last hour, or for live.
func question(channel string, live bool) api.Question {
	q := api.Question{Channel: channel, Path: "/" + channel + "/index.m3u8", Protocol: farms.ProtocolHLS, Live: live, Now: now}
	if !live {
		q.Need = minutes(60, 0)[0]
	}
	return q
}

// ask asks with a deadline that no test should meet, and checks what holds for
// every answer.
func ask(t testing.TB, vendor api.Ask, get api.Get, s api.Server, q api.Question) api.Answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	a, err := vendor(ctx, get, s, q)
	if err != nil {
		t.Fatalf("asking: %v", err)
	}
	checkPromises(t, a, q)
	return a
}

// checkPromises checks what an answer promises, whatever the server sent.
func checkPromises(t testing.TB, a api.Answer, q api.Question) {
	t.Helper()
	if len(a.Detail) > 400 || strings.ContainsFunc(a.Detail, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		t.Errorf("the detail %q is too long or has control bytes", a.Detail)
	}
	if strings.Contains(a.Detail, hushed) {
		t.Errorf("the detail %q has the secret", a.Detail)
	}
	if a.Detail == "" {
		t.Error("the answer has no detail")
	}
	if len(a.Ranges) > 100_000 {
		t.Errorf("%d ranges", len(a.Ranges))
	}
	if q.Live && (len(a.Ranges) > 0 || a.All) {
		t.Errorf("ranges in the answer to a question for live: %v", a.Ranges)
	}
	if !q.Live && a.Presence == farms.Present && len(a.Ranges) == 0 || a.Presence != farms.Present && len(a.Ranges) > 0 {
		t.Errorf("%v with the ranges %v", a.Presence, a.Ranges)
	}
	for i, r := range a.Ranges {
		if r.From <= 0 || r.From >= r.To || i > 0 && r.From <= a.Ranges[i-1].To {
			t.Fatalf("range %d of %v is invalid, out of order, or touches the one before", i, a.Ranges)
		}
	}
}

// answering is a server that gives one body to every request.
func answering(status int, body string) api.Get {
	return func(context.Context, fetch.Request) (*fetch.Response, error) {
		return &fetch.Response{Status: status, Header: http.Header{}, Body: []byte(body)}, nil
	}
}
