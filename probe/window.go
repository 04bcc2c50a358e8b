package probe

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
	"github.com/pointsman-tv/pointsman/probe/api"
	"github.com/pointsman-tv/pointsman/probe/fetch"
	"github.com/pointsman-tv/pointsman/steering/playlist"
)

// apis are the vendors' interfaces by server type; a type that is not here is
// asked by playlists alone.
var apis = map[string]api.Ask{
	"flussonic":  api.Flussonic,
	"nimble":     api.Nimble,
	"mistserver": api.MistServer,
	"mediamtx":   api.MediaMTX,
	"wowza":      api.Wowza,
	"antmedia":   api.AntMedia,
}

// wideKey is the content under which a server's interface is asked for all the
// recordings of a channel: one question answers every programme of it. A server
// that keeps a recording for each container is asked for each.
func wideKey(c farms.Content, s *farms.Server) farms.Content {
	k := farms.Content{Channel: c.Channel, Stream: c.Stream, Kind: farms.KindArchive}
	if s.Separate {
		k.Container = "ts"
		if c.Protocol != farms.ProtocolHLS && c.Protocol != farms.ProtocolMPEGTS || c.Container == "fmp4" || c.Container == "ll" {
			k.Container = "fmp4"
		}
	}
	return k
}

// isWide tells whether a content is that of [wideKey].
func isWide(c farms.Content) bool { return c.Kind == farms.KindArchive && c.Path == "" }

// askAPI asks a vendor's interface. ok is false when it does not speak of this
// content, so that the playlist is to be asked.
func (b *Board) askAPI(ctx context.Context, spec *farms.Server, ask api.Ask, c farms.Content) (v verdict, latency time.Duration, ok bool, err error) {
	q := api.Question{
		Channel: cmp.Or(c.Stream, c.Channel), Path: c.Path, Protocol: c.Protocol, Container: c.Container,
		Live: !c.Kind.Windowed(), Need: c.Slot, Now: time.Now(),
	}
	var first time.Duration
	get := func(ctx context.Context, r fetch.Request) (*fetch.Response, error) {
		res, err := b.opt.Client.Get(ctx, r)
		if err == nil && first == 0 {
			first = res.Latency
		}
		return res, err
	}
	a, err := ask(ctx, get, api.Server{
		URL: spec.URL, API: spec.APIURL, User: spec.APIUser, Secret: spec.APISecret,
		Headers: spec.ProbeHeaders, Query: spec.ProbeQuery,
	}, q)
	if err != nil {
		return verdict{}, 0, true, err
	}
	if a.Presence == farms.Unasked {
		return verdict{}, first, false, nil
	}
	v = verdict{presence: a.Presence, detail: a.Detail, signature: a.Moving, target: smoothTarget, fresh: a.Moving == 0, source: farms.SourceAPI}
	if q.Live {
		return v, first, true, nil
	}
	v.ranges = a.Ranges
	v.segment = apiSegment
	if v.presence == farms.Present {
		if len(v.ranges) == 0 {
			return no("its interface lists no recordings"), first, true, nil
		}
		v.until, v.ended = v.ranges[len(v.ranges)-1].To, a.Ended
	}
	return v, first, true, nil
}

// apiSegment is what coverage may be off by where an interface names ranges and
// not segments.
const apiSegment = 10 * time.Second

// askWindow asks for the playlist of a window and measures what it holds.
func (b *Board) askWindow(ctx context.Context, spec *farms.Server, c farms.Content) (verdict, time.Duration, error) {
	u := withQuery(withQuery(spec.URL+c.Path, c.Query), spec.ProbeQuery)
	req := fetch.Request{URL: u, Headers: spec.ProbeHeaders, MaxBody: maxManifest}
	if whole(c.Protocol) {
		req.Range, req.MaxBody, req.Cut = tsRange, tsBytes, true
	}
	res, err := b.opt.Client.Get(ctx, req)
	if err != nil {
		return verdict{}, 0, err
	}
	if v, done := judgeStatus(res.Status); done {
		return v, res.Latency, nil
	}
	if whole(c.Protocol) {
		return judgeWhole(c, res.Body), res.Latency, nil
	}
	v, next := judgeRecorded(c, res.Body, res.URL)
	if next == "" {
		return v, res.Latency, nil
	}
	if !sameHost(next, spec.URL) {
		return no("its media playlists are on another host"), res.Latency, nil
	}
	media, err := b.opt.Client.Get(ctx, fetch.Request{URL: next, Headers: spec.ProbeHeaders, MaxBody: maxManifest})
	if err != nil {
		return verdict{}, 0, err
	}
	if v, done := judgeStatus(media.Status); done {
		return v, res.Latency, nil
	}
	v, again := judgeRecorded(c, media.Body, media.URL)
	if again != "" {
		v = no("its multivariant playlist leads to another multivariant playlist")
	}
	v.multivariant = true
	return v, res.Latency, nil
}

// whole tells the protocols that hand out a window as one file, of which only
// the beginning is looked at.
func whole(p farms.Protocol) bool {
	return p == farms.ProtocolMPEGTS || p == farms.ProtocolMP4 || p == farms.ProtocolFile
}

// judgeWhole judges the beginning of a window in one file: how much of the
// window it holds cannot be seen, so it is taken to hold what was asked.
func judgeWhole(c farms.Content, head []byte) verdict {
	ok := len(head) > 0 && playlist.Sniff(head) != playlist.HLSMedia
	if c.Protocol == farms.ProtocolMPEGTS {
		ok = playlist.IsTS(head)
	} else if len(head) > 0 && (head[0] == '<' || head[0] == '{') {
		ok = false
	}
	if !ok {
		return no("answered 200 with %s, expected %s", describe(playlist.Sniff(head), head), expected(c.Protocol))
	}
	return verdict{presence: farms.Present, kind: c.Kind, unplaced: c.Slot.Length(), source: farms.SourcePlaylist, detail: "the window in one file, its length cannot be seen"}
}

// judgeRecorded measures a playlist of a window; next is the media playlist to
// measure instead when it is a multivariant one.
func judgeRecorded(c farms.Content, body []byte, url string) (v verdict, next string) {
	format := playlist.Sniff(body)
	var r *playlist.Recorded
	var err error
	switch {
	case c.Protocol == farms.ProtocolHLS && format == playlist.HLSMultivariant:
		h, err := playlist.ParseHLS(body)
		if err != nil {
			return unreadable(err), ""
		}
		m := judgeMultivariant(h, url)
		return m, m.next
	case c.Protocol == farms.ProtocolHLS && format == playlist.HLSMedia:
		r, err = playlist.ReadHLS(body)
	case c.Protocol == farms.ProtocolDASH && format == playlist.DASH:
		r, err = playlist.ReadMPD(body)
	case c.Protocol == farms.ProtocolSmooth && format == playlist.SmoothStreaming:
		r, err = playlist.ReadSmooth(body)
	case len(body) == 0:
		return no("answered 200 with an empty body"), ""
	default:
		return no("answered 200 with %s, expected %s", describe(format, body), expected(c.Protocol)), ""
	}
	switch {
	case err != nil:
		return unreadable(err), ""
	case r.ServerError != "":
		return no("its playlist says: %s", r.ServerError), ""
	}
	v = verdict{presence: farms.Present, kind: c.Kind, unplaced: r.Unplaced, source: farms.SourcePlaylist}
	v.segment = min(r.Segment, c.Slot.Length()/segmentShare)
	v.ended = r.Ended && c.Kind != farms.KindArchive
	var held int64
	for _, s := range r.SpansAt(time.Now().UnixMilli()) {
		v.until = max(v.until, s.To)
		from, to := max(s.From, c.Slot.From), min(s.To, c.Slot.To)
		if from < to {
			v.ranges = append(v.ranges, farms.Range{From: from, To: to})
			held += to - from
		}
	}
	if held == 0 && v.unplaced == 0 {
		if c.Kind != farms.KindArchive && !r.Ended {
			// What that is worth is another's to judge: of a window that has just
			// begun it counts that the channel goes on.
			v.detail = "goes on, and holds nothing of the window yet"
			return v, ""
		}
		return no("its playlist holds nothing of the window"), ""
	}
	v.detail = fmt.Sprintf("holds %v of the %v asked for", (time.Duration(held)*time.Millisecond + v.unplaced).Round(time.Second),
		c.Slot.Length().Round(time.Second))
	if v.unplaced > 0 {
		v.detail += ", part of it without dates"
	}
	return v, ""
}

// segmentShare bounds what a playlist may claim of its segments' length, as a
// part of the window: coverage may be off by a segment.
const segmentShare = 10

// The ages of a window's facts that no key configures (reference archive.md §4.1).
const (
	maxWindowAge = 10 * time.Minute // of any
	minWindowAge = time.Second      // of a playlist
	minToldAge   = 5 * time.Second  // of what an interface told, which is asked for all windows of a channel

	// erosionSeen is how long a recording is taken to lose its oldest end after it
	// was seen to: some lose it an hour at a time.
	erosionSeen = time.Hour
	// edgeBlur is how far the exact start of a window may be behind its slot's.
	edgeBlur = time.Minute
)

// windowAge is the age of a present fact of a window: a closed one changes only
// at its old end; one that grows changes with time.
func windowAge(c farms.Content, set *Settings) time.Duration {
	if c.Kind == farms.KindArchive {
		return min(set.VoDAge, maxWindowAge)
	}
	age := time.Duration(set.RangeAgeFraction * float64(c.Slot.Length()))
	return min(max(age, minWindowAge), maxWindowAge, max(set.LiveAge, minWindowAge))
}

// told is what a server's word about all recordings of a channel says of one
// window: the same, with the window's own age. Of one that grows it ages like a
// live fact; of a closed one when its start is about to fall off the old end.
func told(f farms.Fact, c farms.Content, set *Settings) farms.Fact {
	if f.Presence != farms.Present || len(f.Ranges) == 0 {
		return f
	}
	age := max(windowAge(c, set), min(minToldAge, set.LiveAge))
	if c.Kind == farms.KindArchive && !f.ErodedAt.IsZero() && f.At.Sub(f.ErodedAt) < erosionSeen {
		left := time.Duration(c.Slot.From-f.Ranges[0].From) * time.Millisecond
		if left > -edgeBlur {
			age = min(age, max(left, minToldAge))
		}
	}
	if until := f.At.Add(age); until.Before(f.FreshUntil) {
		f.FreshUntil = until
	}
	return f
}
