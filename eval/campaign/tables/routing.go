package tables

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/table"
)

// none stands where there is no figure.
const none = table.Absent

// twoDecimals writes a number in a sentence as the tables do.
func twoDecimals(f float64) string { return table.Decimals(f, 2) }

// methodNames returns the frontier by the paper's cut, then the five comparison methods.
func methodNames() []string {
	names := []string{"frontier"}
	for m := frontier.StageMax; m <= frontier.Rank0; m++ {
		names = append(names, m.String())
	}
	return names
}

// methods returns the runs once for each method.
func (s *Score) methods() []row {
	var out []row
	for i, name := range methodNames() {
		out = append(out, row{names: []string{name}, Score: s, ranking: func(w *scoredWindow) routing { return w.rankBy(i) }})
	}
	return out
}

// rankBy returns how the n-th of the methods ranks the window.
func (w *scoredWindow) rankBy(n int) routing {
	if n == 0 {
		return w.Routing
	}
	return w.Methods[n-1]
}

// methodTable returns a table in the shape of the paper's Table 4. Where some runs have arrivals, it has a row for the verdict
// on the runs without them and with them: the stage of its first suspect stands for top-1.
func (s *Score) methodTable() *table.Table {
	alone := s.timesAlone()
	t := tabulate(fmt.Sprintf("Routing by method: windows with a fault, the paper's cut, τ = %s", twoDecimals(s.Tau)), []string{"method"}, alone.methods(), inAll...)
	addPublished(t, "table-4")
	if wide := alone.widerSets(); wide != "" {
		t.Notes = append(t.Notes, wide)
	}
	if !s.hasArrivals() {
		return t
	}
	width := len(t.Columns)
	for i := range t.Rows {
		t.Rows[i] = append(t.Rows[i], table.NoFigure(), table.NoFigure(), table.NoFigure())
	}
	_, arms := s.rowsBy(byArrivals)
	verdicts := tabulate("", []string{""}, arms, stageRight, rankFound, rankMissed, called)
	t.Columns = append(t.Columns, verdicts.Columns[2:]...)
	for i, cells := range verdicts.Rows {
		row := slices.Repeat([]table.Cell{table.NoFigure()}, width)
		row[0], row[1] = table.TextCell("verdict, "+arms[i].names[0]+" arrivals"), cells[1]
		t.Add(append(row, cells[2:]...)...)
	}
	t.Notes = append(t.Notes, countSentence("arms"))
	return t
}

// hasArrivals reports whether some runs have arrivals.
func (s *Score) hasArrivals() bool { return s.count((*scoredRun).hasArrivals) > 0 }

// timesAlone returns the score of the runs without arrivals, or of all where each has them: stages are routed by their times,
// which are the same in both.
func (s *Score) timesAlone() *Score {
	if out := s.selectRuns(func(r *scoredRun) bool { return !r.hasArrivals() }); len(out.Runs) > 0 {
		return out
	}
	return s
}

// caseKeys name the rows of the paper's Table 14.
var caseKeys = []key{byFamily, byRanks, byDelay}

// routingTable returns a table in the shape of the paper's Table 14, with the verdicts on each group where some runs have
// arrivals.
func (s *Score) routingTable() *table.Table {
	by := caseKeys
	if s.hasArrivals() {
		by = append(slices.Clip(by), byArrivals)
	}
	heads, rows := s.rowsBy(by...)
	var names []string
	for i := range rows {
		names = append(names, rows[i].publishedName())
	}
	t := tabulate("Routing by "+keyList(by)+": windows with a fault, the paper's cut", heads, rows, append([]measure{windows}, inAll...)...)
	addPublishedTo(t, "table-14", names)
	t.Notes = explainRanks(rows)
	if s.hasArrivals() {
		extend(t, rows, stageRight, rankFound, rankMissed, called)
		t.Notes = append(t.Notes, countSentence("arms"))
	}
	return t
}

// publishedName names the row of Table 14 that runs stand for: all of them are about constant faults.
func (r *row) publishedName() string {
	if r.example().Intermittent {
		return byPattern.String()
	}
	return joinNames(r.names)
}

func keyList(by []key) string {
	var names []string
	for _, k := range by {
		names = append(names, k.String())
	}
	return joinNames(names)
}

// forwardFamilies are the rows of Table 5, and the label that a delay in forward should have.
var forwardFamilies = [...]struct {
	family simulate.Family
	label  labels.Label
}{
	{simulate.ForwardDevice, labels.ForwardDeviceSupported},
	{simulate.ForwardHost, labels.ForwardHostOverheadSuspected},
}

// forwardTable returns a table in the shape of the paper's Table 5: whether a delay in forward is attributed to the device or
// the host, by the label that stands for each.
func (s *Score) forwardTable() *table.Table {
	var rows []row
	for _, f := range forwardFamilies {
		rows = append(rows, row{names: []string{f.family.String(), f.label.String()}, Score: s.runsOfFamily(f.family)})
	}
	t := tabulate("Forward, device or host: windows with a fault, the paper's cut", []string{"family", "label"}, rows, windows, top1, top2,
		faultShare("labelled", func(r *row, w *scoredWindow) bool { return slices.Contains(w.Labels, r.names[1]) }))
	t.Keys = 1
	return addPublished(t, "table-5")
}

// sweepTable returns a table in the shape of the paper's Table 15: the frontier's candidate sets at other τ.
func (s *Score) sweepTable() *table.Table {
	var rows []row
	for _, tau := range []float64{0.70, 0.75, 0.80, 0.85, 0.90} {
		rows = append(rows, row{names: []string{twoDecimals(tau)}, Score: s, ranking: sweep(tau)})
	}
	return addPublished(tabulate("Candidate sets by τ: windows with a fault, the paper's cut", []string{"tau"}, rows, inAll[2:]...), "table-15")
}

// sweep returns the frontier's ranking with candidates at a τ in (0, 1].
func sweep(tau float64) func(*scoredWindow) routing {
	return func(w *scoredWindow) routing {
		set := labels.RoutingSet(w.shares, tau)
		return routing{Place: w.Routing.Place, Hit: hasAny(w.seeded, set), Candidates: len(set)}
	}
}

// spikeTable returns a table in the shape of the paper's Table 9, which is about the periodic spike of Vision-B: what the
// median, p95 and maximum of the delayed stage show, and what the frontier charges. The stage's time in a step is that of its
// slowest rank, in parts of the median step; rows are by group.
func (s *Score) spikeTable() *table.Table {
	heads, rows := s.rowsBy(caseKeys...)
	var stands []string
	for i := range rows {
		name, published := none, ""
		if task := rows[i].Runs[0].task; task != nil {
			name, published = task.Group, task.Published
		}
		rows[i].names = append([]string{name}, rows[i].names...)
		stands = append(stands, published)
	}
	t := tabulate("A delay that comes and goes: its stage by median, p95, maximum, and exposed share", append([]string{"runs of"}, heads...), rows, runs,
		average("median ÷ step", func(_ *row, w *scoredWindow) *float64 { return ratio(w.pace.stage.Median, w.pace.step.Median) }),
		average("p95 ÷ step", func(_ *row, w *scoredWindow) *float64 { return ratio(w.pace.stage.P95, w.pace.step.Median) }),
		average("maximum ÷ step", func(_ *row, w *scoredWindow) *float64 { return ratio(w.pace.stage.Max, w.pace.step.Median) }),
		average("exposed share, paper's cut", func(_ *row, w *scoredWindow) *float64 { return w.Share }),
		average("exposed share, automatic", func(_ *row, w *scoredWindow) *float64 { return w.Automatic.Share }),
		rankFound, rankMissed)
	t.Keys = 1
	return addPublishedTo(t, "table-9", stands)
}

// scaleTable returns the table of the paper's check that routing persists at 64 and 128 ranks.
func (s *Score) scaleTable() *table.Table {
	heads, rows := s.rowsBy(caseKeys...)
	return addPublished(tabulate("Routing at 64 and 128 ranks: windows with a fault, the paper's cut", heads, rows, windows,
		average("delay ÷ step", func(r *row, w *scoredWindow) *float64 {
			return ratio(float64(r.example().Delay)*1e6, w.pace.step.Median)
		}), seededShare,
		average("two largest", func(_ *row, w *scoredWindow) *float64 { return w.twoLargest() }), top1, top2), "scale")
}

// twoLargest returns the two largest shares together; nil where there are fewer.
func (w *scoredWindow) twoLargest() *float64 {
	if len(w.shares) < 2 {
		return nil
	}
	return new(twoOf(w.shares))
}

// accumulationTable returns the table of the paper's group E7: where the delayed stage stands when a step has microsteps, their
// stages accounted for in order.
func (s *Score) accumulationTable() *table.Table {
	var rows []row
	for _, g := range s.groupBy(byFamily, byDelay) {
		rows = append(rows, row{names: []string{g.value(byFamily)}, Score: g})
	}
	return addPublished(tabulate("Accumulation: windows with a fault, the paper's cut", []string{"family"}, rows,
		wholeNumber("microsteps", func(r *row) int { return r.example().Accumulation }), windows, top1, top2,
		faultShare("exact", func(_ *row, w *scoredWindow) bool { return w.Telescoping == 0 }), labelShare("device label", forwardFamilies[0].label.String())), "accumulation")
}

// shardingTable returns the table of the paper's group E8: sharded programs, and the control that delays the optimizer of one
// rank on the host.
func (s *Score) shardingTable() *table.Table {
	rows := s.parts(
		part{"ranks synchronise after the delay", func(r *scoredRun) bool { return r.Family != simulate.OptimizerHost }},
		part{"control: optimizer on the host", func(r *scoredRun) bool { return r.Family == simulate.OptimizerHost }})
	return addPublished(tabulate("Sharded jobs: windows with a fault, the paper's cut", []string{"rows"}, rows, families, sizes, windows, top1, top2,
		text("misses", (*row).misses)), "sharding")
}

// misses returns the families and sizes with a window whose seeded stage is not first; the control has no seeded stage.
func (r *row) misses() string {
	return joinNames(r.distinct(func(x *scoredRun) string {
		if x.Family == simulate.OptimizerHost || x.hasFinding(foundTop1) {
			return ""
		}
		return fmt.Sprintf("%v at %d ranks", x.family(), x.Ranks)
	}))
}

// boundaryTable returns the table of the paper's group E4: at which delay of data the two largest shares reach τ, so that the
// candidate set becomes compact.
func (s *Score) boundaryTable() *table.Table {
	t := &table.Table{Title: fmt.Sprintf("Boundary of the candidate set: when the two largest shares reach τ = %s", twoDecimals(s.Tau)),
		Columns: table.Words("ranks", "share of the two largest, by delay", "crosses between ms")}
	for _, ranks := range s.groupBy(byRanks) {
		var shares []string
		last, before, crossing := 1.0, "", none
		for _, g := range ranks.groupBy(byDelay) {
			sum, delay := g.mean((*scoredWindow).twoLargest).value(), g.value(byDelay)
			if last < s.Tau && sum >= s.Tau {
				crossing = before + "–" + delay
			}
			shares = append(shares, fmt.Sprintf("%s ms: %.3f", delay, sum))
			last, before = sum, delay
		}
		t.Add(table.Texts(ranks.value(byRanks), joinNames(shares), crossing)...)
	}
	return addPublished(t, "boundary")
}
