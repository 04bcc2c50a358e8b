package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/cmd/pointsman/demo"
	"github.com/pointsman-tv/pointsman/farms/config"
)

// ran is what a command printed and returned.
type ran struct {
	out, err string
	status   int
}

func runs(in string, args ...string) ran {
	var out, errs bytes.Buffer
	status := run(args, streams{strings.NewReader(in), &out, &errs})
	return ran{out.String(), errs.String(), status}
}

func TestRun(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		in       string
		args     []string
		status   int
		out, err string // held by the outputs; "" wants the output empty
	}{
		{"alone", "", nil, exitOK, "usage: pointsman COMMAND", ""},
		{"help", "", []string{"help"}, exitOK, "usage: pointsman COMMAND", ""},
		{"version", "", []string{"version"}, exitOK, "pointsman ", ""},
		{"version_flag", "", []string{"-version"}, exitOK, "pointsman ", ""},
		{"unknown", "", []string{"sevre"}, exitUsage, "", `there is no command "sevre"`},
		{"too_many", "", []string{"version", "x"}, exitUsage, "", "1 arguments beside the flags, expected 0"},
		{"bad_flag", "", []string{"check", "-x"}, exitUsage, "", "flag provided but not defined: -x"},
		{"no_config", "", []string{"check"}, exitUsage, "", "-config FILE is needed"},
		{"no_file", "", []string{"check", "-config", "/nonexistent"}, exitError, "/nonexistent", ""},
		{"empty_input", "", []string{"check", "-config", "-"}, exitError, "error", ""},
		{"serve_a_bad_one", "{", []string{"serve", "-config", "-"}, exitError, "", "error line 1 column"},
		{"explain_a_bad_one", "{", []string{"explain", "-config", "-", "-ip", "192.0.2.1", "/x"}, exitError, "", "- has errors"},
		{"explain_no_ip", "", []string{"explain", "-config", "-", "/x"}, exitUsage, "", "expected an address"},
		{"explain_nobody_listens", "", []string{"explain", "-admin", "http://127.0.0.1:1", "-ip", "192.0.2.1", "/x"}, exitError, "", "asking http://127.0.0.1:1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := runs(row.in, row.args...)
			if got.status != row.status {
				t.Errorf("status %d, want %d", got.status, row.status)
			}
			for _, x := range []struct{ what, got, want string }{{"output", got.out, row.out}, {"errors", got.err, row.err}} {
				if (x.want == "") != (x.got == "") || !strings.Contains(x.got, x.want) {
					t.Errorf("%s: %q, want one with %q", x.what, x.got, x.want)
				}
			}
		})
	}
}

// TestEveryCommandHasHelp: it names the command and all of its flags.
func TestEveryCommandHasHelp(t *testing.T) {
	t.Parallel()
	all := runs("", "help").out
	for _, c := range commands() {
		if !strings.Contains(all, "  "+c.name+" ") || !strings.Contains(all, c.summary) {
			t.Errorf("help does not name %s", c.name)
		}
		got := runs("", c.name, "-h")
		if got.status != exitOK || !strings.HasPrefix(got.err, "usage: pointsman "+c.name) {
			t.Errorf("%s -h: %d %q", c.name, got.status, got.err)
		}
	}
}

func TestFreePort(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	taken := l.Addr().(*net.TCPAddr).Port
	if got := freePort(taken); got == taken || got == 0 {
		t.Errorf("port %d is taken, and %d is what is found instead", taken, got)
	}
	must(t, l.Close())
	if got := freePort(taken); got != taken {
		t.Errorf("port %d is free, and %d is taken instead", taken, got)
	}
}

// TestDemoConfigIsGood: the demo shows how a configuration is written, so there
// must be nothing to say about it.
func TestDemoConfigIsGood(t *testing.T) {
	t.Parallel()
	servers, err := startDemoServers()
	must(t, err)
	t.Cleanup(func() {
		for _, s := range servers {
			s.Stop()
		}
	})
	data := encode(t, demoConfig(servers, 9201, 9202))
	doc, findings := config.Parse(config.Source{Data: data})
	if doc == nil {
		t.Fatalf("%v", findings)
	}
	for _, f := range findings {
		if f.Severity == config.Error {
			t.Error(f)
		}
	}
	if len(servers) != 3 || servers[0].Channels()[0] != demo.Pattern {
		t.Errorf("servers %v", servers)
	}
}

func TestReadConfig(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pointsman.json")
	must(t, os.WriteFile(file, []byte("{}"), 0o600))
	src, err := readConfig(file, nil)
	if err != nil || string(src.Data) != "{}" || src.Dir != filepath.Dir(file) || len(src.LocalAddrs) == 0 {
		t.Errorf("%+v, %v", src, err)
	}
	src, err = readConfig("-", strings.NewReader("[]"))
	if err != nil || string(src.Data) != "[]" || src.Dir != "" {
		t.Errorf("from standard input: %+v, %v", src, err)
	}
	if _, err = readConfig(filepath.Dir(file), nil); err == nil {
		t.Error("a folder was read as a configuration")
	}
}
