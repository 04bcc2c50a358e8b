package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// connections is the number of viewers at one time, each from an address of its
// own.
const connections = 32

// load asks a contender from all connections for the given time and returns the
// number of answers. Another answer than the expected one is an error.
func load(c *contender, length time.Duration) (int64, error) {
	var total atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, connections)
	deadline := time.Now().Add(length)
	for i := range connections {
		wg.Go(func() { errs[i] = viewer(i, c, deadline, &total) })
	}
	wg.Wait()
	return total.Load(), errors.Join(errs...)
}

func viewer(i int, c *contender, deadline time.Time, total *atomic.Int64) error {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 1, byte(i*31), byte(i+1))}, Timeout: 5 * time.Second}
	conn, err := d.Dial("tcp", c.addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	target, status := fmt.Sprintf("/channel%d/index.m3u8?token=a1b2c3d4e5f6", i%8), " 302 "
	if c.polls {
		if target, err = firstPoll(conn, in, i, "/steering"+target); err != nil {
			return err
		}
		status = " 200 "
	}
	request := requestFor(target, i)
	n := int64(0)
	defer func() { total.Add(n) }()
	for time.Now().Before(deadline) {
		if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			return err
		}
		if _, err := conn.Write(request); err != nil {
			return err
		}
		if _, err := readAnswer(in, status); err != nil {
			return err
		}
		n++
	}
	return nil
}

func requestFor(target string, i int) []byte {
	return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: tv.example.com\r\n"+
		"User-Agent: Mozilla/5.0 (Linux; Android 12; SmartTV) player/2.%d\r\nAccept: */*\r\nAccept-Encoding: gzip\r\n\r\n", target, i)
}

// firstPoll asks for a manifest and returns the target of the polls that follow:
// that of its RELOAD-URI, with what a player reports. A server that answers with
// something else is polled at a target of the same length.
func firstPoll(conn net.Conn, in *bufio.Reader, i int, target string) (string, error) {
	if _, err := conn.Write(requestFor(target, i)); err != nil {
		return "", err
	}
	body, err := readAnswer(in, " 200 ")
	if err != nil {
		return "", err
	}
	const report = "&_HLS_pathway=a&_HLS_throughput=4000000"
	var manifest struct {
		Reload string `json:"RELOAD-URI"`
	}
	if json.Unmarshal(body, &manifest) != nil {
		return target + "&pm_sid=" + strings.Repeat("x", 52) + report, nil
	}
	u, err := url.Parse(manifest.Reload)
	if err != nil {
		return "", err
	}
	return u.RequestURI() + report, nil
}

// readAnswer reads an answer with the wanted status and returns its body.
func readAnswer(in *bufio.Reader, want string) ([]byte, error) {
	status, err := in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	if !strings.Contains(status, want) {
		return nil, fmt.Errorf("answered %q, expected%s", strings.TrimSpace(status), want)
	}
	length := 0
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		if len(line) <= 2 {
			body := make([]byte, length)
			_, err := io.ReadFull(in, body)
			return body, err
		}
		if name, value, ok := strings.Cut(string(line), ":"); ok && strings.EqualFold(name, "Content-Length") {
			if _, err := fmt.Sscan(value, &length); err != nil {
				return nil, err
			}
		}
	}
}
