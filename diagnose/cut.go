package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
)

// cutsOf returns where the stages of a run are cut by what entries of calls show; nil where they do not show all waits.
func cutsOf(r *arrivals.Result) *arrivals.Cuts {
	if r == nil || r.Division == nil || r.Division.Neighbours || len(r.Silent)+len(r.Missing) > 0 {
		return nil
	}
	return r.Cuts
}

// runCuts is where entries of calls cut the stages of a run whose windows are of one part.
type runCuts struct {
	*arrivals.Cuts      // nil: nowhere, or by parts
	whole          bool // it has one part
}

// runCuts returns where entries of calls cut the stages of a run.
func (r *run) runCuts(entered *arrivals.Result) runCuts {
	if r.entries.Parts() > 1 {
		return runCuts{}
	}
	return runCuts{cutsOf(entered), true}
}

// windowCuts is where entries of calls cut the stages of windows, by the numbers of these; nil: they cut none.
type windowCuts map[int]*arrivals.Cuts

// windowCuts returns where entries of calls cut the stages of the windows of a stretch: those of the run, where its windows
// are of one part, else those of the parts that they are of.
func (s stretch) windowCuts(of runCuts) windowCuts {
	byPart, out := map[*arrivals.Part]*arrivals.Cuts{}, windowCuts{}
	for i := range s.windows {
		w := &s.windows[i]
		c := of.Cuts
		if part := s.parts[w.calls]; part != nil && !of.whole {
			var known bool
			if c, known = byPart[w.calls]; !known {
				c = part.Cuts()
				byPart[w.calls] = c
			}
		}
		if c != nil && slices.EqualFunc(c.Ranks, w.Ranks, func(id int, r trace.Rank) bool { return id == r.ID }) {
			out[w.at] = c
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// withParts returns a stretch with the calls beside its windows, by the parts of the run that these are of, which end with it where it is
// complete.
func (s stretch) withParts(complete bool) stretch {
	s.parts = map[*arrivals.Part]*arrivals.Job{}
	for i := range s.windows {
		p := s.windows[i].calls
		switch {
		case p == nil || s.parts[p] != nil:
		case complete:
			s.parts[p] = p.Close()
		default:
			s.parts[p] = p.Job()
		}
	}
	return s
}

// mostEntered is the part of the steps of which calls must be known to divide all of them.
const mostEntered = 0.9

// cutPlan is how the stages of a run are cut: the same in all of its stretches.
type cutPlan struct {
	stages  []stageCut
	clocked bool // waits are told from work
}

// stageCut is one stage that is cut.
type stageCut struct {
	stage int              // of the run; their number: the time that none of them covers
	name  string           // "": that time
	point bool             // all ranks wait for each other in it
	usual map[int][2]int64 // how long a rank works in it before it waits, and after that, ns, by rank
}

// cutStages divides the stages of a run where entries of calls show that its ranks wait: the calls fill the same division as
// the stage times, and cut it finer. Steps in which no call was recorded are divided as the others of their rank are. It returns how
// the stages are cut, by the plan of the stretch before where there is one; nil: they are not.
func cutStages(run *delay.Run, at stepPlaces, cuts windowCuts, plan *cutPlan) *cutPlan {
	e := enteredSteps{cuts: cuts, at: at, run: run, columns: map[*arrivals.Cuts][]int{}}
	if plan == nil {
		if plan = e.plan(); plan == nil {
			return nil
		}
		for i := range plan.stages {
			if s := &plan.stages[i]; s.point {
				s.usual = e.usualTimes(s, e.waits(s.name))
			}
		}
	}
	var list []points.Cut
	for i := range plan.stages {
		s := &plan.stages[i]
		cut := points.Cut{Stage: s.stage, Wait: e.waits(s.name)}
		if s.point {
			cut.Own = e.ownTimes(s, cut.Wait)
			if !plan.clocked {
				cut.Wait = nil
			}
		} else {
			e.boundWaits(cut.Wait, s.stage)
		}
		list = append(list, cut)
	}
	cut := points.CutStages(&run.Steps, list)
	cut.Memory = run.Memory
	run.Steps = *cut
	return plan
}

// enteredSteps are the steps of a run beside what entries of calls show of them.
type enteredSteps struct {
	cuts    windowCuts
	at      stepPlaces
	run     *delay.Run
	columns map[*arrivals.Cuts][]int // of the run's ranks; −1: it has none
}

// plan returns how stages are cut; nil where all ranks wait for each other in none, or where that is known of too few steps.
func (e enteredSteps) plan() *cutPlan {
	out := &cutPlan{clocked: true}
	for _, c := range e.cuts {
		out.clocked = out.clocked && c.Clocked
	}
	all := false // wait for each other somewhere
	for k := range len(e.run.Stages) + 1 {
		s := stageCut{stage: k}
		if k < len(e.run.Stages) {
			s.name = e.run.Stages[k].Name
		}
		point, waits := false, false
		for _, c := range e.cuts {
			if c.Clocked != out.clocked {
				return nil // what they say differs in kind
			}
			of := stageOfCuts(c, s.name)
			point = point || of >= 0 && of < len(c.Stages) && c.Points[of]
		}
		for t := range e.run.Len() {
			if c, i, ok := e.row(t); ok && !waits {
				waits = slices.Max(c.WaitIn(i, stageOfCuts(c, s.name))) > 0
			}
		}
		switch {
		case point:
			if s.point, all = e.knows(s.name), true; !s.point {
				return nil
			}
		case !waits || !out.clocked || k == len(e.run.Stages) && !e.at.walled:
			continue
		}
		out.stages = append(out.stages, s)
	}
	if !all {
		return nil
	}
	return out
}

// stageOfCuts returns the stage of a name in cuts, "" being the time that none covers; −1: they have none of the name.
func stageOfCuts(c *arrivals.Cuts, name string) int {
	if name == "" {
		return len(c.Stages)
	}
	return slices.Index(c.Stages, name)
}

// row returns what calls show of the step at a position: of cuts, the index of the step.
func (e enteredSteps) row(t int) (c *arrivals.Cuts, i int, ok bool) {
	if c = e.cuts[e.at.steps.window(t)]; c == nil {
		return nil, 0, false
	}
	i, ok = slices.BinarySearch(c.Steps, e.at.steps.number(t))
	return c, i, ok
}

// set gives the ranks of a run what cuts have of them in a step; those that they lack have the median of the others.
func (e enteredSteps) set(row []int64, c *arrivals.Cuts, of []int64) {
	columns, known := e.columns[c]
	if !known {
		for _, id := range e.at.ranks {
			columns = append(columns, slices.Index(c.Ranks, id))
		}
		e.columns[c] = columns
	}
	others := int64(-1)
	for r, column := range columns {
		if column < 0 {
			if others < 0 {
				others = robust.MedianTime(slices.Clone(of))
			}
			row[r] = others
			continue
		}
		row[r] = of[column]
	}
}

// waits returns how long ranks wait in a stage, [step · ranks + rank], ns.
func (e enteredSteps) waits(stage string) []int64 {
	R := len(e.at.ranks)
	out := make([]int64, e.run.Len()*R)
	for t := range e.run.Len() {
		if c, i, ok := e.row(t); ok {
			if of := stageOfCuts(c, stage); of >= 0 {
				e.set(out[t*R:(t+1)*R], c, c.WaitIn(i, of))
			}
		}
	}
	return out
}

// ownOf returns how long the ranks of cuts work in a stage of a step before they wait for each other; nil: it is not known.
func (e enteredSteps) ownOf(t int, stage string) (c *arrivals.Cuts, own []int64) {
	c, i, ok := e.row(t)
	if !ok {
		return nil, nil
	}
	of := stageOfCuts(c, stage)
	if of < 0 || of == len(c.Stages) {
		return nil, nil
	}
	if own = c.OwnIn(i, of); slices.Contains(own, -1) {
		return nil, nil
	}
	return c, own
}

// knows reports whether it is known of enough steps how long ranks work in a stage before they wait for each other.
func (e enteredSteps) knows(stage string) bool {
	known := 0
	for t := range e.run.Len() {
		if _, own := e.ownOf(t, stage); own != nil {
			known++
		}
	}
	return float64(known) >= mostEntered*float64(e.run.Len())
}

// ownTimes returns how long ranks work in a stage before they wait for each other, likewise, within the time that they are in
// it. In steps of which that is not known they work before and after it as long as they usually do, or, where it is known of none, as
// they did at the beginning of the run, and wait for the rest.
func (e enteredSteps) ownTimes(s *stageCut, wait []int64) []int64 {
	R := len(e.at.ranks)
	out, before, after := e.knownTimes(s, wait)
	for r, id := range e.at.ranks {
		usual := s.usual[id]
		if len(before[r]) > 0 {
			usual = [2]int64{robust.MedianTime(before[r]), robust.MedianTime(after[r])}
		}
		for t := range e.run.Len() {
			if own, took := &out[t*R+r], e.run.At(t, s.stage)[r]; *own < 0 {
				*own = min(usual[0], took)
				wait[t*R+r] = max(0, took-*own-usual[1])
			}
		}
	}
	return out
}

// knownTimes returns how long ranks work in a stage before they wait for each other, [step · ranks + rank], −1 where it is not known,
// and of each rank all that is known of what it works before and after that. It shortens waits to what is left of the stage.
func (e enteredSteps) knownTimes(s *stageCut, wait []int64) (own []int64, before, after [][]int64) {
	R := len(e.at.ranks)
	own, before, after = slices.Repeat([]int64{-1}, e.run.Len()*R), make([][]int64, R), make([][]int64, R)
	row := make([]int64, R)
	for t := range e.run.Len() {
		c, known := e.ownOf(t, s.name)
		if known == nil {
			continue
		}
		e.set(row, c, known)
		for r, took := range e.run.At(t, s.stage) {
			works, waits := &own[t*R+r], &wait[t*R+r]
			*works = min(row[r], took)
			*waits = min(*waits, took-*works)
			before[r], after[r] = append(before[r], *works), append(after[r], took-*works-*waits)
		}
	}
	return own, before, after
}

// usualTimes returns how long ranks usually work in a stage before they wait for each other, and after that.
func (e enteredSteps) usualTimes(s *stageCut, wait []int64) map[int][2]int64 {
	_, before, after := e.knownTimes(s, wait)
	out := make(map[int][2]int64)
	for r, id := range e.at.ranks {
		if len(before[r]) > 0 {
			out[id] = [2]int64{robust.MedianTime(before[r]), robust.MedianTime(after[r])}
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
