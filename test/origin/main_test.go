package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// origins starts an origin and returns the lines that it prints before its
// requests.
func origins(t *testing.T, args ...string) []string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, append(args, "-quiet"), w, io.Discard)
		_ = w.Close()
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the origin ends with %v", err)
		}
	})
	var lines []string
	for s := bufio.NewScanner(r); s.Scan(); {
		if lines = append(lines, s.Text()); strings.HasPrefix(s.Text(), "Requests") {
			break
		}
	}
	return lines
}

// Every URL that an origin prints is answered.
func TestPrintedURLs(t *testing.T) {
	t.Parallel()
	for kind := range vendors() {
		for _, channel := range []string{"news", "sub/news"} {
			if kind == "mistserver" && channel != "news" {
				continue // its names have no slash
			}
			t.Run(kind+"_"+strings.ReplaceAll(channel, "/", "_"), func(t *testing.T) {
				t.Parallel()
				lines := origins(t, "-type", kind, "-channel", channel, "-live", "-ranges", "1h-now")
				n := 0
				for _, line := range lines {
					u := strings.TrimSpace(line)
					if !strings.HasPrefix(u, "http://") {
						continue
					}
					n++
					req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u, nil)
					if err != nil {
						t.Fatal(err)
					}
					req.Header.Set("Accept", "application/json")
					res, err := http.DefaultClient.Do(req)
					if err != nil {
						t.Fatal(err)
					}
					body, err := io.ReadAll(res.Body)
					_ = res.Body.Close()
					if err != nil || res.StatusCode != http.StatusOK || len(body) == 0 {
						t.Errorf("GET %s: %s, %d bytes, %v", u, res.Status, len(body), err)
					}
				}
				if n < 3 {
					t.Errorf("%d URLs are printed: %q", n, lines)
				}
				if !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, `"type": "`+kind+`"`) }) {
					t.Errorf("no configuration is printed: %q", lines)
				}
			})
		}
	}
}

func TestFail(t *testing.T) {
	t.Parallel()
	for _, line := range origins(t, "-fail", "503") {
		if u := strings.TrimSpace(line); strings.HasPrefix(u, "http://") {
			res, err := http.Get(u)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if res.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("GET %s: %s", u, res.Status)
			}
		}
	}
}

func TestBadCommandLines(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"type", []string{"-type", "icecast"}, "flussonic"},
		{"channel", []string{"-channel", "/news"}, "-channel"},
		{"argument", []string{"news"}, "news"},
		{"listen", []string{"-listen", "nowhere"}, "nowhere"},
		{"range_without_end", []string{"-ranges", "3h"}, "FROM-TO"},
		{"range_of_words", []string{"-ranges", "noon-now"}, "FROM-TO"},
		{"range_backwards", []string{"-ranges", "1h-2h"}, "behind its beginning"},
		{"ranges_out_of_order", []string{"-ranges", "1h-now,3h-2h"}, "oldest first"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := run(t.Context(), tt.args, io.Discard, io.Discard)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v, expected %q in it", err, tt.want)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := run(t.Context(), []string{"-h"}, io.Discard, &b); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("the error is %v", err)
	}
	for _, word := range []string{"Usage", "Examples", "-ranges", "3h-2h", "mediamtx"} {
		if !strings.Contains(b.String(), word) {
			t.Errorf("the help does not have %q:\n%s", word, b.String())
		}
	}
}

func TestInstants(t *testing.T) {
	t.Parallel()
	now := time.Unix(1767225600, 5e8)
	list, err := parseRanges("1767132000-1767135600,2h30m-90s,10s-now")
	if err != nil {
		t.Fatal(err)
	}
	if got := list[0].from.when(now).Unix(); got != 1767132000 {
		t.Errorf("unix seconds are %d", got)
	}
	if got := list[1].from.when(now); !got.Equal(time.Unix(1767225600-9000, 0)) {
		t.Errorf("2h30m is %v", got)
	}
	if !list[2].to.moves {
		t.Error("now does not move")
	}
}
