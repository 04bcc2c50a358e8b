package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"github.com/pointsman-tv/pointsman/cmd/pointsman/demo"
	"github.com/pointsman-tv/pointsman/farms/config"
	"github.com/pointsman-tv/pointsman/redirector"
)

const demoText = `Runs three small streaming servers in two farms, two redirectors in front of them
and a page with players, all on loopback, until interrupted. It needs nothing but
this binary. One redirector sends viewers on, the other steers them: the page has
a tab for each. Stop and start the servers, and override pathways, with its
buttons.`

// The demo's own ports; free ones are taken where these are not free.
const (
	demoViewers      = 9201
	demoAdmin        = 9202
	demoSteerViewers = 9203
	demoSteerAdmin   = 9204
	demoServers      = 9211
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
	steerViewers, steerAdmin := freePort(demoSteerViewers), freePort(demoSteerAdmin)
	sending, err := demoService(demoConfig(servers, viewers, admin))
	if err != nil {
		return err
	}
	steering, err := demoService(demoSteeringConfig(servers, steerViewers, steerAdmin))
	if err != nil {
		return err
	}
	manifest := steering.doc.Steering.Path + "/" + demo.Pattern + "/index.m3u8"
	sink = zerolog.SyncWriter(sink) // both write to it

	ctx, cancel := context.WithCancel(ctx) // neither goes on without the other
	defer cancel()
	ready, ended := make(chan struct{}), make(chan error, 1)
	steering.ready = func(net.Addr, net.Addr) { close(ready) }
	go func() {
		defer cancel()
		ended <- steering.run(ctx, sink, nil)
	}()
	select {
	case <-ready:
	case err := <-ended:
		return err
	}
	sending.extra = func(*core) http.Handler {
		return demo.Page(servers, func(channel string) string { return demoLink(viewers, channel) }, demo.Steering{
			Channel:  demo.Pattern,
			URL:      demoLink(steerViewers, demo.Pattern),
			Manifest: manifest,
			Admin:    steering.core.engine.Admin(redirector.AdminOptions{}),
		})
	}
	sending.ready = func(net.Addr, net.Addr) {
		fmt.Fprintf(out, "Pointsman demo: three streaming servers in two farms, and two redirectors in front.\n\n"+
			"  player page    http://127.0.0.1:%[1]d/demo/\n"+
			"  viewer's link  %[2]s\n"+
			"  status         http://127.0.0.1:%[1]d/status\n"+
			"  explain        http://127.0.0.1:%[1]d/explain?ip=127.0.0.1&url=/%[3]s/index.m3u8\n\n"+
			"  steering tab   http://127.0.0.1:%[1]d/demo/#steering\n"+
			"  steered link   %[4]s\n"+
			"  its status     http://127.0.0.1:%[5]d/status\n"+
			"  its explain    http://127.0.0.1:%[5]d/explain?ip=127.0.0.1&url=%[6]s\n\n",
			admin, demoLink(viewers, demo.Pattern), demo.Pattern, demoLink(steerViewers, demo.Pattern), steerAdmin, manifest)
		for _, srv := range servers {
			fmt.Fprintf(out, "  farm %-6s server %s  %s  channels %v\n", srv.Farm(), srv.Name(), srv.URL(), srv.Channels())
		}
		fmt.Fprint(out, "\nInterrupt (Ctrl-C) ends it.\n")
	}
	err = sending.run(ctx, sink, nil)
	cancel()
	return errors.Join(err, <-ended)
}

// demoLink is what a viewer opens to watch a channel.
func demoLink(viewers int, channel string) string {
	return fmt.Sprintf("http://127.0.0.1:%d/%s/index.m3u8", viewers, channel)
}

// demoService is a redirector of the demo that is ready to run.
func demoService(configuration map[string]any) (*service, error) {
	data, err := json.Marshal(configuration)
	if err != nil {
		return nil, err
	}
	doc, findings := config.Parse(config.Source{Data: data})
	if doc == nil {
		return nil, refusal("the demo's configuration", findings)
	}
	return &service{doc: doc}, nil
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

// demoConfig is the configuration of the redirector that sends viewers on, as an
// operator would write it, with times short enough to watch.
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

// demoSteeringConfig is the configuration of the redirector that steers. A
// pathway is one address, and nothing stands for the two servers of farm near:
// so each farm has its first server alone.
func demoSteeringConfig(servers []*demo.Server, viewers, admin int) map[string]any {
	var first []*demo.Server
	for _, srv := range servers {
		if !slices.ContainsFunc(first, func(s *demo.Server) bool { return s.Farm() == srv.Farm() }) {
			first = append(first, srv)
		}
	}
	document := demoConfig(first, viewers, admin)
	document["steering"] = map[string]any{
		"decorate": true, "public_url": fmt.Sprintf("http://127.0.0.1:%d", viewers),
		"ttl_sec": 4, "degraded_ttl_sec": 2, "jitter": 0,
	}
	return document
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
