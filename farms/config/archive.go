package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Archive is how the channel and the time window are read from a viewer's URL,
// and when a server holds enough of a window.
type Archive struct {
	// Names of the built-in dialects (vendors' archive URLs) that are read. They are
	// tried in their own order, specific before generic, whatever the order here.
	// Absent: all.
	Dialects []string `json:"dialects" limits:"0..100"`
	// Dialects of your own; they are tried before the built-in ones, in their order.
	Custom []CustomDialect `json:"custom" limits:"0..32"`
	// Time zone of times that a URL writes without one, such as `Europe/Berlin`.
	Timezone *time.Location `json:"timezone" default:"UTC"`
	// The same for dialects that write times in the zone of the viewer's device.
	ViewerTimezone *time.Location `json:"viewer_timezone" default:"UTC"`
	// Part of the window from which on a farm's best server is good enough and no
	// further farm is looked at.
	GoodEnough float64 `json:"good_enough" default:"0.95" limits:"0..1"`
	// How far ahead of our clock a window's start may be; it then counts as now.
	ClockSlack time.Duration `json:"clock_slack_sec" default:"120" limits:"0..3600"`
}

// DialectNames returns the names of the built-in dialects in the order in which
// they are tried. The configuration has a list of its own because farms and what
// is below it know nothing of package archive.
func DialectNames() []string {
	return strings.Fields(`
		flussonic-archive flussonic-archive-legacy flussonic-timeshift-abs flussonic-timeshift-rel flussonic-rewind flussonic-mss
		nimble-range nimble-timeshift nimble-dvr xtream-timeshift-path xtream-timeshift-query wowza-ndvr
		usp-subclip usp-timeshift usp-live usp-vod mediapackage-v1 mediapackage-v2 mist-range mist-live mediamtx-get
		playseek apsara-lhs antmedia-range query-channel kodi-cutv siptv-shift generic-start-end
		tvh-live tvh-recording vod-path live-generic live-flat`)
}

func (l *loader) checkArchive(n *node, a *Archive) {
	l.checkDialects(n.get("dialects"), a.Dialects)
	entries := n.get("custom").items()
	names := make(map[string]int, len(a.Custom))
	for i := range a.Custom {
		if !entries[i].failed {
			l.checkCustomDialect(entries[i], &a.Custom[i])
			l.checkDialectName(entries[i], a.Custom[i].Name, i, names)
		}
	}
}

func (l *loader) checkDialects(n *node, names []string) {
	if !n.present() {
		return
	}
	known := DialectNames()
	entries := n.items()
	for i, name := range names {
		switch at := entries[i]; {
		case at.failed:
		case !slices.Contains(known, name):
			l.errorf(at, "is %s, and there is no dialect of that name%s", quote(name), l.hint(name, known))
		case slices.Contains(names[:i], name):
			l.errorf(at, "is %s, which is in the list already", quote(name))
		}
	}
}

func (l *loader) checkDialectName(n *node, name string, i int, names map[string]int) {
	at := n.get("name")
	if at.kind == kindAbsent {
		l.errorf(at, "is missing, expected a name for the dialect")
		return
	}
	if at.failed {
		return
	}
	problem := checkName(name)
	if first, twice := names[name]; twice {
		problem = fmt.Sprintf("is %s, as archive.custom[%d] is named already", quote(name), first)
	} else if slices.Contains(DialectNames(), name) {
		problem = fmt.Sprintf("is %s, as a built-in dialect is named already", quote(name))
	}
	if problem != "" {
		l.errorf(at, "%s", problem)
		return
	}
	names[name] = i
}
