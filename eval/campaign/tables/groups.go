package tables

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/table"
)

// What runs consist of.
var (
	families = text("families", func(r *row) string { return joinNames(r.distinct(func(x *scoredRun) string { return x.family() })) })
	sizes    = text("ranks", func(r *row) string {
		return joinNames(r.distinct(func(x *scoredRun) string { return strconv.Itoa(x.Ranks) }))
	})
	delays     = text("delays_ms", (*row).delays)
	allWindows = wholeNumber("windows", func(r *row) int { return len(r.recordedWindows()) })
	steps      = text("steps", (*row).steps)
)

func (r *row) delays() string {
	out := r.distinct(func(x *scoredRun) string {
		if x.healthy() {
			return ""
		}
		return milliseconds(x.Delay)
	})
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	return joinNames(out)
}

// recordedWindows returns the windows of all runs.
func (s *Score) recordedWindows() []*scoredWindow {
	var out []*scoredWindow
	for _, r := range s.Runs {
		for i := range r.Windows {
			out = append(out, &r.Windows[i])
		}
	}
	return out
}

func (r *row) steps() string {
	var all []int
	for _, w := range r.recordedWindows() {
		all = append(all, w.Steps)
	}
	if len(all) == 0 {
		return none
	}
	least, most := slices.Min(all), slices.Max(all)
	if least == most {
		return strconv.Itoa(most)
	}
	return fmt.Sprintf("%d–%d", least, most)
}

// seeds returns the seeds of the runs, as a range where they are consecutive.
func (r *row) seeds() string {
	var all []uint64
	for _, x := range r.Runs {
		all = append(all, x.Seed)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if first, last := all[0], all[len(all)-1]; last > first && last-first == uint64(len(all)-1) {
		return fmt.Sprintf("%d–%d", first, last)
	}
	var list []string
	for _, seed := range all {
		list = append(list, strconv.FormatUint(seed, 10))
	}
	return joinNames(list)
}

// groupTable returns the table of the groups: their runs and their purpose.
func groupTable(groups []row) *table.Table {
	ofFaulty := func(head string, f finding) measure {
		return measure{head, table.Part, func(r *row) table.Cell {
			part := r.selectRuns(func(x *scoredRun) bool { return !x.healthy() })
			return table.PartCell(part.count(func(x *scoredRun) bool { return x.hasFinding(f) }), len(part.Runs))
		}}
	}
	t := tabulate("Groups of the evaluation, and what each shows", []string{"group"}, groups, families, sizes, delays, runs, allWindows, steps,
		top1, top2, ofFaulty("called", foundBoth), ofFaulty("misrouted", misrouted), healthyShare("healthy windows with a strong label", (*scoredWindow).hasAlarm))
	t.Notes = []string{countSentence("groups")}
	return t
}

// hasAlarm reports whether the window has a strong label by either cut.
func (w *scoredWindow) hasAlarm() bool { return w.Strong || w.Automatic.Strong }

// configurationTable returns a table in the shape of the paper's Table 16: which runs each group has, here and there.
func (s *Score) configurationTable() *table.Table {
	var rows []row
	of := func(r *row) publishedGroup { return published().Groups[r.names[0]] }
	here := func(r *row) bool { return len(r.Runs) > 0 }
	for _, name := range campaign.PublishedGroups {
		p, own := published().Groups[name], s.publishedRuns(name)
		if len(own.Runs) > 0 || p.Elsewhere != "" {
			rows = append(rows, row{names: []string{name, p.Role}, Score: own})
		}
	}
	ranks := text("ranks", func(r *row) string {
		if len(r.Runs) == 0 {
			return "of " + of(r).Elsewhere
		}
		return joinNames(r.distinct(func(x *scoredRun) string { return strconv.Itoa(x.Ranks) }))
	})
	t := tabulate("Groups of the evaluation", []string{"group", "role"}, rows, ranks, text("seeds", (*row).seeds).limitTo(here), delays.limitTo(here),
		runs.limitTo(here), allWindows.limitTo(here), steps.limitTo(here),
		text("paper's ranks", func(r *row) string { return of(r).Ranks }), text("paper's seeds", func(r *row) string { return of(r).Seeds }),
		text("paper's delays_ms", func(r *row) string { return of(r).Delays }))
	t.Keys = 1
	return addPublished(t, "table-16")
}

// caseTable returns a table in the shape of the paper's Table 8: how the exposed makespan of each field case divides among the
// stages, and what the verdict says of it.
func (s *Score) caseTable() *table.Table {
	var rows []row
	for _, name := range campaign.PublishedCases {
		if own := s.publishedRuns(name); len(own.Runs) > 0 {
			rows = append(rows, row{names: []string{name, published().Cases[name]}, Score: own})
		}
	}
	columns := []measure{runs}
	for _, c := range [...][2]string{{"data", simulate.StageData}, {"forward", simulate.StageForward}, {"backward", simulate.StageBackward},
		{"callbacks", simulate.StageCallbacks}, {"optimizer", simulate.StageOptimizer}} {
		columns = append(columns, text(c[0], func(r *row) string { return r.share(c[1]) }))
	}
	seeded := func(r *row) bool { return !r.example().healthy() }
	alarms := runShare("called", func(r *scoredRun) bool {
		if r.healthy() {
			return r.Verdict.Kind != "" && (r.Verdict.Confidence == "strong" || r.Verdict.Confidence == "supported")
		}
		return r.Verdict.Named
	})
	t := tabulate("Field cases: exposed share by stage, the paper's cut, per cent", []string{"case", "signal"}, rows, append(columns, stageRight.limitTo(seeded), rankFound.limitTo(seeded), alarms)...)
	t.Keys = 1
	return addPublished(t, "table-8")
}

// share returns the mean share of a stage in percent, over the windows with a fault, or over all of healthy runs.
func (r *row) share(stage string) string {
	var m mean
	for _, x := range r.Runs {
		for i := range x.Windows {
			w := &x.Windows[i]
			if at := slices.Index(w.names, stage); at >= 0 && w.shares != nil && (w.Fault || x.healthy()) {
				m.add(&w.shares[at])
			}
		}
	}
	if m.n == 0 {
		return none
	}
	return strconv.FormatFloat(100*m.value(), 'f', 0, 64)
}

// labelTable counts the labels of the paper's Table 12 over the windows of a
// campaign, by the paper's cut.
func (s *Score) labelTable() *table.Table {
	var rows []row
	silent := 0
	for l := labels.FrontierAccounting; l <= labels.TelemetryLimited; l++ {
		rows = append(rows, row{names: []string{l.String(), yes(l.Strong())}, Score: s})
		count(&silent, !slices.ContainsFunc(s.recordedWindows(), func(w *scoredWindow) bool { return slices.Contains(w.Labels, l.String()) }))
	}
	has := func(r *row, w *scoredWindow) bool { return slices.Contains(w.Labels, r.names[0]) }
	without := measure{"windows without", table.Part, func(r *row) table.Cell {
		return table.PartCell(r.tally(false, func(w *scoredWindow) bool { return has(r, w) }))
	}}
	of := text("families", func(r *row) string {
		return joinNames(r.selectRuns(func(x *scoredRun) bool {
			return slices.ContainsFunc(x.Windows, func(w scoredWindow) bool { return has(r, &w) })
		}).distinct(func(x *scoredRun) string { return x.family() }))
	})
	t := tabulate("Labels: windows that carry each, the paper's cut", []string{"label", "strong"}, rows, faultShare("windows with a fault", has), without, of)
	t.Keys, t.Notes = 1, []string{countSentence("labels", silent)}
	return t
}

// healthyConfidence is that of the bounds of rates where nothing is wrong.
const healthyConfidence = 0.95

// rateAtMost returns the upper bound of a rate: the exact one-sided bound of a binomial count.
func rateAtMost(k, n int) table.Cell {
	rate, err := bootstrap.Binomial(k, n, healthyConfidence)
	if err != nil { // without a window there is no rate
		return table.NoFigure()
	}
	return table.RealCell(rate.AtMost)
}

// healthyTable counts alarms where nothing is wrong, and ranks that the second stage, z-scores and blame name in runs that they judge, and bounds their rate, as if windows
// were independent, which those of different runs are.
func (s *Score) healthyTable() *table.Table {
	rows := s.parts(
		part{"healthy", func(r *scoredRun) bool {
			return r.healthy() && !r.hasNote("roles") && !r.hasArrivals() && len(r.Windows) > 0
		}},
		part{"healthy, with arrivals", func(r *scoredRun) bool { return r.healthy() && !r.hasNote("roles") && r.hasArrivals() }},
		part{"healthy, roles differ", func(r *scoredRun) bool { return r.healthy() && r.hasNote("roles") }},
		part{"healthy, without windows", func(r *scoredRun) bool { return r.healthy() && len(r.Windows) == 0 }},
		part{"fault removed (A of A/B/A)", func(r *scoredRun) bool { return !r.healthy() }})
	strong, automatic := func(w *scoredWindow) bool { return w.Strong }, func(w *scoredWindow) bool { return w.Automatic.Strong }
	bound := func(head string, holds func(*scoredWindow) bool) measure {
		return measure{head, table.Rate, func(r *row) table.Cell { return rateAtMost(r.tally(false, holds)) }}
	}
	columns := []measure{wholeNumber("windows", func(r *row) int { _, n := r.tally(false, strong); return n }), healthyShare("strong label", strong), bound("at most", strong),
		healthyShare("automatic: strong label", automatic), bound("automatic: at most", automatic)}
	verdicts := func(head string, holds func(*verdict) bool) {
		counted := wholeNumber(head, func(r *row) int { return r.count(func(x *scoredRun) bool { return holds(&x.Verdict) }) })
		columns = append(columns, counted.limitTo(func(r *row) bool { return r.example().healthy() }))
	}
	verdicts("verdicts", func(*verdict) bool { return true })
	for _, confidence := range []string{"strong", "supported", "ambiguous", "insufficient"} {
		verdicts(confidence, func(v *verdict) bool { return v.Kind != "" && v.Confidence == confidence })
	}
	verdicts("innocent called", func(v *verdict) bool { return v.Innocent > 0 })
	second := func(head string, of func(*secondStage) *differing) {
		columns = append(columns, measure{head, table.Part, func(r *row) table.Cell {
			judged := r.selectRuns(func(x *scoredRun) bool { return of(&x.Second).Answer != rankNotJudged })
			return table.PartCell(judged.count(func(x *scoredRun) bool { return len(of(&x.Second).Ranks) > 0 }), len(judged.Runs))
		}}.limitTo(func(r *row) bool { return r.example().healthy() }))
	}
	second("K-S", func(s *secondStage) *differing { return &s.KS })
	second("hybrid", func(s *secondStage) *differing { return &s.Hybrid })
	second("z-scores", func(s *secondStage) *differing { return &s.Outliers })
	second("blame", func(s *secondStage) *differing { return &s.Blame })
	return tabulate("Windows without a fault, and the 95 % bound of the rate of strong labels", []string{"runs"}, rows, columns...)
}

// completenessTable returns the completeness of the healthy runs of the paper's groups E0 and E1: whether every step of every
// rank was recorded and every window gathered, and how often a run has a strong label.
func (s *Score) completenessTable() *table.Table {
	limited := labels.TelemetryLimited.String()
	ofWindows := func(head string, of func(*scoredWindow) (k, n int)) measure {
		return measure{head, table.Part, func(r *row) table.Cell {
			k, n := 0, 0
			for _, w := range r.recordedWindows() {
				own, all := of(w)
				k, n = k+own, n+all
			}
			return table.PartCell(k, n)
		}}
	}
	each := func(holds func(*scoredWindow) bool) func(*scoredWindow) (k, n int) {
		return func(w *scoredWindow) (k, n int) {
			count(&k, holds(w))
			return k, 1
		}
	}
	alarmed := func(r *scoredRun) bool {
		return slices.ContainsFunc(r.Windows, func(w scoredWindow) bool { return w.hasAlarm() })
	}
	rows := s.parts(part{"E0", func(r *scoredRun) bool { return r.isPublished("E0") }}, part{"E1", func(r *scoredRun) bool { return r.isPublished("E1") }})
	return addPublished(tabulate("No fault: is the recording complete, and is anything flagged?", []string{"group"}, rows, runs, allWindows,
		ofWindows("windows gathered", each(func(w *scoredWindow) bool { return w.telemetry.gathered })),
		ofWindows("steps of ranks recorded", func(w *scoredWindow) (k, n int) { return w.telemetry.rows, w.telemetry.expected }),
		ofWindows(limited, each(func(w *scoredWindow) bool { return slices.Contains(w.Labels, limited) })),
		runShare("runs with a strong label", alarmed),
		measure{"at most", table.Rate, func(r *row) table.Cell { return rateAtMost(r.count(alarmed), len(r.Runs)) }}), "completeness")
}

// isPublished reports whether the run is for one of the published groups and cases.
func (r *scoredRun) isPublished(published ...string) bool {
	return r.task != nil && slices.Contains(published, r.task.Published)
}

// publishedRuns returns the runs that stand for a published group.
func (s *Score) publishedRuns(published ...string) *Score {
	return s.selectRuns(func(r *scoredRun) bool { return r.isPublished(published...) })
}
