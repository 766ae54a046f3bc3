package main

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"
)

// pageText is the page without its figures.
//
//go:embed page.md.tmpl
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// page is what the template sees.
type page struct {
	Seeds            int
	borders, timings []score
}

func (p page) write(w io.Writer) error { return pageTemplate.Execute(w, p) }

func (s score) String() string { return fmt.Sprintf("%d / %d / %d", s.right, s.wrong, s.silent) }

// Borders has a row for each length of windows and stage, and a column for the
// step that is struck.
func (p page) Borders() string {
	rows := [][]string{{"steps of a window", "stage", "first step", "middle", "last step"}}
	for i := 0; i < len(p.borders); i += 3 {
		c := p.borders[i]
		rows = append(rows, []string{fmt.Sprint(c.steps), stageOf[c.family], p.borders[i].String(), p.borders[i+1].String(), p.borders[i+2].String()})
	}
	return table(rows)
}

// Timings has a row for each number of ranks and recording, and columns for
// steps and lengths of windows.
func (p page) Timings() string {
	var paces []float64
	for _, s := range p.timings {
		if !slices.Contains(paces, s.step) {
			paces = append(paces, s.step)
		}
	}
	var out strings.Builder
	for _, pace := range paces {
		head := []string{"ranks", "wall time", "unrecorded"}
		for _, n := range lengths {
			head = append(head, fmt.Sprintf("%d steps", n))
		}
		rows := [][]string{head}
		for i := 0; i < len(p.timings); i += len(lengths) {
			s := p.timings[i]
			if s.step != pace {
				continue
			}
			row := []string{fmt.Sprint(s.ranks), map[bool]string{true: "yes", false: "no"}[s.wall], fmt.Sprintf("%g %%", 100*s.gap)}
			for k := range lengths {
				row = append(row, p.timings[i+k].String())
			}
			rows = append(rows, row)
		}
		fmt.Fprintf(&out, "Steps of %g ms:\n\n%s\n", pace, table(rows))
	}
	return out.String()
}

// Totals are the sums over all cells.
func (p page) Totals() string {
	all := sum(slices.Concat(p.borders, p.timings))
	most := 0.0
	for _, s := range slices.Concat(p.borders, p.timings) {
		most = max(most, float64(s.wrong)/float64(s.jobs))
	}
	return table([][]string{
		{"", "jobs", "of", "rate", "bound (95 %)"},
		{"named right", fmt.Sprint(all.right), fmt.Sprint(all.jobs), percent(all.right, all.jobs), "≥ " + part(atLeast(all.right, all.jobs))},
		{"named wrong", fmt.Sprint(all.wrong), fmt.Sprint(all.jobs), percent(all.wrong, all.jobs), "≤ " + part(atMost(all.wrong, all.jobs))},
		{"named wrong, worst cell", "", "", part(most), ""},
		{"strong, and right", fmt.Sprint(all.surely), fmt.Sprint(all.strong), percent(all.surely, all.strong), "≥ " + part(atLeast(all.surely, all.strong))},
		{"something called in the healthy job", fmt.Sprint(all.alarms), fmt.Sprint(all.jobs), percent(all.alarms, all.jobs), "≤ " + part(atMost(all.alarms, all.jobs))},
	})
}

// Worse says in which cells more steps make it worse.
func (p page) Worse() string {
	bad := worse(p.timings)
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

// table is rows in Markdown, the first its head.
func table(rows [][]string) string {
	var out strings.Builder
	for i, row := range rows {
		fmt.Fprintf(&out, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(&out, "|%s\n", strings.Repeat("---|", len(row)))
		}
	}
	return out.String()
}
