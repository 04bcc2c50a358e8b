package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/pointsman-tv/pointsman/cmd/pointsman/plan"
)

// writePlanText writes a report as tables for a terminal.
func writePlanText(w io.Writer, r *plan.Report) error {
	t := &planTable{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	fmt.Fprintf(t, "%s viewers (%s), %d servers in %d farms\n", grouped(r.Viewers), printable(r.Source), len(r.Servers), len(r.Farms))
	t.now(r)
	t.failures(r)
	t.flags(r)
	if r.Against != nil {
		t.against(r)
	}
	warnings := r.Warnings
	if r.Against != nil {
		warnings = slices.Concat(warnings, r.Against.Warnings)
	}
	t.list("Notes", warnings)
	return t.Flush()
}

// planTable writes the parts of a report.
type planTable struct{ *tabwriter.Writer }

// title begins a part, with the heads of its columns or with words.
func (t *planTable) title(s string) { fmt.Fprintf(t, "\n%s\n", s) }

func (t *planTable) list(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	t.title(title)
	for _, line := range lines {
		fmt.Fprintf(t, "- %s\n", printable(line))
	}
}

func (t *planTable) now(r *plan.Report) {
	t.title("While nothing fails")
	logged := len(r.Servers) > 0 && r.Servers[0].Logged != nil
	fmt.Fprint(t, "server\tfarm\tsite\tviewers\tshare\t")
	if logged {
		fmt.Fprint(t, "in the log\t")
	}
	fmt.Fprint(t, "room\n")
	for i := range r.Servers {
		s := &r.Servers[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t", printable(s.Name), printable(strings.Join(s.Farms, ", ")), cmp.Or(printable(s.Site), "-"), grouped(s.Viewers), percent(s.Share))
		if logged {
			fmt.Fprintf(t, "%s\t", percent(*s.Logged))
		}
		fmt.Fprintf(t, "%s\n", times(s.Room))
	}
	for _, reason := range slices.Sorted(maps.Keys(r.Refused)) {
		fmt.Fprintf(t, "refused: %s\t\t\t%s\n", reason, grouped(r.Refused[reason]))
	}
}

func (t *planTable) failures(r *plan.Report) {
	t.title("When it fails")
	fmt.Fprint(t, "what\tviewers hit\tto another farm\trefused\thardest hit\tcarries\troom\t\n")
	for i := range r.Failures {
		f := &r.Failures[i]
		fmt.Fprintf(t, "%s %s\t%s\t%s\t%s\t", f.Kind, printable(f.Name), grouped(f.Hit), grouped(f.OtherFarm), grouped(f.Refused))
		if len(f.Gains) == 0 {
			fmt.Fprint(t, "-\t-\t-\t")
		} else {
			g := &f.Gains[0]
			fmt.Fprintf(t, "%s\t%s\t%s\t", printable(g.Server), carries(*g), times(g.Room))
		}
		if f.Over > 0 || f.Refused > 0 {
			fmt.Fprint(t, "flagged")
		}
		fmt.Fprint(t, "\n")
	}
}

// maxFlags bounds the flagged failures that are written out.
const maxFlags = 50

func (t *planTable) flags(r *plan.Report) {
	all := planFlags(r)
	if len(all) == 0 {
		t.title("Nothing is flagged: no survivor carries more than its room, nobody is refused.")
		fmt.Fprintln(t, roomText)
		return
	}
	if len(all) > maxFlags {
		all = append(all[:maxFlags:maxFlags], fmt.Sprintf("and %d more, as the table above says", len(all)-maxFlags))
	}
	t.list("Flagged", all)
	fmt.Fprintln(t, roomText)
}

// roomText says what a flag stands for.
const roomText = "Room is 1 + 1/(N-1) of the normal load in a farm of N servers; what servers can bear is not known."

// planFlags says in words what is flagged.
func planFlags(r *plan.Report) []string {
	var out []string
	refused := 0
	for _, n := range r.Refused {
		refused += n
	}
	if refused > 0 {
		out = append(out, fmt.Sprintf("while nothing fails: %s viewers (%s) are refused%s", grouped(refused), percent(shareOf(refused, r.Viewers)), fallback(r.Fallback)))
	}
	for i := range r.Failures {
		f := &r.Failures[i]
		if f.Over > 0 {
			g := &f.Gains[0]
			line := fmt.Sprintf("%s %s fails: %s carries %.2f times its normal load, and is to have room for %.2f", f.Kind, f.Name, g.Server, g.Factor, g.Room)
			if f.Over > 1 {
				line += fmt.Sprintf("; %d servers carry too much", f.Over)
			}
			out = append(out, line)
		}
		if f.Refused > 0 {
			out = append(out, fmt.Sprintf("%s %s fails: %s viewers (%s) have no server left%s", f.Kind, f.Name, grouped(f.Refused), percent(shareOf(f.Refused, r.Viewers)), fallback(f.Fallback)))
		}
	}
	return out
}

func fallback(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %s of them are sent to fallback_url", grouped(n))
}

// maxMoveLines bounds the moves that are written out.
const maxMoveLines = 50

func (t *planTable) against(r *plan.Report) {
	a := r.Against
	t.title("Against " + printable(a.Name))
	fmt.Fprintf(t, "%s of %s viewers move (%s)", grouped(a.Moved), grouped(r.Viewers), percent(a.Share))
	if a.Lost+a.Gained > 0 {
		fmt.Fprintf(t, "; %s are refused there who are served here, %s the other way round", grouped(a.Lost), grouped(a.Gained))
	}
	fmt.Fprint(t, "\n")
	if a.Moved > 0 {
		t.title("why\tviewers")
		for _, c := range a.Why {
			fmt.Fprintf(t, "%s\t%s\n", words(c.Why), grouped(c.Viewers))
		}
		t.title("location\tviewers\tmove\tshare")
		for _, l := range a.Locations {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", cmp.Or(printable(l.Location), "(none)"), grouped(l.Viewers), grouped(l.Moved), percent(l.Share))
		}
		t.title("from\tto\twhy\tviewers")
		rest := a.Other
		for i := range a.Moves {
			m := &a.Moves[i]
			if i >= maxMoveLines {
				rest += m.Viewers
				continue
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", end(m.FromFarm, m.FromServer), end(m.ToFarm, m.ToServer), words(m.Why), grouped(m.Viewers))
		}
		if rest > 0 {
			fmt.Fprintf(t, "others\t\t\t%s\n", grouped(rest))
		}
	}
	t.title("server\tshare\tthen")
	for _, s := range a.Servers {
		fmt.Fprintf(t, "%s\t%s\t%s\n", printable(s.Server), percent(s.Before), percent(s.After))
	}
}

// end is one end of a move.
func end(farm, server string) string {
	if server == "" {
		return "(refused)"
	}
	return printable(farm) + "/" + printable(server)
}

// words makes words of a cause.
func words(cause string) string { return strings.ReplaceAll(cause, "_", " ") }

func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + " %" }

// times writes a multiple, "-" for none.
func times(factor float64) string {
	if factor == 0 {
		return "-"
	}
	return strconv.FormatFloat(factor, 'f', 2, 64) + " x"
}

// carries is what a survivor carries: a multiple, or that it was idle.
func carries(g plan.Gain) string {
	if g.Before == 0 {
		return grouped(g.After) + ", was idle"
	}
	return times(g.Factor)
}

func shareOf(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// grouped writes a number with commas between thousands.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// printable keeps names from the terminal's control codes and the table's tabs.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, s)
}
