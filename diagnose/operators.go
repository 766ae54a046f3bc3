package diagnose

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/ks"
	"github.com/sfstat/sfstat/engine/microbatch"
	"github.com/sfstat/sfstat/engine/whatif"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
)

// Operators is what the engines found in an operator trace. Workers are by
// pipeline stage, then by replica.
type Operators struct {
	Layout   operator.Layout
	Workers  []trace.Rank
	Replicas int
	Steps    []int64 // indices
	Ops      int
	Offset   int64 // by how much clocks were aligned, at most, ns

	Replay   *whatif.Result
	Passes   *microbatch.Result // nil where stages run different passes
	Outliers *zscore.Result
	Walks    *operators.Walks
	Signs    *operators.Signs // of K-S, outliers and walks, by rank
	// Accounts are those of the replicas of each pipeline stage, by kinds of operators and waits; none where no frontier could
	// be taken. They decide no finding.
	Accounts []*frontier.Result
	Notes    []input.Note
}

// Stages returns the number of pipeline stages.
func (o *Operators) Stages() int { return len(o.Workers) / max(1, o.Replicas) }

// Costly returns the kinds of operators that make a step longer by enough to list, the most costly first.
func (o *Operators) Costly() []whatif.Part {
	return slices.DeleteFunc(slices.Clone(o.Replay.ByOp), func(p whatif.Part) bool { return p.Overall-1 < listedKind })
}

// StandsFor returns the ranks that a worker stands for, given the rank that recorded it: the ranks that share each of its
// operators are not in the trace. nil: itself alone. Where the trace numbers its workers from 0 on, they stand for the ranks in
// that order.
func (o *Operators) StandsFor(rank int) (ranks []int) {
	each := max(1, o.Layout.TP) * max(1, o.Layout.DSP)
	if each == 1 {
		return nil
	}
	first := rank
	if !slices.ContainsFunc(o.Workers, func(r trace.Rank) bool { return r.ID >= len(o.Workers) }) {
		first *= each
	}
	for k := range each {
		ranks = append(ranks, first+k)
	}
	return ranks
}

// addOperators judges an operator trace. A second one of a name is another run.
func (s *Session) addOperators(t *operator.Trace) error {
	j, err := examine(t)
	if err != nil {
		return err
	}
	j.gates, j.minGain = s.gates()
	j.account(s.o.Frontier)
	v, err := j.judge(t.Run)
	if err != nil {
		return err
	}
	r := s.runOf(t.Run)
	if r.operators != nil {
		r = &run{name: t.Run}
		s.runs = append(s.runs, r)
	}
	r.operators = v
	return nil
}

// examine lets every engine look at an operator trace.
func examine(t *operator.Trace) (*opJudge, error) {
	t = t.Complete()
	v, err := operators.New(t, whatif.Options{Missing: whatif.NoteMissing})
	if err != nil {
		return nil, err
	}
	j := &opJudge{v: v, Operators: &Operators{Layout: t.Layout, Replicas: v.Grid.Replicas, Steps: v.Steps(),
		Ops: t.Len(), Offset: v.Offset, Notes: notesOf(t, v)}}
	for w := range v.Workers() {
		j.Workers = append(j.Workers, v.Rank(w))
	}
	if j.Replay = v.Model.Analyze(); j.Replay.Recorded.Mean == 0 {
		return nil, input.Bad(input.ErrEmpty, "no operator takes any time: are the times cut off?")
	}
	if in := v.Passes(); in != nil {
		j.Passes = microbatch.Analyze(*in, operators.Alpha)
	}
	completion := ks.Options{}
	if n := v.Workers(); n > manyWorkers {
		completion.Replicates = max(fewestReplicates, 4*fewestReplicates*manyWorkers/n)
	}
	r, err := operators.Examine(v, completion, walkedSteps)
	if err != nil {
		return nil, err
	}
	j.series, j.ops = r.Series, r.Operators
	j.Outliers, j.Walks, j.Signs = r.Outliers, r.Walks, r.Signs()
	if n := len(j.Walks.Contradict); n > 0 {
		j.Notes = append(j.Notes, input.Note{Kind: input.NoteUnknown,
			Text: fmt.Sprintf("steps whose times contradict the schedule, too coarsely recorded perhaps, so that blame did not walk there: %d", n)})
	}
	return j, nil
}

// account takes the frontier over the replicas of each pipeline stage, as sfstat frontier does, by the cut and gates of the
// options.
func (j *opJudge) account(o frontier.Options) {
	o.SyncAfter, o.Reference = "", nil // of windows
	windows, err := operators.Windows(j.v.Trace, j.v.Grid)
	for _, w := range windows {
		var a *frontier.Analysis
		if a, err = frontier.Analyze(w, o); err != nil {
			break
		}
		m := a.Main
		m.Group, m.Substages = j.stageName(int(w.Index)), nil
		m.SyncPoint.Boundaries = slices.DeleteFunc(m.SyncPoint.Boundaries, func(b frontier.Boundary) bool { return !b.Syncs })
		j.Accounts = append(j.Accounts, m)
	}
	if err != nil {
		j.Accounts = nil
		j.Notes = append(j.Notes, input.Note{Kind: input.NoteUnknown, Text: "no account of the replicas: " + err.Error()})
	}
}

// notesOf returns the notes of a trace and its model, each once.
func notesOf(t *operator.Trace, v *operators.View) []input.Note {
	var out []input.Note
	for _, n := range slices.Concat(t.Notes, v.Model.Notes()) {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	if t.Layout.PP > v.Grid.Stages {
		out = append(out, input.Note{Kind: input.NoteMissingRanks, Text: fmt.Sprintf("the layout has %d pipeline stages, the trace %d", t.Layout.PP, v.Grid.Stages)})
	}
	return out
}
