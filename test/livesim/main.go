// Command livesim is livesim2, the DASH Industry Forum's simulator of live
// sources, on one address. Its own command listens on every address of the
// machine, which a test of ours may not do; so the same server is built here
// from the same packages, and the listener is opened on loopback.
//
//	livesim -assets DIR [-listen 127.0.0.1:0]
//
// It prints the base URL of what it serves when it accepts connections.
//
// It is a module of its own: what this tool depends on is no business of those
// who build Pointsman.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/Dash-Industry-Forum/livesim2/cmd/livesim2/app"
	"github.com/Dash-Industry-Forum/livesim2/pkg/logging"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "`address` to listen on; port 0 is any that is free")
	assets := flag.String("assets", "", "`directory` with the assets, which are played round and round")
	flag.Parse()
	if err := serve(*listen, *assets); err != nil {
		fmt.Fprintln(os.Stderr, "livesim:", err)
		os.Exit(1)
	}
}

// serve serves the assets until it fails.
func serve(listen, assets string) error {
	if err := logging.InitSlog("ERROR", logging.LogText); err != nil {
		return fmt.Errorf("setting up the log: %w", err)
	}
	cfg := app.DefaultConfig
	cfg.VodRoot = assets
	cfg.RepDataRoot = "" // what it learns of the assets is kept nowhere
	simulator, err := app.SetupServer(context.Background(), &cfg)
	if err != nil {
		return fmt.Errorf("setting up livesim2 with the assets in %q: %w", assets, err)
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	fmt.Printf("http://%s\n", l.Addr())
	server := http.Server{Handler: simulator.Router, ReadHeaderTimeout: 10 * time.Second}
	if err := server.Serve(l); err != nil {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}
