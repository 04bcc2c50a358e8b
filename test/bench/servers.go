package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pointsman-tv/pointsman/test/rig"
)

// core is the one that the servers are pinned to; the load comes from the other.
const core = "1"

// process is a server's process and those it started.
type process struct{ cmd *exec.Cmd }

// ticksPerSecond is the unit of /proc/PID/stat's times (USER_HZ), 100 on every
// Linux architecture that Go supports.
const ticksPerSecond = 100

// cpu returns the user and system time so far of the process and its children
// that still run (nginx serves from a worker).
func (p *process) cpu() (time.Duration, error) {
	pids := []string{strconv.Itoa(p.cmd.Process.Pid)}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%s/task/%s/children", pids[0], pids[0]))
	if err == nil {
		pids = append(pids, strings.Fields(string(children))...)
	}
	var sum time.Duration
	for _, pid := range pids {
		b, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			return 0, err
		}
		f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		for _, field := range f[11:13] { // utime and stime, counted from the state
			n, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				return 0, err
			}
			sum += time.Duration(n) * time.Second / ticksPerSecond
		}
	}
	return sum, nil
}

// start runs a program on the pinned core.
func start(dir, name string, args ...string) (*process, error) {
	log, err := os.Create(filepath.Join(dir, filepath.Base(name)+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command("taskset", append([]string{"-c", core, name}, args...)...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	return &process{cmd}, nil
}

func (p *process) stop() {
	_ = p.cmd.Process.Signal(os.Interrupt)
	done := make(chan struct{})
	go func() { _ = p.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		_ = p.cmd.Process.Kill()
		<-done
	}
}

// origin is the streaming server that pointsman probes.
type origin struct {
	net.Listener
	url string
}

func startOrigin() (*origin, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() {
		_ = http.Serve(l, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/index.m3u8") {
				fmt.Fprint(rw, "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=800000\nmedia.m3u8\n")
				return
			}
			fmt.Fprint(rw, rig.MediaPlaylist(rig.Live, time.Now()))
		}))
	}()
	return &origin{l, "http://" + l.Addr().String()}, nil
}

// manifestSize is the size of (e)'s body, in bytes.
const manifestSize = 190

// startAll starts the contenders. stop ends those that run, also after
// an error.
func startAll(dir, originURL string) (all []*contender, stop func(), err error) {
	stop = func() {
		for _, c := range all {
			c.process.stop()
		}
	}
	add := func(name, addr, program string, args ...string) error {
		p, err := start(dir, program, args...)
		if err != nil {
			return err
		}
		all = append(all, &contender{name: name, process: p, addr: addr})
		return await(addr)
	}
	self, err := os.Executable()
	if err != nil {
		return all, stop, err
	}
	bin := filepath.Join(dir, "pointsman")
	build := exec.Command("go", "build", "-o", bin, "./cmd/pointsman")
	build.Dir = rig.Root()
	if out, err := build.CombinedOutput(); err != nil {
		return all, stop, fmt.Errorf("building pointsman: %w\n%s", err, out)
	}
	ports, err := freePorts(7)
	if err != nil {
		return all, stop, err
	}
	addr := func(i int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[i])) }
	if err := add("(a) bare net/http handler, constant 302", addr(0), self, "-bare", addr(0)); err != nil {
		return all, stop, err
	}
	config := filepath.Join(dir, "pointsman.json")
	if err := writeConfig(config, ports[1], ports[2], originURL, false); err != nil {
		return all, stop, err
	}
	if err := add("(b) pointsman, 1,000 locations, JSON decision log", addr(1), bin, "serve", "-config", config); err != nil {
		return all, stop, err
	}
	nginx := filepath.Join(dir, "nginx.conf")
	if err := writeNginx(nginx, dir, ports[3]); err != nil {
		return all, stop, err
	}
	if err := add("(c) nginx, geo with 1,000 prefixes, return 302", addr(3), "nginx", "-c", nginx, "-p", dir); err != nil {
		return all, stop, err
	}
	if err := add("(d) bare net/http handler, constant body", addr(4), self, "-bare", addr(4), "-body", strconv.Itoa(manifestSize)); err != nil {
		return all, stop, err
	}
	steers := filepath.Join(dir, "steering.json")
	if err := writeConfig(steers, ports[5], ports[6], originURL, true); err != nil {
		return all, stop, err
	}
	if err := add("(e) pointsman's steering manifest, JSON decision log", addr(5), bin, "serve", "-config", steers); err != nil {
		return all, stop, err
	}
	all[manifestBase].polls, all[manifestBase+1].polls = true, true
	return all, stop, nil
}

func writeConfig(path string, port, admin int, originURL string, steers bool) error {
	type object = map[string]any
	var locations []object
	for i := range 1000 {
		locations = append(locations, object{
			"name": fmt.Sprintf("l%d", i), "farms": []string{"farm"}, "uri_regex": ".*",
			"ip_mask": []string{fmt.Sprintf("127.%d.%d.0/24", 1+i/256, i%256)},
		})
	}
	list := []object{{"name": "farm", "servers": []object{{"url": originURL}}}}
	if steers {
		list = append(list, object{"name": "other", "servers": []object{{"name": "other", "url": originURL + "/other"}}})
		for _, l := range locations {
			l["farms"] = []string{"farm", "other"}
		}
	}
	doc := object{
		"core": object{"interface": "127.0.0.1", "port": port}, "admin": object{"port": admin},
		"redirection": object{
			"uri_path": "/", "channel_regex": "([^/]+)/.*",
			"farms":     list,
			"locations": locations,
		},
	}
	if steers {
		doc["steering"] = object{}
	}
	b, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o600)
}

func writeNginx(path, dir string, port int) error {
	var geo strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&geo, "    127.%d.%d.0/24 edge%d;\n", 1+i/256, i%256, i%4)
	}
	conf := fmt.Sprintf(`daemon off; worker_processes 1; pid %[1]s/nginx.pid; error_log %[1]s/nginx-error.log;
events { worker_connections 1024; }
http {
  access_log %[1]s/nginx-access.log; keepalive_requests 100000000;
  client_body_temp_path %[1]s; proxy_temp_path %[1]s; fastcgi_temp_path %[1]s; uwsgi_temp_path %[1]s; scgi_temp_path %[1]s;
  geo $edge {
    default edge0;
%[3]s  }
  server { listen 127.0.0.1:%[2]d; location / { return 302 http://$edge.example$request_uri; } }
}
`, dir, port, geo.String())
	return os.WriteFile(path, []byte(conf), 0o600)
}

func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // all are held until all are drawn
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// await waits until a server accepts connections.
func await(addr string) error {
	var err error
	for range 200 {
		var c net.Conn
		if c, err = net.Dial("tcp", addr); err == nil {
			return c.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("waiting for %s: %w", addr, err)
}
