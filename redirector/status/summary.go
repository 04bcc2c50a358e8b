package status

import "time"

// maxAttention bounds the servers that are listed first because they are not up.
const maxAttention = 50

// summary is what the page says of many servers in few words.
type summary struct {
	States    []count
	Servers   int // each farm's, together
	Farms     []farmSummary
	Attention attention
}

// count is how many servers are in a state.
type count struct {
	State string
	N     int
}

// farmSummary is the line above a farm's table.
type farmSummary struct {
	Policy  string
	States  []count
	Servers int
}

// attention is the servers that are not up.
type attention struct {
	Rows []attentionRow
	More int // that are not listed
}

type attentionRow struct {
	ID, Farm, Server, State, Reason string
	Since                           time.Time
}

// maxAlarms bounds the alarms that are shown; each server that is down is one.
const maxAlarms = 30

// alarmList is the alarms that are shown.
type alarmList struct {
	Shown []Alarm
	More  int // that are not
}

func alarmsOf(d *Document) alarmList {
	n := min(len(d.Alarms), maxAlarms)
	return alarmList{d.Alarms[:n:n], len(d.Alarms) - n}
}

// stateOrder is the order in which states are named: the worst first.
func stateOrder() []string {
	return []string{"down", "unknown", "disabled", "draining", "warming", "up"}
}

func summarize(d *Document) summary {
	var s summary
	all := map[string]int{}
	for i := range d.Farms {
		f := &d.Farms[i]
		states := map[string]int{}
		fs := farmSummary{Policy: f.Policy, Servers: len(f.Servers)}
		for j := range f.Servers {
			x := &f.Servers[j]
			states[x.State]++
			all[x.State]++
			if x.State == "up" {
				continue
			}
			if len(s.Attention.Rows) == maxAttention {
				s.Attention.More++
				continue
			}
			s.Attention.Rows = append(s.Attention.Rows, attentionRow{rowID(i, j), f.Name, x.Name, x.State, x.Reason, x.Since})
		}
		fs.States = counts(states)
		s.Farms, s.Servers = append(s.Farms, fs), s.Servers+len(f.Servers)
	}
	s.States = counts(all)
	return s
}

func counts(n map[string]int) []count {
	var out []count
	for _, state := range stateOrder() {
		if n[state] > 0 {
			out = append(out, count{state, n[state]})
		}
	}
	return out
}

// head is what the top of the page says.
type head struct {
	Ready      bool
	Generation uint64
	Time       time.Time
	Config     Config
	Told       bool // an alarm says already why a configuration was refused
	Known      int
	Servers    int
	States     []count
	Alarms     int
	Rate       uint32 // decisions in the last second
	Refused    uint64 // of the decisions of the last minute
	Total      uint64
}

func headOf(d *Document, s summary) head {
	h := head{
		Ready: d.Ready, Generation: d.Generation, Time: d.Time, Config: d.Config, Known: d.Known,
		Servers: s.Servers, States: s.States, Alarms: len(d.Alarms), Total: d.Decisions.Total,
	}
	for i := range d.Alarms {
		h.Told = h.Told || d.Alarms[i].Code == "config_refused"
	}
	for _, r := range d.Decisions.Rates {
		if n := len(r.PerSecond); n > 0 {
			h.Rate += r.PerSecond[n-1]
		}
		if r.Reason != "ok" && r.Reason != "preflight" {
			h.Refused += r.Total
		}
	}
	return h
}

// steered is what content steering's part of the page is drawn from.
type steered struct {
	Steering  *Steering // nil without content steering
	Locations []Location
}

func steeringOf(d *Document) steered {
	if d.Steering == nil {
		return steered{}
	}
	return steered{d.Steering, d.Locations}
}
