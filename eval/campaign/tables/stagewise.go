package tables

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/blame"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/operator"
)

// stagewise is whom z-scores and blame name in a recording, as sfstat zscore and sfstat blame have them by default.
type stagewise struct {
	judged          bool // some trace has ranks that can be compared
	outlying, cause []int
}

// Blame names a rank where so many walks end, and at least this part of all: two ranks cannot share them.
const (
	fewestWalks = 10
	mostWalks   = 0.5
)

// windows adds what the stages of windows of one run show.
func (s *stagewise) windows(list []*trace.Window) {
	for _, w := range operators.Contiguous(list) {
		a, err := frontier.Analyze(w, frontier.Options{})
		if err != nil { // the commands refuse it
			continue
		}
		traces, err := operators.WindowTraces(w, a)
		if err != nil {
			continue
		}
		for _, t := range traces {
			s.trace(t)
		}
	}
}

// trace adds what a trace shows. One that the commands refuse shows nothing.
func (s *stagewise) trace(t *operator.Trace) {
	v, err := operators.Observe(t)
	if err != nil || v.Workers() < 2 {
		return
	}
	series, ops := v.Series()
	outliers, err := zscore.Analyze(series, zscore.Options{Correlated: true})
	if err != nil {
		return
	}
	flags, err := zscore.Analyze(series, zscore.Options{})
	if err != nil {
		return
	}
	steps := make([]int, len(v.Steps()))
	for i := range steps {
		steps[i] = i
	}
	walks, err := v.Flags(flags, series, ops).Walk(steps, blame.Options{Tie: v.Tie()})
	if err != nil {
		return
	}
	s.judged = true
	for _, worker := range longer(outliers, series) {
		s.outlying = addOnce(s.outlying, v.Rank(worker).ID)
	}
	if worker, found := endingWorker(walks); found {
		s.cause = addOnce(s.cause, v.Rank(worker).ID)
	}
}

// longer returns the workers that are surely longer in the steps as a whole.
func longer(r *zscore.Result, series []zscore.Series) (out []int) {
	for _, o := range r.Outliers {
		q := series[o.Series].Quantity
		if o.Sure && o.Effect > 0 && o.Step == zscore.EveryStep && (q == zscore.Duration || q == zscore.Transfer) {
			out = addOnce(out, o.Worker)
		}
	}
	return out
}

// endingWorker returns the worker with whose operators most walks end.
func endingWorker(w *operators.Walks) (worker int, found bool) {
	of := map[int]int{}
	for _, c := range w.Culprits {
		if !c.CrossRank() {
			of[c.Worker] += c.Symptoms
		}
	}
	for worker, n := range of {
		if n >= fewestWalks && float64(n) > mostWalks*float64(w.Symptoms) {
			return worker, true
		}
	}
	return 0, false
}

// addOnce returns the list with a number, which it has once.
func addOnce(list []int, x int) []int {
	if slices.Contains(list, x) {
		return list
	}
	return append(list, x)
}
