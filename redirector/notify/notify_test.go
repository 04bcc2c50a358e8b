package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// receiver is a webhook that does as it is told.
type receiver struct {
	mu      sync.Mutex
	status  int         // 0: it hangs
	err     error       // instead of an answer
	hangs   string      // a URL that hangs, whatever the others do
	during  func()      // called once in the middle of a delivery
	tries   []time.Time // of all attempts
	taken   []string    // "code subject state", of those it answered with 2xx
	at      []string    // the URLs of taken
	batches []int       // their sizes
	results []Result    // as counted
	trouble []string    // as logged
	waiting map[string]int
	dropped int
	message Message
}

func (r *receiver) post(ctx context.Context, m Message) (int, error) {
	r.mu.Lock()
	r.tries = append(r.tries, time.Now())
	r.message = m
	status, err, during := r.status, r.err, r.during
	if m.URL == r.hangs {
		status = 0
	}
	r.during = nil
	r.mu.Unlock()
	if during != nil {
		during()
	}
	if err != nil {
		return 0, err
	}
	if status == 0 {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	if status < 300 {
		var b body
		if err := json.Unmarshal(m.Body, &b); err != nil {
			return 0, err
		}
		r.mu.Lock()
		for _, a := range b.Alarms {
			r.taken = append(r.taken, strings.TrimSpace(a.Code+" "+a.Subject)+" "+a.State)
			r.at = append(r.at, m.URL)
		}
		r.batches = append(r.batches, len(b.Alarms))
		r.mu.Unlock()
	}
	return status, nil
}

func (r *receiver) set(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

// got takes what was taken so far.
func (r *receiver) got() []string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.taken
	r.taken, r.at = nil, nil
	return out
}

func (r *receiver) wants(t *testing.T, want ...string) {
	t.Helper()
	if got := r.got(); !slices.Equal(got, want) {
		t.Errorf("taken: %q, want %q", got, want)
	}
}

// scene runs a notifier with one hook in front of a receiver.
func scene(t *testing.T, hook Hook, f func(t *testing.T, n *Notifier, r *receiver)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{status: 204, waiting: map[string]int{}}
		n := New(Options{
			Instance: "edge", Started: time.Now(), Post: r.post, Random: func() float64 { return 1 },
			Result: func(_ string, res Result) {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.results = append(r.results, res)
			},
			Waiting: func(hook string, waiting, dropped int) {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.waiting[hook] = waiting
				r.dropped += dropped
			},
			Trouble: func(hook string, err error) {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.trouble = append(r.trouble, fmt.Sprint(hook, ": ", err))
			},
		})
		hook.Name, hook.URL = "hook", "http://hook.example/alarms"
		n.Update([]Hook{hook})
		ctx, cancel := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() { n.Run(ctx) })
		f(t, n, r)
		cancel()
		done.Wait()
	})
}

func on(code, subject string) Alarm {
	return Alarm{ID: code + subject + time.Now().String(), Code: code, Subject: subject, Severity: "warning", Rank: 1, Detail: "d", Since: time.Now()}
}

func off(a Alarm) Alarm {
	a.Until = time.Now()
	return a
}

func TestDelivery(t *testing.T) {
	t.Parallel()
	scene(t, Hook{SendResolved: true, Secret: []byte("0123456789abcdef"), MinRank: 1}, func(t *testing.T, n *Notifier, r *receiver) {
		a := on("server_down", "n1")
		a.Detail, a.Config = "<refused>", `"core": {}`
		n.Tell(a)
		r.wants(t, "server_down n1 on")
		m := r.message
		want := fmt.Sprintf(`{"version":1,"instance":"edge","started":"2000-01-01T00:00:00Z","sent":"2000-01-01T00:00:00Z","alarms":[`+
			`{"id":%q,"code":"server_down","subject":"n1","severity":"warning","state":"on","since":"2000-01-01T00:00:00Z","detail":"<refused>","config":"\"core\": {}"}]}`, a.ID)
		if string(m.Body) != want {
			t.Errorf("body\n%s\nwant\n%s", m.Body, want)
		}
		if m.URL != "http://hook.example/alarms" || m.Timestamp != fmt.Sprint(time.Now().Unix()) || m.Signature != Sign([]byte("0123456789abcdef"), m.Timestamp, m.Body) {
			t.Errorf("message %+v", m)
		}
		<-time.After(1500 * time.Millisecond)
		n.Tell(off(a))
		r.wants(t, "server_down n1 off")
		if !strings.Contains(string(r.message.Body), `"state":"off","since":"2000-01-01T00:00:00Z","until":"2000-01-01T00:00:01.5Z"`) {
			t.Errorf("body %s", r.message.Body)
		}
		info := on("advice", "")
		info.Rank = 0
		n.Tell(info)
		r.wants(t)
		if n := r.waiting["hook"]; n != 0 || len(r.trouble) > 0 {
			t.Errorf("%d wait, trouble %v", n, r.trouble)
		}
	})
}

// TestSign: anybody can make the same signature.
func TestSign(t *testing.T) {
	t.Parallel()
	const want = "sha256=3d20fe7d9a81c86c68188a062c886fe9b59364cb9ae998306fb6105ee5df9a28" // of openssl
	got := Sign([]byte("0123456789abcdef"), "1767225600", []byte(`{"version":1}`))
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got == Sign([]byte("0123456789abcdeF"), "1767225600", []byte(`{"version":1}`)) || got == Sign([]byte("0123456789abcdef"), "1767225601", []byte(`{"version":1}`)) {
		t.Error("another secret or time signs alike")
	}
}

// TestReceiverInTrouble: whatever is wrong with a receiver, an alarm arrives once
// after it is well again, and attempts become rarer meanwhile.
func TestReceiverInTrouble(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		status int
		err    error
		result Result
		words  string
	}{
		{"hangs", 0, nil, TimedOut, "hook: delivering alarms: no answer within 5s"},
		{"500", 500, nil, Refused, "hook: delivering alarms: answered 500, expected 200 to 299"},
		{"redirects", 302, nil, Refused, "hook: delivering alarms: answered 302, expected 200 to 299"},
		{"refused", 0, errors.New("connection refused"), Failed, "hook: delivering alarms: connection refused"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			scene(t, Hook{SendResolved: true}, func(t *testing.T, n *Notifier, r *receiver) {
				r.mu.Lock()
				r.status, r.err = row.status, row.err
				r.mu.Unlock()
				start := time.Now()
				n.Tell(on("farm_down", "f"))
				n.Tell(on("server_down", "a"))
				if time.Now() != start {
					t.Error("telling waited")
				}
				<-time.After(10 * time.Minute)
				r.wants(t)
				r.mu.Lock()
				tries, took := len(r.tries), time.Duration(0)
				if row.err == nil && row.status == 0 {
					took = Timeout
				}
				for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
					if got := r.tries[i+1].Sub(r.tries[i]) - took; got != want*time.Second {
						t.Errorf("pause %d is %v, want %v", i+1, got, want*time.Second)
					}
				}
				if len(r.results) < tries-1 || r.results[0] != row.result || len(r.trouble) != 1 || r.trouble[0] != row.words || r.waiting["hook"] != 2 {
					t.Errorf("results %v, trouble %v, waiting %v", r.results, r.trouble, r.waiting)
				}
				r.status, r.err = 200, nil
				r.mu.Unlock()
				<-time.After(2 * time.Minute)
				r.wants(t, "farm_down f on", "server_down a on")
				if want := []string{row.words, "hook: <nil>"}; !slices.Equal(r.trouble, want) || r.waiting["hook"] != 0 {
					t.Errorf("trouble %v, want %v; waiting %v", r.trouble, want, r.waiting)
				}
			})
		})
	}
}

// TestCameAndWent: an alarm that was over before the receiver was well is told
// once, truthfully.
func TestCameAndWent(t *testing.T) {
	t.Parallel()
	for _, resolved := range []bool{true, false} {
		t.Run(fmt.Sprint("send_resolved_", resolved), func(t *testing.T) {
			t.Parallel()
			scene(t, Hook{SendResolved: resolved}, func(t *testing.T, n *Notifier, r *receiver) {
				known := on("state_dir", "")
				n.Tell(known)
				r.wants(t, "state_dir on")
				r.set(500)
				gone, back := on("server_down", "a"), on("server_down", "b")
				n.Tell(gone)
				n.Tell(back)
				<-time.After(3 * time.Second)
				n.Tell(off(gone))
				n.Tell(off(back))
				<-time.After(3 * time.Second)
				n.Tell(on("server_down", "b")) // the newest state
				n.Tell(off(known))
				r.wants(t)
				r.set(200)
				<-time.After(time.Minute)
				want := []string{"server_down a off", "server_down b on"}
				if resolved {
					want = append(want, "state_dir off")
				}
				r.wants(t, want...)
			})
		})
	}
}

// TestEndDuringDelivery: the state that a delivery carries is not the newest any
// more when it is over.
func TestEndDuringDelivery(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		status   int
		resolved bool
		want     []string
	}{
		{"delivered", 200, true, []string{"server_down a on", "server_down a off"}},
		{"delivered_and_the_end_is_not_wanted", 200, false, []string{"server_down a on"}},
		{"failed", 503, true, []string{"server_down a off"}},
		{"failed_and_the_end_is_not_wanted", 503, false, []string{"server_down a off"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			scene(t, Hook{SendResolved: row.resolved}, func(t *testing.T, n *Notifier, r *receiver) {
				a := on("server_down", "a")
				r.mu.Lock()
				r.status = row.status
				r.during = func() { n.Tell(off(a)) }
				r.mu.Unlock()
				n.Tell(a)
				synctest.Wait()
				r.set(200)
				<-time.After(10 * time.Second)
				r.wants(t, row.want...)
				// What came later is another alarm.
				n.Tell(on("server_down", "a"))
				r.wants(t, "server_down a on")
			})
		})
	}
}

// TestQueueIsBounded: the oldest go, and are counted.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	scene(t, Hook{SendResolved: true}, func(t *testing.T, n *Notifier, r *receiver) {
		r.set(500)
		for range 3 {
			for i := range maxPending + 7 {
				n.Tell(on("server_down", fmt.Sprint(i)))
			}
		}
		synctest.Wait()
		if r.waiting["hook"] != maxPending || r.dropped == 0 {
			t.Errorf("%v wait, %d dropped", r.waiting, r.dropped)
		}
		r.set(200)
		<-time.After(time.Minute)
		got := r.got()
		if len(got) != maxPending || got[len(got)-1] != fmt.Sprintf("server_down %d on", maxPending+6) {
			t.Errorf("%d taken, the last %q", len(got), got[len(got)-1])
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if slices.Max(r.batches) > maxBatch {
			t.Errorf("messages of %v alarms", r.batches)
		}
	})
}

// TestUpdate: what waits outlives a reload, and a new hook hears what is on.
func TestUpdate(t *testing.T) {
	t.Parallel()
	hook := func(url string) Hook { return Hook{Name: "hook", URL: url, SendResolved: true} }
	const old = "http://hook.example/alarms"
	for _, row := range []struct {
		name  string
		hooks []Hook
		at    string // where it arrives
		want  []string
	}{
		{"same", []Hook{hook(old)}, old, []string{"server_down gone off", "server_down here on"}},
		{"other_settings", []Hook{{Name: "hook", URL: old, Secret: []byte("x"), MinRank: 1}}, old, []string{"server_down gone off", "server_down here on"}},
		{"moved_in_the_list", []Hook{hook("http://new.example"), hook(old)}, old, []string{"server_down gone off", "server_down here on"}},
		{"corrected_url", []Hook{hook("http://new.example")}, "http://new.example", []string{"server_down gone off", "server_down here on"}},
		{"new_one_hears_what_is_on", []Hook{hook(old), hook("http://new.example")}, "http://new.example", []string{"server_down here on"}},
		{"none", nil, "", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			scene(t, Hook{SendResolved: true}, func(t *testing.T, n *Notifier, r *receiver) {
				r.set(0)
				gone, here := on("server_down", "gone"), on("server_down", "here")
				n.Tell(gone)
				n.Tell(here)
				n.Tell(off(gone))
				<-time.After(time.Minute + 7*time.Second)
				r.set(200)
				n.Update(row.hooks)
				synctest.Wait()
				<-time.After(Timeout + time.Second) // a delivery under way
				synctest.Wait()
				r.mu.Lock()
				defer r.mu.Unlock()
				var got []string
				for i, url := range r.at {
					if url == row.at {
						got = append(got, r.taken[i])
					}
				}
				if !slices.Equal(got, row.want) {
					t.Errorf("taken at %s: %q, want %q", row.at, got, row.want)
				}
			})
		})
	}
}

// TestOneHookDelaysNoOther: each has its own pace.
func TestOneHookDelaysNoOther(t *testing.T) {
	t.Parallel()
	scene(t, Hook{}, func(t *testing.T, n *Notifier, r *receiver) {
		r.mu.Lock()
		r.hangs = "http://hangs.example"
		r.mu.Unlock()
		n.Update([]Hook{{Name: "hangs", URL: "http://hangs.example"}, {Name: "hook", URL: "http://hook.example/alarms"}})
		for i := range 5 {
			start := time.Now()
			n.Tell(on("server_down", fmt.Sprint(i)))
			r.wants(t, fmt.Sprintf("server_down %d on", i))
			if time.Now() != start {
				t.Error("it was held up")
			}
			<-time.After(time.Second)
		}
	})
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	for failures, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 6: 32 * time.Second, 7: time.Minute, 8: time.Minute, 1 << 40: time.Minute} {
		if low, high := backoff(failures, 0), backoff(failures, 0.999999); low != want/2 || high > want || high < want*9/10 {
			t.Errorf("after %d failures: %v to %v, want %v to %v", failures, low, high, want/2, want)
		}
	}
}
