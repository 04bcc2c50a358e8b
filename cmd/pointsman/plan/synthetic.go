package plan

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"

	"github.com/pointsman-tv/pointsman/farms"
)

// SyntheticOptions say what viewers [Synthetic] makes up.
type SyntheticOptions struct {
	Viewers    int
	Channels   int    // at least 1
	SessionKey string // the query parameter that identifies a viewer, "": address and User-Agent
	URIPath    string // in front of every path, without trailing slash
	Secure     bool   // they come by https
}

// Synthetic makes up a population: as many viewers for each location as for any
// other, with addresses anywhere in one of its prefixes, each prefix as often as
// any other; channels "ch1", "ch2"…, the n-th watched 1/n as much as the first
// (Zipf's law); every viewer a session of his own. The same viewers come every
// time. The notes name locations for which no viewer can be made up.
func Synthetic(spec *farms.Spec, side Side, opt SyntheticOptions) (population iter.Seq[Viewer], notes []string) {
	random := rand.New(rand.NewPCG(1, 2))
	var places []place
	for i := range spec.Locations {
		p := place{spec: &spec.Locations[i], location: side.Table.Locations[i]}
		if p.find(&side, opt, random) {
			places = append(places, p)
		} else {
			notes = append(notes, fmt.Sprintf("location %q is left out: no address and path could be made up that only it takes; -log has the real ones", p.location.Name))
		}
	}
	popular := zipf(opt.Channels)
	return func(yield func(Viewer) bool) {
		random := rand.New(rand.NewPCG(3, 4))
		for i := range opt.Viewers {
			if len(places) == 0 {
				return
			}
			p := &places[i%len(places)]
			at, _ := slices.BinarySearch(popular, random.Float64()*popular[len(popular)-1])
			channel := "ch" + strconv.Itoa(min(at, opt.Channels-1)+1)
			if !yield(p.viewer(side.Table, channel, opt, random)) {
				return
			}
		}
	}, notes
}

// zipf returns the cumulated popularity of n channels.
func zipf(n int) []float64 {
	out := make([]float64, n)
	sum := 0.0
	for i := range out {
		sum += 1 / float64(i+1)
		out[i] = sum
	}
	return out
}

// place makes viewers of one location. Its paths are before, the channel, behind.
type place struct {
	spec          *farms.LocationSpec
	location      *farms.Location
	host          string
	before, after string
	nameless      bool // the channel does not fit into a path that the location takes
}

// tries is how many addresses of a location are tried until one is its own and
// not one of a more specific location.
const tries = 64

// find looks for paths that the location takes, and for an address of its own.
func (p *place) find(side *Side, opt SyntheticOptions, random *rand.Rand) bool {
	if len(p.spec.Prefixes) == 0 {
		return false
	}
	if len(p.spec.Hosts) > 0 {
		p.host = p.spec.Hosts[0]
	}
	const manifest = "/index.m3u8"
	sample := sampleOf(p.spec.URIRegex)
	shapes := [...]place{
		{before: "/", after: manifest},
		{before: slashed(sample), after: manifest},
		{before: "/", after: slashed(sample)},
		{before: slashed(sample), nameless: true},
	}
	for _, shape := range shapes {
		p.before, p.after, p.nameless = shape.before, shape.after, shape.nameless
		for range tries {
			v := p.viewer(side.Table, "ch1", opt, random)
			if side.Place(&v).Location == p.location {
				return true
			}
		}
	}
	return false
}

// slashed begins and, before a channel, ends with a slash.
func slashed(sample string) string {
	if sample == "" || sample[0] != '/' {
		return "/" + sample
	}
	return sample
}

// path is the path of a channel, after uri_path.
func (p *place) path(channel string) string {
	if p.nameless {
		return p.before
	}
	return p.before + channel + p.after
}

// viewer makes one viewer of the location. When no address tried is the
// location's own, the last is taken.
func (p *place) viewer(t *farms.Table, channel string, opt SyntheticOptions, random *rand.Rand) Viewer {
	path := p.path(channel)
	var addr netip.Addr
	for range tries {
		addr = within(p.spec.Prefixes[random.IntN(len(p.spec.Prefixes))], random)
		if t.Locate(addr, p.host, path) == p.location {
			break
		}
	}
	v := Viewer{Addr: addr, Host: p.host, Target: opt.URIPath + path, UserAgent: "plan", Secure: opt.Secure, Channel: channel}
	who := strconv.FormatUint(random.Uint64(), 36)
	if opt.SessionKey != "" {
		v.Target += "?" + opt.SessionKey + "=" + who
	} else {
		v.UserAgent = who
	}
	return v
}

// within returns a random address of a prefix.
func within(p netip.Prefix, random *rand.Rand) netip.Addr {
	b := p.Masked().Addr().AsSlice()
	for i := range b {
		fixed := min(max(p.Bits()-8*i, 0), 8)
		b[i] |= byte(random.Uint32()) & byte(0xff>>fixed)
	}
	addr, _ := netip.AddrFromSlice(b)
	return addr
}
