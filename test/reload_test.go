package test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// reloadScene is an instance whose file can be written anew, with its ports.
type reloadScene struct {
	p       *rig.Pointsman
	core    rig.Config
	admin   rig.Config
	servers []string
	origins []*rig.Origin
}

// newReloadScene has four servers of finished content: a live playlist would be
// looked at a second time after 1.5 target durations, and a question that comes
// due by itself is not a reload's.
func newReloadScene(t *testing.T, core rig.Config) *reloadScene {
	t.Helper()
	s := &reloadScene{core: core, admin: rig.Config{}}
	for i := range 4 {
		o := rig.NewOrigin(t, fmt.Sprintf("s%d", i), "")
		o.SetRest(rig.VoD)
		s.origins = append(s.origins, o)
		s.servers = append(s.servers, o.Name+" "+o.URL())
	}
	s.p = rig.Start(t, s.config(s.servers...))
	return s
}

// config is a document with one farm of policy share.
func (s *reloadScene) config(servers ...string) rig.Config {
	section := redirection([]rig.Config{probed("farm", "share", servers...)}, []rig.Config{place("all", "farm", everywhere...)})
	section["session_key"] = []string{"session"}
	section["vod_range_cache_time_sec"] = 3600
	return rig.Config{"core": s.core, "admin": s.admin, "redirection": section, "log": rig.Config{"decisions": false}}
}

// awaitGeneration waits until the generation is at least n.
func (s *reloadScene) awaitGeneration(t *testing.T, n uint64, within time.Duration) {
	t.Helper()
	rig.Eventually(t, within, func() error {
		if g := s.p.Status().Generation; g < n {
			return fmt.Errorf("generation %d, expected %d", g, n)
		}
		return nil
	})
}

func (s *reloadScene) post(t *testing.T, query string, want int) string {
	t.Helper()
	res := s.p.Operator("POST", "/admin/reload"+query, "")
	if res.StatusCode != want {
		t.Fatalf("reload answered %d, expected %d: %s", res.StatusCode, want, res.Body)
	}
	var body struct{ Error string }
	_ = json.Unmarshal([]byte(res.Body), &body)
	return body.Error
}

// lines counts the log lines with a message.
func (s *reloadScene) lines(msg string) (n int) {
	for _, line := range s.p.Log() {
		if line["msg"] == msg {
			n++
		}
	}
	return n
}

// TestReloadUnderLoad reloads a hundred times while viewers ask: nobody is
// refused, no session moves, no server is asked again, nothing is left behind.
func TestReloadUnderLoad(t *testing.T) {
	t.Parallel()
	const (
		reloads  = 100
		sessions = 40
	)
	s := newReloadScene(t, rig.Config{})
	path := func(i int) string { return fmt.Sprintf("/ch%d/index.m3u8?session=%d", i%5, i%sessions) }
	homes := make([]string, sessions)
	warm := s.p.KeepAlive()
	for i := range sessions {
		res, err := warm.Get(path(i))
		if err != nil || res.StatusCode != 302 {
			t.Fatalf("%v, %v", res.Response, err)
		}
	}
	// By now every server that is worth asking has answered.
	for i := range sessions {
		res, err := warm.Get(path(i))
		if err != nil {
			t.Fatal(err)
		}
		homes[i] = res.Location()
	}

	// With every other document comes a farm more, and its server.
	spare := liveOrigin(t, "spare")
	other := s.config(s.servers...)
	section := other["redirection"].(rig.Config)
	section["farms"] = append(section["farms"].([]rig.Config), probed("more", "first_response", "spare "+spare.URL()))
	section["locations"] = []rig.Config{place("ten", "farm more", "10.0.0.0/8"), place("all", "farm more", everywhere...)}
	documents := []rig.Config{other, s.config(s.servers...)}
	s.post(t, "", 200)

	base := s.p.Footprint()
	asked := s.questions()
	var stop atomic.Bool
	var viewers sync.WaitGroup
	var requests, failed atomic.Int64
	for i := range 4 {
		k := s.p.KeepAlive()
		viewers.Go(func() {
			for n := i; !stop.Load(); n += 3 {
				requests.Add(1)
				res, err := k.Get(path(n))
				if err != nil || res.StatusCode != 302 || res.Location() != homes[n%sessions] {
					failed.Add(1)
					t.Errorf("session %d: %v, %v, expected %s", n%sessions, res.Response, err, homes[n%sessions])
					return
				}
				<-time.After(time.Millisecond)
			}
		})
	}
	generation := s.p.Status().Generation
	for i := range uint64(reloads) {
		s.p.Write(documents[i%2])
		if i%4 < 2 {
			s.post(t, "", 200)
		} else {
			s.p.Signal(syscall.SIGHUP)
		}
		s.awaitGeneration(t, generation+i+1, 5*time.Second)
	}
	stop.Store(true)
	viewers.Wait()
	t.Logf("%d requests over %d reloads, %d failed", requests.Load(), reloads, failed.Load())
	if n := s.questions(); n != asked {
		t.Errorf("reloads had servers asked about content %d times more", n-asked)
	}
	if got := s.p.Status().Generation; got != generation+reloads {
		t.Errorf("generation %d, expected %d", got, generation+reloads)
	}
	// Four connections of viewers are open beyond the base.
	base.Goroutines += 4
	base.Descriptors += 4
	s.p.Settles(10*time.Second, base)
	if n := s.lines("configuration refused, the one before stays in force"); n > 0 {
		t.Errorf("%d reloads were refused", n)
	}
}

func (s *reloadScene) questions() (n int) {
	for _, o := range s.origins {
		n += o.Questions()
	}
	return n
}

func TestReloadBroken(t *testing.T) {
	t.Parallel()
	s := newReloadScene(t, rig.Config{})
	before := s.p.Get("/ch/index.m3u8?session=1").Location()
	good, err := os.ReadFile(s.p.File)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct{ name, document, why string }{
		{"not_JSON", "{", "line 1 column"},
		{"empty", "", "line 1 column"},
		{"truncated", string(good[:len(good)/2]), "line"},
		{"pasted", strings.ReplaceAll(string(good), `"`, "\u201c"), "quote"},
		{"unknown_key", strings.Replace(string(good), `"farms"`, `"farmz"`, 1), "redirection.farmz"},
		{"broken_farm", strings.Replace(string(good), `"url": "http:`, `"url": "ftp:`, 1), "redirection.farms[0].servers[0].url"},
		{"no_file", "", "no such file"},
	} {
		write := func() {
			if c.name == "no_file" {
				if err := os.Remove(s.p.File); err != nil {
					t.Fatal(err)
				}
				return
			}
			if err := os.WriteFile(s.p.File, []byte(c.document), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		t.Run(c.name, func(t *testing.T) {
			write()
			logged := len(s.p.Log())
			generation := s.p.Status().Generation
			if i%2 == 0 {
				if text := s.post(t, "", 422); !strings.Contains(text, c.why) {
					t.Errorf("the answer says %q, expected %q in it", text, c.why)
				}
			} else {
				s.p.Signal(syscall.SIGHUP)
			}
			line := s.p.WaitLog(5*time.Second, "configuration refused, the one before stays in force", logged)
			if !strings.Contains(fmt.Sprint(line["error"]), c.why) {
				t.Errorf("the log says %v, expected %q in it", line, c.why)
			}
			status := s.p.Status()
			if status.Generation != generation || !status.Ready || !status.Alarm("config_refused") {
				t.Errorf("%+v", status)
			}
			for _, a := range status.Alarms {
				if a.Code == "config_refused" && !strings.Contains(a.Detail, c.why) {
					t.Errorf("the alarm says %q, expected %q in it", a.Detail, c.why)
				}
			}
			s.gauges(t, 0, 1)
			if got := s.p.Get("/ch/index.m3u8?session=1").Location(); got != before {
				t.Errorf("a viewer goes to %q, before it was %q", got, before)
			}
			if err := os.WriteFile(s.p.File, good, 0o600); err != nil {
				t.Fatal(err)
			}
			s.post(t, "", 200)
			if status := s.p.Status(); status.Generation != generation+1 || status.Alarm("config_refused") {
				t.Errorf("after a good reload: %+v", status)
			}
			s.gauges(t, 1, 0)
		})
	}
}

func (s *reloadScene) gauges(t *testing.T, successful, alarm float64) {
	t.Helper()
	if got, _ := s.p.Metric("pointsman_config_last_reload_successful"); got != successful {
		t.Errorf("pointsman_config_last_reload_successful is %v, expected %v", got, successful)
	}
	if got, _ := s.p.Metric(`pointsman_alarm{code="config_refused"}`); got != alarm {
		t.Errorf("the gauge of alarm config_refused is %v, expected %v", got, alarm)
	}
}

func TestReloadMassRemoval(t *testing.T) {
	t.Parallel()
	s := newReloadScene(t, rig.Config{})
	s.p.Write(s.config(s.servers[0]))
	if text := s.post(t, "", 422); !strings.Contains(text, "removes 3 of 4 servers") || !strings.Contains(text, "force=1") {
		t.Errorf("the refusal says %q", text)
	}
	status := s.p.Status()
	if len(status.Farms[0].Servers) != 4 || status.Generation != 1 || !status.Alarm("config_refused") {
		t.Errorf("%+v", status)
	}
	logged := len(s.p.Log())
	s.p.Signal(syscall.SIGHUP) // no signal forces
	s.p.WaitLog(5*time.Second, "configuration refused, the one before stays in force", logged)
	s.post(t, "?force=0", 422)
	s.post(t, "?force=1", 200)
	if status := s.p.Status(); len(status.Farms[0].Servers) != 1 || status.Generation != 2 || status.Alarm("config_refused") {
		t.Errorf("%+v", status)
	}
	// Half of them is no mass removal.
	s.p.Write(s.config(s.servers...))
	s.post(t, "", 200)
	s.p.Write(s.config(s.servers[:2]...))
	s.post(t, "", 200)
}

func TestReloadWatch(t *testing.T) {
	t.Parallel()
	const within = 2500 * time.Millisecond // two seconds, and the time to see it
	s := newReloadScene(t, rig.Config{"watch_config": true})
	dir := filepath.Dir(s.p.File)
	write := func(path string, c rig.Config) {
		t.Helper()
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(name, target string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(dir, "new")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}

	write(s.p.File, s.config(s.servers[:3]...)) // in place
	s.awaitGeneration(t, 2, within)

	// As Kubernetes does: the file is a link into ..data, which is a link to a
	// folder, and it is ..data that is replaced.
	for i, folder := range []string{"one", "two"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
		write(filepath.Join(dir, folder, "pointsman.json"), s.config(s.servers[i:]...))
	}
	link("..data", "one")
	link(filepath.Base(s.p.File), filepath.Join("..data", "pointsman.json"))
	s.awaitGeneration(t, 3, within)
	link("..data", "two")
	s.awaitGeneration(t, 4, within)
	if got := len(s.p.Status().Farms[0].Servers); got != 3 {
		t.Errorf("%d servers, expected the 3 of the second folder", got)
	}

	t.Run("broken_is_refused_once", func(t *testing.T) {
		if err := os.WriteFile(s.p.File, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		const refused = "configuration refused, the one before stays in force"
		s.p.WaitLog(within, refused, 0)
		<-time.After(within)
		if n := s.lines(refused); n != 1 {
			t.Errorf("the same bad file was refused %d times, expected once", n)
		}
		write(s.p.File, s.config(s.servers...))
		s.awaitGeneration(t, 5, within)
		rig.Eventually(t, within, func() error { // it goes right after the new table is there
			if s.p.Status().Alarm("config_refused") {
				return errors.New("the alarm config_refused is still on")
			}
			return nil
		})
	})
}

func TestReloadFixedKeys(t *testing.T) {
	t.Parallel()
	s := newReloadScene(t, rig.Config{})
	const needsRestart = "a changed key needs a restart to take effect"
	reload := func(change func(c rig.Config)) map[string]bool {
		t.Helper()
		c := s.config(s.servers...)
		c["core"], c["admin"] = maps.Clone(s.core), maps.Clone(s.admin)
		change(c)
		from := len(s.p.Log())
		s.p.Write(c)
		s.post(t, "", 200)
		s.p.WaitLog(5*time.Second, "configuration loaded", from)
		named := map[string]bool{}
		for _, line := range s.p.Log()[from:] {
			if line["msg"] == needsRestart {
				named[fmt.Sprint(line["path"])] = true
			}
		}
		return named
	}
	core := func(key string, value any) func(rig.Config) {
		return func(c rig.Config) { c["core"].(rig.Config)[key] = value }
	}
	free := rig.FreePort(t)
	for _, c := range []struct {
		name   string
		change func(rig.Config)
		want   []string
	}{
		{"port", core("port", free), []string{"core.port"}},
		{"still_another_port", core("port", free), []string{"core.port"}},
		{"back_again", func(rig.Config) {}, nil},
		{"state_dir", core("state_dir", filepath.Join(t.TempDir(), "state")), []string{"core.state_dir"}},
		{"proxy_protocol", core("proxy_protocol", true), []string{"core.proxy_protocol"}},
		{"admin_port", func(c rig.Config) { c["admin"].(rig.Config)["port"] = free }, []string{"admin.port"}},
		{"log_level", func(c rig.Config) { c["log"].(rig.Config)["level"] = "debug" }, []string{"log.level"}},
		{"user_agent", func(c rig.Config) { c["probe"] = rig.Config{"user_agent": "x"} }, []string{"probe.user_agent"}},
		{"several", func(c rig.Config) {
			core("port", free)(c)
			core("interface", "127.0.0.2")(c)
			core("hosts", []string{"tv.example.net"})(c)
		}, []string{"core.port", "core.interface"}},
		{"decision_timeout", func(c rig.Config) { c["redirection"].(rig.Config)["decision_timeout_sec"] = 9 }, []string{"redirection.decision_timeout_sec"}},
		{"hosts", core("hosts", []string{"tv.example.net"}), nil},
		{"health_path", core("health_path", "/ok"), nil},
		{"trusted_proxies", core("trusted_proxies", []string{"127.0.0.1/32"}), nil},
		{"drain_delay", core("drain_delay_sec", 1), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := reload(c.change)
			want := map[string]bool{}
			for _, key := range c.want {
				want[key] = true
			}
			if !maps.Equal(got, want) {
				t.Errorf("named are %v, expected %v", got, want)
			}
		})
	}
	t.Run("what_needs_no_restart_is_in_force", func(t *testing.T) {
		reload(func(c rig.Config) {
			core("hosts", []string{"tv.example.net"})(c)
			core("health_path", "/ok")(c)
			core("trusted_proxies", []string{"127.0.0.1/32"})(c)
			c["redirection"].(rig.Config)["locations"] = []rig.Config{place("ten", "farm", "10.0.0.0/8")}
		})
		if res := s.p.Get("/ok"); res.StatusCode != 200 {
			t.Errorf("health_path: %v", res.Response)
		}
		if res := s.p.Get("/ch/index.m3u8"); res.StatusCode != 421 {
			t.Errorf("hosts: %v", res.Response)
		}
		if res := follow(s.p, "10.1.1.1", "/ch/index.m3u8", "Host", "tv.example.net"); res.StatusCode != 302 {
			t.Errorf("trusted_proxies and locations: %v", res.Response)
		}
	})
}

func TestShutdown(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shutdown(t, signal)
		})
	}
}

func shutdown(t *testing.T, signal syscall.Signal) {
	const drain = 1500 * time.Millisecond
	o := liveOrigin(t, "s1")
	section := redirection([]rig.Config{probed("farm", "first_response", "s1 "+o.URL())}, []rig.Config{place("all", "farm", everywhere...)})
	section["decision_timeout_sec"] = 5
	p := rig.Start(t, rig.Config{"core": rig.Config{"drain_delay_sec": drain.Seconds()}, "redirection": section})
	p.Get("/warm/index.m3u8")

	// Questions take so long that those who ask now are still waiting when the
	// listeners close.
	o.Delay(drain + 500*time.Millisecond)
	var waiting sync.WaitGroup
	for i := range 8 {
		waiting.Go(func() {
			res, err := rig.Do("GET", fmt.Sprintf("%s/cold%d/index.m3u8", p.Viewers, i), "")
			if err != nil || res.StatusCode != 302 {
				t.Errorf("a request under way at shutdown: %v, %v", res.Response, err)
			}
		})
	}
	rig.Eventually(t, 5*time.Second, func() error {
		if n, _ := p.Metric("pointsman_waiting_decisions"); n != 8 {
			return fmt.Errorf("%v decisions wait, expected 8", n)
		}
		return nil
	})

	start := time.Now()
	p.Signal(signal)
	p.WaitLog(time.Second, "stopping", 0)
	for what, url := range map[string]string{"/readyz": p.Admin + "/readyz", "health_path": p.Viewers + "/.pointsman/health"} {
		if res, err := rig.Do("GET", url, ""); err != nil || res.StatusCode != 503 {
			t.Errorf("%s while draining: %v, %v", what, res.Response, err)
		}
	}
	if res, err := rig.Do("GET", p.Admin+"/healthz", ""); err != nil || res.StatusCode != 200 {
		t.Errorf("/healthz while draining: %v, %v", res.Response, err)
	}
	if res := p.Get("/warm/index.m3u8"); res.StatusCode != 302 {
		t.Errorf("a viewer while draining: %v", res.Response)
	}
	waiting.Wait()
	if status := p.Await(10 * time.Second); status != 0 {
		t.Errorf("exit status %d, expected 0", status)
	}
	if took := time.Since(start); took < drain {
		t.Errorf("ended after %v, before the drain delay of %v", took, drain)
	}
	if _, err := rig.DialFrom("", p.Addr()); err == nil {
		t.Error("the port still accepts")
	}
	log := p.Log()
	if log[len(log)-1]["msg"] != "stopped" || len(p.NotJSON()) > 0 {
		t.Errorf("the last line is %v; no JSON: %v", log[len(log)-1], p.NotJSON())
	}
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	port := taken.Addr().(*net.TCPAddr).Port
	cert, key := rig.Certificate(t, t.TempDir(), "tv.example.net", 1)
	for _, c := range []struct {
		name        string
		core, admin rig.Config
		names       string
	}{
		{"viewers", rig.Config{"port": port}, rig.Config{"port": rig.FreePort(t)}, "core.port"},
		{"operator", rig.Config{"port": rig.FreePort(t)}, rig.Config{"port": port}, "admin.port"},
		{"TLS", rig.Config{"port": rig.FreePort(t), "tls": rig.Config{"port": port, "certificates": []rig.Config{{"cert_file": cert, "key_file": key}}}}, rig.Config{"port": rig.FreePort(t)}, "core.tls.port"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.core["interface"] = "127.0.0.1"
			b, err := json.Marshal(rig.Config{"core": c.core, "admin": c.admin, "redirection": redirection(
				[]rig.Config{assumed("farm", "share", "s http://192.0.2.1")}, []rig.Config{place("all", "farm", everywhere...)})})
			if err != nil {
				t.Fatal(err)
			}
			out, errs, status := rig.Run(t, string(b), "serve", "-config", "-")
			last := strings.TrimSpace(errs[strings.LastIndexByte(strings.TrimSpace(errs), '\n')+1:])
			if status != 1 || out != "" || !strings.HasPrefix(last, "error: ") || !strings.Contains(last, c.names) ||
				!strings.Contains(last, fmt.Sprint(port)) || !strings.Contains(last, "in use") {
				t.Errorf("exit status %d\n%s%s", status, out, errs)
			}
		})
	}
}
