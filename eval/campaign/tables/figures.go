package tables

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/plots"
)

// Figures makes the figures of the campaign, from its archives as Tables does, and
// from what lies in its folder of measurements. Which ones follows from the runs:
// Figure 3a of StageFrontier where groups are for its Table 4, Figure 3b and the
// detectability of all families where a group has several delays.
func (e *Evaluation) Figures() ([]Artifact, error) {
	var out []Artifact
	if part, inputs := e.part(tableNamed("table-4").counts); len(part.Runs) > 0 {
		out = append(out, Artifact{Name: "figure-3a", Figure: part.timesAlone().methodBars(), Inputs: inputs})
	}
	for _, g := range e.runsByGroup() {
		if g.hasCurve() {
			out = append(out, g.figures()...)
		}
	}
	measured, err := MeasuredFigures(e.Disk, e.Path)
	return append(out, measured...), err
}

// methodBars returns a chart in the shape of the paper's Figure 3a: how often each method finds the seeded stage, the published
// counts beside ours.
func (s *Score) methodBars() plots.Bars {
	rows := s.methods()
	b := plots.Bars{Series: []string{"top-1", "top-2", "candidate hit"}, Mark: "published",
		X: plots.Axis{Name: fmt.Sprintf("of %d windows with a fault", rows[0].windows()), Unit: "%", From: 0, To: 100}}
	for i := range rows {
		r := &rows[i]
		g := plots.Group{Name: r.names[0]}
		for k, holds := range [...]func(routing) bool{isFirst, isSecond, isCandidate} {
			g.Values = append(g.Values, percent(r.tally(true, func(w *scoredWindow) bool { return holds(r.routing(w)) })))
			there, of, _ := fraction(published().Tables["table-4"].Rows[g.Name][k])
			g.Marks = append(g.Marks, percent(there, of))
		}
		b.Groups = append(b.Groups, g)
	}
	return b
}

// percent returns a count as a percentage of a number, NaN of none.
func percent(k, n int) float64 { return 100 * float64(k) / float64(n) }

// figures returns the figures of a group with several delays.
func (g *groupRuns) figures() []Artifact {
	var out []Artifact
	var sizes []curve // the first curve of each size and pattern
	curves := g.curves()
	for i := range curves {
		c := &curves[i]
		if c.Family == simulate.Data && !c.Intermittent && !c.Arrivals && len(c.Points) > 1 {
			out = append(out, Artifact{Name: fmt.Sprintf("figure-3b-%s-r%d", g.name(), c.Ranks), Figure: c.transitionChart(g.Tau), Inputs: g.inputs})
		}
		if !slices.ContainsFunc(sizes, func(s curve) bool { return s.Ranks == c.Ranks && s.Intermittent == c.Intermittent }) {
			sizes = append(sizes, *c)
		}
	}
	for _, s := range sizes {
		name := fmt.Sprintf("detectability-%s-r%d", g.name(), s.Ranks)
		if s.Intermittent {
			name += "-intermittent"
		}
		out = append(out, Artifact{Name: name, Figure: detectability(curves, &s), Inputs: g.inputs})
	}
	for _, of := range curvesBySize(curves) {
		out = append(out, Artifact{Name: fmt.Sprintf("sizes-%s-%s", g.name(), strings.ReplaceAll(of[0].name(), ", ", "-")), Figure: sizesChart(of), Inputs: g.inputs})
	}
	return out
}

// fewestSizes is from how many sizes of a job on a figure sets them side by side.
const fewestSizes = 3

// curvesBySize returns the curves of each family of which jobs of several sizes are there.
func curvesBySize(curves []curve) (out [][]curve) {
	of := map[string][]curve{}
	var names []string
	for _, c := range curves {
		if !slices.Contains(names, c.name()) {
			names = append(names, c.name())
		}
		of[c.name()] = append(of[c.name()], c)
	}
	for _, name := range names {
		if len(of[name]) >= fewestSizes {
			out = append(out, of[name])
		}
	}
	return out
}

// sizesChart draws the curves of one family, a panel for each size of the job.
func sizesChart(curves []curve) plots.Chart {
	chart := plots.Chart{Columns: 2}
	for i := range curves {
		c := &curves[i]
		panel := plots.Panel{Y: plots.Axis{Name: "rate of runs", From: 0, To: 1}, X: plots.Axis{Name: "delay", Unit: "ms", Log: true, Ticks: c.delays()}}
		c.addTo(&panel)
		panel.Title = fmt.Sprintf("%s, %d ranks", c.name(), c.Ranks)
		chart.Panels = append(chart.Panels, panel)
	}
	return chart
}

// transitionChart returns a chart in the shape of the paper's Figure 3b: above the mean share of the seeded stage against the
// delay, and where it passes τ; below how often the stage is first and among the first two. Intervals are those of CurvePoint.
func (c *curve) transitionChart(tau float64) plots.Chart {
	delay := plots.Axis{Name: "delay", Unit: "ms"}
	share := plots.Line{Name: c.Family.String() + " share, mean of runs"}
	for _, p := range c.Points {
		delay.Ticks = append(delay.Ticks, float64(p.Delay))
		candidate := p.Rates[foundCandidate]
		share.Points = append(share.Points, plots.Point{X: float64(p.Delay), Y: p.Share.Mean, Low: p.Share.Lower, High: p.Share.Upper,
			Open: candidate.K < candidate.N})
	}
	above := plots.Panel{X: delay, Y: plots.Axis{Name: "share of makespan", From: 0, To: 1}, Lines: []plots.Line{share},
		References: []plots.Reference{{Name: "τ = " + twoDecimals(tau), Value: tau}}}
	if at, ok := firstCrossing(share.Points, tau); ok {
		above.References = append(above.References, plots.Reference{Name: fmt.Sprintf("%.0f ms", at), Value: at, Vertical: true})
	}
	below := plots.Panel{X: delay, Y: plots.Axis{Name: "rate of runs", From: 0, To: 1},
		Lines: []plots.Line{c.line("top-1", foundTop1), c.line("top-2", foundTop2)}}
	return plots.Chart{Panels: []plots.Panel{above, below}, Hollow: "no candidate in some run"}
}

// firstCrossing returns where lines between the points first pass a value upwards.
func firstCrossing(points []plots.Point, value float64) (x float64, ok bool) {
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		if a.Y < value && b.Y >= value {
			return a.X + (value-a.Y)/(b.Y-a.Y)*(b.X-a.X), true
		}
	}
	return 0, false
}

// line returns how often something is found, by delay.
func (c *curve) line(name string, f finding) plots.Line {
	l := plots.Line{Name: name}
	for _, p := range c.Points {
		l.Points = append(l.Points, ratePoint(float64(p.Delay), p.Rates[f]))
	}
	return l
}

// ratePoint returns a rate with its exact interval; without trials it is not drawn.
func ratePoint(x float64, r bootstrap.Rate) plots.Point {
	if r.N == 0 {
		return plots.Point{X: x, Y: math.NaN()}
	}
	return plots.Point{X: x, Y: float64(r.K) / float64(r.N), Low: r.Lower, High: r.Upper}
}

// detectability draws the curves of all families that are like one in size and
// pattern, a panel for each with a line per method: how often the frontier has the
// seeded stage among its first two, the verdict calls stage and rank, without
// arrivals and with them, and z-scores, blame, K-S, alone and with blame, name the rank. Lines down mark where half and nine of ten runs are called, by the
// curve that needs the least, where there are runs enough to bound that.
func detectability(curves []curve, like *curve) plots.Chart {
	chart := plots.Chart{Columns: 2}
	var family fmt.Stringer
	for i := range curves {
		c := &curves[i]
		if c.Ranks != like.Ranks || c.Intermittent != like.Intermittent {
			continue
		}
		if n := len(chart.Panels); n == 0 || c.Family != family {
			family = c.Family
			chart.Panels = append(chart.Panels, plots.Panel{Title: family.String(), Y: plots.Axis{Name: "rate of runs", From: 0, To: 1},
				X: plots.Axis{Name: "delay", Unit: "ms", Log: true, Ticks: c.delays()}})
		}
		c.addTo(&chart.Panels[len(chart.Panels)-1])
	}
	if len(chart.Panels) == 1 {
		chart.Columns = 1
	}
	return chart
}

// delays returns the delays of the points.
func (c *curve) delays() []float64 {
	var out []float64
	for _, p := range c.Points {
		out = append(out, float64(p.Delay))
	}
	return out
}

// addTo draws the curve into the panel of its family.
func (c *curve) addTo(panel *plots.Panel) {
	if c.Arrivals {
		panel.Lines = append(panel.Lines, c.line("verdict, with arrivals", foundBoth))
	} else {
		if c.Points[0].Rates[foundTop2].N > 0 {
			panel.Lines = append(panel.Lines, c.line("frontier, top-2", foundTop2))
		}
		panel.Lines = append(panel.Lines, c.line("z-scores", foundOutliers), c.line("blame", foundBlame),
			c.line("K-S", foundKS), c.line("hybrid", foundHybrid), c.line("verdict", foundBoth))
	}
	half, most := c.threshold(foundBoth, 0.5), c.threshold(foundBoth, 0.9)
	bounded := !math.IsNaN(half.Lower) && !math.IsNaN(most.Upper)
	if !bounded || math.IsNaN(most.Delay) || len(panel.References) > 0 && panel.References[0].Value <= half.Delay {
		return
	}
	panel.Title = fmt.Sprintf("%v: half at %.0f ms, 90 %% at %.0f ms", c.Family, half.Delay, most.Delay)
	panel.References = []plots.Reference{{Value: half.Delay, Vertical: true}, {Value: most.Delay, Vertical: true}}
}
