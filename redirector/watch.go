package redirector

import (
	"fmt"
	"strings"
	"time"

	"github.com/pointsman-tv/pointsman/farms"
)

// Watch looks at servers, farms and the sense of traffic, and raises and clears
// the alarms and advices about them. It is called every second.
func (e *Engine) Watch(now time.Time) {
	e.alarms.Expire(now)
	v := e.view.Load()
	if v == nil {
		return
	}
	overrides := *e.overrides.Load()
	if !e.alarms.isOn(AlarmObserverIsolated) { // one alarm then says it for all of them
		e.alarms.Assess(AlarmServerDown, e.serversDown(v.table, overrides, now), now)
	}
	var degraded, down []Finding
	for _, f := range v.table.Farms {
		switch c := e.capacityOf(f, overrides, now); {
		case c.usable == 0:
			down = append(down, Finding{Subject: f.Name, Detail: "no server of it takes viewers: " + c.words()})
		case 2*c.up < c.total:
			degraded = append(degraded, Finding{Subject: f.Name, Detail: fmt.Sprintf(
				"servers with %.0f %% of its weight take viewers: %s", float64(c.up)/float64(c.total)*100, c.words())})
		}
	}
	e.alarms.Assess(AlarmFarmDown, down, now)
	e.alarms.Assess(AlarmFarmDegraded, degraded, now)
	e.advise(v, now)
}

// serversDown finds the servers that fail their status probes, those aside that
// the operator has taken out.
func (e *Engine) serversDown(t *farms.Table, overrides farms.Overrides, now time.Time) []Finding {
	var out []Finding
	for _, s := range t.Servers {
		h := e.prober.Health(s.Endpoint)
		if h != nil && h.Condition == farms.ConditionDown && overrides.State(s, now) != farms.StateDisabled {
			out = append(out, Finding{Subject: s.Name, Detail: h.Reason})
		}
	}
	return out
}

// capacity is how much of a farm takes viewers. Last resorts do not count as
// capacity, but a farm that has only them left is not down.
type capacity struct {
	up, total int64 // weight
	usable    int   // servers, last resorts included
	out       []string
	more      int
}

// maxFarmWords bounds the servers that an alarm about a farm names.
const maxFarmWords = 5

func (e *Engine) capacityOf(f *farms.Farm, overrides farms.Overrides, now time.Time) capacity {
	var c capacity
	for i := range f.Members {
		m := &f.Members[i]
		if !m.LastResort {
			c.total += m.Weight
		}
		word := ""
		switch overrides.State(m.Server, now) {
		case farms.StateDisabled:
			word = "disabled"
		case farms.StateDraining:
			word = "draining"
		default:
			if h := e.prober.Health(m.Server.Endpoint); h != nil && h.Condition == farms.ConditionDown {
				word = "down"
			}
		}
		switch {
		case word == "":
			c.usable++
			if !m.LastResort {
				c.up += m.Weight
			}
		case len(c.out) < maxFarmWords:
			c.out = append(c.out, m.Server.Name+" is "+word)
		default:
			c.more++
		}
	}
	return c
}

func (c *capacity) words() string { return listed(c.out, c.more) }

// listed joins names, with the number of those left out.
func listed(names []string, more int) string {
	s := strings.Join(names, ", ")
	if more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}
