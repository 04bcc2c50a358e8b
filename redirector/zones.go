package redirector

import (
	"slices"
	"time"

	"github.com/pointsman-tv/pointsman/archive"
	"github.com/pointsman-tv/pointsman/farms"
)

// Farms in different time zones. A time that a URL tells without its zone is read
// by each server in the server's own, and the URL is passed on as it is: the same
// URL asks farms in two zones for two windows. So each zone's farms are asked and
// judged about theirs, within one decision.

// zoneGroup is the farms of a location that are in one time zone.
type zoneGroup struct {
	zone  *time.Location
	farms []*farms.Farm
}

// zonesOf groups the farms of each location by time zone, in the order of their
// first. When all farms are in one zone, that is all there is to know, and groups
// is nil. A nil zone is the dialects' default.
func zonesOf(t *farms.Table, zones map[string]*time.Location) (one *time.Location, groups map[*farms.Location][]zoneGroup) {
	if len(zones) == 0 || len(t.Farms) == 0 {
		return nil, nil
	}
	one = zones[t.Farms[0].Name]
	if !slices.ContainsFunc(t.Farms, func(f *farms.Farm) bool { return !sameZone(zones[f.Name], one) }) {
		return one, nil
	}
	groups = make(map[*farms.Location][]zoneGroup, len(t.Locations))
	for _, l := range t.Locations {
		var list []zoneGroup
		for _, f := range l.Farms {
			zone := zones[f.Name]
			i := slices.IndexFunc(list, func(g zoneGroup) bool { return sameZone(g.zone, zone) })
			if i < 0 {
				i, list = len(list), append(list, zoneGroup{zone: zone})
			}
			list[i].farms = append(list[i].farms, f)
		}
		groups[l] = list
	}
	return nil, groups
}

func sameZone(a, b *time.Location) bool {
	return a == b || a != nil && b != nil && a.String() == b.String()
}

// zoneReading is what the farms of another zone than the first make of a URL.
type zoneReading struct {
	farms   []*farms.Farm
	request archive.Request
	content farms.Content
	need    need
}

// readInZones reads a URL for the farms of each zone. What those of the first
// that can make something of it read is the decision's; farms whose servers would
// refuse the URL are not tried.
func (w *work) readInZones(v *view, groups []zoneGroup, path, plain string, now time.Time) (archive.Verdict, bool) {
	var refused archive.Verdict
	first := true
	for _, g := range groups {
		var reading archive.Reading
		verdict := v.set.Archive.Read(&reading, path, plain, w.target.Query, now, g.zone)
		if verdict.Outcome != archive.OK {
			if refused == (archive.Verdict{}) {
				refused = verdict
			}
			w.barred = append(w.barred, g.farms...)
			continue
		}
		z := zoneReading{farms: g.farms, request: reading.Request}
		z.content, z.need = w.questionOf(v, &reading, path, plain, now)
		if first {
			first = false
			w.decision.Archive, w.decision.Content, w.need = z.request, z.content, z.need
			w.query.Need = &w.need
			continue
		}
		w.zones = append(w.zones, z)
	}
	return refused, !first
}

// takeZones puts what farms in other zones read into the query, and leaves those
// out of the order that would refuse the URL.
func (w *work) takeZones() {
	if w.zones == nil && w.barred == nil {
		return
	}
	w.order = slices.DeleteFunc(w.order, func(f *farms.Farm) bool { return slices.Contains(w.barred, f) })
	for i := range w.zones {
		z := &w.zones[i]
		w.query.Others = append(w.query.Others, farms.Reading{Farms: z.farms, Content: z.content, Need: &z.need})
	}
}

// zoneOf returns what a farm makes of the URL when it is not what the decision
// says, else nil.
func (w *work) zoneOf(f *farms.Farm) *zoneReading {
	for i := range w.zones {
		if slices.Contains(w.zones[i].farms, f) {
			return &w.zones[i]
		}
	}
	return nil
}

// needOf is the window as a farm reads it.
func (w *work) needOf(f *farms.Farm) *need {
	if z := w.zoneOf(f); z != nil {
		return &z.need
	}
	return &w.need
}

// readAs makes a farm's reading the decision's.
func (w *work) readAs(f *farms.Farm) {
	if z := w.zoneOf(f); z != nil {
		d := &w.decision
		d.Archive, d.Content, d.Asked = z.request, z.content, z.need.Asked()
	}
}

// zonePoll is how often answers about several readings are looked at.
const zonePoll = 5 * time.Millisecond

// ask asks servers what the decision wants to know, each about what its farm
// makes of the URL.
func (e *Engine) ask(w *work, servers []*farms.Server) farms.Asked {
	q := &w.query
	if len(q.Others) == 0 {
		return e.prober.Ask(q.Content, servers, false)
	}
	var all farms.Asked
	ask := func(c farms.Content, of func(*farms.Farm) bool) {
		var mine []*farms.Server
		for _, f := range w.order {
			if !of(f) {
				continue
			}
			for i := range f.Members {
				if s := f.Members[i].Server; slices.Contains(servers, s) && !slices.Contains(mine, s) {
					mine = append(mine, s)
				}
			}
		}
		if len(mine) == 0 {
			return
		}
		one := e.prober.Ask(c, mine, false)
		all.Opened, all.Joined, all.Deferred = all.Opened+one.Opened, all.Joined+one.Joined, all.Deferred+one.Deferred
		all.Busy = all.Busy || one.Busy
	}
	ask(q.Content, func(f *farms.Farm) bool { return w.zoneOf(f) == nil })
	for i := range w.zones {
		z := &w.zones[i]
		ask(z.content, func(f *farms.Farm) bool { return slices.Contains(z.farms, f) })
	}
	return all
}
