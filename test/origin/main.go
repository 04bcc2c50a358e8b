// Command origin serves one of the fake streaming servers of test/fake, to see
// by hand how a redirector asks a vendor's interface and follows its answer:
//
//	go run ./test/origin -type flussonic -channel news -live -ranges 3h-2h,1h-now
//
// It prints the URLs to ask, the server's entry for a configuration file, and
// then one line for each request. -h tells the rest.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pointsman-tv/pointsman/test/fake"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "origin:", err)
		os.Exit(1)
	}
}

// settings are what the command line says.
type settings struct {
	kind           string
	listen         string
	application    string // of vendors whose channels are in one
	channel        string // without the application
	live           bool
	ranges         []stretch
	user, secret   string
	status         int
	hang           bool
	delay          time.Duration
	gapTags, quiet bool
}

const help = `origin serves a fake streaming server: one channel, its recordings, and the
vendor's interface with its lies. Nothing is real but the playlists.

Usage: go run ./test/origin [options]

Examples:
  go run ./test/origin -type flussonic -channel news -live -ranges 3h-2h,1h-now
        a live channel with two recordings: from three to two hours ago, and
        the last hour, which goes on growing
  go run ./test/origin -type wowza -channel live/news -ranges 1767132000-1767135600 -user admin -secret x
        one recording in unix seconds, and an interface that wants Digest
  go run ./test/origin -type mediamtx -fail 503
        a server that is in trouble

A time in -ranges is unix seconds, a length before now (90s, 15m, 3h, 2h30m), or
"now", which moves on.

Options:
`

func run(ctx context.Context, args []string, out, errs io.Writer) error {
	set, err := parse(args, errs)
	if err != nil {
		return err
	}
	v, ok := vendors()[set.kind]
	if !ok {
		return fmt.Errorf("-type is %q, expected one of %s", set.kind, kinds)
	}
	if app, channel, ok := strings.Cut(set.channel, "/"); ok && v.application != "" {
		set.application, set.channel = app, channel
	} else {
		set.application = v.application
	}
	o := v.new(set)
	keep(ctx, o, v, set)
	o.Fail(set.status)
	o.Hang(set.hang)
	o.Delay(set.delay)

	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", set.listen)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", set.listen, err)
	}
	describe(out, v, set, "http://"+l.Addr().String(), time.Now())
	srv := &http.Server{Handler: logged(o, set.quiet, out), ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(errs, "", 0)}
	defer context.AfterFunc(ctx, func() { _ = srv.Close() })()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving on %s: %w", l.Addr(), err)
	}
	return nil
}

func parse(args []string, errs io.Writer) (settings, error) {
	var (
		set    settings
		ranges string
	)
	f := flag.NewFlagSet("origin", flag.ContinueOnError)
	f.SetOutput(errs)
	f.Usage = func() {
		_, _ = io.WriteString(errs, help)
		f.PrintDefaults()
	}
	f.StringVar(&set.kind, "type", "generic", "the `vendor`: "+kinds)
	f.StringVar(&set.listen, "listen", "127.0.0.1:0", "`address` to listen on; port 0 takes a free one")
	f.StringVar(&set.channel, "channel", "news", "`name` of the channel; nimble, wowza and antmedia take APPLICATION/NAME too")
	f.StringVar(&ranges, "ranges", "", "recordings as `FROM-TO,FROM-TO`; none when empty")
	f.BoolVar(&set.live, "live", false, "the channel is on the air")
	f.StringVar(&set.user, "user", "", "`name` that the interface wants (flussonic, mediamtx, wowza)")
	f.StringVar(&set.secret, "secret", "", "`secret` or token that the interface wants (all but mistserver and generic)")
	f.IntVar(&set.status, "fail", 0, "answer everything with this `status`, such as 503")
	f.BoolVar(&set.hang, "hang", false, "accept requests and never answer")
	f.DurationVar(&set.delay, "delay", 0, "answer so much later, such as 2s")
	f.BoolVar(&set.gapTags, "gap-tags", false, "fill gaps with EXT-X-GAP segments (generic)")
	f.BoolVar(&set.quiet, "quiet", false, "print no line for each request")
	if err := f.Parse(args); err != nil {
		return set, err
	}
	if f.NArg() > 0 {
		return set, fmt.Errorf("%q is no option, see -h", f.Arg(0))
	}
	if set.channel == "" || strings.HasPrefix(set.channel, "/") || strings.HasSuffix(set.channel, "/") {
		return set, fmt.Errorf("-channel is %q, expected a name", set.channel)
	}
	var err error
	set.ranges, err = parseRanges(ranges)
	return set, err
}

// instant is a time that may count from now.
type instant struct {
	ago      time.Duration
	at       time.Time
	relative bool
	moves    bool // it is "now"
}

// stretch is a recording as the command line says it.
type stretch struct{ from, to instant }

func parseRanges(text string) ([]stretch, error) {
	if text == "" {
		return nil, nil
	}
	var out []stretch
	for part := range strings.SplitSeq(text, ",") {
		first, last, ok := strings.Cut(part, "-")
		from, errFrom := parseInstant(first)
		to, errTo := parseInstant(last)
		if err := errors.Join(errFrom, errTo); !ok || err != nil {
			return nil, fmt.Errorf("-ranges has %q, expected FROM-TO such as 3h-2h, 1h-now or 1767132000-1767135600", part)
		}
		now := time.Now()
		if !from.when(now).Before(to.when(now)) {
			return nil, fmt.Errorf("-ranges has %q, expected an end behind its beginning", part)
		}
		if n := len(out); n > 0 && from.when(now).Before(out[n-1].to.when(now)) {
			return nil, fmt.Errorf("-ranges has %q behind a later range, expected the oldest first and no overlap", part)
		}
		out = append(out, stretch{from, to})
	}
	return out, nil
}

func parseInstant(text string) (instant, error) {
	if text == "now" {
		return instant{relative: true, moves: true}, nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 {
		return instant{at: time.Unix(n, 0)}, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return instant{}, fmt.Errorf("%q is no time", text)
	}
	return instant{ago: d, relative: true}, nil
}

// when is the time that is meant at now, in whole seconds: URLs have no more.
func (i instant) when(now time.Time) time.Time {
	if i.relative {
		return now.Add(-i.ago).Truncate(time.Second)
	}
	return i.at
}

// origin is a fake server.
type origin interface {
	http.Handler
	Set(name string, c fake.Channel)
	Fail(status int)
	Hang(hang bool)
	Delay(d time.Duration)
}

// keep sets the channel, and goes on doing so while one of its ranges grows.
func keep(ctx context.Context, o origin, v vendor, set settings) {
	began, grows := time.Now(), false
	update := func(now time.Time) {
		c := fake.Channel{Live: set.live}
		for _, r := range set.ranges {
			to := r.to.when(began)
			if r.to.moves {
				to, grows = r.to.when(now), true
			}
			c.Recorded = append(c.Recorded, fake.Range{From: r.from.when(began), To: to})
		}
		o.Set(v.name(set), c)
	}
	update(began)
	if !grows {
		return
	}
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case now := <-tick.C:
				update(now)
			case <-ctx.Done():
				return
			}
		}
	}()
}

// describe prints what can be asked.
func describe(out io.Writer, v vendor, set settings, base string, now time.Time) {
	var b strings.Builder
	fmt.Fprintf(&b, "fake %s on %s\n\nViewers:\n  %s%s\n", set.kind, base, base, v.live(set))
	for _, r := range set.ranges {
		from, to := r.from.when(now), r.to.when(now)
		for _, u := range v.archive(set, from, to) {
			fmt.Fprintf(&b, "  %s%s\n", base, u)
		}
	}
	if urls := v.interfaces(set); len(urls) > 0 {
		b.WriteString("\nIts interface:\n")
		for _, u := range urls {
			fmt.Fprintf(&b, "  %s%s\n", base, u)
		}
	}
	fmt.Fprintf(&b, "\nAs a server in a configuration:\n  {\"url\": %q, \"type\": %q", base, set.kind)
	if v.ports {
		fmt.Fprintf(&b, ", \"api_url\": %q", base)
	}
	if set.user != "" {
		fmt.Fprintf(&b, ", \"api_user\": %q", set.user)
	}
	if set.secret != "" {
		b.WriteString(`, "api_secret": {"file": "FILE WITH THE SECRET"}`)
	}
	b.WriteString("}\n\nRequests (^C ends):\n")
	_, _ = io.WriteString(out, b.String())
}

// logged prints a line for each request.
func logged(h http.Handler, quiet bool, out io.Writer) http.Handler {
	if quiet {
		return h
	}
	lines := log.New(out, "", log.Ltime|log.Lmsgprefix)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		h.ServeHTTP(seen, r)
		lines.Printf("%d %s %q %q", seen.status, r.Method, r.URL.RequestURI(), r.UserAgent())
	})
}

// statusWriter remembers the status.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}
