package rig

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Nginx is a real nginx of one process on one loopback address, so that its
// process id is all that there is to signal.
type Nginx struct {
	Addr string // host:port, the same over all starts
	Root string // directory of the files it serves

	t   testing.TB
	bin string
	dir string
	run *Process
}

// Files are the directives of a streaming server that serves its root.
const Files = `location / {
      add_header Access-Control-Allow-Origin * always;
      add_header Cache-Control no-cache;
    }`

// NewNginx starts an nginx on a free port of host, such as "127.0.0.11", with
// the given directives inside its server block. What it complained about is
// logged when the test fails.
func NewNginx(t testing.TB, host, directives string) *Nginx {
	t.Helper()
	n := &Nginx{t: t, bin: Tool(t, "nginx"), dir: t.TempDir(), Addr: freeAddr(t, host)}
	n.Root = filepath.Join(n.dir, "root")
	for _, d := range []string{n.Root, filepath.Join(n.dir, "tmp")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(n.file("nginx.conf"), []byte(n.config(directives)), 0o600); err != nil {
		t.Fatal(err)
	}
	n.Start()
	t.Cleanup(func() {
		errors, _ := os.ReadFile(n.file("error.log"))
		if said := string(errors) + n.run.Output(); t.Failed() && said != "" {
			t.Logf("nginx on %s said:\n%s", n.Addr, said)
		}
	})
	return n
}

func (n *Nginx) file(name string) string { return filepath.Join(n.dir, name) }

// config names every file that nginx would otherwise look for in places of the
// system. The log has one line an answer: status, target, User-Agent.
func (n *Nginx) config(directives string) string {
	return fmt.Sprintf(`daemon off;
master_process off;
pid nginx.pid;
error_log error.log crit; # a file that is not there is no error of a streaming server
events { worker_connections 256; }
http {
  log_format plain '$status $request_uri $http_user_agent';
  access_log access.log plain;
  client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp; uwsgi_temp_path tmp; scgi_temp_path tmp;
  types {
    application/vnd.apple.mpegurl m3u8;
    application/dash+xml mpd;
    video/mp2t ts;
    video/mp4 mp4;
    video/iso.segment m4s;
  }
  server {
    listen %s;
    root root;
    %s
  }
}
`, n.Addr, directives)
}

// URL is the server's base URL.
func (n *Nginx) URL() string { return "http://" + n.Addr }

// Start runs it (again) on its address and waits until it accepts connections.
func (n *Nginx) Start() {
	n.t.Helper()
	n.run = Spawn(n.t, n.dir, n.bin, "-p", n.dir, "-c", "nginx.conf", "-e", n.file("error.log"))
	Eventually(n.t, 10*time.Second, func() error {
		if n.run.Ended() {
			n.t.Fatalf("nginx on %s has ended: %s", n.Addr, n.run.Output())
		}
		c, err := net.Dial("tcp", n.Addr)
		if err == nil {
			_ = c.Close()
		}
		return err
	})
}

// Kill ends it as a power failure would: connections are refused from now on.
func (n *Nginx) Kill() { n.run.Kill() }

// Pause stops the process, not its listener: the system goes on accepting
// connections, and nobody answers on them.
func (n *Nginx) Pause() { n.run.Signal(syscall.SIGSTOP) }

// Resume undoes Pause.
func (n *Nginx) Resume() { n.run.Signal(syscall.SIGCONT) }

// Answered returns the answers so far to one User-Agent, each as "status
// target".
func (n *Nginx) Answered(agent string) []string {
	n.t.Helper()
	b, err := os.ReadFile(n.file("access.log"))
	if err != nil {
		n.t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(b)) {
		if answer, ok := strings.CutSuffix(strings.TrimSuffix(line, "\n"), " "+agent); ok {
			out = append(out, answer)
		}
	}
	return out
}

// freeAddr returns a free port of a loopback address, with the address.
func freeAddr(t testing.TB, host string) string {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
