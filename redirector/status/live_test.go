package status

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func partsOf(u update) []string {
	var out []string
	for id := range u.Parts {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// TestLiveSendsWhatChanged: a page is sent what is newer than what it shows, and
// nothing twice.
func TestLiveSendsWhatChanged(t *testing.T) {
	t.Parallel()
	w, l := newWorld(t, 3)
	now := at(0)
	page := l.whole(now, false)
	_, number, _ := strings.Cut(page, `data-number="`)
	number, _, _ = strings.Cut(number, `"`)
	if number != l.number(l.newest) {
		t.Fatalf("the page has number %q, want %q", number, l.number(l.newest))
	}
	shown := l.newest
	step := func(d time.Duration) update {
		now = now.Add(d)
		u, next := l.since(shown, now)
		shown = next
		return u
	}

	if u := step(time.Second); len(u.Rows) != 0 || !slices.Equal(partsOf(u), []string{"head"}) {
		t.Errorf("with nothing new but the time: rows %q, parts %q", u.Rows, partsOf(u))
	}
	w.change(func(d *Document) {
		s := &d.Farms[0].Servers[1]
		s.State, s.Since, s.Reason = "down", at(1), "refused <it>"
	})
	u := step(time.Second)
	if len(u.Rows) != 1 || !strings.Contains(u.Rows[0], `id="row-0-1"`) || !strings.Contains(u.Rows[0], "refused &lt;it&gt;") {
		t.Errorf("after a server went down: rows %q", u.Rows)
	}
	if !slices.Equal(partsOf(u), []string{"attention", "farm-0", "head"}) {
		t.Errorf("after a server went down: parts %q", partsOf(u))
	}
	// Numbers alone wait.
	w.change(func(d *Document) { d.Farms[0].Servers[2].Sessions = 99 })
	if u := step(time.Second); len(u.Rows) != 0 {
		t.Errorf("after a number changed: rows %q", u.Rows)
	}
	if u := step(rowRest); len(u.Rows) != 1 || !strings.Contains(u.Rows[0], ">99<") {
		t.Errorf("%v later: rows %q", rowRest, u.Rows)
	}
	// But not for who loads the page.
	w.change(func(d *Document) { d.Farms[0].Servers[0].Sessions = 77 })
	if page := l.whole(now.Add(time.Millisecond), false); !strings.Contains(page, ">77<") {
		t.Error("a page loaded anew shows an old number")
	}

	asks := w.asks
	for range 20 {
		_, _ = l.since(shown, now.Add(10*time.Millisecond))
	}
	if w.asks != asks {
		t.Errorf("20 pages within a second had the state gathered %d times more", w.asks-asks)
	}
}

// TestLiveOtherTable: rows are places in a table; those of another table are
// shown by loading the page again.
func TestLiveOtherTable(t *testing.T) {
	t.Parallel()
	w, l := newWorld(t, 2)
	l.whole(at(0), false)
	shown := l.newest
	w.change(func(d *Document) { d.Generation, d.Farms[0].Servers = 4, d.Farms[0].Servers[:1] })
	if u, _ := l.since(shown, at(2)); !u.Reload {
		t.Errorf("another table is sent as %+v", u)
	}
	page := l.whole(at(3), false)
	if strings.Contains(page, "row-0-1") || !strings.Contains(page, "row-0-0") || strings.Count(page, "<tr id=") != 1 {
		t.Error("the page of the new table shows an old row")
	}
	if u, _ := l.since(l.newest, at(4)); u.Reload {
		t.Error("the page of the new table is to be loaded again")
	}
}
