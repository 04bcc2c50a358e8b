package test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

const hookSecret = "hook-0123456789abcdef"

// hook is a receiver of alarms.
type hook struct {
	t    *testing.T
	addr string

	mu      sync.Mutex
	answer  func(rw http.ResponseWriter, r *http.Request) bool // tells whether it took the message
	tries   int
	heads   []http.Header
	told    []told
	unknown []string // messages whose signature is not ours
}

// told is one alarm that a hook has taken.
type told struct {
	ID, Code, Subject, Severity, State, Detail, Config string

	Since, Until time.Time
}

func (a told) String() string {
	return strings.Join(strings.Fields(a.Code+" "+a.Subject+" "+a.Severity+" "+a.State), " ")
}

// newHook starts a receiver that takes everything.
func newHook(t *testing.T) *hook {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &hook{t: t, addr: l.Addr().String()}
	h.answers(http.StatusNoContent)
	srv := &http.Server{Handler: h}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	return h
}

func (h *hook) url() string { return "http://" + h.addr + "/hook?room=ops" }

// does sets what it answers.
func (h *hook) does(f func(rw http.ResponseWriter, r *http.Request) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = f
}

func (h *hook) answers(status int) {
	h.does(func(rw http.ResponseWriter, _ *http.Request) bool {
		rw.WriteHeader(status)
		return status < 300
	})
}

// hangs makes it take messages and never answer.
func (h *hook) hangs() {
	h.does(func(_ http.ResponseWriter, r *http.Request) bool {
		<-r.Context().Done()
		return false
	})
}

func (h *hook) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	h.mu.Lock()
	h.tries++
	answer := h.answer
	h.mu.Unlock()
	if err != nil || !answer(rw, r) {
		return
	}
	mac := hmac.New(sha256.New, []byte(hookSecret))
	fmt.Fprintf(mac, "%s.%s", r.Header.Get("Pointsman-Timestamp"), body)
	h.mu.Lock()
	defer h.mu.Unlock()
	sent, err := strconv.ParseInt(r.Header.Get("Pointsman-Timestamp"), 10, 64)
	if age := time.Since(time.Unix(sent, 0)); err != nil || age > 3*time.Second || age < -time.Second ||
		r.Header.Get("Pointsman-Signature") != "sha256="+hex.EncodeToString(mac.Sum(nil)) {
		h.unknown = append(h.unknown, fmt.Sprint(r.Header, string(body)))
	}
	var m struct {
		Version  int
		Instance string
		Alarms   []told
	}
	if err := json.Unmarshal(body, &m); err != nil || m.Version != 1 || m.Instance == "" || r.Method != http.MethodPost {
		h.t.Errorf("%s %q: %v", r.Method, body, err)
	}
	h.heads = append(h.heads, r.Header)
	h.told = append(h.told, m.Alarms...)
}

// takes waits until it has been told as many alarms, and returns them as
// "code subject severity state" with all that is known.
func (h *hook) takes(d time.Duration, n int) []told {
	h.t.Helper()
	var out []told
	rig.Eventually(h.t, d, func() error {
		h.mu.Lock()
		defer h.mu.Unlock()
		out = append([]told(nil), h.told...)
		if len(out) < n {
			return fmt.Errorf("told %v in %d attempts, expected %d", out, h.tries, n)
		}
		return nil
	})
	return out
}

// tried waits until it was tried as often.
func (h *hook) tried(d time.Duration, n int) {
	h.t.Helper()
	rig.Eventually(h.t, d, func() error {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.tries < n {
			return fmt.Errorf("tried %d times, expected %d", h.tries, n)
		}
		return nil
	})
}

// wantsTold compares what a hook was told.
func wantsTold(t *testing.T, got []told, want ...string) {
	t.Helper()
	var words []string
	for _, a := range got {
		words = append(words, a.String())
	}
	if strings.Join(words, "; ") != strings.Join(want, "; ") {
		t.Errorf("told %q, expected %q", words, want)
	}
}

// alarming is a section alarms with quick alarms and these hooks.
func alarming(t *testing.T, urls ...string) rig.Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "hook.key")
	if err := os.WriteFile(file, []byte(hookSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	hooks := []any{}
	for _, u := range urls {
		hooks = append(hooks, rig.Config{"url": u, "secret_file": file})
	}
	return rig.Config{"raise_after_sec": 0, "clear_after_sec": 1, "webhooks": hooks}
}

// waitAlarm waits until an alarm about a subject is on, or not.
func waitAlarm(t *testing.T, p *rig.Pointsman, d time.Duration, code, subject string, on bool) {
	t.Helper()
	rig.Eventually(t, d, func() error {
		s := p.Status()
		is := false
		for _, a := range s.Alarms {
			is = is || a.Code == code && a.Subject == subject
		}
		if is != on {
			return fmt.Errorf("alarm %s %s on: %v, expected %v; all: %+v", code, subject, is, on, s.Alarms)
		}
		return nil
	})
}
