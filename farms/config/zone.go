package config

import (
	"reflect"
	"time"
)

// maxZoneBytes is beyond any name in the IANA time zone database.
const maxZoneBytes = 64

// bindZone reads the name of a time zone.
func (l *loader) bindZone(n *node, to **time.Location) {
	if !l.isKind(n, kindString, reflect.TypeOf(*to), nil) {
		return
	}
	zone := l.zone(n.text)
	if zone == nil {
		l.errorf(n, "is %s, which names no time zone; expected one such as Europe/Berlin, or UTC", quote(n.text))
		return
	}
	*to = zone
}

// zone returns the time zone of a name, the same one for the same name, or nil.
// The empty name and "Local" are none: a document means the same on every
// machine.
func (l *loader) zone(name string) *time.Location {
	if name == "" || name == "Local" || len(name) > maxZoneBytes {
		return nil
	}
	zone, met := l.zones[name]
	if !met {
		zone, _ = time.LoadLocation(name) // it says no more than that there is none
		if l.zones == nil {
			l.zones = map[string]*time.Location{}
		}
		l.zones[name] = zone
	}
	return zone
}
