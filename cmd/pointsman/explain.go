package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/farms/config"
	"github.com/pointsman-tv/pointsman/redirector"
)

const explainText = `Says where a viewer would be sent, and why: his location, its farms in order,
each server with the reason it was or was not chosen, the Location header.
With -config it asks the servers itself, once; with -admin it asks a running
instance for what that one knows. Nothing is remembered, counted or reserved.
URL is a whole URL or a path. The exit status is 0 whenever there is an answer,
refusals included.`

func explain(args []string, s streams) int {
	fs := flags("explain", "(-config FILE | -admin URL) -ip ADDR URL", explainText, s)
	path := fs.String("config", "", "the configuration `FILE`, or - for standard input")
	admin := fs.String("admin", "", "the admin `URL` of a running instance, like http://127.0.0.1:9202")
	tokenFile := fs.String("token-file", "", "a `FILE` with the bearer token for -admin")
	ip := fs.String("ip", "", "the viewer's `ADDRESS`")
	ua := fs.String("ua", "", "the viewer's User-Agent")
	asJSON := fs.Bool("json", false, "print one JSON object for programs")
	now := fs.Int64("now", 0, "read archive windows as if it were this `UNIX` time")
	parseOnly := fs.Bool("parse", false, "only read the URL and ask no server: status 200, or what the URL alone earns")
	if status, done := parse(fs, args, 1, s); done {
		return status
	}
	addr, err := netip.ParseAddr(*ip)
	switch {
	case err != nil:
		fmt.Fprintf(s.err, "pointsman explain: -ip is %q, expected an address\n", *ip)
		return exitUsage
	case (*path == "") == (*admin == ""):
		fmt.Fprintln(s.err, "pointsman explain: one of -config FILE and -admin URL is needed")
		return exitUsage
	}
	q := redirector.ExplainRequest{IP: addr, URL: fs.Arg(0), UserAgent: *ua, ParseOnly: *parseOnly}
	if *now > 0 {
		q.Now = time.Unix(*now, 0)
	}
	var x *redirector.Explanation
	if *admin != "" {
		x, err = explainRemote(*admin, *tokenFile, q)
	} else {
		x, err = explainLocal(*path, q, s)
	}
	if err != nil {
		fmt.Fprintln(s.err, "pointsman explain:", err)
		return exitError
	}
	if *asJSON {
		enc := json.NewEncoder(s.out)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(x); err != nil {
			fmt.Fprintln(s.err, "pointsman explain:", err)
			return exitError
		}
		return exitOK
	}
	fmt.Fprint(s.out, x.Text())
	return exitOK
}

// explainLocal asks the servers of a configuration once.
func explainLocal(path string, q redirector.ExplainRequest, s streams) (*redirector.Explanation, error) {
	src, err := readConfig(path, s.in)
	if err != nil {
		return nil, err
	}
	doc, findings := config.Parse(src)
	if doc == nil {
		printFindings(s.err, findings)
		return nil, fmt.Errorf("%s has errors", path)
	}
	c, err := newCore(doc, coreOptions{log: zerolog.Nop(), decisions: zerolog.Nop()})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer func() {
		cancel()
		c.board.Wait()
		c.client.Close()
	}()
	var servers []*farms.Server // nobody else is asked for one viewer's sake
	if !q.ParseOnly {
		servers = c.engine.Servers(q)
	}
	c.board.Update(servers, probeSettings(doc))
	c.board.Start(ctx)
	<-c.board.Ready()
	x := c.engine.Explain(ctx, q)
	return &x, nil
}

// unixOf writes a time as unix seconds, the zero one as nothing.
func unixOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.Unix(), 10)
}

// maxExplanation bounds the answer of a running instance.
const maxExplanation = 16 << 20

// explainRemote asks a running instance.
func explainRemote(admin, tokenFile string, q redirector.ExplainRequest) (*redirector.Explanation, error) {
	u := strings.TrimSuffix(admin, "/") + "/explain?" + url.Values{
		"ip": {q.IP.String()}, "url": {q.URL}, "ua": {q.UserAgent}, "now": {unixOf(q.Now)}, "parse": {strconv.FormatBool(q.ParseOnly)},
	}.Encode()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", admin, err)
	}
	if tokenFile != "" {
		token, err := os.ReadFile(tokenFile)
		if err != nil {
			return nil, fmt.Errorf("reading the token: %w", err)
		}
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", admin, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxExplanation))
	if err != nil {
		return nil, fmt.Errorf("reading the answer of %s: %w", admin, err)
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %d: %s", admin, res.StatusCode, strings.TrimSpace(string(body[:min(len(body), 300)])))
	}
	var x redirector.Explanation
	if err := json.Unmarshal(body, &x); err != nil {
		return nil, fmt.Errorf("reading the answer of %s: %w", admin, err)
	}
	return &x, nil
}
