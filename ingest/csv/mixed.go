package csv

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// Times of one rank in another unit than those of the others are a thousand times as long, or as short. So may those of a rank be
// that is late: then the others wait for it, and the steps of all take equally long.
const (
	unitStep  = 1000.0
	unitSlack = 1.3 // by which a rank in another unit differs besides
	sameStep  = 1.1 // by which the steps of ranks that wait for one another differ, at most
)

// mixedUnits refuses windows in which the times of a rank are in another unit than those of the others, with the question.
func mixedUnits(windows []*trace.Window) error {
	for _, w := range windows {
		if len(w.Ranks) < 3 || w.Steps() == 0 {
			continue
		}
		if err := mixedIn(w); err != nil {
			return err
		}
	}
	return nil
}

func mixedIn(w *trace.Window) error {
	S, R := len(w.Schema.Stages), len(w.Ranks)
	usual := make([]float64, S*R) // median time, ns
	values := make([]float64, w.Steps())
	sums := make([]float64, S*R)
	for t := range w.Steps() {
		for i, v := range w.Step(t) {
			sums[i] += float64(v)
		}
	}
	suspect := make([]float64, S*R) // by what power of a thousand a time is off
	any := false
	for s := range S {
		if suspectIn(sums[s*R:(s+1)*R], suspect[s*R:(s+1)*R], 10) { // by means, whatever one outlier makes of them
			any = true
		}
	}
	if !any {
		return nil
	}
	for i := range usual {
		for t := range values {
			values[t] = float64(w.Step(t)[i])
		}
		slices.Sort(values)
		usual[i] = values[len(values)/2]
	}
	totals, scaled := make([]float64, R), make([]float64, R)
	for s := range S {
		clear(suspect[s*R : (s+1)*R])
		suspectIn(usual[s*R:(s+1)*R], suspect[s*R:(s+1)*R], unitSlack)
		for r := range R {
			totals[r] += usual[s*R+r]
			scaled[r] += usual[s*R+r] / math.Pow(unitStep, suspect[s*R+r])
		}
	}
	typical := median(slices.Clone(totals))
	var ranks, stages []string
	power := 0.0
	for r := range R {
		off := func(total float64) float64 { return math.Abs(math.Log(total / typical)) }
		if scaled[r] == totals[r] || totals[r] <= 0 || typical <= 0 || off(totals[r]) < math.Log(sameStep) || off(scaled[r]) >= off(totals[r]) {
			continue
		}
		ranks = append(ranks, fmt.Sprint(w.Ranks[r].ID))
		for s := range S {
			if p := suspect[s*R+r]; p != 0 && !slices.Contains(stages, w.Schema.Stages[s]) {
				stages, power = append(stages, w.Schema.Stages[s]), p
			}
		}
	}
	if ranks == nil {
		return nil
	}
	than, of := "longer", "rank "+ranks[0]
	if power < 0 {
		than = "shorter"
	}
	if len(ranks) > 1 {
		of = "ranks " + strings.Join(ranks[:min(len(ranks), 8)], ", ")
	}
	return input.Bad(input.ErrType, "the times of %s in %s are %s times %s than those of the others: are they in another unit? Write it with each time (15.0ms, 0.015s), or one unit in all rows",
		of, strings.Join(quoteNames(stages[:min(len(stages), 6)]), ", "), thousands(int(math.Pow(unitStep, math.Abs(power)))), than)
}

// suspectIn finds the ranks of which a time is a power of a thousand times that of most, within a factor; out gets the powers.
func suspectIn(times, out []float64, slack float64) (found bool) {
	typical := median(slices.Clone(times))
	for r, v := range times {
		if v <= 0 || typical <= 0 {
			continue
		}
		ratio := math.Log(v/typical) / math.Log(unitStep)
		power := math.Round(ratio)
		if power != 0 && math.Abs(ratio-power)*math.Log(unitStep) <= math.Log(slack) {
			out[r], found = power, true
		}
	}
	return found
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
