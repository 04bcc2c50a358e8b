package archive

import (
	"strings"
	"time"
)

// Reading is what a URL asks for and how servers are asked for it.
type Reading struct {
	Request Request
	// Asked is the window on the grid (see [Request.Asked]), zero for live and
	// VoD.
	Asked Window
	// Path and Query are those of [Request.Target] for the window on the grid.
	Path, Query string

	asked Request // on the grid
}

// Read reads a URL as [Parser.Parse] does and finds out how servers are asked for
// it. raw is the path as the viewer wrote it, plain the same decoded. out is
// filled in whatever the verdict, its question only when that is [OK]. Most URLs
// were read before, and cost a look.
func (p *Parser) Read(out *Reading, raw, plain, query string, now time.Time, zone *time.Location) Verdict {
	*out = Reading{}
	if !isPath(plain) {
		return Verdict{}
	}
	var in input
	in.query.index(query)
	if zone == nil {
		zone = p.zone
	}
	// What an operator's dialect reads, and parameters that carry their unit in
	// their name, make a URL another one in ways that only reading it tells.
	known := len(p.custom) == 0 && !in.query.has(setOf(paramLHS)) && len(plain) <= maxMemoURL && len(raw) <= maxMemoURL
	if known && p.memo.get(out, raw, plain, &in.query, now, zone) {
		return Verdict{Outcome: OK}
	}
	if known {
		// What is remembered must not hold on to all that the viewer sent.
		same := raw == plain
		if plain = strings.Clone(plain); same {
			raw = plain
		} else {
			raw = strings.Clone(raw)
		}
		in.query.keepKnown()
		known = len(in.query.raw) <= maxMemoURL
	}
	r, v := p.parse(&in, plain, now, zone)
	out.Request = r
	if v.Outcome != OK {
		return v
	}
	out.asked = r.Asked(now)
	out.Asked = out.asked.Window
	out.Path, out.Query = out.asked.Target(raw)
	if known {
		p.memo.put(out, raw, plain, &in.query, now, zone)
	}
	return v
}

// keepKnown leaves in a query the parameters that dialects know, each once.
func (q *query) keepKnown() {
	if q.have == 0 {
		*q = query{}
		return
	}
	var b strings.Builder
	var from [paramCount]uint32
	for have := q.have; have != 0; have &= have - 1 {
		p := have.first()
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		b.WriteString(paramNames[p])
		b.WriteByte('=')
		from[p] = uint32(b.Len())
		b.WriteString(q.rawValue(p))
	}
	q.raw, q.from = b.String(), from
}
