package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWarnings(t *testing.T) {
	t.Parallel()
	locations := func(list string) string {
		return change(t, `{"farms": ["a"], "ip_mask": ["0.0.0.0/0", "::/0"]}`, list)
	}
	servers := func(policy, list string) string {
		return change(t, `"servers": [{"url": "http://192.0.2.1"}, {"url": "http://192.0.2.2"}]`, `"policy": "`+policy+`", "servers": [`+list+`]`)
	}
	const everybody = `"ip_mask": ["0.0.0.0/0", "::/0"]`
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"none", minimal, nil},
		{"uri_path", change(t, `"uri_path": "/",`, ``), []string{
			`warning redirection.uri_path: is missing and is "/" here; in SmartMEDIA it was "/hls"`,
		}},
		{"without_effect", section(t, "core", `{"http_threads": 8, "user": "www-data", "group": 33, "protocol": "http"}`), []string{
			`warning core.http_threads: has no effect; all processor cores are used and nothing is to be set`,
			`warning core.user: has no effect; User= of the systemd unit says who runs the service`,
			`warning core.group: has no effect; Group= of the systemd unit says who runs the service`,
		}},
		{"fastcgi", section(t, "core", `{"port": 9000}`), []string{
			`warning core.protocol: is missing and is "http" here; SmartMEDIA listens for FastCGI, for which it is "fastcgi"`,
		}},
		{"only_smartmedia_keys", change(t, ` "sticky_sec": 60,`, ``), []string{
			`warning core.protocol: is missing and is "http" here; SmartMEDIA listens for FastCGI, for which it is "fastcgi"`,
		}},
		{"fastcgi_said", section(t, "core", `{"port": 9000, "protocol": "fastcgi"}`), nil},
		{"trusts_everybody", section(t, "core", `{"trusted_proxies": ["10.0.0.0/8", "::/0", "10.0.0.0/8"]}`), []string{
			`warning core.trusted_proxies[1]: is ::/0, so that every viewer may claim any address`,
			`warning core.trusted_proxies[2]: 10.0.0.0/8 is in the list already, as entry 0`,
		}},
		{"proxy_protocol", section(t, "core", `{"proxy_protocol": true}`), []string{
			`warning core.proxy_protocol: is true and trusted_proxies is empty, so that no PROXY line is ever believed`,
		}},
		{"everybody", locations(`{"farms": ["a"]}`), []string{
			`warning redirection.locations[0].ip_mask: is missing; the location takes every viewer, as with ["0.0.0.0/0", "::/0"]`,
		}},
		{"host_bits", locations(`{"farms": ["a"], "ip_mask": "10.1.2.3/8"}, {"farms": ["a"], ` + everybody + `}`), []string{
			`warning redirection.locations[0].ip_mask: is "10.1.2.3/8", which has bits behind the prefix length; it is taken as 10.0.0.0/8`,
		}},
		{"no_catch_all", locations(`{"farms": ["a"], "uri_regex": "x", ` + everybody + `}, {"farms": ["a"], "ip_mask": ["0.0.0.0/1", "10.0.0.0/8"]}`), []string{
			`warning redirection.locations: no location takes every path of every IPv4 viewer: 128.0.0.0, for one, can be answered 403 no_location`,
			`warning redirection.locations: no location takes every path of every IPv6 viewer: ::, for one, can be answered 403 no_location`,
		}},
		{"halves_are_a_catch_all", locations(`{"farms": ["a"], "ip_mask": ["128.0.0.0/1", "0.0.0.0/1", "::/1", "8000::/1"]}`), nil},
		{"unused_farm", change(t, `"farms": [{`, `"farms": [{"name": "b", "servers": [{"url": "http://192.0.2.8"}, {"url": "http://192.0.2.9"}]}, {`), []string{
			`warning redirection.farms[0]: is in no location's farms, so that no viewer is sent there`,
		}},
		{"one_server", servers("share", `{"url": "http://192.0.2.1"}`), []string{
			`warning redirection.farms[0]: has one server; when that fails, nobody in the farm takes its place`,
		}},
		{"survivors", servers("content_id", `{"url": "http://192.0.2.1"}, {"url": "http://192.0.2.2", "weight": 3}`), []string{
			`warning redirection.farms[0].servers[1].weight: is 3 of 4 in the farm; when "192.0.2.2:80" fails, the others have to carry 4.0 times their normal load`,
		}},
		{"survivors_first_response", servers("first_response", `{"url": "http://192.0.2.1"}, {"url": "http://192.0.2.2", "weight": 3}`), nil},
		{"survivors_can_carry", servers("share", `{"url": "http://192.0.2.1"}, {"url": "http://192.0.2.2"}, {"url": "http://192.0.2.3", "weight": 2}`), nil},
		{"survivors_last_resort", servers("share", `{"url": "http://192.0.2.1"}, {"url": "http://192.0.2.2", "weight": 3, "last_resort": true}, {"url": "http://192.0.2.3", "weight": 0}`), nil},
		{"drain_until", servers("share", `{"url": "http://192.0.2.1"}, {"url": "http://192.0.2.2", "drain_until": "2026-01-02T15:04:05Z"}`), []string{
			`warning redirection.farms[0].servers[1].drain_until: has no effect while state is "enabled"; expected "draining"`,
		}},
		{"secret_in_the_clear", servers("share", `{"url": "http://203.0.113.1", "type": "flussonic", "api_user": "u", "api_secret": "s"},
			{"url": "http://10.0.0.1", "type": "wowza", "api_url": "https://203.0.113.2:8087", "api_secret": "s"},
			{"url": "http://10.0.0.2", "type": "nimble", "api_secret": "s"}, {"url": "http://[fd00::1]", "type": "mediamtx", "api_secret": "s"},
			{"url": "http://[2001:db8::1]", "type": "mediamtx", "api_secret": "s"}, {"url": "http://203.0.113.3", "type": "nimble"},
			{"url": "http://edge.example", "type": "antmedia", "api_secret": "s"}, {"url": "http://127.0.0.1", "type": "mistserver", "api_secret": "s"}`), []string{
			`warning redirection.farms[0].servers[0].api_secret: is for an API over plain http at 203.0.113.1, which is no private address, so that others on the way can read it; expected https in api_url`,
			`warning redirection.farms[0].servers[4].api_secret: is for an API over plain http at 2001:db8::1, which is no private address, so that others on the way can read it; expected https in api_url`,
		}},
		{"one_api_for_many", change(t, `"servers": [{"url": "http://192.0.2.1"}, {"url": "http://192.0.2.2"}]`,
			`"defaults": {"type": "nimble", "api_url": "http://10.0.0.9:8082"}, "servers": [{"url": "http://192.0.2.1"}, {"url": "http://192.0.2.2"}, {"url": "http://192.0.2.3", "type": "generic"}]`), []string{
			`warning redirection.farms[0].defaults.api_url: is one API for 2 servers, so that each is believed to have what that one has; expected it at each server`,
		}},
		{"one_api_for_one", change(t, `"servers": [{"url": "http://192.0.2.1"}, {"url": "http://192.0.2.2"}]`,
			`"defaults": {"type": "nimble", "api_url": "http://10.0.0.9:8082"}, "servers": [{"url": "http://192.0.2.1"}, {"url": "http://192.0.2.2", "type": "generic"}]`), nil},
		{"types_side_by_side", servers("share", `{"url": "http://192.0.2.1", "type": "nimble"}, {"url": "http://192.0.2.2", "type": "flussonic"}, {"url": "http://192.0.2.3"}`), nil},
		{"covered", locations(`{"farms": ["a"], ` + everybody + `}, {"farms": ["a"], "ip_mask": ["10.0.0.0/8"]},
			{"farms": ["a"], "ip_mask": ["10.0.0.0/9", "10.128.0.0/9"]}`), []string{
			`warning redirection.locations[1]: can never match: its viewers, 10.0.0.0 for one, are taken by redirection.locations[2]`,
			`warning redirection.locations[2]: wins over redirection.locations[0] as the more specific one, for 10.0.0.0 for one; by the order of the array, as with location_match "order", it would not`,
		}},
		{"same_prefix", locations(`{"farms": ["a"], ` + everybody + `}, {"farms": ["a"], "ip_mask": ["::/0"]}`), []string{
			`warning redirection.locations[1]: can never match: its viewers, :: for one, are taken by redirection.locations[0]`,
		}},
		{"same_regex", locations(`{"farms": ["a"], "uri_regex": "^/x/", ` + everybody + `}, {"farms": ["a"], "uri_regex": "^/x/", "hosts": ["tv.example"], ` + everybody + `},
			{"farms": ["a"], "uri_regex": "^/x/y/", ` + everybody + `}, {"farms": ["a"], ` + everybody + `}`), []string{
			`warning redirection.locations[1]: can never match: its viewers, 0.0.0.0 for one, are taken by redirection.locations[0]`,
		}},
		{"hosts_of_two_cover_a_third", locations(`{"farms": ["a"], "hosts": ["a.example"], ` + everybody + `}, {"farms": ["a"], "hosts": ["b.example"], ` + everybody + `},
			{"farms": ["a"], "hosts": ["b.example", "a.example"], "uri_regex": ".*", ` + everybody + `}, {"farms": ["a"], ` + everybody + `}`), []string{
			`warning redirection.locations[2]: can never match: its viewers are taken by others before it`,
		}},
		{"order_covers", strings.Replace(locations(`{"farms": ["a"], `+everybody+`}, {"farms": ["a"], "ip_mask": ["10.0.0.0/8"]}`), `"uri_path"`, `"location_match": "order", "uri_path"`, 1), []string{
			`warning redirection.locations[1]: can never match: its viewers, 10.0.0.0 for one, are taken by redirection.locations[0]`,
		}},
		{"other_hosts_keep_apart", locations(`{"farms": ["a"], "hosts": ["a.example"], ` + everybody + `}, {"farms": ["a"], "hosts": ["b.example"], "ip_mask": ["10.0.0.0/8"]},
			{"farms": ["a"], ` + everybody + `}`), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d, findings := parse(tc.text, nil)
			if d == nil {
				t.Errorf("the document is refused")
			}
			if diff := cmp.Diff(tc.want, texts(findings)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEmptyMaskFileCanNeverMatch(t *testing.T) {
	t.Parallel()
	_, findings := parse(change(t, `"locations": [`, `"locations": [{"farms": ["a"], "ip_mask_files": ["none"]}, `), map[string]string{"none": "# nobody yet\n"})
	want := []string{`warning redirection.locations[0]: can never match: its ip_mask_files hold no network`}
	if diff := cmp.Diff(want, texts(findings)); diff != "" {
		t.Error(diff)
	}
}

func TestWarningsAboutOrderAreBounded(t *testing.T) {
	t.Parallel()
	list := `{"farms": ["a"], "ip_mask": ["0.0.0.0/0", "::/0"]}`
	var b strings.Builder
	b.WriteString(list)
	for i := range 100 {
		fmt.Fprintf(&b, `, {"farms": ["a"], "ip_mask": ["10.0.%d.0/24"]}`, i)
	}
	_, findings := parse(change(t, list, b.String()), nil)
	if len(findings) != maxSwaps {
		t.Errorf("%d findings, expected %d", len(findings), maxSwaps)
	}
}
