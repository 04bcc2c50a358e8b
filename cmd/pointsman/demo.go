package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/pointsman-tv/pointsman/cmd/pointsman/demo"
	"github.com/pointsman-tv/pointsman/farms/config"
)

const demoText = `Runs three small streaming servers in two farms, a redirector in front of them and
a page with a player, all on loopback, until interrupted. It needs nothing but
this binary. Stop and start the servers with the buttons of the page.`

// The demo's own ports; free ones are taken where these are not free.
const (
	demoViewers = 9201
	demoAdmin   = 9202
	demoServers = 9211
)

func runDemo(args []string, s streams) int {
	fs := flags("demo", "", demoText, s)
	logPath := fs.String("log", "", "write the redirector's log to `FILE` (- is standard error); default: nowhere")
	if status, done := parse(fs, args, 0, s); done {
		return status
	}
	sink := io.Writer(io.Discard)
	switch *logPath {
	case "":
	case "-":
		sink = s.err
	default:
		f, err := os.Create(*logPath)
		if err != nil {
			fmt.Fprintln(s.err, "pointsman demo:", err)
			return exitError
		}
		defer f.Close()
		sink = f
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := demonstrate(ctx, sink, s.out); err != nil {
		fmt.Fprintln(s.err, "pointsman demo:", err)
		return exitError
	}
	return exitOK
}

func demonstrate(ctx context.Context, sink, out io.Writer) error {
	servers, err := startDemoServers()
	if err != nil {
		return err
	}
	defer func() {
		for _, srv := range servers {
			srv.Stop()
		}
	}()
	viewers, admin := freePort(demoViewers), freePort(demoAdmin)
	data, err := json.Marshal(demoConfig(servers, viewers, admin))
	if err != nil {
		return err
	}
	doc, findings := config.Parse(config.Source{Data: data})
	if doc == nil {
		return refusal("the demo's configuration", findings)
	}
	svc := &service{
		doc: doc,
		extra: func(*core) http.Handler {
			return demo.Page(servers, func(channel string) string {
				return fmt.Sprintf("http://127.0.0.1:%d/%s/index.m3u8", viewers, channel)
			})
		},
		ready: func(v, a net.Addr) {
			fmt.Fprintf(out, "Pointsman demo: three streaming servers in two farms, and the redirector in front.\n\n"+
				"  player page    http://%s/demo/\n"+
				"  viewer's link  http://%s/%s/index.m3u8\n"+
				"  status         http://%s/status\n"+
				"  explain        http://%s/explain?ip=127.0.0.1&url=/%s/index.m3u8\n\n",
				a, v, demo.Pattern, a, a, demo.Pattern)
			for _, srv := range servers {
				fmt.Fprintf(out, "  farm %-6s server %s  %s  channels %v\n", srv.Farm(), srv.Name(), srv.URL(), srv.Channels())
			}
			fmt.Fprint(out, "\nInterrupt (Ctrl-C) ends it.\n")
		},
	}
	return svc.run(ctx, sink, nil)
}

// startDemoServers starts the embedded servers: s1 and s2 in farm near, s3 in
// farm far. Only s2 and s3 have the second channel.
func startDemoServers() ([]*demo.Server, error) {
	since := time.Now()
	specs := []struct {
		name, farm string
		channels   []string
	}{
		{"s1", "near", []string{demo.Pattern}},
		{"s2", "near", []string{demo.Pattern, demo.Bars}},
		{"s3", "far", []string{demo.Pattern, demo.Bars}},
	}
	var servers []*demo.Server
	for i, spec := range specs {
		srv, err := demo.New(spec.name, spec.farm, since, spec.channels...)
		if err != nil {
			return nil, err
		}
		// A port of its own, below those that the system hands out: nobody takes
		// it while the server is stopped by its button.
		if srv.Listen(net.JoinHostPort("127.0.0.1", strconv.Itoa(demoServers+i))) != nil {
			if err := srv.Listen("127.0.0.1:0"); err != nil {
				return nil, err
			}
		}
		if err := srv.Start(); err != nil {
			return nil, err
		}
		servers = append(servers, srv)
	}
	return servers, nil
}

// demoConfig is the demo's configuration, as an operator would write it, with
// times short enough to watch.
func demoConfig(servers []*demo.Server, viewers, admin int) map[string]any {
	type object = map[string]any
	byFarm := map[string][]object{}
	for _, srv := range servers {
		byFarm[srv.Farm()] = append(byFarm[srv.Farm()], object{"name": srv.Name(), "url": srv.URL()})
	}
	return object{
		"core":  object{"interface": "127.0.0.1", "port": viewers, "drain_delay_sec": 0},
		"admin": object{"port": admin},
		"probe": object{"slow_start_sec": 2},
		"redirection": object{
			"uri_path": "/", "channel_regex": "([^/]+)/.*",
			"server_status_cache_time_sec": 2, "live_cache_time_sec": 2, "request_timeout_sec": 2,
			"farms": []object{
				{"name": "near", "servers": byFarm["near"]},
				{"name": "far", "servers": byFarm["far"]},
			},
			"locations": []object{{
				"name": "everybody", "farms": []string{"near", "far"}, "uri_regex": ".*", "ip_mask": []string{"0.0.0.0/0", "::/0"},
			}},
		},
	}
}

// freePort returns port when it is free on loopback, else one that is.
func freePort(port int) int {
	for _, p := range []int{port, 0} {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(p)))
		if err != nil {
			continue
		}
		defer l.Close()
		return l.Addr().(*net.TCPAddr).Port
	}
	return port
}
