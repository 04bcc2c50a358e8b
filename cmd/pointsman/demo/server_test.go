package demo

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func listening(t *testing.T) *Server {
	t.Helper()
	s, err := New("s1", "north", epoch(), Pattern)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// get asks with a connection of its own, so that a closed one is never mistaken for a closed server.
func get(url string) (status int, err error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	r, err := client.Get(url)
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	_, err = io.Copy(io.Discard, r.Body)
	return r.StatusCode, err
}

func TestStopAndStartKeepTheAddress(t *testing.T) {
	t.Parallel()
	s := listening(t)
	url := s.URL()
	for round := range 3 {
		if s.Running() {
			t.Fatalf("round %d: runs before Start", round)
		}
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		if err := s.Start(); err != nil {
			t.Fatalf("starting a running server: %v", err)
		}
		if !s.Running() || s.URL() != url {
			t.Fatalf("round %d: running is %v at %s: expected true at %s", round, s.Running(), s.URL(), url)
		}
		if status, err := get(url + "/pattern/index.m3u8"); status != 200 || err != nil {
			t.Fatalf("round %d: got %d, %v", round, status, err)
		}
		s.Stop()
		s.Stop()
		if _, err := get(url + "/"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("round %d: a stopped server gives %v: expected a refused connection", round, err)
		}
	}
	if playlists, _ := s.Served(); playlists != 3 {
		t.Errorf("%d playlists served: expected 3, over all the rounds", playlists)
	}
}

func TestStopClosesLiveConnections(t *testing.T) {
	t.Parallel()
	s := listening(t)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(c, "HEAD / HTTP/1.1\r\nHost: s1\r\n\r\n")
	answers := bufio.NewReader(c)
	if r, err := http.ReadResponse(answers, &http.Request{Method: "HEAD"}); err != nil || r.Close {
		t.Fatalf("got %+v, %v: expected an answer that keeps the connection", r, err)
	}
	s.Stop()
	if _, err := answers.ReadByte(); err == nil || errors.Is(err, syscall.ETIMEDOUT) || isTimeout(err) {
		t.Errorf("reading after Stop gives %v: expected a closed connection", err)
	}
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

func TestStartErrors(t *testing.T) {
	t.Parallel()
	t.Run("before_listen", func(t *testing.T) {
		t.Parallel()
		s, err := New("s1", "north", epoch(), Pattern)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Start(); err == nil || s.Running() || s.URL() != "" {
			t.Errorf("got %v, running %v, URL %q", err, s.Running(), s.URL())
		}
	})
	t.Run("listening_twice", func(t *testing.T) {
		t.Parallel()
		if err := listening(t).Listen("127.0.0.1:0"); err == nil {
			t.Error("a second Listen was accepted")
		}
	})
	t.Run("bad_address", func(t *testing.T) {
		t.Parallel()
		s, err := New("s1", "north", epoch())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Listen("127.0.0.1:99999"); err == nil || !strings.Contains(err.Error(), `"s1"`) {
			t.Errorf("got %v: expected an error that names the server", err)
		}
	})
	t.Run("address_taken_while_stopped", func(t *testing.T) {
		t.Parallel()
		s := listening(t)
		s.Stop()
		other, err := net.Listen("tcp", strings.TrimPrefix(s.URL(), "http://"))
		if err != nil {
			t.Skipf("another process was faster: %v", err)
		}
		defer other.Close()
		if err := s.Start(); !errors.Is(err, syscall.EADDRINUSE) || s.Running() {
			t.Errorf("got %v, running %v: expected an address in use", err, s.Running())
		}
	})
}

func TestButtonsPressedAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := listening(t)
	var presses sync.WaitGroup
	for i := range 8 {
		presses.Go(func() {
			for range 20 {
				if i%2 == 0 {
					s.Stop()
				} else if err := s.Start(); err != nil {
					t.Error(err)
				}
				_, _ = s.Running(), s.URL()
			}
		})
	}
	presses.Wait()
	if err := s.Start(); err != nil || !s.Running() {
		t.Errorf("got %v, running %v after the last Start", err, s.Running())
	}
}
