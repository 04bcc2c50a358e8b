package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// connections is the number of viewers at one time, each from an address of its
// own.
const connections = 32

// load asks addr from all connections for the given time and returns the number
// of answers. Anything but a 302 is an error.
func load(addr string, length time.Duration) (int64, error) {
	var total atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, connections)
	deadline := time.Now().Add(length)
	for i := range connections {
		wg.Go(func() { errs[i] = viewer(i, addr, deadline, &total) })
	}
	wg.Wait()
	return total.Load(), errors.Join(errs...)
}

func viewer(i int, addr string, deadline time.Time, total *atomic.Int64) error {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 1, byte(i*31), byte(i+1))}, Timeout: 5 * time.Second}
	conn, err := d.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	request := fmt.Appendf(nil, "GET /channel%d/index.m3u8?token=a1b2c3d4e5f6 HTTP/1.1\r\nHost: tv.example.com\r\n"+
		"User-Agent: Mozilla/5.0 (Linux; Android 12; SmartTV) player/2.%d\r\nAccept: */*\r\nAccept-Encoding: gzip\r\n\r\n", i%8, i)
	in := bufio.NewReader(conn)
	n := int64(0)
	defer func() { total.Add(n) }()
	for time.Now().Before(deadline) {
		if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			return err
		}
		if _, err := conn.Write(request); err != nil {
			return err
		}
		if err := readAnswer(in); err != nil {
			return err
		}
		n++
	}
	return nil
}

// readAnswer reads the head of a 302 and, for a server that sends one, its body.
func readAnswer(in *bufio.Reader) error {
	status, err := in.ReadString('\n')
	if err != nil {
		return err
	}
	if !strings.Contains(status, " 302 ") {
		return fmt.Errorf("answered %q, expected a 302", strings.TrimSpace(status))
	}
	length := 0
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) <= 2 {
			_, err := io.CopyN(io.Discard, in, int64(length))
			return err
		}
		if name, value, ok := strings.Cut(string(line), ":"); ok && strings.EqualFold(name, "Content-Length") {
			if _, err := fmt.Sscan(value, &length); err != nil {
				return err
			}
		}
	}
}
