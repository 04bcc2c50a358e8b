package status

import (
	"fmt"
	"html/template"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// This file draws: what templates call.

func functions() template.FuncMap {
	return template.FuncMap{
		"spark": spark, "bars": bars, "timeline": timeline, "axis": axis,
		"clock": clock, "rfc": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"percent": percent, "ms": ms, "number": number, "seconds": words, "milli": time.UnixMilli,
		"explain": explainURL, "initial": initial,
	}
}

// clock is a time as the pages show it, in UTC.
func clock(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format("Jan 2 15:04:05")
}

// percent is a share in words.
func percent(share float64) string {
	switch {
	case share == 0:
		return "0 %"
	case share < 0.001:
		return "< 0.1 %"
	default:
		return strconv.FormatFloat(100*share, 'f', 1, 64) + " %"
	}
}

// ms is a response time in words.
func ms(x float64) string {
	switch {
	case x == 0:
		return "unknown"
	case x < 10:
		return strconv.FormatFloat(x, 'f', 1, 64) + " ms"
	default:
		return strconv.FormatFloat(x, 'f', 0, 64) + " ms"
	}
}

// number is a number without more digits than one reads.
func number(x float64) string { return strconv.FormatFloat(math.Round(x), 'f', 0, 64) }

// words is a length of time in words.
func words(sec int64) string {
	d := time.Duration(sec) * time.Second
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", sec)
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", sec/60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%.1f h", d.Hours())
	default:
		return fmt.Sprintf("%.1f days", d.Hours()/24)
	}
}

// initial begins a word with a capital letter.
func initial(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// explainURL asks why of a refusal.
func explainURL(f *Refusal) string {
	return "/explain?" + url.Values{"ip": {f.Client}, "url": {f.Target}, "ua": {f.UserAgent}}.Encode()
}

// The size of a sparkline, in units of its own.
const (
	sparkWidth  = 90
	sparkHeight = 20
)

// spark draws response times as a line; a probe without a good answer is a mark
// at the bottom.
func spark(times []float64) template.HTML {
	if len(times) == 0 {
		return ""
	}
	low, high, failed := math.Inf(1), 0.0, 0
	for _, t := range times {
		if t == 0 {
			failed++
			continue
		}
		low, high = min(low, t), max(high, t)
	}
	label := fmt.Sprintf("%d probes without a good answer", failed)
	if high > 0 {
		label = fmt.Sprintf("the last %d probes took %s to %s", len(times)-failed, ms(low), ms(high))
		if failed > 0 {
			label += fmt.Sprintf(", %d had no good answer", failed)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="spark" viewBox="0 0 %d %d" role="img" aria-label="%s">`, sparkWidth, sparkHeight, template.HTMLEscapeString(label))
	step := float64(sparkWidth-2) / float64(max(len(times)-1, 1))
	var line, marks strings.Builder
	open := false
	for i, t := range times {
		x := 1 + float64(i)*step
		if t == 0 {
			fmt.Fprintf(&marks, `<rect class="miss" x="%.1f" y="%d" width="2.5" height="5"/>`, x-1.25, sparkHeight-5)
			open = false
			continue
		}
		command := "L"
		if !open {
			command, open = "M", true
		}
		// Half of the height at least is for the times themselves: noise around a
		// millisecond is not to look like an outage.
		y := float64(sparkHeight-2) - (t-min(low, high/2))/max(high-min(low, high/2), 0.5)*float64(sparkHeight-4)
		fmt.Fprintf(&line, "%s%.1f %.1f", command, x, y)
		if i+1 == len(times) || times[i+1] == 0 {
			line.WriteString("h.1") // a point alone is seen, too
		}
	}
	fmt.Fprintf(&b, `<path d="%s"/>%s</svg>`, line.String(), marks.String())
	return template.HTML(b.String()) //nolint:gosec // numbers alone, and an escaped label
}

// bars draws how often something happened in each second.
func bars(n []uint32) template.HTML {
	var most, total uint32
	for _, x := range n {
		most = max(most, x)
		total += x
	}
	const width, height = 180, 24
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="bars" viewBox="0 0 %d %d" role="img" aria-label="%d in %d seconds, at most %d in one">`, width, height, total, len(n), most)
	for i, x := range n {
		if x == 0 {
			continue
		}
		h := max(float64(x)/float64(most)*height, 1)
		fmt.Fprintf(&b, `<rect x="%d" y="%.1f" width="2" height="%.1f"/>`, width-3*(len(n)-i), height-h, h)
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) //nolint:gosec // numbers alone
}

// timeWidth is the width of a timeline, in units of its own.
const timeWidth = 1000

// timeline draws when one server recorded, and the gaps so that even the
// smallest is seen.
func timeline(c *Coverage, s *CoverageServer) template.HTML {
	span := float64(max(c.To-c.From, 1))
	at := func(t int64) float64 { return float64(t-c.From) / span * timeWidth }
	var b strings.Builder
	label := fmt.Sprintf("%s recorded %s in %d pieces, with %d gaps; the list is below", s.Name, words(s.HeldSec), len(s.Ranges), len(s.Gaps))
	fmt.Fprintf(&b, `<svg class="timeline" viewBox="0 0 %d 20" preserveAspectRatio="none" role="img" aria-label="%s">`, timeWidth, template.HTMLEscapeString(label))
	box := func(r farms.Range, least float64, class string, y, height int) {
		from, to := at(max(r.From, c.From)), at(min(r.To, c.To))
		if to-from < least {
			from, to = max((from+to-least)/2, 0), (from+to+least)/2
		}
		fmt.Fprintf(&b, `<rect class="%s" x="%.2f" y="%d" width="%.2f" height="%d"/>`, class, from, y, max(to-from, 0), height)
	}
	for _, r := range coalesced(s.Ranges, int64(span/timeWidth/4)) {
		box(r, 0.5, "held", 0, 20)
	}
	// A gap is low as well as red: not everybody tells red from green.
	for _, r := range coalesced(s.Gaps, int64(span/timeWidth/4)) {
		box(r, 2, "hole", 0, 20)
		box(r, 2, "gap", 13, 7)
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) //nolint:gosec // numbers, and an escaped label
}

// coalesced joins ranges that are nearer to each other than can be drawn.
func coalesced(ranges []farms.Range, near int64) []farms.Range {
	var out []farms.Range
	for _, r := range ranges {
		if n := len(out); n > 0 && r.From-out[n-1].To <= near {
			out[n-1].To = max(out[n-1].To, r.To)
			continue
		}
		out = append(out, r)
	}
	return out
}

// tick is a mark of the time axis.
type tick struct {
	Label string
	Time  time.Time
}

// axis returns the times of the beginning, the quarters and the end.
func axis(c *Coverage) []tick {
	const parts = 4
	layout := "Jan 2 15:04"
	if c.To-c.From < (10 * time.Minute).Milliseconds() {
		layout = "15:04:05"
	}
	var out []tick
	for i := range parts + 1 {
		t := time.UnixMilli(c.From + (c.To-c.From)/parts*int64(i)).UTC()
		out = append(out, tick{t.Format(layout), t})
	}
	return out
}
