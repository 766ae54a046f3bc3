package tables

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/internal/table"
)

// recovery is a run of windows A/B/A, the fault in B alone: whether its step
// time returns. Times are ns per step, means over the windows' steps.
type recovery struct {
	Run                   *scoredRun
	Before, Under, After  float64
	Tolerance             float64 // two standard deviations of the steps before
	RoutedFirst           bool    // the seeded stage is first in every window of B
	RoutedSecond          bool    // … is among the first two
	FirstAlarm, LastAlarm bool    // a strong label in the A before or after
}

// deviation returns how far the step time after is from that before.
func (r *recovery) deviation() float64 { return math.Abs(r.After - r.Before) }

// Ratio returns the part of the slowdown that is gone: (B − A₂) ÷ (B − A₁).
func (r *recovery) Ratio() float64 { return (r.Under - r.After) / (r.Under - r.Before) }

// recoveries returns the runs that have the fault in windows between windows without.
func (s *Score) recoveries() []recovery {
	var out []recovery
	for _, r := range s.Runs {
		if from, to, ok := r.faultStretch(); ok {
			first, last := &r.Windows[from-1], &r.Windows[to]
			out = append(out, recovery{Run: r, Before: first.pace.step.Mean, Under: meanPace(r.Windows[from:to]), After: last.pace.step.Mean,
				Tolerance: 2 * first.pace.step.SD, RoutedFirst: r.holdsInFaulty(func(w *scoredWindow) bool { return w.Routing.Top(1) }), RoutedSecond: r.holdsInFaulty(func(w *scoredWindow) bool { return w.Routing.Top(2) }),
				FirstAlarm: first.Strong || first.Automatic.Strong, LastAlarm: last.Strong || last.Automatic.Strong})
		}
	}
	return out
}

// faultStretch finds the first stretch of windows with the fault that has one
// without on either side.
func (r *scoredRun) faultStretch() (from, to int, ok bool) {
	for from = 1; from < len(r.Windows); from++ {
		if !r.Windows[from].Fault || r.Windows[from-1].Fault {
			continue
		}
		for to = from; to < len(r.Windows) && r.Windows[to].Fault; to++ {
		}
		return from, to, to < len(r.Windows)
	}
	return 0, 0, false
}

func meanPace(windows []scoredWindow) float64 {
	sum := 0.0
	for _, w := range windows {
		sum += w.pace.step.Mean
	}
	return sum / float64(len(windows))
}

// recoveryTable returns the table of the paper's group E6.
func recoveryTable(of []recovery) *table.Table {
	t := &table.Table{Title: "A fault that is removed (windows A/B/A): does the step time return?",
		Columns: slices.Concat(table.Words("run"), table.Heads(table.Hundredths, "A ms/step", "B ms/step", "A ms/step after", "back within ms"), table.Heads(table.Unit, "recovery ratio"),
			table.Heads(table.Hundredths, "tolerance ms"), table.Words("within", "top-1 in B", "top-2 in B", "strong label in A"))}
	ms := func(ns float64) table.Cell { return table.RealCell(ns / 1e6) }
	far, low := 0.0, math.Inf(1)
	for i := range of {
		r := &of[i]
		far, low = max(far, r.deviation()), min(low, r.Ratio())
		t.Add(slices.Concat([]table.Cell{table.TextCell(r.Run.Run), ms(r.Before), ms(r.Under), ms(r.After), ms(r.deviation()), table.RealCell(r.Ratio()), ms(r.Tolerance)},
			table.Texts(yes(r.deviation() <= r.Tolerance), yes(r.RoutedFirst), yes(r.RoutedSecond), yes(r.FirstAlarm || r.LastAlarm)))...)
	}
	t.Add(table.Texts("paper", none, none, none, "0.21", "0.998", "8.63", "yes", "no", "yes", none)...)
	t.Notes = []string{countSentence("recovery", twoDecimals(far/1e6), low)}
	return addPublished(t, "recovery")
}

func yes(holds bool) string {
	if holds {
		return "yes"
	}
	return "no"
}
