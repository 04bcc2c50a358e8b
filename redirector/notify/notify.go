// Package notify tells webhooks about alarms.
//
// Each hook has a queue and a goroutine of its own, so that one that hangs delays
// neither the others nor whoever raises alarms: [Notifier.Tell] only writes into
// bounded memory. A queue holds the newest state of every alarm that its hook has
// not taken yet. An alarm that came and went meanwhile is therefore one message,
// which says that it was on, from when until when; and one that a hook is asked
// to take again after an attempt that failed has the same id, by which a receiver
// that took it after all knows it.
//
// How bytes get to a receiver is the caller's: nothing here opens a connection.
package notify

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// The bounds of a hook's memory and of its messages.
const (
	maxPending = 1000 // alarms that wait; a further one pushes out the oldest
	maxTold    = 4096 // alarms of which a hook knows that they are on
	maxBatch   = 50   // alarms in one message
)

// Timeout is how long one delivery may take.
const Timeout = 5 * time.Second

// Alarm is the state of one alarm.
type Alarm struct {
	ID       string // of this occurrence: an alarm that comes back has another
	Code     string
	Subject  string // what it is about, "" where the code says it all
	Severity string
	Rank     int // of the severity; a greater one is worse
	Detail   string
	Config   string    // the configuration that would mend it, "" unknown
	Since    time.Time // when it came on
	Until    time.Time // when it went; zero: it is on
}

func (a *Alarm) over() bool { return !a.Until.IsZero() }

// Hook is one receiver.
type Hook struct {
	Name string // for metrics and the log: its URL may hold a secret
	URL  string
	// Secret signs what is sent; empty: nothing is signed.
	Secret []byte
	// MinRank is the least [Alarm.Rank] that it is told of.
	MinRank int
	// SendResolved has it told of the end of an alarm that it knows to be on. One
	// that is over before it could be told is told to it in any case.
	SendResolved bool
}

// Message is one delivery.
type Message struct {
	URL       string
	Body      []byte
	Timestamp string // unix seconds
	Signature string // see [Sign]; "" unsigned
}

// Result is what became of one delivery.
type Result string

// The results.
const (
	Delivered Result = "delivered" // answered with a status from 200 to 299
	Refused   Result = "refused"   // answered with another
	TimedOut  Result = "timeout"   // not answered in time
	Failed    Result = "error"     // not connected, or broken off
)

// Results is the closed set of results.
func Results() []Result { return []Result{Delivered, Refused, TimedOut, Failed} }

// Options are what a [Notifier] works with. Post and Random are needed.
type Options struct {
	// Instance names this machine in every message, Started the run.
	Instance string
	Started  time.Time
	// Post delivers a message and returns the status it was answered with. It ends
	// with its context.
	Post func(ctx context.Context, m Message) (status int, err error)
	// Random returns a number from 0 up to 1, for the pauses between attempts.
	Random func() float64
	// Result is called after every delivery. May be nil.
	Result func(hook string, r Result)
	// Waiting is called when the number of alarms that wait for a hook changed,
	// and how many were pushed out of its queue with it. May be nil.
	Waiting func(hook string, waiting, dropped int)
	// Trouble is called with what is wrong when a hook takes nothing any more, and
	// with nil when it does again. May be nil.
	Trouble func(hook string, err error)
}

// Notifier tells hooks about alarms. It is safe for concurrent use.
type Notifier struct {
	opt Options

	mu      sync.Mutex
	on      map[key]Alarm // for hooks that come later
	workers []*worker
	ctx     context.Context // of Run; nil before
	running sync.WaitGroup
}

// New makes a notifier without hooks.
func New(opt Options) *Notifier {
	if opt.Result == nil {
		opt.Result = func(string, Result) {}
	}
	if opt.Waiting == nil {
		opt.Waiting = func(string, int, int) {}
	}
	if opt.Trouble == nil {
		opt.Trouble = func(string, error) {}
	}
	return &Notifier{opt: opt, on: map[key]Alarm{}}
}

// Tell passes on that an alarm came on or went. It never waits.
func (n *Notifier) Tell(a Alarm) {
	n.mu.Lock()
	defer n.mu.Unlock()
	k := keyOf(&a)
	if a.over() {
		delete(n.on, k)
	} else if _, known := n.on[k]; known || len(n.on) < maxTold {
		n.on[k] = a
	}
	for _, w := range n.workers {
		w.tell(a)
	}
}

// Update replaces the hooks. What waits for a hook stays with it, under its URL or
// else, where only that was corrected, under its place in the list. A new hook is
// told of the alarms that are on.
func (n *Notifier) Update(hooks []Hook) {
	n.mu.Lock()
	defer n.mu.Unlock()
	old := n.workers
	next := make([]*worker, len(hooks))
	kept := make(map[*worker]bool, len(old))
	for i := range hooks {
		for _, w := range old {
			if !kept[w] && w.settings().URL == hooks[i].URL {
				next[i], kept[w] = w, true
				w.follow(hooks[i])
				break
			}
		}
	}
	for i := range hooks {
		if next[i] != nil {
			continue
		}
		next[i] = newWorker(&n.opt, hooks[i])
		if i < len(old) && !kept[old[i]] {
			next[i].inherit(old[i])
		}
		for _, a := range n.on {
			next[i].tell(a)
		}
	}
	for _, w := range old {
		if !kept[w] {
			w.stop()
		}
	}
	n.workers = next
	for _, w := range next {
		if n.ctx != nil && !kept[w] {
			n.start(w)
		}
	}
}

// start runs a worker. n.mu is held.
func (n *Notifier) start(w *worker) {
	ctx, stop := context.WithCancel(n.ctx)
	w.stop = stop
	n.running.Go(func() { w.run(ctx) })
}

// Run delivers until ctx ends. It is called once.
func (n *Notifier) Run(ctx context.Context) {
	n.mu.Lock()
	n.ctx = ctx
	for _, w := range n.workers {
		n.start(w)
	}
	n.mu.Unlock()
	<-ctx.Done()
	n.running.Wait()
}

// worker delivers to one hook.
type worker struct {
	opt  *Options
	wake chan struct{} // something waits
	now  chan struct{} // try again at once
	stop func()        // ends run; set by Notifier.start

	mu   sync.Mutex
	hook Hook
	q    queue
}

func newWorker(opt *Options, h Hook) *worker {
	return &worker{opt: opt, hook: h, q: newQueue(), wake: make(chan struct{}, 1), now: make(chan struct{}, 1), stop: func() {}}
}

func (w *worker) settings() Hook {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hook
}

// follow takes over what a reload changed, and tries again at once: the operator
// may have mended what was wrong.
func (w *worker) follow(h Hook) {
	w.mu.Lock()
	w.hook = h
	w.mu.Unlock()
	signal(w.now)
}

// inherit takes over what waits for another.
func (w *worker) inherit(from *worker) {
	from.mu.Lock()
	waiting := from.q.all()
	from.mu.Unlock()
	for i := range waiting {
		w.tell(waiting[i])
	}
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (w *worker) tell(a Alarm) {
	w.mu.Lock()
	dropped := w.q.add(a, &w.hook)
	name, waiting := w.hook.Name, len(w.q.order)
	w.mu.Unlock()
	w.opt.Waiting(name, waiting, dropped)
	signal(w.wake)
}

// run delivers what waits until ctx ends.
func (w *worker) run(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; {
		w.mu.Lock()
		hook, batch := w.hook, w.q.batch()
		w.mu.Unlock()
		if len(batch) == 0 {
			select {
			case <-w.wake:
			case <-ctx.Done():
			}
			continue
		}
		err := w.deliver(ctx, &hook, batch)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			w.settle(batch)
			if failures > 0 {
				w.opt.Trouble(hook.Name, nil)
			}
			failures = 0
			continue
		}
		if failures == 0 {
			w.opt.Trouble(hook.Name, err)
		}
		failures++
		w.pause(ctx, backoff(failures, w.opt.Random()))
	}
}

// deliver sends one message.
func (w *worker) deliver(run context.Context, hook *Hook, batch []item) error {
	ctx, cancel := context.WithTimeout(run, Timeout)
	defer cancel()
	now := time.Now()
	m := Message{URL: hook.URL, Timestamp: fmt.Sprint(now.Unix())}
	m.Body = encode(w.opt.Instance, w.opt.Started, now, batch)
	if len(hook.Secret) > 0 {
		m.Signature = Sign(hook.Secret, m.Timestamp, m.Body)
	}
	status, err := w.opt.Post(ctx, m)
	if run.Err() != nil {
		return run.Err() // the hook is gone, and nothing is to be counted for it
	}
	r := Delivered
	switch {
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		r, err = TimedOut, fmt.Errorf("delivering alarms: no answer within %v", Timeout)
	case err != nil:
		r, err = Failed, fmt.Errorf("delivering alarms: %w", err)
	case status < 200 || status > 299:
		r, err = Refused, fmt.Errorf("delivering alarms: answered %d, expected 200 to 299", status)
	}
	w.opt.Result(hook.Name, r)
	return err
}

func (w *worker) settle(batch []item) {
	w.mu.Lock()
	w.q.delivered(batch, &w.hook)
	name, waiting := w.hook.Name, len(w.q.order)
	w.mu.Unlock()
	w.opt.Waiting(name, waiting, 0)
}

// pause waits before the next attempt. More alarms are no reason to try earlier.
func (w *worker) pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-w.now:
	case <-ctx.Done():
	}
}
