package config

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRefusals holds the exact text of every refusal. Each file in testdata
// that begins with invalid- is refused for one thing, or for several of a kind.
func TestRefusals(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"bad.txt": "10.0.0.0/8\n10.0.0.0/8 # again\n\n10.0.0.256\n",
		"key.pem": "no key",
		"token":   "0123456789abcdef",
		"short":   "0123456789\n",
		"lines":   "0123456789\n0123456789",
		"empty":   "\n",
	}
	refusals := []struct {
		name string
		want []string
	}{
		{"admin-both", []string{`error admin.token_file: excludes read_token_file and act_token_file, expected either it or them`}},
		{"admin-empty-token", []string{`error admin.token_file: the file "conf/empty" is empty, expected a secret in it`}},
		{"admin-missing-token", []string{`error admin.token_file: cannot read the file "conf/missing": no such file`}},
		{"admin-open", []string{`error admin.interface: is 0.0.0.0, which others can reach; expected token_file, or read_token_file and act_token_file, beside it`}},
		{"admin-port", []string{`error admin.port: is 9201, which is core.port too; expected another`}},
		{"admin-read-only", []string{`error admin.read_token_file: leaves acting open to everybody while reading is not, expected act_token_file beside it`}},
		{"admin-short-token", []string{`error admin.token_file: the file holds a token of 10 characters, expected 16 to 512`}},
		{"admin-token-lines", []string{`error admin.token_file: the file holds something other than visible ASCII characters in one line, expected a token of 16 to 512 of them`}},
		{"all-at-once", []string{
			`error core.port: is a string "x", expected an integer`,
			`error core.colour: unknown key`,
			`error log.level: is "loud", expected "debug", "info", "warn" or "error"`,
			`error redirection.farms[0].servers[0].url: has no scheme, expected http:// or https://`,
			`error redirection.farms[0].servers[1].weight: is -1, expected 0 to 10000`,
			`error redirection.locations[0].farms[0]: is "b", and there is no farm of that name`,
			`error redirection.locations[0].ip_mask[0]: is "10.0.0.0/40", expected a network such as 192.0.2.0/24: its prefix length is no number from 0 to 32`,
			`error redirection.live_cache_time_sec: is a string "8", expected a number of seconds`,
		}},
		{"api", []string{
			`error redirection.farms[0].servers[0].api_url: has no scheme, expected http:// or https://`,
			`error redirection.farms[0].servers[0].api_user: is there without api_secret, expected both`,
			`error redirection.farms[0].servers[1].api_url: is our own listener (admin.port), expected the address of the server's API`,
			`error redirection.farms[0].servers[1].api_user: has a colon or a control character, expected none`,
			`error redirection.farms[0].servers[1].api_secret: has a control character, expected none`,
			`error redirection.farms[0].servers[2].api_url: has a user or password, expected none; probe_headers and probe_query carry the operator's token, api_user and api_secret that of the API`,
			`error redirection.farms[0].servers[2].api_user: has 0 bytes, expected 1 to 256`,
			`error redirection.farms[0].servers[2].api_secret.file: cannot read the file "conf/missing": no such file`,
			`error redirection.farms[0].servers[3].type: is "Flussonic", expected "generic", "flussonic", "nimble", "mistserver", "mediamtx", "wowza" or "antmedia"`,
			`error redirection.farms[0].servers[3].api_secret: is not a string, expected a string or {"file": "PATH"}`,
		}},
		{"api-generic", []string{
			`error redirection.farms[0].servers[0].api_url: is there although type is "generic", which has no API; expected type to be "flussonic", "nimble", "mistserver", "mediamtx", "wowza" or "antmedia"`,
			`error redirection.farms[0].servers[0].api_user: is there although type is "generic", which has no API; expected type to be "flussonic", "nimble", "mistserver", "mediamtx", "wowza" or "antmedia"`,
			`error redirection.farms[0].servers[0].api_secret: is there although type is "generic", which has no API; expected type to be "flussonic", "nimble", "mistserver", "mediamtx", "wowza" or "antmedia"`,
			`error redirection.farms[0].servers[1].containers: is "both", expected "shared" or "separate"`,
			`error redirection.farms[1].defaults.api_secret: is there although type is "generic", which has no API; expected type to be "flussonic", "nimble", "mistserver", "mediamtx", "wowza" or "antmedia"`,
		}},
		{"archive", []string{
			`error archive.dialects[1]: is "Nimble_Range", and there is no dialect of that name; did you mean "nimble-range"?`,
			`error archive.dialects[2]: is "smartmedia", and there is no dialect of that name`,
			`error archive.dialects[3]: is "flussonic-archive", which is in the list already`,
			`error archive.dialects[4]: is a number 5, expected a string`,
			`error archive.timezone: is "Europe/Berln", which names no time zone; expected one such as Europe/Berlin, or UTC`,
			`error archive.viewer_timezone: is "Local", which names no time zone; expected one such as Europe/Berlin, or UTC`,
			`error archive.good_enough: is 95, expected 0 to 1`,
			`error archive.clock_slack_sec: is a string "2m", expected a number of seconds`,
			`error archive.preset: unknown key`,
		}},
		{"archive-farm", []string{
			`error redirection.farms[0].archive.prefer: is "longest", expected "most" or "contiguous"`,
			`error redirection.farms[0].archive.must_cover_start: is a number 1, expected true or false`,
			`error redirection.farms[0].archive.min_coverage: is 1.5, expected 0 to 1`,
			`error redirection.farms[0].archive.must_cover_end: unknown key`,
		}},
		{"archive-zones", []string{
			`error archive.timezone: is a number 3, expected a string with a time zone such as Europe/Berlin, or UTC`,
			`error archive.viewer_timezone: is "", which names no time zone; expected one such as Europe/Berlin, or UTC`,
			`error redirection.farms[0].timezone: is "../../etc/passwd", which names no time zone; expected one such as Europe/Berlin, or UTC`,
		}},
		{"array", []string{`error line 1 column 1: is an array, expected an object`}},
		{"bare-key", []string{`error line 2 column 3: found 'c', expected a key in double quotes`}},
		{"bom", []string{`error line 1 column 1: a byte order mark (U+FEFF) before the document, expected none`}},
		{"case-variant", []string{
			`error core.Port: unknown key; did you mean "port"?`,
			`error core.HTTP_Threads: unknown key; did you mean "http_threads"?`,
		}},
		{"channel-regex-index", []string{`error redirection.channel_regex_index: is 2, beyond the groups of channel_regex; expected at most 1 (0 is the whole match)`}},
		{"channel-regex-large", []string{`error redirection.channel_regex: is no regular expression (RE2): invalid repeat count at "{1000}"`}},
		{"channel-regex-long", []string{`error redirection.channel_regex: has 1025 bytes, expected at most 1024`}},
		{"channel-regex-no-group", []string{`error redirection.channel_regex_index: is absent, which means 1, beyond the groups of channel_regex; expected at most 0 (0 is the whole match)`}},
		{"channel-regex-steps", []string{`error redirection.channel_regex: is a regular expression of more than 10000 steps, expected a smaller one`}},
		{"channel-regex", []string{`error redirection.channel_regex: is no regular expression (RE2): missing closing ) at "([^/]+/.*"`}},
		{"client-ip-header", []string{`error core.client_ip_header: is "X-Real-IP", expected "X-Forwarded-For" or "Forwarded"`}},
		{"comment", []string{`error line 2 column 3: a comment; JSON has none, use a key that begins with _`}},
		{"control-character", []string{`error line 1 column 13: a control character (U+0009) in a string`}},
		{"dangling-farm", []string{
			`error redirection.locations[0].farms[0]: is "north", and there is no farm of that name`,
			`error redirection.locations[0].farms[1]: is "A", and there is no farm of that name; did you mean "a"?`,
			`error redirection.locations[0].farms[3]: is "a", which is in the list already`,
		}},
		{"deep", []string{`error line 1 column 65: arrays and objects are nested more than 64 deep`}},
		{"defaults", []string{
			`error redirection.farms[0].defaults.url: is not for defaults, expected it at each server`,
			`error redirection.farms[0].defaults.name: is not for defaults, expected it at each server`,
			`error redirection.farms[0].defaults.status_path: is "up", which does not begin with /`,
			`error redirection.farms[0].defaults.weigth: unknown key; did you mean "weight"?`,
		}},
		{"dialect-names", []string{
			`error archive.custom[0].name: is missing, expected a name for the dialect`,
			`error archive.custom[1].name: is "live-flat", as a built-in dialect is named already`,
			`error archive.custom[3].name: is "mine", as archive.custom[2] is named already`,
			`error archive.custom[4].name: has the character '"', expected printable ones without quotes and backslashes`,
			`error archive.custom[5]: is a string "mine", expected an object`,
		}},
		{"dialect-path", []string{
			`error archive.custom[0].path: is missing, expected a regular expression of the paths that the dialect reads`,
			`error archive.custom[1].path: is no regular expression (RE2): missing closing ) at "^/(?P<channel>x"`,
			`error archive.custom[2].path: has the group "chanel", expected "channel", "start", "end", "length", "offset", "window", "ext" or "container"; did you mean "channel"?`,
			`error archive.custom[2].path: has the group "dur", expected "channel", "start", "end", "length", "offset", "window", "ext" or "container"`,
			`error archive.custom[3].path: has no group "channel" and neither has query, expected one that names the channel`,
			`error archive.custom[4].path: has, with query, the groups "offset" and "window", which exclude each other; expected one of them`,
			`error archive.custom[5].path: has 0 bytes, expected 1 to 1024`,
		}},
		{"dialect-query", []string{
			`error archive.custom[0].need[1]: is "a b", expected a query parameter name of 1 to 64 letters, digits and -._~`,
			`error archive.custom[0].need[2]: is "DVR", which is in the list already`,
			`error archive.custom[0].query[0].params: is missing, expected at least one query parameter name`,
			`error archive.custom[0].query[1].group: is missing, expected a group for the value, or regex`,
			`error archive.custom[0].query[2].params[1]: is "", expected a query parameter name of 1 to 64 letters, digits and -._~`,
			`error archive.custom[0].query[2].group: has the group "strat", expected "channel", "start", "end", "length", "offset", "window", "ext" or "container"; did you mean "start"?`,
			`error archive.custom[0].query[3].params: has 0 entries, expected 1 to 8`,
			`error archive.custom[0].query[3].regex: excludes group, expected one of them`,
			`error archive.custom[1].query: is an object, expected an array of objects`,
			`error archive.custom[2].query[0].regex: is no regular expression (RE2): missing closing ) at "("`,
			`error archive.custom[2].query[1]: is a number 5, expected an object`,
			`error archive.custom[2].query[2].group: is a number 7, expected a string`,
			`error archive.custom[3].query: has 5 entries, expected at most 4`,
		}},
		{"dialect-words", []string{
			`error archive.custom[0].units.start: is "min", expected "auto", "s", "ms", "us", "ns", "iso", "digits", "xtream", "wowza" or "mist"`,
			`error archive.custom[0].units.length: is "auto", expected "s", "ms", "us", "ns", "min" or "godur"`,
			`error archive.custom[0].units.offset: is the unit of a group that neither path nor query has`,
			`error archive.custom[0].units.channel: is the unit of what has none, expected that of start, end, length, offset or window`,
			`error archive.custom[0].units.window: is a number 1, expected a string`,
			`error archive.custom[0].zone: is "panel", which names no time zone; expected one such as Europe/Berlin, or UTC, server or viewer`,
			`error archive.custom[0].kind: is "archive", expected "live", "vod", "timeshift" or "window"`,
			`error archive.custom[0].protocol: is "rtsp", expected "file", "hls", "dash", "mss", "mpegts", "mp4" or "hds"`,
		}},
		{"differing-api", []string{
			`error redirection.farms[1].servers[0].api_url: differs from redirection.farms[0].servers[0], which is the same server by its name "192.0.2.1:80"; expected the same settings, except weight`,
			`error redirection.farms[1].servers[1].api_user: differs from redirection.farms[0].servers[1], which is the same server by its name "192.0.2.2:80"; expected the same settings, except weight`,
			`error redirection.farms[1].servers[2].api_secret: differs from redirection.farms[0].servers[2], which is the same server by its name "192.0.2.3:80"; expected the same settings, except weight`,
			`error redirection.farms[1].servers[3].containers: differs from redirection.farms[0].servers[3], which is the same server by its name "192.0.2.4:80"; expected the same settings, except weight`,
		}},
		{"differing-server", []string{
			`error redirection.farms[1].defaults.status_path: differs from redirection.farms[0].servers[0], which is the same server by its name "192.0.2.1:80"; expected the same settings, except weight`,
			`error redirection.farms[1].servers[1].url: differs from redirection.farms[0].servers[1], which is the same server by its name "192.0.2.2:80"; expected the same settings, except weight`,
		}},
		{"drain-until-number", []string{`error redirection.farms[0].servers[1].drain_until: is a number -1, expected Unix seconds from 0 to 253402300799`}},
		{"duplicate-farm", []string{`error redirection.farms[1].name: is "a", as redirection.farms[0] is named already`}},
		{"duplicate-key", []string{`error core: duplicate key, it is in line 2 already`}},
		{"duplicate-server-name", []string{`error redirection.farms[0].servers[1].name: is named "192.0.2.1:80", as redirection.farms[0].servers[0] is; expected a server once in a farm`}},
		{"duplicate-server", []string{`error redirection.farms[0].servers[1]: is named "192.0.2.1:80", as redirection.farms[0].servers[0] is; expected a server once in a farm`}},
		{"duplicate-tag", []string{`error redirection.farms[0].servers[1].tags.site: duplicate key, it is in line 7 already`}},
		{"empty-farms", []string{`error redirection.farms: has 0 entries, expected 1 to 1000`}},
		{"empty-file", []string{`error line 1 column 1: the text ends, expected a value`}},
		{"empty-object", []string{
			`error redirection.farms: is missing, expected an array of at least one farm`,
			`error redirection.locations: is missing, expected an array of at least one location`,
		}},
		{"escape", []string{`error line 1 column 9: an unknown escape \x in a string`}},
		{"fallback-own", []string{`error redirection.locations[0].fallback_url: is our own listener (core.port), expected the address of a server; a viewer would be sent round in circles`}},
		{"fallback-url", []string{`error redirection.locations[0].fallback_url: has a query, expected none`}},
		{"farm-name-space", []string{`error redirection.farms[0].name: begins or ends with white space`}},
		{"farm-name", []string{`error redirection.farms[0].name: has the character '"', expected printable ones without quotes and backslashes`}},
		{"farm-not-objects", []string{`error redirection.farms[0].servers[0]: is a string "http://192.0.2.1", expected an object`}},
		{"farm-words", []string{
			`error redirection.farms[0].policy: is "round_robin", expected "first_response", "content_id", "weight" or "share"`,
			`error redirection.farms[0].content: is "ask", expected "probe" or "assume"`,
			`error redirection.farms[0].bounded_load: is 0.5, expected 0 for off, or more than 1 and at most 100`,
		}},
		{"fractional", []string{`error core.port: is a number 9201.5, expected an integer`}},
		{"health-path", []string{
			`error core.health_path: is "health", which does not begin with /`,
			`error core.protocol: is "https", expected "http" or "fastcgi"`,
		}},
		{"hosts", []string{
			`error core.hosts[1]: is "http://tv.example", which is neither a DNS name (labels of ASCII letters, digits and hyphens) nor an IP address; expected a host without port`,
			`error core.hosts[2]: is "tv.example:443", which is neither a DNS name (labels of ASCII letters, digits and hyphens) nor an IP address; expected a host without port`,
			`error core.hosts[3]: is "TV.EXAMPLE", which is in the list already`,
		}},
		{"https-url-twice", []string{`error redirection.farms[0].servers[1].https_url: is there although url is https already, expected it beside an http url only`}},
		{"https-url", []string{`error redirection.farms[0].servers[1].https_url: has the scheme "http", expected https`}},
		{"huge-integer", []string{`error core.port: is a number 1e300, which is too large`}},
		{"interface", []string{`error core.interface: is "eth0", expected an IP address without zone`}},
		{"ip-mask-duplicate", []string{
			`error redirection.locations[0].ip_mask[2]: is 10.0.0.0/8, which this location has already at redirection.locations[0].ip_mask[0]`,
			`error redirection.locations[0].ip_mask[3]: is 10.0.0.0/8, which this location has already at redirection.locations[0].ip_mask[0]`,
			`warning redirection.locations[0].ip_mask[2]: is "10.0.0.1/8", which has bits behind the prefix length; it is taken as 10.0.0.0/8`,
		}},
		{"ip-mask-empty", []string{`error redirection.locations[0].ip_mask: is empty, expected at least one network; leave the key out to take every viewer`}},
		{"ip-mask-files", []string{
			`error redirection.locations[0].ip_mask_files[0]: cannot read the file "conf/missing.txt": no such file`,
			`error redirection.locations[0].ip_mask_files[1]: "conf/bad.txt" line 2: is 10.0.0.0/8, which this location has already at "conf/bad.txt" line 1`,
			`error redirection.locations[0].ip_mask_files[1]: "conf/bad.txt" line 4: is "10.0.0.256", expected a network such as 192.0.2.0/24: it is neither an address nor a CIDR`,
			`error redirection.locations[0].ip_mask_files[2]: is empty, expected the path of a file`,
		}},
		{"ip-mask", []string{
			`error redirection.locations[0].ip_mask[0]: is "10.0.0.0/33", expected a network such as 192.0.2.0/24: its prefix length is no number from 0 to 32`,
			`error redirection.locations[0].ip_mask[1]: is "10.0.0", expected a network such as 192.0.2.0/24: it is neither an address nor a CIDR`,
			`error redirection.locations[0].ip_mask[2]: is "fe80::1%eth0", expected a network such as 192.0.2.0/24: a zone has no meaning in a network`,
			`error redirection.locations[0].ip_mask[3]: is "fe80::%eth0/64", expected a network such as 192.0.2.0/24: a zone has no meaning in a network`,
			`error redirection.locations[0].ip_mask[4]: is "::ffff:0:0/95", expected a network such as 192.0.2.0/24: it mixes IPv4-mapped and other IPv6 addresses`,
			`error redirection.locations[0].ip_mask[5]: is "", expected a network such as 192.0.2.0/24: it is empty`,
			`error redirection.locations[0].ip_mask[7]: is a number 7, expected a string`,
			`error redirection.locations[0].ip_mask[8]: is "010.0.0.0/8", expected a network such as 192.0.2.0/24: it is neither an address nor a CIDR`,
		}},
		{"later-key", []string{`error redirection.admission: unknown key`}},
		{"later-location-key", []string{`error redirection.locations[0].pinned: unknown key`}},
		{"location-farms-string", []string{`error redirection.locations[0].farms: is a string "a", expected an array of strings`}},
		{"location-hosts", []string{
			`error redirection.locations[0].hosts[0]: is "tv.example:80", which is neither a DNS name (labels of ASCII letters, digits and hyphens) nor an IP address; expected a host without port`,
			`error redirection.locations[0].hosts[2]: is "tv.example", which is in the list already`,
			`error redirection.locations[0].hosts[3]: is "*.example", which is neither a DNS name (labels of ASCII letters, digits and hyphens) nor an IP address; expected a host without port`,
		}},
		{"location-name", []string{`error redirection.locations[1].name: is "1", as redirection.locations[0] is named already`}},
		{"log", []string{
			`error log.level: is "trace", expected "debug", "info", "warn" or "error"`,
			`error log.decisions: is a number 1, expected true or false`,
			`error log.redact[0]: has 0 bytes, expected a query parameter name of 1 to 64`,
			`error log.redact[1]: is a number 5, expected a string`,
			`error log.sample: unknown key`,
		}},
		{"missing-colon", []string{`error line 2 column 10: found '{', expected a colon after the key`}},
		{"missing-comma", []string{`error line 4 column 5: found '"', expected a comma or }`}},
		{"missing-farm-name", []string{`error redirection.farms[0].name: is missing, expected a name for the farm`}},
		{"missing-location-farms", []string{`error redirection.locations[0].farms: is missing, expected an array of at least one farm name`}},
		{"missing-servers", []string{`error redirection.farms[0].servers: is missing, expected an array of at least one server`}},
		{"missing-url", []string{`error redirection.farms[0].servers[1].url: is missing, expected the server's http or https URL`}},
		{"negative-duration", []string{
			`error redirection.request_timeout_sec: is -4.0, expected 0.05 to 60`,
			`error redirection.range_cache_time_fraction: is 1.5, expected 0 to 1`,
			`error redirection.channel_regex_index: is -1, expected 0 to 100`,
		}},
		{"no-break-space", []string{`error line 2 column 1: found the character U+00A0, expected a key in double quotes`}},
		{"no-farms", []string{`error redirection.farms: is missing, expected an array of at least one farm`}},
		{"no-location-farms", []string{`error redirection.locations[0].farms: has 0 entries, expected 1 to 100`}},
		{"no-locations", []string{`error redirection.locations: is missing, expected an array of at least one location`}},
		{"no-servers", []string{`error redirection.farms[0].servers: has 0 entries, expected 1 to 1000`}},
		{"null", []string{
			`error core.port: is null, expected an integer; leave the key out to have its default`,
			`error core.tls: is null, expected an object; leave the key out to have its default`,
			`error core.hosts[0]: is null, expected a string`,
		}},
		{"number-hexadecimal", []string{`error line 1 column 21: something that begins like a number and is none (no leading zeros, no hexadecimal)`}},
		{"number-leading-zero", []string{`error line 1 column 21: something that begins like a number and is none (no leading zeros, no hexadecimal)`}},
		{"number-nan", []string{`error line 1 column 21: found 'N', expected a value`}},
		{"number-overflow", []string{
			`error redirection.off_air_sec: is a number 1e999, which is too large`,
			`error redirection.live_cache_time_sec: is 1e9, expected 0.1 to 3600`,
		}},
		{"open-string", []string{`error line 2 column 3: a string that does not end in its line`}},
		{"out-of-range", []string{
			`error core.port: is 0, expected 1 to 65535`,
			`error core.drain_delay_sec: is -1, expected 0 to 3600`,
		}},
		{"probe-headers", []string{
			`error redirection.farms[0].servers[1].probe_headers.Content-Length: is a header that the connection needs for itself, expected another`,
			`error redirection.farms[0].servers[1].probe_headers.transfer-encoding: is a header that the connection needs for itself, expected another`,
			`error redirection.farms[0].servers[1].probe_headers.Connection: is a header that the connection needs for itself, expected another`,
			`error redirection.farms[0].servers[1].probe_headers["a b"]: is no header name, expected 1 to 64 letters, digits and hyphens`,
			`error redirection.farms[0].servers[1].probe_headers.x-a: is the same header as "X-A", expected one of them`,
			`error redirection.farms[0].servers[1].probe_headers.X-B: has a value with a control character, expected none`,
			`error redirection.farms[0].servers[1].probe_headers.X-C: is not a string, expected a string or {"file": "PATH"}`,
		}},
		{"probe-query", []string{
			`error redirection.farms[0].servers[1].probe_query: has a parameter without name, expected one for each`,
			`error redirection.farms[0].servers[1].probe_query.token.file: cannot read the file "conf/missing": no such file`,
			`error redirection.farms[0].servers[1].probe_query.t.file: is missing, expected a string with the path of a file`,
			`error redirection.farms[0].servers[1].probe_query.t.path: unknown key; a secret is a string or {"file": "PATH"}`,
		}},
		{"probe", []string{
			`error probe.rise: is 0, expected 1 to 100`,
			`error probe.fall: is a number 1.5, expected an integer`,
			`error probe.depth: is "deep", expected "media", "playlist" or "status"`,
			`error probe.frozen: is "maybe", expected "last_resort" or "refuse"`,
			`error probe.self_check[0]: has a query, expected none`,
			`error probe.allow_networks[1]: is "x", expected a network such as 192.0.2.0/24: it is neither an address nor a CIDR`,
			`error probe.user_agent: is "a\nb", expected visible ASCII characters and spaces`,
			`error probe.max_in_flight_per_server: is 0, expected 1 to 1000`,
			`error probe.unknown_channels_per_sec: is 0, expected 0.1 to 100000`,
		}},
		{"quote-german", []string{`error line 3 column 18: typographic quote „ (and 1 more after it, as in text copied from a web page); expected a plain double quote "`}},
		{"quote-guillemets", []string{`error line 2 column 3: typographic quote « (and 1 more after it, as in text copied from a web page); expected a plain double quote "`}},
		{"quote-in-key", []string{`error line 2 column 8: typographic quote ”; expected a plain double quote "`}},
		{"session-key", []string{
			`error redirection.session_key[1]: is "s id", expected a query parameter name of 1 to 64 letters, digits and -._~`,
			`error redirection.session_key[2]: is "sid", which is in the list already`,
			`error redirection.session_key[3]: is "", expected a query parameter name of 1 to 64 letters, digits and -._~`,
		}},
		{"single-quotes", []string{`error line 2 column 3: quote '; expected a plain double quote "`}},
		{"split-sum", []string{`error redirection.locations[0].split: adds up to 120 percent, expected at most 100`}},
		{"split", []string{
			`error redirection.locations[0].split.a: is 101, expected 0 to 100 (percent)`,
			`error redirection.locations[0].split.b: is a part for a farm that is not in this location's farms`,
		}},
		{"state", []string{
			`error redirection.farms[0].servers[1].state: is "down", expected "enabled", "draining" or "disabled"`,
			`error redirection.farms[0].servers[1].drain_until: is "tomorrow", expected a time as in 2026-01-02T15:04:05Z, or Unix seconds`,
			`error redirection.farms[0].servers[1].type: is "icecast", expected "generic", "flussonic", "nimble", "mistserver", "mediamtx", "wowza" or "antmedia"`,
			`error redirection.farms[0].servers[1].status_path: is "health", which does not begin with /`,
			`error redirection.farms[0].servers[1].name: is empty, expected a name`,
		}},
		{"string", []string{`error line 1 column 1: is a string "core", expected an object`}},
		{"surrogate", []string{`error line 1 column 9: an escape \u that is half of a surrogate pair in a string`}},
		{"tags", []string{
			`error redirection.farms[0].servers[1].tags.site: is a number 1, expected a string`,
			`error redirection.farms[0].servers[1].tags[""]: is a tag of 1 bytes under a key of 0, expected at most 128 each and a key`,
			`error redirection.farms[0].servers[1].tags.long: is a tag of 200 bytes under a key of 4, expected at most 128 each and a key`,
		}},
		{"tls-files", []string{
			`error core.tls.port: is 9201, which is core.port too; expected another`,
			`error core.tls.certificates[0].cert_file: cannot read the file "conf/missing.pem": no such file`,
			`error core.tls.certificates[1].cert_file: is no pair with its key_file: tls: failed to find any PEM data in certificate input`,
			`error core.tls.certificates[2].cert_file: is missing, expected the path of a PEM file`,
		}},
		{"tls-incomplete", []string{
			`error core.tls.port: is missing, expected the port of the TLS listener`,
			`error core.tls.certificates: is missing, expected at least one certificate with its key`,
		}},
		{"too-many-servers", []string{`error redirection.farms[0].servers: has 1001 entries, expected 1 to 1000`}},
		{"trailing-comma", []string{`error line 3 column 17: a comma before }, expected none after the last entry`}},
		{"trailing-text", []string{`error line 13 column 1: found '}', expected the end of the document`}},
		{"truncated", []string{`error line 3 column 17: the text ends, expected a comma or }`}},
		{"trusted-proxies", []string{`error core.trusted_proxies[1]: is "proxy.example", expected a network such as 192.0.2.0/24: it is neither an address nor a CIDR`}},
		{"two-documents", []string{`error line 13 column 1: found '{', expected the end of the document`}},
		{"unknown-key", []string{
			`error core.prot: unknown key; did you mean "port"?`,
			`error core.listen: unknown key`,
		}},
		{"unknown-section", []string{
			`error steering: unknown key`,
			`error redirections: unknown key; did you mean "redirection"?`,
		}},
		{"uri-path-dots", []string{`error redirection.uri_path: is "/hls/%2e%2E/x", which has a dot segment`}},
		{"uri-path", []string{`error redirection.uri_path: is "hls", which does not begin with /`}},
		{"uri-regex", []string{`error redirection.locations[0].uri_regex: is no regular expression (RE2): missing argument to repetition operator at "*"`}},
		{"url-backslash", []string{`error redirection.farms[0].servers[1].url: has a user or password, expected none; probe_headers and probe_query carry the operator's token, api_user and api_secret that of the API`}},
		{"url-empty-host", []string{`error redirection.farms[0].servers[1].url: has the host "", which is empty, expected a DNS name or an IP address`}},
		{"url-empty", []string{`error redirection.farms[0].servers[1].url: has 0 bytes, expected 1 to 2048`}},
		{"url-fragment", []string{`error redirection.farms[0].servers[1].url: has a fragment, expected none`}},
		{"url-full-width", []string{`error redirection.farms[0].servers[1].url: has the host "１２７.0.0.1", which is neither a DNS name (labels of ASCII letters, digits and hyphens) nor an IP address`}},
		{"url-hexadecimal-part", []string{`error redirection.farms[0].servers[1].url: has the host "127.0.0.0x1", which ends like a number and is no IPv4 address of four decimal parts`}},
		{"url-hexadecimal", []string{`error redirection.farms[0].servers[1].url: has the host "0x7f000001", which ends like a number and is no IPv4 address of four decimal parts`}},
		{"url-ideographic-dot", []string{`error redirection.farms[0].servers[1].url: has the host "edge。x", which is neither a DNS name (labels of ASCII letters, digits and hyphens) nor an IP address`}},
		{"url-mapped", []string{`error redirection.farms[0].servers[1].url: has the host "[::ffff:127.0.0.1]", which is an IPv4 address in IPv6 form, expected 127.0.0.1`}},
		{"url-no-brackets", []string{`error redirection.farms[0].servers[1].url: has an IPv6 address without brackets, expected it as in http://[2001:db8::1]:80`}},
		{"url-no-scheme", []string{`error redirection.farms[0].servers[1].url: has no scheme, expected http:// or https://`}},
		{"url-number", []string{`error redirection.farms[0].servers[1].url: has the host "2130706433", which ends like a number and is no IPv4 address of four decimal parts`}},
		{"url-octal", []string{`error redirection.farms[0].servers[1].url: has the host "010.0.0.1", which ends like a number and is no IPv4 address of four decimal parts`}},
		{"url-own-listener", []string{`error redirection.farms[0].servers[1].url: is our own listener (core.port), expected the address of a server; a viewer would be sent round in circles`}},
		{"url-path-dots", []string{`error redirection.farms[0].servers[1].url: has a path that has a dot segment`}},
		{"url-path-empty-segment", []string{`error redirection.farms[0].servers[1].url: has a path that has an empty segment`}},
		{"url-path-encoded-slash", []string{`error redirection.farms[0].servers[1].url: has a path that has the escape "%2f", which servers read differently`}},
		{"url-path-escape", []string{`error redirection.farms[0].servers[1].url: has a path that has a % without two hexadecimal digits`}},
		{"url-path-space", []string{`error redirection.farms[0].servers[1].url: has a path that has a character ' ' that a URL path cannot hold`}},
		{"url-port-empty", []string{`error redirection.farms[0].servers[1].url: has the port "", expected 1 to 65535`}},
		{"url-port-large", []string{`error redirection.farms[0].servers[1].url: has the port "99999", expected 1 to 65535`}},
		{"url-port-leading-zero", []string{`error redirection.farms[0].servers[1].url: has the port "080", expected 1 to 65535`}},
		{"url-port-zero", []string{`error redirection.farms[0].servers[1].url: has the port "0", expected 1 to 65535`}},
		{"url-query", []string{`error redirection.farms[0].servers[1].url: has a query, expected none`}},
		{"url-scheme", []string{`error redirection.farms[0].servers[1].url: has the scheme "ftp", expected http or https`}},
		{"url-short", []string{`error redirection.farms[0].servers[1].url: has the host "10.1", which ends like a number and is no IPv4 address of four decimal parts`}},
		{"url-trailing-dot", []string{`error redirection.farms[0].servers[1].url: has the host "edge.example.", which is neither a DNS name (labels of ASCII letters, digits and hyphens) nor an IP address`}},
		{"url-underscore", []string{`error redirection.farms[0].servers[1].url: has the host "edge_1.example", which is neither a DNS name (labels of ASCII letters, digits and hyphens) nor an IP address`}},
		{"url-unspecified", []string{`error redirection.farms[0].servers[1].url: has the host "0.0.0.0", which is no address of one machine`}},
		{"url-user", []string{`error redirection.farms[0].servers[1].url: has a user or password, expected none; probe_headers and probe_query carry the operator's token, api_user and api_secret that of the API`}},
		{"url-zone", []string{`error redirection.farms[0].servers[1].url: has the host "[fe80::1%25eth0]", which has a zone, expected none`}},
		{"utf16", []string{`error line 1 column 1: the text is UTF-16, expected UTF-8`}},
		{"utf8", []string{`error line 6 column 18: a byte that is not UTF-8`}},
		{"weight-negative", []string{`error redirection.farms[0].servers[1].weight: is -1, expected 0 to 10000`}},
		{"weight-overflow", []string{`error redirection.farms[0].servers[1].weight: is 1e308, expected 0 to 10000`}},
		{"weight", []string{`error redirection.farms[0].servers[1].weight: is 10001, expected 0 to 10000`}},
		{"words", []string{
			`error redirection.location_match: is "array", expected "specific" or "order"`,
			`error redirection.return_evidence: is "on", expected "check", "move" or "off"`,
		}},
		{"wrong-core-types", []string{
			`error core.port: is a string "9201", expected an integer`,
			`error core.interface: is a number 0, expected a string with an IP address`,
			`error core.proxy_protocol: is a string "yes", expected true or false`,
			`error core.hosts: is a string "tv.example", expected an array of strings`,
			`error core.tls: is a number 443, expected an object`,
			`error core.trusted_proxies[0]: is a number 10, expected a string`,
		}},
		{"wrong-types", []string{
			`error redirection.live_cache_time_sec: is a string "8", expected a number of seconds`,
			`error redirection.channel_regex: is an array, expected a string`,
			`error redirection.session_key: is a string "sid", expected an array of strings`,
			`error redirection.off_air_sec: is a boolean true, expected a number of seconds`,
			`error redirection.sticky_sec: is an object, expected a number of seconds`,
			`error redirection.location_match: is a number 1, expected "specific" or "order"`,
		}},
	}
	fixtures, err := filepath.Glob("testdata/invalid-*.json")
	if err != nil || len(fixtures) != len(refusals) {
		t.Errorf("%d fixtures and %d refusals (%v), expected as many", len(fixtures), len(refusals), err)
	}
	for _, tc := range refusals {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d, findings := parse(string(readFile(t, "testdata/invalid-"+tc.name+".json")), files)
			if d != nil {
				t.Error("the document is accepted")
			}
			if diff := cmp.Diff(tc.want, texts(findings)); diff != "" {
				t.Error(diff)
			}
			for _, f := range findings {
				if f.Line == 0 || f.Column == 0 {
					t.Errorf("no line and column: %+v", f)
				}
			}
		})
	}
}

func TestPastedSmartMediaFile(t *testing.T) {
	t.Parallel()
	d, findings := Parse(Source{Data: readFile(t, "testdata/smartmedia-pasted.json")})
	want := []string{"error line 2 column 3: typographic quote “ (and 129 more after it, as in text copied from a web page); expected a plain double quote \""}
	if diff := cmp.Diff(want, texts(findings)); d != nil || diff != "" {
		t.Error(diff)
	}
}
