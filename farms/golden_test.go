package farms

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/rendezvous.golden; every running Pointsman would rank anew, so think twice")

// TestGoldenVectors holds every machine and every later version to the same
// ranking: two Pointsmen that disagree send one channel to two servers.
func TestGoldenVectors(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "rendezvous.golden")
	got := goldenVectors(t)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
		for i := range min(len(g), len(w)) {
			if g[i] != w[i] {
				t.Errorf("%s:%d:\n got %s\nwant %s", path, i+1, g[i], w[i])
			}
		}
		if len(g) != len(w) {
			t.Errorf("%s: %d lines, expected %d", path, len(g), len(w))
		}
	}
}

func goldenVectors(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("# Golden vectors of rendezvous ranking. They are an interface between machines\n" +
		"# and versions: a change here moves channels in every running installation.\n" +
		"# neglog2 HASH VALUE, in 1/2^32\n")
	for _, h := range []uint64{0, 1, 2, 3, 1 << 31, 1<<32 - 1, 1 << 63, 1<<63 + 1<<52, 0x123456789abcdef0, 0xfedcba9876543210, math.MaxUint64} {
		fmt.Fprintf(&b, "neglog2 %016x %d\n", h, negLog2(h))
	}
	b.WriteString("# server NAME ID\n")
	servers := []string{"a", "b", "edge1.example:8080", "[2001:db8::1]:80", "münchen.example/cdn"}
	for _, s := range servers {
		fmt.Fprintf(&b, "server %s %016x\n", s, uint64(serverID(s)))
	}
	b.WriteString("# mix CHANNEL CHANNEL-HASH SERVER VALUE\n")
	for _, c := range goldenChannels() {
		for _, s := range servers {
			fmt.Fprintf(&b, "mix %q %016x %s %016x\n", c, hashChannel(c), s, mix(hashChannel(c), serverID(s)))
		}
	}
	b.WriteString("# rank CHANNEL SERVER=WEIGHT ... -> the ranking\n")
	for _, set := range goldenSets() {
		for _, c := range goldenChannels() {
			fmt.Fprintf(&b, "rank %q", c)
			for _, m := range set {
				fmt.Fprintf(&b, " %s=%v", m.Server, m.Weight)
			}
			fmt.Fprintf(&b, " -> %s\n", strings.Join(ranking(t, c, set), " "))
		}
	}
	return b.Bytes()
}

func goldenChannels() []string {
	return []string{"", "news", "channel-1", "channel-2", "/live/channel-1", "спорт", "a-very-long-channel-name-that-does-not-fit-into-one-block-of-the-hash"}
}

func goldenSets() [][]MemberSpec {
	return [][]MemberSpec{
		{{"a", 1}, {"b", 1}},
		{{"edge1:80", 1}, {"edge2:80", 1}, {"edge3:80", 1}, {"edge4:80", 1}, {"edge5:80", 1}},
		{{"s1", 1}, {"s2", 1}, {"s3", 2}, {"s4", 5}},
		{{"big", 10_000}, {"small", 0.001}, {"half", 0.5}},
	}
}

// ranking asks Choose itself: each winner is switched off for the next round.
// The members are given forwards and backwards, which must not matter.
func ranking(t *testing.T, channel string, set []MemberSpec) []string {
	t.Helper()
	forth := rankingOf(t, channel, set)
	back := slices.Clone(set)
	slices.Reverse(back)
	if got := rankingOf(t, channel, back); !slices.Equal(got, forth) {
		t.Errorf("channel %q: ranking %v of the reversed file, expected %v", channel, got, forth)
	}
	return forth
}

func rankingOf(t *testing.T, channel string, set []MemberSpec) []string {
	t.Helper()
	spec := Spec{
		Farms:     []FarmSpec{{Name: "f", Policy: ContentID, Members: set, Assume: true}},
		Locations: []LocationSpec{{Farms: []string{"f"}, Prefixes: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}}},
	}
	for _, m := range set {
		spec.Servers = append(spec.Servers, ServerSpec{Name: m.Server, URL: "http://host.example"})
	}
	table, err := Build(&spec, 1)
	if err != nil {
		t.Fatal(err)
	}
	off := Overrides{}
	q := Query{Content: Content{Channel: channel}}
	var names []string
	var scratch Scratch
	for range set {
		w := World{Facts: nothingKnown{}, Overrides: off}
		choice := Choose(table.Farms, &q, &w, &table.Rules, Options{Final: true}, &scratch)
		if choice.Chosen == nil {
			t.Fatalf("channel %q: nobody after %v", channel, names)
		}
		name := choice.Chosen.Member.Server.Name
		names = append(names, name)
		off[name] = Override{State: StateDisabled}
	}
	return names
}

type nothingKnown struct{}

func (nothingKnown) Health(Endpoint) *Health { return nil }
func (nothingKnown) Content(Content) *Known  { return nil }
