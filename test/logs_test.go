package test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// logScene is an instance behind a trusted proxy with one farm that is never asked
// about content, so that every channel is redirected at once.
func logScene(t *testing.T, log rig.Config) rig.Config {
	t.Helper()
	return rig.Config{
		"core": trusting(), "log": log,
		"redirection": redirection(
			[]rig.Config{assumed("farm", "weight", "s1 "+liveOrigin(t, "s1").URL(), "s2 "+liveOrigin(t, "s2").URL())},
			[]rig.Config{place("everybody", "farm", everywhere...)}),
	}
}

// linesOf reads a file of JSON lines, each of which must be whole.
func linesOf(t *testing.T, path string) (lines []map[string]any) {
	t.Helper()
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		var line map[string]any
		if err := json.Unmarshal(in.Bytes(), &line); err != nil {
			t.Fatalf("%s has the line %q: %v", path, in.Text(), err)
		}
		lines = append(lines, line)
	}
	return lines
}

// agents counts the decisions of a file by User-Agent.
func agents(t *testing.T, files ...string) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, file := range files {
		for _, line := range linesOf(t, file) {
			if line["msg"] == "decision" {
				out[fmt.Sprint(line["ua"])]++
			}
		}
	}
	return out
}

// TestDecisionsFileIsRotated: under load the file is moved away and SIGHUP sent, as
// logrotate does, again and again; every decision is in one of the files, once.
func TestDecisionsFileIsRotated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "decisions.log")
	p := rig.Start(t, logScene(t, rig.Config{"decisions_file": file}))
	const requests, turns = 4000, 5
	done := make(chan []rig.Answer)
	go func() {
		done <- p.Load(t.Context(), rig.Load{Connections: 8, Count: requests, PerSecond: 2000}, func(i int) rig.Ask {
			return rig.Ask{Target: "/ch/index.m3u8", Header: []string{"User-Agent", fmt.Sprint("viewer", i)}}
		})
	}()
	files := []string{file}
	for turn := range turns {
		rig.Eventually(t, 10*time.Second, func() error { // the new file has lines of its own
			if info, err := os.Stat(file); err != nil || info.Size() == 0 {
				return fmt.Errorf("nothing is written to %s: %v", file, err)
			}
			return nil
		})
		moved := fmt.Sprintf("%s.%d", file, turn)
		if err := os.Rename(file, moved); err != nil {
			t.Fatal(err)
		}
		files = append(files, moved)
		from := len(p.Log())
		p.Signal(syscall.SIGHUP)
		p.WaitLog(5*time.Second, "configuration loaded", from)
	}
	for i, a := range <-done {
		if a.Status != http.StatusFound {
			t.Fatalf("viewer %d: %v", i, a)
		}
	}
	if status := p.Stop(); status != 0 {
		t.Errorf("exit status %d", status)
	}
	seen := agents(t, files...)
	for i := range requests {
		if n := seen[fmt.Sprint("viewer", i)]; n != 1 {
			t.Fatalf("the decision of viewer %d is there %d times", i, n)
		}
	}
	for _, line := range p.Log() {
		if line["msg"] == "decision" {
			t.Fatalf("standard error has the decision %v", line)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the file is %v, %v; want mode 0640", info.Mode(), err)
	}
}

// TestDecisionsFileThatFails: at the start it is an error, at a reload the file
// before stays, and standard error and a gauge say so; a configuration with another
// file, or none, is followed.
func TestDecisionsFileThatFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := func(file string) rig.Config {
		c := logScene(t, rig.Config{"decisions_file": file})
		if file == "" {
			c = logScene(t, rig.Config{})
		}
		return c
	}
	bad := configFile(t, with(with(log(filepath.Join(dir, "none", "x")), "core", rig.Config{"interface": "127.0.0.1", "port": rig.FreePort(t)}),
		"admin", rig.Config{"port": rig.FreePort(t)}))
	_, errs, status := rig.Run(t, "", "serve", "-config", bad)
	if status != 1 || !strings.Contains(errs, "log.decisions_file") || !strings.Contains(errs, "no such file or directory") {
		t.Errorf("a file in no folder: status %d, %q", status, errs)
	}

	first, second := filepath.Join(dir, "first", "x"), filepath.Join(dir, "second")
	if err := os.Mkdir(filepath.Dir(first), 0o700); err != nil {
		t.Fatal(err)
	}
	c := log(first)
	p := rig.Start(t, c)
	written := func(agent, file string) {
		t.Helper()
		p.Get("/ch/index.m3u8", "User-Agent", agent)
		rig.Eventually(t, 5*time.Second, func() error {
			if agents(t, file)[agent] != 1 {
				return fmt.Errorf("the decision of %s is not in %s", agent, file)
			}
			return nil
		})
	}
	reload := func() {
		t.Helper()
		if res := p.Operator("POST", "/admin/reload", ""); res.StatusCode != http.StatusOK {
			t.Fatalf("reload: %d %s", res.StatusCode, res.Body)
		}
	}
	reopened := func(want float64) {
		t.Helper()
		if got, n := p.Metric("pointsman_log_last_reopen_successful"); got != want || n != 1 {
			t.Errorf("pointsman_log_last_reopen_successful is %v in %d series, want %v", got, n, want)
		}
	}
	written("one", first)
	reopened(1)

	moved := filepath.Join(dir, "moved")
	if err := os.Rename(filepath.Dir(first), moved); err != nil {
		t.Fatal(err)
	}
	from := len(p.Log())
	reload()
	line := p.WaitLog(5*time.Second, "decisions go on to the file before", from)
	if line["level"] != "error" || !strings.Contains(fmt.Sprint(line["error"]), "log.decisions_file") {
		t.Errorf("it is told as %v", line)
	}
	reopened(0)
	written("two", filepath.Join(moved, "x"))

	change := func(file string) {
		t.Helper()
		next := log(file)
		next["core"], next["admin"] = c["core"], c["admin"]
		p.Write(next)
		reload()
		reopened(1)
	}
	change(second)
	written("three", second)
	change("")
	p.Get("/ch/index.m3u8", "User-Agent", "four")
	rig.Eventually(t, 5*time.Second, func() error {
		if len(p.Decisions("four")) != 1 {
			return errors.New("standard error has no decision of four")
		}
		return nil
	})
	change(second)
	written("five", second)

	// logrotate does not wait for a configuration to be mended.
	if err := os.Rename(second, second+".1"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.File, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	from = len(p.Log())
	p.Signal(syscall.SIGHUP)
	p.WaitLog(5*time.Second, "configuration refused, the one before stays in force", from)
	written("six", second)
}

// TestBlockedDecisionsFile: a named pipe that nobody reads holds no viewer up; what
// it and the buffer cannot hold is counted, and whoever reads it in the end gets
// whole lines.
func TestBlockedDecisionsFile(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	p := rig.Start(t, logScene(t, rig.Config{"decisions_file": pipe}))
	const requests = 30_000 // of half a kilobyte: more than a pipe and the buffer hold
	agent := "player/1.0 " + strings.Repeat("x", 240)
	answers := p.Load(t.Context(), rig.Load{Connections: 16, Count: requests}, func(int) rig.Ask {
		return rig.Ask{Target: "/ch/index.m3u8?session=0123456789abcdef0123456789abcdef", Header: []string{"User-Agent", agent}}
	})
	var slowest time.Duration
	for i, a := range answers {
		if a.Status != http.StatusFound {
			t.Fatalf("viewer %d: %v", i, a)
		}
		slowest = max(slowest, a.Took)
	}
	lost, _ := p.Metric("pointsman_log_lines_lost_total")
	t.Logf("%v lines of %d lost, the slowest answer took %v", lost, requests, slowest)
	if lost == 0 || lost >= requests {
		t.Errorf("%v lines are counted as lost", lost)
	}
	if slowest > 2*time.Second {
		t.Errorf("a viewer waited for %v", slowest)
	}
	p.Signal(syscall.SIGHUP) // a reload with a blocked file does not hang either
	rig.Eventually(t, 10*time.Second, func() error {
		if g, _ := p.Metric("pointsman_config_generation"); g != 2 {
			return fmt.Errorf("generation %v", g)
		}
		return nil
	})

	f, err := os.Open(pipe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	whole := make(chan error, 1)
	go func() {
		n := 0
		for in := bufio.NewScanner(f); in.Scan(); n++ {
			var line map[string]any
			if err := json.Unmarshal(in.Bytes(), &line); err != nil {
				whole <- fmt.Errorf("line %d is %q: %w", n, in.Text(), err)
				return
			}
			if line["ua"] == "last" {
				whole <- nil
				return
			}
		}
		whole <- fmt.Errorf("the pipe ended after %d lines", n)
	}()
	rig.Eventually(t, 10*time.Second, func() error { // until the buffer has room for it
		p.Get("/ch/index.m3u8", "User-Agent", "last")
		select {
		case err := <-whole:
			if err != nil {
				t.Fatal(err)
			}
			return nil
		default:
			return errors.New("the last decision has not come through the pipe")
		}
	})
	if status := p.Stop(); status != 0 {
		t.Errorf("exit status %d", status)
	}
}

// TestStopWithABlockedDecisionsFile: nor does it keep the process from ending.
func TestStopWithABlockedDecisionsFile(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	p := rig.Start(t, logScene(t, rig.Config{"decisions_file": pipe}))
	p.Load(t.Context(), rig.Load{Connections: 8, Count: 2000}, func(int) rig.Ask { return rig.Ask{Target: "/ch/index.m3u8"} })
	start := time.Now()
	if status := p.Stop(); status != 0 {
		t.Errorf("exit status %d", status)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %v to stop", took)
	}
}

// TestAddressesInTheLog: every line of a decision has the viewer's address and the
// peer's, masked where that is asked for, and no other line has them.
func TestAddressesInTheLog(t *testing.T) {
	t.Parallel()
	for _, mask := range []bool{false, true} {
		t.Run(fmt.Sprint("mask_", mask), func(t *testing.T) {
			t.Parallel()
			p := rig.Start(t, logScene(t, rig.Config{"mask_addresses": mask, "level": "debug"}))
			for agent, addr := range map[string]string{"v4": "203.0.113.77", "v6": "2001:db8:1234:5678::9", "direct": ""} {
				for _, path := range []string{"/ch/index.m3u8", "/no/../where"} {
					header := []string{"User-Agent", agent}
					if addr != "" {
						header = append(header, "X-Forwarded-For", addr)
					}
					p.Get(path, header...)
				}
			}
			want := map[string][2]string{
				"v4": {"203.0.113.77", "127.0.0.1"}, "v6": {"2001:db8:1234:5678::9", "127.0.0.1"}, "direct": {"127.0.0.1", "127.0.0.1"},
			}
			if mask {
				want = map[string][2]string{"v4": {"203.0.113.0", "127.0.0.0"}, "v6": {"2001:db8:1234::", "127.0.0.0"}, "direct": {"127.0.0.0", "127.0.0.0"}}
			}
			rig.Eventually(t, 5*time.Second, func() error {
				for agent, addrs := range want {
					lines := p.Decisions(agent)
					if len(lines) != 2 {
						return fmt.Errorf("%s has %d decisions in the log", agent, len(lines))
					}
					for _, line := range lines {
						if line["client"] != addrs[0] || line["peer"] != addrs[1] {
							t.Fatalf("%s: client %v, peer %v; want %v", agent, line["client"], line["peer"], addrs)
						}
					}
				}
				return nil
			})
			if !mask {
				return
			}
			for _, line := range p.Log() {
				text := fmt.Sprint(line)
				if strings.Contains(text, "203.0.113.77") || strings.Contains(text, "2001:db8:1234:5678") {
					t.Errorf("a line has a viewer's address: %v", line)
				}
			}
		})
	}
}

// TestSampledLog: of the redirects a part is written and says so, of a flood of
// refusals the beginning of each second and the count of the rest.
func TestSampledLog(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "decisions.log")
	p := rig.Start(t, logScene(t, rig.Config{"sample": 0.1, "decisions_file": file}))
	const redirects, refusals = 4000, 8000
	p.Load(t.Context(), rig.Load{Connections: 8, Count: redirects}, func(int) rig.Ask { return rig.Ask{Target: "/ch/index.m3u8"} })
	for i, a := range p.Load(t.Context(), rig.Load{Connections: 8, Count: refusals}, func(int) rig.Ask {
		return rig.Ask{Target: "/no/../where", Header: []string{"User-Agent", "flood"}}
	}) {
		if a.Status != http.StatusBadRequest {
			t.Fatalf("refusal %d: %v", i, a)
		}
	}
	var kept, left, sampled int
	rig.Eventually(t, 5*time.Second, func() error {
		kept, left, sampled = 0, 0, 0
		for _, line := range linesOf(t, file) {
			switch {
			case line["msg"] == "refusals left out":
				if line["reason"] != "bad_request" {
					t.Fatalf("left out are %v", line)
				}
				left += int(line["left_out"].(float64))
			case line["reason"] == "bad_request":
				if line["sample"] != nil {
					t.Fatalf("a refusal is in a sample: %v", line)
				}
				kept++
			case line["reason"] == "ok":
				if line["sample"] != 0.1 {
					t.Fatalf("a redirect says %v of its sample", line["sample"])
				}
				sampled++
			}
		}
		if kept+left != refusals {
			return fmt.Errorf("%d refusals are in the log and %d told to be left out, want %d together", kept, left, refusals)
		}
		return nil
	})
	t.Logf("%d of %d redirects, %d of %d refusals written, %d told", sampled, redirects, kept, refusals, left)
	if sampled < redirects/20 || sampled > redirects/5 {
		t.Errorf("%d of %d redirects are written, want one in ten", sampled, redirects)
	}
	if left == 0 {
		t.Error("nothing was left out: no flood?")
	}
	for cause, want := range map[string]int{"flood": left, "sample": redirects - sampled} {
		if got, _ := p.Metric(`pointsman_log_lines_left_out_total{cause="` + cause + `"}`); int(got) != want {
			t.Errorf("%v lines are counted as left out by %s, want %d", got, cause, want)
		}
	}
}
