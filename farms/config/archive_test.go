package config

import (
	"reflect"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the tests mean the same on a machine without time zones

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman-tv/pointsman/farms"
)

func TestArchiveDefaults(t *testing.T) {
	t.Parallel()
	d, findings := parse(minimal, nil)
	if d == nil || len(findings) > 0 {
		t.Fatal(texts(findings))
	}
	for name, a := range map[string]Archive{"parsed": d.Archive, "default": Default().Archive} {
		want := Archive{Dialects: DialectNames(), Timezone: time.UTC, ViewerTimezone: time.UTC, GoodEnough: 0.95, ClockSlack: 2 * time.Minute}
		if !reflect.DeepEqual(a, want) {
			t.Errorf("%s: %+v, expected %+v", name, a, want)
		}
	}
	farm := &d.Redirection.Farms[0]
	if farm.Timezone != time.UTC {
		t.Errorf("the farm's timezone is %v, expected that of the archive", farm.Timezone)
	}
	spec := d.Spec()
	if spec.Rules.GoodEnough != 0.95 {
		t.Errorf("good_enough is %v, expected 0.95", spec.Rules.GoodEnough)
	}
	if diff := cmp.Diff(farms.ArchiveOptions{}, spec.Farms[0].Archive); diff != "" {
		t.Error(diff)
	}
}

func TestArchiveKeys(t *testing.T) {
	t.Parallel()
	text := section(t, "archive", `{"dialects": ["siptv-shift", "flussonic-archive"], "timezone": "Europe/Moscow", "viewer_timezone": "Asia/Almaty",
		"good_enough": 0.5, "clock_slack_sec": 0.5}`)
	text = strings.Replace(text, `"name": "a",`, `"name": "a", "timezone": "America/New_York",
		"archive": {"prefer": "contiguous", "must_cover_start": true, "min_coverage": 0.25},`, 1)
	text = strings.Replace(text, `"farms": [{`, `"farms": [{"name": "b", "servers": [{"url": "http://192.0.2.8"}, {"url": "http://192.0.2.9"}]}, {`, 1)
	d, findings := parse(text, nil)
	if d == nil {
		t.Fatal(texts(findings))
	}
	a := &d.Archive
	if diff := cmp.Diff([]string{"siptv-shift", "flussonic-archive"}, a.Dialects); diff != "" {
		t.Error(diff)
	}
	if a.GoodEnough != 0.5 || a.ClockSlack != 500*time.Millisecond {
		t.Errorf("values were not taken over: %+v", a)
	}
	var zones []string
	for _, zone := range []*time.Location{a.Timezone, a.ViewerTimezone, d.Redirection.Farms[0].Timezone, d.Redirection.Farms[1].Timezone} {
		zones = append(zones, zone.String())
	}
	if diff := cmp.Diff([]string{"Europe/Moscow", "Asia/Almaty", "Europe/Moscow", "America/New_York"}, zones); diff != "" {
		t.Error(diff)
	}
	want := farms.ArchiveOptions{Contiguous: true, MustCoverStart: true, MinCoverage: 0.25}
	spec := d.Spec()
	if diff := cmp.Diff(want, spec.Farms[1].Archive); diff != "" {
		t.Error(diff)
	}
	if spec.Rules.GoodEnough != 0.5 {
		t.Errorf("good_enough is %v, expected 0.5", spec.Rules.GoodEnough)
	}
}

// TestNoDialects holds that an empty list is not the same as no list.
func TestNoDialects(t *testing.T) {
	t.Parallel()
	d, findings := parse(section(t, "archive", `{"dialects": []}`), nil)
	if d == nil || len(findings) > 0 {
		t.Fatal(texts(findings))
	}
	if d.Archive.Dialects == nil || len(d.Archive.Dialects) > 0 {
		t.Errorf("dialects are %v, expected an empty list", d.Archive.Dialects)
	}
}

func TestDialectNamesAreDistinct(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, name := range DialectNames() {
		if seen[name] || checkName(name) != "" {
			t.Errorf("%q is there twice or no name", name)
		}
		seen[name] = true
	}
	if len(seen) != 33 {
		t.Errorf("%d dialects, expected 33", len(seen))
	}
}

func TestCustomDialects(t *testing.T) {
	t.Parallel()
	d, findings := parse(section(t, "archive", `{"custom": [
		{"name": "records", "path": "^/(?P<channel>[^/]+)/rec-(?P<start>\\d+)-(?P<length>\\d+|now)\\.(?P<ext>m3u8)$", "_note": "old boxes",
			"units": {"start": "ms", "length": "min"}},
		{"name": "panel", "path": "^/play\\.m3u8$", "need": ["DVR"], "query": [
			{"params": ["ch", "id"], "group": "channel"},
			{"params": ["span"], "regex": "^(?P<start>\\d{14})-(?P<end>\\d{14})$"}],
			"units": {"start": "digits", "end": "digits"}, "zone": "Asia/Shanghai", "kind": "window", "protocol": "hls"},
		{"name": "device", "path": "(?P<channel>x)", "zone": "viewer"},
		{"name": "universal", "path": "(?P<channel>x)", "zone": "UTC"}]}`), nil)
	if d == nil || len(findings) > 0 {
		t.Fatal(texts(findings))
	}
	shanghai := d.Archive.Custom[1].Location
	if shanghai == nil || shanghai.String() != "Asia/Shanghai" {
		t.Fatalf("the zone is %v, expected Asia/Shanghai", shanghai)
	}
	want := []CustomDialect{
		{
			Name: "records", Path: `^/(?P<channel>[^/]+)/rec-(?P<start>\d+)-(?P<length>\d+|now)\.(?P<ext>m3u8)$`,
			Units: map[string]string{"start": "ms", "length": "min"}, Zone: "server",
		},
		{
			Name: "panel", Path: `^/play\.m3u8$`, Need: []string{"DVR"},
			Query: []QueryGroup{{Params: []string{"ch", "id"}, Group: "channel"}, {Params: []string{"span"}, Regex: `^(?P<start>\d{14})-(?P<end>\d{14})$`}},
			Units: map[string]string{"start": "digits", "end": "digits"}, Zone: "Asia/Shanghai", Kind: "window", Protocol: "hls", Location: shanghai,
		},
		{Name: "device", Path: `(?P<channel>x)`, Zone: "viewer", ViewerZone: true},
		{Name: "universal", Path: `(?P<channel>x)`, Zone: "UTC", Location: time.UTC},
	}
	if !reflect.DeepEqual(d.Archive.Custom, want) {
		t.Errorf("%+v, expected %+v", d.Archive.Custom, want)
	}
}

// TestZoneIsOne holds that a name stands for one zone, however often it is
// written: who reads URLs by zones compares them by pointer.
func TestZoneIsOne(t *testing.T) {
	t.Parallel()
	text := section(t, "archive", `{"timezone": "Europe/Berlin", "viewer_timezone": "Europe/Berlin"}`)
	d, findings := parse(strings.Replace(text, `"name": "a",`, `"name": "a", "timezone": "Europe/Berlin",`, 1), nil)
	if d == nil {
		t.Fatal(texts(findings))
	}
	if a := d.Archive; a.Timezone != a.ViewerTimezone || a.Timezone != d.Redirection.Farms[0].Timezone {
		t.Error("the same name is several zones")
	}
}
