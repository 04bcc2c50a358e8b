package status

import (
	"bytes"
	"html/template"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Live is the page of /status in pieces, each with a number that tells when it
// changed last, so that a page that is open somewhere is sent what is newer than
// what it shows. Pieces are made anew when somebody looks, once a second at most,
// and one that has not changed is not drawn again; while nobody looks nothing
// happens. It is safe for concurrent use and holds nobody up but its readers.
type Live struct {
	gather func(now time.Time) *Document
	epoch  string // tells the numbers of this process from those of another

	mu         sync.Mutex
	last       time.Time // when the pieces were made
	generation uint64
	newest     uint64 // number of the last change
	base       uint64 // number of the first change since the farms and servers are these
	pieces     []*piece
	byID       map[string]*piece
	farms      []farmRows // for the whole page

	streams int
	closed  chan struct{}
	ending  sync.Once

	nudges sync.Mutex
	nudge  chan struct{} // closed, and replaced, when something happened that does not wait
	news   atomic.Bool   // and the pieces are not made anew since
}

// piece is one part of the page: the inside of the element with its id, or a
// whole table row.
type piece struct {
	id    string
	row   bool
	html  string
	at    uint64    // number of its last change
	drawn time.Time // a row: when it was drawn
	shows any       // what it was drawn from
}

// farmRows is the place of a farm's rows in the page.
type farmRows struct {
	Name, Policy, ID string
	rows             []*piece
}

// Rows are the rows of the farm's table.
func (f farmRows) Rows() []template.HTML {
	out := make([]template.HTML, 0, len(f.rows))
	for _, p := range f.rows {
		out = append(out, template.HTML(p.html)) //nolint:gosec // a template of ours made it
	}
	return out
}

// NewLive makes a page of what gather returns. gather must not wait, and what it
// returns must not change.
func NewLive(gather func(now time.Time) *Document) *Live {
	return &Live{
		gather: gather, epoch: strconv.FormatInt(time.Now().UnixNano(), 36), closed: make(chan struct{}),
		nudge: make(chan struct{}),
	}
}

// Nudge has those who look on see at once that something happened: a server's
// state is another, the operator acted. It never waits.
func (l *Live) Nudge() {
	if l.news.Swap(true) {
		return // they are on their way
	}
	l.nudges.Lock()
	defer l.nudges.Unlock()
	close(l.nudge)
	l.nudge = make(chan struct{})
}

// nudged returns a channel that the next nudge closes.
func (l *Live) nudged() <-chan struct{} {
	l.nudges.Lock()
	defer l.nudges.Unlock()
	return l.nudge
}

// End ends every stream of updates for good, before a shutdown.
func (l *Live) End() { l.ending.Do(func() { close(l.closed) }) }

const (
	// liveEvery is how often pieces are made anew for those who look on.
	liveEvery = time.Second
	// nudgeRest is how much comes together after a nudge: servers seldom go down
	// alone.
	nudgeRest = 200 * time.Millisecond
	// rowRest is how long a row is left as it is when only its numbers have
	// changed: with a thousand servers some number changes in every one of them
	// all the time.
	rowRest = 5 * time.Second
)

// refresh makes the pieces anew; for those who look on it is content with what
// is younger than a second. l.mu is held.
func (l *Live) refresh(now time.Time, looksOn bool) {
	rest := liveEvery * 9 / 10
	if l.news.Load() {
		rest = nudgeRest / 2
	}
	if looksOn && now.Sub(l.last) < rest {
		return
	}
	l.last = now
	l.news.Store(false) // before it is looked at: what happens from now on is news again
	d := l.gather(now)
	if l.byID == nil || l.generation != d.Generation {
		l.generation, l.base = d.Generation, l.newest+1
		l.pieces, l.byID, l.farms = nil, map[string]*piece{}, nil
	}
	summary := summarize(d)
	l.draw("head", "head", headOf(d, summary), false)
	l.draw("alarms", "alarms", alarmsOf(d), false)
	l.draw("attention", "attention", summary.Attention, false)
	l.draw("decisions", "decisions", d.Decisions, false)
	l.draw("refusals", "refusals", d.Refusals, false)
	l.draw("locations", "locations", d.Locations, false)
	l.draw("steering", "steering", steeringOf(d), false)
	fresh := l.farms == nil
	for i := range d.Farms {
		f := &d.Farms[i]
		id := "farm-" + strconv.Itoa(i)
		l.draw(id, "farm", summary.Farms[i], false)
		if fresh {
			l.farms = append(l.farms, farmRows{Name: f.Name, Policy: f.Policy, ID: id})
		}
		for j := range f.Servers {
			s := &f.Servers[j]
			p := l.drawRow(rowID(i, j), s, now, looksOn)
			if fresh {
				l.farms[i].rows = append(l.farms[i].rows, p)
			}
		}
	}
}

func rowID(farm, server int) string { return "row-" + strconv.Itoa(farm) + "-" + strconv.Itoa(server) }

// drawRow draws a server's row, unless that can wait.
func (l *Live) drawRow(id string, s *Server, now time.Time, looksOn bool) *piece {
	if p := l.byID[id]; p != nil && looksOn && now.Sub(p.drawn) < rowRest && !s.news(&p.shows.(*rowOf).Server) {
		return p
	}
	p := l.draw(id, "row", &rowOf{id, *s}, true) // a copy, or one row would keep all the others of its time
	p.drawn = now
	return p
}

// rowOf is what a row is drawn from.
type rowOf struct {
	ID string
	Server
}

// news tells whether a server's row differs in what an operator waits for, and
// not in numbers alone.
func (s *Server) news(old *Server) bool {
	return s.State != old.State || !s.Since.Equal(old.Since) || s.Reason != old.Reason || !reflect.DeepEqual(s.Override, old.Override)
}

// draw makes a piece of the template of the given name from x, unless it is what
// it was.
func (l *Live) draw(id, name string, x any, row bool) *piece {
	p := l.byID[id]
	if p != nil && reflect.DeepEqual(p.shows, x) {
		return p
	}
	if p == nil {
		p = &piece{id: id, row: row}
		l.pieces, l.byID[id] = append(l.pieces, p), p
	}
	p.shows = x
	if html := render(name, x); html != p.html || p.at == 0 {
		l.newest++
		p.html, p.at = html, l.newest
	}
	return p
}

// render runs a template of ours over a value of ours; that it can is tested.
func render(name string, x any) string {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, x); err != nil {
		return template.HTMLEscapeString("this part of the page cannot be drawn: " + err.Error())
	}
	return b.String()
}

// update is what is sent to a page that is open.
type update struct {
	Reload bool              `json:"reload,omitempty"` // the page must be loaded again
	Rows   []string          `json:"rows,omitempty"`   // whole table rows
	Parts  map[string]string `json:"parts,omitempty"`  // insides of elements, by id
}

// since returns what has changed after a number, and the number to go on from.
func (l *Live) since(number uint64, now time.Time) (u update, next uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refresh(now, true)
	if number < l.base {
		return update{Reload: true}, l.newest
	}
	for _, p := range l.pieces {
		switch {
		case p.at <= number:
		case p.row:
			u.Rows = append(u.Rows, p.html)
		default:
			if u.Parts == nil {
				u.Parts = map[string]string{}
			}
			u.Parts[p.id] = p.html
		}
	}
	return u, l.newest
}

// view is what the whole page is drawn from.
type view struct {
	Number   string // of its newest change, with the epoch
	ActToken bool   // acting needs a token
	Farms    []farmRows
	parts    map[string]string
}

// Part returns a part of the page.
func (v view) Part(id string) template.HTML {
	return template.HTML(v.parts[id]) //nolint:gosec // a template of ours made it
}

// whole makes all pieces anew and returns the page of them.
func (l *Live) whole(now time.Time, actToken bool) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refresh(now, false)
	v := view{Number: l.number(l.newest), ActToken: actToken, Farms: slices.Clone(l.farms), parts: map[string]string{}}
	for _, p := range l.pieces {
		if !p.row {
			v.parts[p.id] = p.html
		}
	}
	return render("status", v)
}

// number writes a number for pages.
func (l *Live) number(n uint64) string { return l.epoch + "-" + strconv.FormatUint(n, 10) }
