package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/farms/config"
	"github.com/pointsman-tv/pointsman/probe/fetch"
	"github.com/pointsman-tv/pointsman/steering/playlist"
)

const decorateText = `Prints a multivariant HLS playlist or a DASH MPD with all that content steering
needs written into it: where the steering manifest is, and every variant or base
URL once for each pathway. What it does not add stays byte for byte.
URL is the playlist on one of the servers, or a path, which is asked for on the
first pathway; - reads it from standard input, and then -url says where it came
from. The result names no session, so it can be stored and given to everybody.
Players are sent to steering.public_url, which should be there.`

// maxPlaylist bounds a playlist that is to be decorated, in bytes.
const maxPlaylist = 2 << 20

func decorate(args []string, s streams) int {
	fs := flags("decorate", "-config FILE [-ip ADDR] URL|-", decorateText, s)
	path := fs.String("config", "", "the configuration `FILE`")
	ip := fs.String("ip", "", "the `ADDRESS` of a viewer for whose location it is meant; absent: the first location")
	from := fs.String("url", "", "where the playlist on standard input came from; absent: the top of the first pathway")
	if status, done := parse(fs, args, 1, s); done {
		return status
	}
	if *path == "" {
		fmt.Fprintln(s.err, "pointsman decorate: -config FILE is needed")
		return exitUsage
	}
	out, err := decorated(*path, *ip, *from, fs.Arg(0), s)
	if err != nil {
		fmt.Fprintln(s.err, "pointsman decorate:", err)
		return exitError
	}
	_, _ = s.out.Write(out)
	return exitOK
}

func decorated(path, ip, from, arg string, s streams) ([]byte, error) {
	src, err := readConfig(path, nil)
	if err != nil {
		return nil, err
	}
	doc, findings := config.Parse(src)
	switch {
	case doc == nil:
		printFindings(s.err, findings)
		return nil, fmt.Errorf("%s has errors", path)
	case doc.Steering == nil:
		return nil, fmt.Errorf("%s has no section steering", path)
	case doc.Steering.PublicURL == "":
		doc.Steering.PublicURL = likelyURL(&doc.Core)
		fmt.Fprintf(s.err, "warning: steering.public_url is absent: players are sent to %s\n", doc.Steering.PublicURL)
	}
	table, err := farms.Build(tableSpec(doc), 1)
	if err != nil {
		return nil, err
	}
	var body []byte
	if arg == "-" {
		if body, err = readAtMost(s.in, maxPlaylist); err != nil {
			return nil, err
		}
	} else if from != "" {
		return nil, errors.New("-url is for a playlist on standard input")
	}
	source, err := sourceOf(doc, table.Locations[0], from, arg, body)
	if err != nil {
		return nil, err
	}
	if arg != "-" {
		if body, source, err = getPlaylist(doc, source); err != nil {
			return nil, err
		}
	}
	l, err := locationOf(table, ip, source)
	if err != nil {
		return nil, err
	}
	return decorateFor(doc, l, body, source)
}

// likelyURL is where viewers may reach a listener whose public URL nobody said.
func likelyURL(c *config.Core) string {
	host := "127.0.0.1"
	if len(c.Hosts) > 0 {
		host = c.Hosts[0]
	} else if !c.Interface.IsUnspecified() {
		host = c.Interface.String()
	}
	scheme, port, usual := "http", c.Port, 80
	if c.TLS != nil {
		scheme, port, usual = "https", c.TLS.Port, 443
	}
	if port != usual {
		host = net.JoinHostPort(host, strconv.Itoa(port))
	} else if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return scheme + "://" + host
}

func readAtMost(in io.Reader, most int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(in, most+1))
	if err == nil && int64(len(body)) > most {
		err = fmt.Errorf("the playlist has more than %d bytes", most)
	}
	return body, err
}

// sourceOf is where a playlist is to be had, or came from.
func sourceOf(doc *config.Document, l *farms.Location, from, arg string, body []byte) (*url.URL, error) {
	first := l.Pathways()[0].Base(strings.HasPrefix(doc.Steering.PublicURL, "https:"))
	switch {
	case arg != "-" && strings.HasPrefix(arg, "/"):
		from = first + arg
	case arg != "-":
		from = arg
	case from == "" && playlist.Sniff(body) == playlist.DASH:
		from = first + "/manifest.mpd"
	case from == "":
		from = first + "/index.m3u8"
	}
	source, err := url.Parse(from)
	if err != nil || source.Host == "" || source.Scheme != "http" && source.Scheme != "https" {
		return nil, fmt.Errorf("%q is not an http or https URL", from)
	}
	return source, nil
}

// getPlaylist gets a playlist, and says where it was after redirects.
func getPlaylist(doc *config.Document, source *url.URL) ([]byte, *url.URL, error) {
	version, _ := buildVersion()
	client, err := fetch.New(fetch.Options{UserAgent: "pointsman/" + version, AllowNetworks: doc.Probe.AllowNetworks})
	if err != nil {
		return nil, nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), max(doc.Redirection.RequestTimeout, time.Second))
	defer cancel()
	got, err := getManifest(ctx, client, fetch.Request{URL: source.String(), MaxBody: maxPlaylist})
	if err != nil {
		return nil, nil, fmt.Errorf("getting %s: %w", source, err)
	}
	final, err := url.Parse(got.URL)
	if err != nil {
		return nil, nil, fmt.Errorf("getting %s: %w", source, err)
	}
	return got.Body, final, nil
}

// locationOf is the location that a playlist is decorated for.
func locationOf(t *farms.Table, ip string, source *url.URL) (*farms.Location, error) {
	if ip == "" {
		return t.Locations[0], nil
	}
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return nil, fmt.Errorf("-ip is %q, expected an address", ip)
	}
	l := t.Locate(addr.Unmap().WithZone(""), "", source.Path)
	if l == nil {
		return nil, fmt.Errorf("no location holds %s and %s", ip, source.Path)
	}
	return l, nil
}

// decorateFor decorates a playlist for the viewers of a location.
func decorateFor(doc *config.Document, l *farms.Location, body []byte, source *url.URL) ([]byte, error) {
	secure := strings.HasPrefix(doc.Steering.PublicURL, "https:")
	path := source.EscapedPath()
	for _, p := range l.Pathways() { // the servers' own prefix is none of the viewers' paths
		base, err := url.Parse(p.Base(secure))
		if err != nil || base.Host != source.Host {
			continue
		}
		if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(base.EscapedPath(), "/")); ok && strings.HasPrefix(rest, "/") {
			path = rest
			break
		}
	}
	dec := playlist.Decoration{Source: source.String(), ServerURI: doc.Steering.PublicURL + doc.Steering.Path + path}
	if source.RawQuery != "" {
		dec.ServerURI += "?" + source.RawQuery
	}
	for _, p := range l.Pathways() {
		if base := p.Base(secure); base != "" && len(dec.Pathways) < farms.MaxPathways {
			dec.Pathways = append(dec.Pathways, playlist.Pathway{ID: p.ID, Base: base + path})
		}
	}
	if len(dec.Pathways) == 0 {
		return nil, fmt.Errorf("location %s has no pathway that serves viewers over https, as steering.public_url asks for", l.Name)
	}
	if f := playlist.Sniff(body); f == playlist.DASH {
		return playlist.DecorateMPD(body, &dec)
	}
	return playlist.DecorateHLS(body, &dec)
}
