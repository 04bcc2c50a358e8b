// Package rig runs the built pointsman binary for black-box tests, with fake
// streaming servers around it. Everything binds to loopback, on free ports and
// on addresses of 127.0.0.0/8, and is stopped when its test ends.
package rig

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Config is a configuration document as Go maps, or a nested part of one.
type Config = map[string]any

// Root returns the top of the repository.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..")
}

var build = sync.OnceValues(func() (string, error) {
	bin := filepath.Join(Root(), "bin", "pointsman-test")
	cmd := exec.Command("go", "build", "-o", bin, "./cmd/pointsman")
	cmd.Dir = Root()
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building pointsman: %w\n%s", err, out)
	}
	return bin, nil
})

// Binary builds pointsman once and returns its path. POINTSMAN_BINARY names a
// binary that is there already.
func Binary(t testing.TB) string {
	t.Helper()
	if bin := os.Getenv("POINTSMAN_BINARY"); bin != "" {
		return bin
	}
	bin, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// Run runs a command of the binary to its end and returns what it printed.
func Run(t testing.TB, stdin string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	cmd := exec.Command(Binary(t), args...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// Pointsman is a running `pointsman serve`.
type Pointsman struct {
	T       testing.TB
	Viewers string // base URL of the viewer listener
	Admin   string // base URL of the admin listener
	File    string // its configuration

	cmd    *exec.Cmd
	exited chan struct{}

	mu   sync.Mutex
	log  []map[string]any
	tail []string // lines that are no JSON

	longest int // bytes of the longest line
}

// Start writes the configuration, with free ports where it names none, runs
// `serve` on it and waits until it is ready.
func Start(t testing.TB, c Config) *Pointsman {
	t.Helper()
	p := &Pointsman{T: t, File: filepath.Join(t.TempDir(), "pointsman.json")}
	core, admin := section(c, "core"), section(c, "admin")
	setDefault(core, "interface", "127.0.0.1")
	setDefault(core, "port", FreePort(t))
	setDefault(core, "drain_delay_sec", 0)
	setDefault(admin, "port", FreePort(t))
	host := fmt.Sprint(core["interface"])
	if host == "::" || host == "0.0.0.0" {
		host = "127.0.0.1"
	}
	p.Viewers = "http://" + net.JoinHostPort(host, fmt.Sprint(core["port"]))
	p.Admin = fmt.Sprintf("http://127.0.0.1:%v", admin["port"])
	p.Write(c)
	p.Run()
	t.Cleanup(p.Kill)
	return p
}

func section(c Config, name string) Config {
	s, ok := c[name].(Config)
	if !ok {
		s = Config{}
		c[name] = s
	}
	return s
}

func setDefault(c Config, key string, value any) {
	if _, ok := c[key]; !ok {
		c[key] = value
	}
}

// Write replaces the configuration file.
func (p *Pointsman) Write(c Config) {
	p.T.Helper()
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		p.T.Fatal(err)
	}
	if err := os.WriteFile(p.File, b, 0o600); err != nil {
		p.T.Fatal(err)
	}
}

// Run starts the process (again) and waits until it is ready.
func (p *Pointsman) Run() {
	p.T.Helper()
	p.cmd = exec.Command(Binary(p.T), "serve", "-config", p.File)
	pipe, err := p.cmd.StderrPipe()
	if err != nil {
		p.T.Fatal(err)
	}
	p.cmd.Stdout = p.cmd.Stderr
	if err := p.cmd.Start(); err != nil {
		p.T.Fatal(err)
	}
	from := len(p.Log())
	p.exited = make(chan struct{})
	go p.read(pipe, p.cmd, p.exited)
	p.WaitLog(15*time.Second, "ready", from)
}

func (p *Pointsman) read(r io.Reader, cmd *exec.Cmd, exited chan struct{}) {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 64<<10), 4<<20)
	for in.Scan() {
		var line map[string]any
		err := json.Unmarshal(in.Bytes(), &line)
		p.mu.Lock()
		p.longest = max(p.longest, len(in.Bytes()))
		if err != nil {
			p.tail = append(p.tail, in.Text())
		} else {
			p.log = append(p.log, line)
		}
		p.mu.Unlock()
	}
	_ = cmd.Wait()
	close(exited)
}

// PID returns the process id.
func (p *Pointsman) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal.
func (p *Pointsman) Signal(s syscall.Signal) {
	p.T.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.T.Fatal(err)
	}
}

// Kill ends the process at once, as a power failure would, and waits for it.
func (p *Pointsman) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// Stop sends SIGTERM and returns the exit status.
func (p *Pointsman) Stop() int {
	p.T.Helper()
	p.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(20 * time.Second):
		p.T.Fatal("pointsman did not end within 20 s of SIGTERM")
	}
	return p.cmd.ProcessState.ExitCode()
}

// Log returns the log lines so far.
func (p *Pointsman) Log() []map[string]any {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]map[string]any(nil), p.log...)
}

// NotJSON returns the output lines that are no JSON (there should be none).
func (p *Pointsman) NotJSON() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.tail...)
}

// WaitLog waits for a log line with this msg, from the line numbered from on.
func (p *Pointsman) WaitLog(d time.Duration, msg string, from int) map[string]any {
	p.T.Helper()
	var found map[string]any
	Eventually(p.T, d, func() error {
		for i, line := range p.Log() {
			if i >= from && line["msg"] == msg {
				found = line
				return nil
			}
		}
		select {
		case <-p.exited:
			p.T.Fatalf("pointsman has ended: %v %v", p.NotJSON(), last(p.Log(), 5))
		default:
		}
		return fmt.Errorf("no log line %q among %d; last: %v %v", msg, len(p.Log()), last(p.Log(), 3), p.NotJSON())
	})
	return found
}

func last[T any](s []T, n int) []T { return s[max(0, len(s)-n):] }

// noFollow is a client that shows redirects instead of following them.
var noFollow = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport:     &http.Transport{MaxIdleConnsPerHost: 256},
	Timeout:       20 * time.Second,
}

// Response is an answer with its body read.
type Response struct {
	*http.Response
	Body string
}

// Location is where the viewer is sent.
func (r Response) Location() string { return r.Header.Get("Location") }

// Reason is a refusal's reason word.
func (r Response) Reason() string {
	var p struct {
		Reason string `json:"reason"`
	}
	_ = json.Unmarshal([]byte(r.Body), &p)
	return p.Reason
}

// Get asks the viewer listener for a path; header is name, value, name, value….
func (p *Pointsman) Get(path string, header ...string) Response {
	p.T.Helper()
	r, err := Do("GET", p.Viewers+path, "", header...)
	if err != nil {
		p.T.Fatal(err)
	}
	return r
}

// Do sends one request without following redirects.
func Do(method, url, body string, header ...string) (Response, error) {
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	req, err := http.NewRequest(method, url, in)
	if err != nil {
		return Response{}, err
	}
	for i := 0; i+1 < len(header); i += 2 {
		if http.CanonicalHeaderKey(header[i]) == "Host" {
			req.Host = header[i+1]
			continue
		}
		req.Header.Add(header[i], header[i+1])
	}
	res, err := noFollow.Do(req)
	if err != nil {
		return Response{}, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return Response{res, string(b)}, err
}

// Operator sends a request to the admin listener.
func (p *Pointsman) Operator(method, path, body string, header ...string) Response {
	p.T.Helper()
	r, err := Do(method, p.Admin+path, body, header...)
	if err != nil {
		p.T.Fatal(err)
	}
	return r
}

// Status returns /status as JSON.
func (p *Pointsman) Status() Status {
	p.T.Helper()
	var s Status
	if err := json.Unmarshal([]byte(p.Operator("GET", "/status", "").Body), &s); err != nil {
		p.T.Fatal(err)
	}
	return s
}

// Status is what tests read of /status.
type Status struct {
	Generation uint64 `json:"generation"`
	Ready      bool   `json:"ready"`
	Alarms     []struct {
		Code, Subject, Severity, Detail, ID string
		Since                               time.Time
	} `json:"alarms"`
	Advices []struct {
		Code, Detail, Config string
	} `json:"advices"`
	Farms []struct {
		Name    string `json:"name"`
		Servers []struct {
			Name, URL, State, Reason string
		} `json:"servers"`
	} `json:"farms"`
}

// State returns the state of a server.
func (s Status) State(server string) string {
	for _, f := range s.Farms {
		for _, x := range f.Servers {
			if x.Name == server {
				return x.State
			}
		}
	}
	return ""
}

// Alarm tells whether an alarm is on.
func (s Status) Alarm(code string) bool {
	for _, a := range s.Alarms {
		if a.Code == code {
			return true
		}
	}
	return false
}

// Metric returns the sum of a metric's series whose line begins with prefix,
// like `pointsman_alarm{code="observer_isolated"}`, and their number.
func (p *Pointsman) Metric(prefix string) (sum float64, series int) {
	p.T.Helper()
	for _, line := range strings.Split(p.Operator("GET", "/metrics", "").Body, "\n") {
		if strings.HasPrefix(line, prefix) {
			var v float64
			if _, err := fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &v); err == nil {
				sum += v
				series++
			}
		}
	}
	return sum, series
}

// Eventually waits until f is content; it fails the test with f's last word
// after d.
func Eventually(t testing.TB, d time.Duration, f func() error) {
	t.Helper()
	deadline := time.Now().Add(d)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %v: %v", d, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// FreePort returns a port that is free on loopback. It lies below those that the
// kernel gives to outgoing connections and to listeners that take any, so that
// nobody has it before the caller does: a load opens many connections.
func FreePort(t testing.TB) int {
	t.Helper()
	const from, tries = 12_000, 100
	for range tries {
		port := from + rand.IntN(32_000-from)
		if l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port)); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatalf("none of %d ports is free", tries)
	return 0
}
