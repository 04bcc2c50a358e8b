package farms_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/pointsman-tv/pointsman/farms"
)

// locate builds a table of locations only. One line is one location: its
// prefixes, then "uri=" and "host=" where it has them; it is known by its index.
func locate(t testing.TB, arrayOrder bool, lines ...string) *farms.Table {
	t.Helper()
	var list []farms.LocationSpec
	for _, line := range lines {
		var l farms.LocationSpec
		for _, word := range strings.Fields(line) {
			if uri, ok := strings.CutPrefix(word, "uri="); ok {
				l.URIRegex = uri
			} else if host, ok := strings.CutPrefix(word, "host="); ok {
				l.Hosts = append(l.Hosts, host)
			} else {
				l.Prefixes = append(l.Prefixes, netip.MustParsePrefix(word))
			}
		}
		list = append(list, l)
	}
	return locationTable(t, arrayOrder, list)
}

func locationTable(t testing.TB, arrayOrder bool, list []farms.LocationSpec) *farms.Table {
	t.Helper()
	spec := farms.Spec{
		ArrayOrder: arrayOrder, Locations: list,
		Servers: []farms.ServerSpec{{Name: "s", URL: "http://s.example"}},
		Farms:   []farms.FarmSpec{{Name: "f", Members: []farms.MemberSpec{{Server: "s", Weight: 1}}}},
	}
	for i := range list {
		list[i].Farms = []string{"f"}
	}
	table, err := farms.Build(&spec, 1)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func indexOf(l *farms.Location) int {
	if l == nil {
		return -1
	}
	return l.Index
}

func TestLocate(t *testing.T) {
	t.Parallel()
	const none = -1
	for _, tc := range []struct {
		name      string
		locations []string
		order     bool // location_match "order"
		viewers   map[string]int
	}{
		{
			name:      "longest_prefix_in_any_order_1", // Comcast traffic_control #856
			locations: []string{"10.79.55.0/24", "10.79.6.0/24", "10.79.0.0/16"},
			viewers:   map[string]int{"10.79.55.2": 0, "10.79.6.9": 1, "10.79.7.1": 2, "10.80.0.0": none, "10.78.255.255": none},
		},
		{
			name:      "longest_prefix_in_any_order_2",
			locations: []string{"10.79.0.0/16", "10.79.55.0/24", "10.79.6.0/24"},
			viewers:   map[string]int{"10.79.55.2": 1, "10.79.6.9": 2, "10.79.7.1": 0},
		},
		{
			name:      "longest_prefix_in_any_order_3",
			locations: []string{"10.79.6.0/24", "10.79.0.0/16", "10.79.55.0/24"},
			viewers:   map[string]int{"10.79.55.2": 2, "10.79.6.9": 0, "10.79.7.1": 1},
		},
		{
			name:      "array_order",
			locations: []string{"10.79.0.0/16", "10.79.55.0/24", "0.0.0.0/0"},
			order:     true,
			viewers:   map[string]int{"10.79.55.2": 0, "10.80.0.1": 2},
		},
		{
			name:      "array_order_with_regex",
			locations: []string{"0.0.0.0/0 uri=^/vod/", "10.0.0.0/8", "10.1.0.0/16 uri=^/live/"},
			order:     true,
			viewers:   map[string]int{"10.1.0.1": 1, "10.1.0.1 /vod/x": 0, "10.1.0.1 /live/x": 1, "9.0.0.1": none},
		},
		{
			name:      "no_match",
			locations: []string{"10.0.0.0/8"},
			viewers:   map[string]int{"11.0.0.0": none, "9.255.255.255": none, "0.0.0.0": none, "255.255.255.255": none, "::1": none, "2001:db8::1": none},
		},
		{
			name:      "first_and_last_addresses_v4",
			locations: []string{"0.0.0.0/0", "255.255.255.255/32", "0.0.0.0/32", "255.255.255.0/24"},
			viewers:   map[string]int{"255.255.255.255": 1, "255.255.255.254": 3, "255.255.254.255": 0, "0.0.0.0": 2, "0.0.0.1": 0},
		},
		{
			name:      "first_and_last_addresses_v6",
			locations: []string{"::/0", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128", "::/128", "ffff:ffff:ffff:ffff::/64"},
			viewers: map[string]int{
				"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff": 1, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe": 3,
				"ffff:ffff:ffff:fffe:ffff:ffff:ffff:ffff": 0, "::": 2, "::1": 0,
			},
		},
		{
			name:      "last_prefix_ends_with_the_addresses",
			locations: []string{"255.255.255.255/32", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128"},
			viewers: map[string]int{
				"255.255.255.255": 0, "255.255.255.254": none,
				"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff": 1, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe": none,
			},
		},
		{
			name:      "families_are_apart",
			locations: []string{"0.0.0.0/0", "::/0"},
			viewers:   map[string]int{"0.0.0.0": 0, "255.255.255.255": 0, "::": 1, "::a:0:0": 1, "ffff::": 1},
		},
		{
			name:      "adjacent",
			locations: []string{"10.0.0.0/25", "10.0.0.128/25", "10.0.1.0/24"},
			viewers:   map[string]int{"10.0.0.127": 0, "10.0.0.128": 1, "10.0.0.255": 1, "10.0.1.0": 2, "10.0.1.255": 2, "10.0.2.0": none, "9.255.255.255": none},
		},
		{
			name:      "adjacent_inside_another",
			locations: []string{"10.0.0.0/8", "10.0.0.0/25", "10.0.0.128/25", "10.255.255.0/24"},
			viewers:   map[string]int{"10.0.0.127": 1, "10.0.0.128": 2, "10.0.1.0": 0, "10.255.254.255": 0, "10.255.255.255": 3, "11.0.0.0": none},
		},
		{
			name:      "v6_64_and_63",
			locations: []string{"2001:db8::/63", "2001:db8:0:1::/64", "2001:db8:0:2::/65"},
			viewers: map[string]int{
				"2001:db8::": 0, "2001:db8::ffff:ffff:ffff:ffff": 0, "2001:db8:0:1::": 1, "2001:db8:0:1:ffff:ffff:ffff:ffff": 1,
				"2001:db8:0:2::": 2, "2001:db8:0:2:7fff:ffff:ffff:ffff": 2, "2001:db8:0:2:8000::": none, "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff": none,
			},
		},
		{
			name:      "host_bits_are_masked",
			locations: []string{"10.1.2.3/8", "2001:db8::1/32"},
			viewers:   map[string]int{"10.0.0.0": 0, "10.255.255.255": 0, "2001:db8:ffff::": 1},
		},
		{
			name:      "regex_beats_none",
			locations: []string{"10.1.1.1/32", "10.0.0.0/8 uri=^/vod/"},
			viewers:   map[string]int{"10.1.1.1 /vod/a": 1, "10.1.1.1 /live/a": 0, "10.2.0.0 /live/a": none},
		},
		{
			name:      "any_regex_is_none",
			locations: []string{"10.0.0.0/8 uri=.*", "10.1.0.0/16"},
			viewers:   map[string]int{"10.1.0.0": 1, "10.2.0.0": 0},
		},
		{
			name:      "any_regex_is_none_for_equal_prefixes",
			locations: []string{"10.0.0.0/8 uri=.*", "10.0.0.0/8"},
			viewers:   map[string]int{"10.1.0.0": 0},
		},
		{
			name:      "regex_longest_prefix_among_them",
			locations: []string{"10.0.0.0/8 uri=/a", "10.1.0.0/16 uri=/a", "10.1.0.0/16 uri=/a|/b", "0.0.0.0/0"},
			viewers:   map[string]int{"10.1.0.1 /a": 1, "10.1.0.1 /b": 2, "10.2.0.1 /a": 0, "10.1.0.1 /c": 3, "10.2.0.1 /b": 3},
		},
		{
			name:      "same_prefix_with_regexes",
			locations: []string{"10.0.0.0/8", "10.0.0.0/8 uri=^/live/", "10.0.0.0/8 uri=^/vod/"},
			viewers:   map[string]int{"10.0.0.1 /live/a": 1, "10.0.0.1 /vod/a": 2, "10.0.0.1 /x": 0},
		},
		{
			name:      "regex_is_searched_with_the_leading_slash",
			locations: []string{"0.0.0.0/0 uri=^/sport$"},
			viewers:   map[string]int{"1.2.3.4 /sport": 0, "1.2.3.4 sport": none, "1.2.3.4 /sport/x": none},
		},
		{
			name:      "hosts",
			locations: []string{"10.1.0.0/16 host=a.example host=b.example", "10.0.0.0/8", "10.1.1.0/24 host=c.example"},
			viewers: map[string]int{
				"10.1.1.0 /x a.example": 0, "10.1.1.0 /x b.example": 0, "10.1.1.0 /x c.example": 2,
				"10.1.1.0 /x d.example": 1, "10.1.1.0": 1, "10.2.0.0 /x a.example": 1,
			},
		},
		{
			name:      "host_and_regex",
			locations: []string{"10.0.0.0/8 host=a.example uri=/a", "10.0.0.0/8"},
			viewers:   map[string]int{"10.0.0.0 /a a.example": 0, "10.0.0.0 /a b.example": 1, "10.0.0.0 /b a.example": 1},
		},
		{
			name:      "two_nested_prefixes_of_one_location",
			locations: []string{"10.1.0.0/16", "10.0.0.0/8 10.1.1.0/24"},
			viewers:   map[string]int{"10.1.1.1": 1, "10.1.2.1": 0, "10.2.0.0": 1, "10.1.0.255": 0},
		},
		{
			name:      "one_prefix_twice_in_one_location",
			locations: []string{"10.0.0.0/8 10.0.0.0/8", "10.0.0.0/9"},
			viewers:   map[string]int{"10.0.0.0": 1, "10.128.0.0": 0},
		},
		{
			name:      "nested_with_one_end",
			locations: []string{"10.0.0.0/8", "10.128.0.0/9", "10.192.0.0/10", "10.255.255.255/32"},
			viewers:   map[string]int{"10.127.255.255": 0, "10.128.0.0": 1, "10.192.0.0": 2, "10.255.255.254": 2, "10.255.255.255": 3, "11.0.0.0": none},
		},
		{
			name:      "nested_with_one_beginning",
			locations: []string{"10.0.0.0/32", "10.0.0.0/8", "10.0.0.0/24"},
			viewers:   map[string]int{"10.0.0.0": 0, "10.0.0.1": 2, "10.0.1.0": 1},
		},
		{
			name:      "no_prefixes",
			locations: []string{"uri=/a", "0.0.0.0/0"},
			viewers:   map[string]int{"10.0.0.0 /a": 1},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			table := locate(t, tc.order, tc.locations...)
			for viewer, want := range tc.viewers {
				words := append(strings.Fields(viewer), "/x", "")
				path, host := words[1], ""
				if len(words) > 4 {
					host = words[2]
				}
				if got := indexOf(table.Locate(netip.MustParseAddr(words[0]), host, path)); got != want {
					t.Errorf("viewer %q: location %d, expected %d", viewer, got, want)
				}
			}
		})
	}
}

func TestCandidatesAreInTheOrderTried(t *testing.T) {
	t.Parallel()
	table := locate(t, false, "10.0.0.0/8", "10.0.0.0/8 uri=/a", "10.1.0.0/16 host=a.example", "10.1.1.0/24", "0.0.0.0/0")
	var got []int
	for _, l := range table.Candidates(netip.MustParseAddr("10.1.1.1")) {
		got = append(got, l.Index)
	}
	// Behind location 3, which takes everything, none is ever tried.
	if len(got) != 2 || got[0] != 1 || got[1] != 3 {
		t.Errorf("candidates %v, expected [1 3]", got)
	}
}

func TestLocateOfNoAddress(t *testing.T) {
	t.Parallel()
	table := locate(t, false, "10.0.0.0/8", "2001:db8::/32")
	if l := table.Locate(netip.Addr{}, "", "/"); l != nil {
		t.Errorf("the zero address is in location %d, expected none", l.Index)
	}
}
