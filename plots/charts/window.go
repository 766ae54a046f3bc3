package charts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/plots"
)

// Window returns the figures of one window: which rank takes how long in which stage, who is late in which step,
// where exposed time goes from step to step, and the prefixes of one step, which show who the others wait for
// (StageFrontier, Figures 1 and 2).
func Window(d *frontier.Detail) []plots.Named {
	return []plots.Named{
		{Name: "rank-stage", Of: rankStage(d)},
		{Name: "rank-step", Of: rankStep(d)},
		{Name: "shares", Of: shares(d)},
		{Name: "step", Of: prefixes(d, worstStep(d))},
	}
}

func ms(ns int64) float64 { return float64(ns) / 1e6 }

// ranks returns the rows of a map.
func ranks(d *frontier.Detail) []plots.Worker {
	culprits := d.Culprits
	var out []plots.Worker
	for _, id := range d.Ranks {
		found := slices.ContainsFunc(culprits, func(c claim.Claim) bool { return c.Rank() == id && c.Charged() == culprits[0].Charged() })
		out = append(out, plots.Worker{Name: strconv.Itoa(id), Culprit: found})
	}
	return out
}

// rankStage returns the time of each rank in each stage, per step.
func rankStage(d *frontier.Detail) plots.Matrix {
	m := plots.Matrix{Rows: ranks(d), Y: plots.Axis{Name: "rank"}, X: plots.Axis{Name: "stage"}, Value: plots.Axis{Name: "time per step", Unit: "ms"}}
	for _, b := range d.Recorded {
		m.Columns = append(m.Columns, plots.Worker{Name: brief(d.Boundaries[b])})
	}
	for r := range d.Ranks {
		for _, b := range d.Recorded {
			sum := int64(0)
			for t := range d.Steps {
				sum += d.DurationsAt(t, b)[r]
			}
			m.Values = append(m.Values, ms(sum)/float64(max(1, d.Steps)))
			m.Text = append(m.Text, strconv.FormatFloat(m.Values[len(m.Values)-1], 'f', 1, 64))
		}
	}
	return m
}

// rankStep returns how late each rank arrives in each step.
func rankStep(d *frontier.Detail) plots.Matrix {
	m := plots.Matrix{Rows: ranks(d), Y: plots.Axis{Name: "rank"}, X: plots.Axis{Name: "step"}, Value: plots.Axis{Name: "behind the median rank", Unit: "ms"}}
	for t := range d.Steps {
		m.Columns = append(m.Columns, plots.Worker{Name: strconv.FormatInt(d.StepAt(t), 10)})
	}
	m.Values = make([]float64, len(d.Ranks)*d.Steps)
	for t := range d.Steps {
		for r, late := range d.Lateness(t) {
			m.Values[r*d.Steps+t] = ms(late)
		}
	}
	return m
}

// shares returns the exposed time of each stage, step by step.
func shares(d *frontier.Detail) plots.Histogram {
	h := plots.Histogram{X: plots.Axis{Name: "step"}, Layered: true}
	for s := range d.Stages {
		h.Series = append(h.Series, d.Stages[s].Name)
	}
	panel := plots.HistogramPanel{Y: plots.Axis{Name: "exposed time", Unit: "ms"}}
	for t := range d.Steps {
		at := float64(d.StepAt(t))
		bin := plots.Bin{From: at - 0.5, To: at + 0.5}
		for s := range d.Stages {
			bin.Values = append(bin.Values, ms(d.Advance(t, s)))
		}
		panel.Bins = append(panel.Bins, bin)
	}
	h.Panels = []plots.HistogramPanel{panel}
	return h
}

// worstStep returns the step whose last rank is latest.
func worstStep(d *frontier.Detail) int {
	worst, most := 0, int64(-1)
	for t := range d.Steps {
		if late := slices.Max(d.Lateness(t)); late > most {
			worst, most = t, late
		}
	}
	return worst
}

// mostCurves is how many ranks have a curve: the latest, and others evenly
// taken.
const mostCurves = 64

// prefixes returns the curves of a step: how far each rank has got at the end of
// each stage.
func prefixes(d *frontier.Detail, step int) plots.Chart {
	panel := plots.Panel{X: plots.Axis{Name: fmt.Sprintf("end of stage, step %d", d.StepAt(step)), Names: []string{"begin"}}, Y: plots.Axis{Name: "since the step began", Unit: "ms"}}
	for _, b := range d.Boundaries {
		panel.X.Names = append(panel.X.Names, brief(b))
	}
	last := latest(d, step)
	curve := func(name string, rank int) plots.Line {
		begin := d.PrefixesAt(step, 0)[rank] - d.DurationsAt(step, 0)[rank]
		line := plots.Line{Name: name, Points: []plots.Point{{X: 0, Y: ms(begin)}}, Unmarked: true}
		for b := range d.Boundaries {
			line.Points = append(line.Points, plots.Point{X: float64(b + 1), Y: ms(d.PrefixesAt(step, b)[rank])})
		}
		return line
	}
	every := 1 + len(d.Ranks)/mostCurves
	for r := 0; r < len(d.Ranks); r += every {
		if r != last {
			panel.Lines = append(panel.Lines, curve("other ranks", r))
		}
	}
	panel.Lines = append(panel.Lines, curve(fmt.Sprintf("rank %d, the last to arrive", d.Ranks[last]), last))
	if d.Sync > 0 {
		panel.References = append(panel.References, plots.Reference{Name: "ranks synchronise in " + brief(d.Boundaries[d.Sync]), Value: float64(d.Sync), Vertical: true})
	}
	return plots.Chart{Panels: []plots.Panel{panel}}
}

// latest returns the rank that arrives last in a step.
func latest(d *frontier.Detail, step int) int {
	late := d.Lateness(step)
	return slices.Index(late, slices.Max(late))
}

// brief returns a stage's name without what all have: "model.backward_cpu_wall@1" is
// "backward@1".
func brief(stage string) string {
	base, micro, indexed := strings.Cut(strings.TrimPrefix(stage, "model."), "@")
	for _, suffix := range []string{"_cpu_wall", ".cpu_wall", "_wait"} {
		base = strings.TrimSuffix(base, suffix)
	}
	if indexed {
		return base + "@" + micro
	}
	return base
}
