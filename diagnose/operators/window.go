package operators

import (
	"slices"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/operator"
	"github.com/sfstat/sfstat/trace/stagename"
)

// WindowTraces returns the steps of a window as operator traces, so that every engine runs on stage times: a stage instance is an
// operator of its rank's only queue, which runs from the end of the stage before it (Serial), and a stage in which the ranks
// synchronise is a collective: what a rank spends there until the last one arrives is its wait.
//
// A step begins where all ranks leave the last synchronisation point, as with
// the sync cut of engine/frontier, so that time lost behind it is carried into
// the arrival at the next. It has the index of the step that it begins in. A
// window without a known synchronisation point has steps as they were recorded,
// in which nobody waits. Time that no stage covers is the residual stage where
// wall time was recorded; in a stage that is measured waiting, a rank stands
// still.
//
// Ranks of one role group are replicas of one pipeline stage: replica and stage
// count the groups and the ranks in them. Groups that synchronise among
// themselves alone, or differ in size, are a trace each; a is the account of the
// window. O(T·S·R).
func WindowTraces(w *trace.Window, a *frontier.Analysis) ([]*operator.Trace, error) {
	groups := trace.RoleGroups(w.Ranks)
	whole := !a.Main.SyncPoint.WithinPeers && !slices.ContainsFunc(groups, func(g []int) bool { return len(g) != len(groups[0]) })
	if whole {
		t, err := stageTrace(w, groups, a.Main.SyncPoint)
		return []*operator.Trace{t}, err
	}
	var out []*operator.Trace
	for i, columns := range groups {
		point := a.Main.SyncPoint
		if point.WithinPeers && i < len(a.Groups) {
			point = a.Groups[i].SyncPoint
		}
		part := w.Select(columns)
		t, err := stageTrace(part, trace.RoleGroups(part.Ranks), point)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// stageCut is which part of which recorded step an operator is.
type stageCut struct {
	stage, later int // later: recorded steps behind the one that the cut step begins in
	sync         bool
}

// cutOf returns the program of a step: its stages in order, from one synchronisation point to the next, and the number of steps
// lost.
func cutOf(w *trace.Window, m frontier.SyncPoint) (program []stageCut, fewer int) {
	stages := len(w.Schema.Stages)
	if w.Wall != nil {
		stages++
	}
	first := 0
	if m.At >= 0 && w.Steps() > 1 {
		first = (m.At + 1) % stages
	}
	for k := range stages {
		s := (first + k) % stages
		c := stageCut{stage: s, later: (first + k) / stages, sync: s == m.At}
		for _, b := range m.Boundaries {
			c.sync = c.sync || b.Stage == s && b.Syncs && b.Within == ""
		}
		program = append(program, c)
		fewer = max(fewer, c.later)
	}
	return program, fewer
}

// missingRows returns −1 for each of n operators.
func missingRows(n int) []int32 { return slices.Repeat([]int32{-1}, n) }

func stageTrace(w *trace.Window, groups [][]int, m frontier.SyncPoint) (*operator.Trace, error) {
	program, fewer := cutOf(w, m)
	steps := w.Steps() - fewer
	t := &operator.Trace{Run: w.Run, Serial: true, StepClock: true, Resolution: 1, Units: "stage times", Notes: slices.Clone(w.Notes)}
	t.Layout = operator.Layout{DP: len(groups[0]), PP: len(groups), World: w.WorldSize}
	for pp, columns := range groups {
		for dp, column := range columns {
			r := w.Ranks[column]
			r.Role = trace.Role{{Axis: trace.DataParallel, Index: dp}, {Axis: trace.PipelineParallel, Index: pp}}
			t.Ranks = append(t.Ranks, r)
		}
	}
	slices.SortFunc(t.Ranks, func(a, b trace.Rank) int { return a.ID - b.ID })
	for step := range steps {
		t.Steps = append(t.Steps, w.StepAt(step))
	}
	s := &stageOperators{t: t, w: w, program: program}
	s.nameStages()
	for r := range w.Ranks {
		for step := range steps {
			s.add(r, step)
		}
	}
	n := len(t.Start)
	t.Lane, t.Chunk, t.GlobalChunk, t.Microbatch = make([]int32, n), missingRows(n), missingRows(n), missingRows(n)
	return t, t.Arrange(nil)
}

// stageOperators makes the operators of a window's stages.
type stageOperators struct {
	t       *operator.Trace
	w       *trace.Window
	program []stageCut
	name    []int32 // by position in the program
	seq     []int32
	group   []int32 // ordinal among the synchronisation points; −1
	idle    []bool  // a stage that is measured waiting
	points  int32
}

// nameStages gives the operators of a step their names; the parts of an
// accumulation-indexed stage are instances of one.
func (s *stageOperators) nameStages() {
	next := make(map[int32]int32)
	for _, c := range s.program {
		name := stagename.Residual
		if c.stage < len(s.w.Schema.Stages) {
			name, _ = stagename.Split(s.w.Schema.Stages[c.stage])
		}
		idle := !c.sync && stagename.IsWait(name)
		at := int32(slices.Index(s.t.Names, name))
		if at < 0 && !idle {
			at = int32(len(s.t.Names))
			s.t.Names = append(s.t.Names, name)
		}
		s.name, s.seq, s.idle = append(s.name, at), append(s.seq, next[at]), append(s.idle, idle)
		next[at]++
		group := int32(-1)
		if c.sync {
			group = s.points
			s.points++
		}
		s.group = append(s.group, group)
	}
}

// add appends the operators of one rank in one step.
func (s *stageOperators) add(rank, step int) {
	at := int64(0)
	for k, c := range s.program {
		d := s.duration(step+c.later, c.stage, rank)
		if !s.idle[k] {
			group := s.group[k]
			if group >= 0 {
				group += int32(step) * s.points
			}
			t := s.t
			t.Rank, t.Step, t.Name, t.Seq = append(t.Rank, int32(rank)), append(t.Step, int32(step)), append(t.Name, s.name[k]), append(t.Seq, s.seq[k])
			t.Start, t.Dur, t.Group = append(t.Start, at), append(t.Dur, d), append(t.Group, group)
		}
		at += d
	}
}

// duration returns the duration of a recorded stage, or the rest of the step's wall time.
func (s *stageOperators) duration(step, stage, rank int) int64 {
	row, ranks := s.w.Step(step), len(s.w.Ranks)
	if stage < len(s.w.Schema.Stages) {
		return row[stage*ranks+rank]
	}
	left := s.w.WallOf(step)[rank]
	for k := range s.w.Schema.Stages {
		left -= row[k*ranks+rank]
	}
	return max(0, left)
}

// mostJoined is how many stage instances windows that are joined have at most:
// an operator trace of them takes some 100 bytes for each.
const mostJoined = 1 << 22

// Contiguous joins windows of one run that follow each other without a gap and
// have the same ranks and stages, up to about four million stage instances: more
// steps show fainter differences. The windows stay as they are.
func Contiguous(windows []*trace.Window) []*trace.Window {
	var out []*trace.Window
	for _, w := range windows {
		n := len(out) - 1
		if n < 0 || !follows(out[n], w) || len(out[n].Durations)+len(w.Durations) > mostJoined {
			out = append(out, w)
			continue
		}
		joined := *out[n]
		joined.Durations = slices.Concat(joined.Durations, w.Durations)
		if w.Wall != nil {
			joined.Wall = slices.Concat(joined.Wall, w.Wall)
		}
		joined.Side, joined.Notes = nil, slices.Compact(slices.Concat(joined.Notes, w.Notes))
		out[n] = &joined
	}
	return out
}

// follows reports whether w goes on where v ends.
func follows(v, w *trace.Window) bool {
	return v.Run == w.Run && v.StepAt(v.Steps()) == w.FirstStep && v.WorldSize == w.WorldSize && v.Schema.Equal(w.Schema) &&
		max(1, v.Accumulation) == max(1, w.Accumulation) && v.DataWait == w.DataWait && (v.Wall == nil) == (w.Wall == nil) &&
		slices.EqualFunc(v.Ranks, w.Ranks, func(p, q trace.Rank) bool { return p.ID == q.ID })
}
