package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"slices"

	"github.com/pointsman-tv/pointsman/cmd/pointsman/plan"
)

//go:embed planpage.html
var planPage string

// planView is a report with what its page needs beside it.
type planView struct {
	*plan.Report
	Flags         []string
	Notes         []string
	Logged        bool    // shares of a log are there
	MaxShare      float64 // greatest share of a server, for the scale of its plot
	MaxFactor     float64 // greatest multiple that a survivor carries, or is to have room for
	MaxCarried    float64 // greatest multiple that a survivor carries, 0 none
	MaxOutlook    float64 // greatest share of a server in both configurations
	MaxWhy        int     // viewers of the most frequent cause
	RefusedNow    int
	RefusedInFail int // greatest number of viewers that a failure leaves without a server
}

// writePlanPage writes a report as an HTML page that needs no other file.
func writePlanPage(path string, r *plan.Report) error {
	page, err := template.New("plan").Funcs(template.FuncMap{
		"percent": percent, "grouped": grouped, "times": times, "words": words, "carries": carries, "endOf": end, "scale": scale,
	}).Parse(planPage)
	if err != nil {
		return fmt.Errorf("reading the page's template: %w", err)
	}
	var b bytes.Buffer
	if err := page.Execute(&b, viewOf(r)); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

func viewOf(r *plan.Report) *planView {
	v := &planView{Report: r, Flags: planFlags(r), Notes: r.Warnings, MaxFactor: 1}
	for i := range r.Servers {
		s := &r.Servers[i]
		v.MaxShare = max(v.MaxShare, s.Share)
		v.MaxFactor = max(v.MaxFactor, s.Room)
		if s.Logged != nil {
			v.Logged = true
			v.MaxShare = max(v.MaxShare, *s.Logged)
		}
	}
	for _, n := range r.Refused {
		v.RefusedNow += n
	}
	for i := range r.Failures {
		f := &r.Failures[i]
		v.RefusedInFail = max(v.RefusedInFail, f.Refused)
		if len(f.Gains) > 0 {
			v.MaxCarried = max(v.MaxCarried, f.Gains[0].Factor)
		}
	}
	v.MaxFactor = max(v.MaxFactor, v.MaxCarried)
	if a := r.Against; a != nil {
		v.Notes = slices.Concat(v.Notes, a.Warnings)
		for _, s := range a.Servers {
			v.MaxOutlook = max(v.MaxOutlook, s.Before, s.After)
		}
		if len(a.Why) > 0 {
			v.MaxWhy = a.Why[0].Viewers
		}
	}
	return v
}

// WhyScale returns where a cause's viewers stand in a plot that is 100 wide.
func (v *planView) WhyScale(viewers int) float64 { return scale(float64(viewers), float64(v.MaxWhy)) }

// scale returns where a value stands in a plot that is 100 wide.
func scale(value, most float64) float64 {
	if most == 0 {
		return 0
	}
	return 100 * value / most
}
