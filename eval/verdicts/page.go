package main

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/eval/internal/pages"
)

// pageText is the page without its figures.
//
//go:embed page.md.tmpl
var pageText string

// page is what the template sees.
type page struct {
	Seeds                     int
	borders, strikes, timings []score
}

func (p page) all() []score { return slices.Concat(p.borders, p.strikes, p.timings) }

func (s score) String() string {
	small := ""
	if s.small > 0 {
		small = fmt.Sprintf(" (%d small)", s.small)
	}
	return fmt.Sprintf("%d%s / %d / %d", s.right, small, s.wrong, s.silent)
}

// Borders has a row for each length of windows and stage, and a column for the
// step that is struck.
func (p page) Borders() string {
	rows := [][]string{{"steps of a window", "stage", "first step", "middle", "last step"}}
	for i := 0; i < len(p.borders); i += 3 {
		c := p.borders[i]
		rows = append(rows, []string{fmt.Sprint(c.steps), nameOf(c.family), p.borders[i].String(), p.borders[i+1].String(), p.borders[i+2].String()})
	}
	return pages.Table(rows...)
}

// Strikes has a row for each size of job and recording, with columns for lengths
// of windows.
func (p page) Strikes() string { return byLength(p.strikes, lengths[:2]) }

// Timings has the same for each pace.
func (p page) Timings() string {
	var out strings.Builder
	for _, pace := range paces {
		of := slices.DeleteFunc(slices.Clone(p.timings), func(s score) bool { return s.step != pace })
		fmt.Fprintf(&out, "Steps of %g ms:\n\n%s\n", pace, byLength(of, lengths))
	}
	return out.String()
}

// byLength has a row for the cells that differ in the number of steps alone.
func byLength(cells []score, lengths []int) string {
	head := []string{"ranks", "step", "wall time", "unrecorded", "stage"}
	for _, n := range lengths {
		head = append(head, fmt.Sprintf("%d steps", n))
	}
	rows := [][]string{head}
	for i := 0; i < len(cells); i += len(lengths) {
		s := cells[i]
		row := []string{fmt.Sprint(s.ranks), fmt.Sprintf("%g ms", s.step), map[bool]string{true: "yes", false: "no"}[s.wall],
			fmt.Sprintf("%g %%", 100*s.gap), nameOf(s.family)}
		for k := range lengths {
			row = append(row, cells[i+k].String())
		}
		rows = append(rows, row)
	}
	return pages.Table(rows...)
}

// Totals are the sums over all cells.
func (p page) Totals() string {
	all := sum(p.all())
	most := 0.0
	for _, s := range p.all() {
		most = max(most, float64(s.wrong)/float64(s.jobs))
	}
	count := func(what string, k, n int, bound string) []string {
		return []string{what, fmt.Sprint(k), fmt.Sprint(n), percent(k, n), bound}
	}
	return pages.Table(
		[]string{"", "jobs", "of", "rate", "bound (95 %)"},
		count("named right", all.right, all.jobs, "≥ "+part(atLeast(all.right, all.jobs))),
		count("of these small", all.small, all.right, ""),
		count("named wrong", all.wrong, all.jobs, "≤ "+part(atMost(all.wrong, all.jobs))),
		[]string{"named wrong, worst cell", "", "", part(most), ""},
		count("strong, and right", all.surely, all.strong, "≥ "+part(atLeast(all.surely, all.strong))),
		count("something called in the healthy job", all.alarms, all.healthy, "≤ "+part(atMost(all.alarms, all.healthy))),
	)
}

// Statuses says what the healthy jobs are answered.
func (p page) Statuses() string {
	all := sum(p.all())
	var words []string
	for _, status := range slices.Sorted(maps.Keys(all.status)) {
		words = append(words, fmt.Sprintf("`%v` %d", status, all.status[status]))
	}
	return strings.Join(words, ", ")
}

// Savings says how far the saving of the verdict is from the real one, in points
// of a hundred: the median and what nineteen of twenty are within.
func (p page) Savings() string {
	all := slices.Sorted(slices.Values(sum(p.all()).savings))
	if len(all) == 0 {
		return "0 jobs"
	}
	return fmt.Sprintf("in %d jobs by %.2f points (median; 95 %% within %.2f)", len(all), 100*all[len(all)/2], 100*all[len(all)*19/20])
}

// Worse says in which cells more steps make it worse.
func (p page) Worse() string {
	bad := slices.Concat(worse(p.strikes, len(lengths)-1), worse(p.timings, len(lengths)))
	if len(bad) == 0 {
		return "In no cell do more steps make it worse."
	}
	text := fmt.Sprintf("In %d cells more steps make it worse:", len(bad))
	for _, s := range bad {
		text += fmt.Sprintf("\n- %d ranks, steps of %g ms, wall time %v, %g %% unrecorded, %d steps: %v", s.ranks, s.step, s.wall, 100*s.gap, s.steps, s)
	}
	return text
}

func percent(k, n int) string { return part(float64(k) / float64(max(1, n))) }

func part(x float64) string { return fmt.Sprintf("%.2f %%", 100*x) }
