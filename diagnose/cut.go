package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/internal/robust"
)

// cutsOf returns where the stages of a run are cut by what entries of calls show; nil where they do not show all waits.
func cutsOf(r *arrivals.Result) *arrivals.Cuts {
	if r == nil || r.Division == nil || r.Division.Neighbours || len(r.Silent)+len(r.Missing) > 0 {
		return nil
	}
	return r.Cuts
}

// mostEntered is the part of the steps of which calls must be known to divide all of them.
const mostEntered = 0.9

// cutStages divides the stages of a run where entries of calls show that its ranks wait: the calls fill the same division as
// the stage times, and cut it finer. Steps in which no call was recorded are divided as the others of their rank are.
func cutStages(run *delay.Run, at stepPlaces, c *arrivals.Cuts) {
	if !slices.Equal(at.ranks, c.Ranks) {
		return
	}
	e := enteredSteps{c, at, run}
	var cuts []points.Cut
	all := false // wait for each other somewhere
	for k := range len(run.Stages) + 1 {
		of := len(c.Stages)
		if k < len(run.Stages) {
			of = slices.Index(c.Stages, run.Stages[k].Name)
		}
		if of < 0 || k == len(run.Stages) && !at.walled {
			continue
		}
		cut := points.Cut{Stage: k, Wait: e.waits(of)}
		switch {
		case of < len(c.Stages) && c.Points[of]:
			if cut.Own = e.ownTimes(of, k, cut.Wait); cut.Own == nil {
				return
			}
			all = true
			if !c.Clocked {
				cut.Wait = nil
			}
		case slices.Max(cut.Wait) == 0 || !c.Clocked:
			continue
		default:
			e.boundWaits(cut.Wait, k)
		}
		cuts = append(cuts, cut)
	}
	if !all {
		return
	}
	cut := points.CutStages(&run.Steps, cuts)
	cut.Memory = run.Memory
	run.Steps = *cut
}

// enteredSteps are the steps of a run beside what entries of calls show of them.
type enteredSteps struct {
	c   *arrivals.Cuts
	at  stepPlaces
	run *delay.Run
}

// waits returns how long ranks wait in a stage of the cuts, [step · ranks + rank], ns.
func (e enteredSteps) waits(of int) []int64 {
	R, S := len(e.at.ranks), len(e.c.Stages)+1
	out := make([]int64, e.run.Len()*R)
	for t := range e.run.Len() {
		if i, ok := slices.BinarySearch(e.c.Steps, e.at.steps.number(t)); ok {
			copy(out[t*R:], e.c.Wait[(i*S+of)*R:(i*S+of+1)*R])
		}
	}
	return out
}

// ownTimes returns how long ranks work in a stage before they wait for each other, likewise, within the time that they are in
// it. In steps of which that is not known they work before and after it as long as they usually do, and wait for the rest.
// nil where it is known of too few steps.
func (e enteredSteps) ownTimes(of, stage int, wait []int64) []int64 {
	R, S, known := len(e.at.ranks), len(e.c.Stages), 0
	out, before, after := slices.Repeat([]int64{-1}, e.run.Len()*R), make([][]int64, R), make([][]int64, R)
	for t := range e.run.Len() {
		i, ok := slices.BinarySearch(e.c.Steps, e.at.steps.number(t))
		if !ok {
			continue
		}
		row := e.c.Own[(i*S+of)*R : (i*S+of+1)*R]
		if slices.Contains(row, -1) {
			continue
		}
		known++
		for r, took := range e.run.At(t, stage) {
			own, waited := &out[t*R+r], &wait[t*R+r]
			*own = min(row[r], took)
			*waited = min(*waited, took-*own)
			before[r], after[r] = append(before[r], *own), append(after[r], took-*own-*waited)
		}
	}
	if float64(known) < mostEntered*float64(e.run.Len()) {
		return nil
	}
	for r := range R {
		usual, rest := robust.MedianTime(before[r]), robust.MedianTime(after[r])
		for t := range e.run.Len() {
			if own, took := &out[t*R+r], e.run.At(t, stage)[r]; *own < 0 {
				*own = min(usual, took)
				wait[t*R+r] = max(0, took-*own-rest)
			}
		}
	}
	return out
}

// boundWaits shortens waits in a stage of the run, or in the time that none covers, to the time that ranks spend there.
func (e enteredSteps) boundWaits(wait []int64, stage int) {
	for t := range e.run.Len() {
		var spent []int64
		if stage < len(e.run.Stages) {
			spent = e.run.At(t, stage)
		} else {
			spent = e.run.Rest(t)
		}
		for r, x := range spent {
			at := t*len(spent) + r
			wait[at] = min(wait[at], x)
		}
	}
}
