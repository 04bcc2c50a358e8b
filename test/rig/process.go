package rig

import (
	"bytes"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
)

// Tool returns the path of a program that Go does not bring along, and fails
// the test where it is missing: a test that is skipped shows nothing.
func Tool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		// Debian keeps servers out of the path of ordinary users.
		if path, err = exec.LookPath("/usr/sbin/" + name); err != nil {
			t.Fatalf("%s is not installed: run `make deps`, as root where it may install packages", name)
		}
	}
	return path
}

// Process is a program that runs beside a test and is killed, by its own id,
// when the test ends.
type Process struct {
	t      testing.TB
	cmd    *exec.Cmd
	exited chan struct{}
	out    output
}

// output collects what a process says, for the one who asks meanwhile.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write takes what the process says.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

// Spawn starts a program in a directory, "" for this one.
func Spawn(t testing.TB, dir, path string, args ...string) *Process {
	t.Helper()
	p := &Process{t: t, cmd: exec.Command(path, args...), exited: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, &p.out, &p.out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // its state is in p.cmd
		close(p.exited)
	}()
	t.Cleanup(p.Kill)
	return p
}

// Output returns all that the process has printed.
func (p *Process) Output() string {
	p.out.mu.Lock()
	defer p.out.mu.Unlock()
	return p.out.b.String()
}

// Ended tells whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// Wait waits for the end of the process and returns its exit status.
func (p *Process) Wait() int {
	<-p.exited
	return p.cmd.ProcessState.ExitCode()
}

// Signal sends a signal to a process that runs.
func (p *Process) Signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// Kill ends the process at once, as a power failure would, and waits for it.
func (p *Process) Kill() {
	_ = p.cmd.Process.Signal(os.Kill) // it may have ended by itself
	<-p.exited
}
