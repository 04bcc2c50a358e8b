package archive

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the tests do not depend on the machine's zones
)

// testNow is the examples' clock, 2026-01-01T00:00:00Z.
var testNow = time.Unix(1767225600, 0).UTC()

func zone(tb testing.TB, name string) *time.Location {
	tb.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		tb.Fatal(err)
	}
	return loc
}

// newParser returns a parser as the examples want it.
func newParser(tb testing.TB) *Parser {
	tb.Helper()
	p, err := New(Options{
		Zone:       zone(tb, "Europe/Moscow"),
		ViewerZone: zone(tb, "Asia/Tashkent"),
		ClockSlack: 120 * time.Second,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// splitURL does what a door does: no fragment, path decoded once, raw query.
func splitURL(tb testing.TB, u string) (raw, plain, query string) {
	tb.Helper()
	u, _, _ = strings.Cut(u, "#")
	raw, query, _ = strings.Cut(u, "?")
	plain, err := url.PathUnescape(raw)
	if err != nil {
		tb.Fatal(err)
	}
	return raw, plain, query
}

// asExample writes a result in the examples' form.
func asExample(r Request, v Verdict) string {
	if v.Outcome != OK {
		return "ERR:" + v.Outcome.String()
	}
	var start, end int64
	if !r.Window.IsZero() {
		start, end = r.Window.Start.Unix(), r.Window.End.Unix()
	}
	return fmt.Sprintf("%s|%s|%v|%v|%d|%d|%t", r.Dialect, r.Channel, r.Kind, r.Protocol, start, end, r.Window.Open)
}

type example struct{ URL, Want string }

// examples returns the reference's examples, with their errors in our words.
func examples(tb testing.TB) []example {
	tb.Helper()
	data, err := os.ReadFile("testdata/examples.json")
	if err != nil {
		tb.Fatal(err)
	}
	var list []example
	if err := json.Unmarshal(data, &list); err != nil {
		tb.Fatal(err)
	}
	words := map[string]string{"ERR:future": "ERR:archive_future", "ERR:inverted": "ERR:bad_window"}
	for i, e := range list {
		if w, ok := words[e.Want]; ok {
			list[i].Want = w
		}
	}
	return list
}

func TestReferenceExamples(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	for _, e := range examples(t) {
		_, plain, query := splitURL(t, e.URL)
		if got := asExample(p.Parse(plain, query, testNow, nil)); got != e.Want {
			t.Errorf("%s\n got %s\nwant %s", e.URL, got, e.Want)
		}
	}
}
