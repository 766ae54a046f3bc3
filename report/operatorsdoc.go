package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// operatorBlocks show the verdict on an operator trace: what a step is made
// of, who is slow where; and where it is asked for, why, and one walk from a
// victim to the culprit.
func operatorBlocks(v *diagnose.RunVerdict, s Style) document {
	o := v.Operators
	d := document{heading("The step"), stepTerms(o)}
	d = append(d, stageBlocks(o)...)
	if !s.Verbose {
		for _, n := range o.Notes {
			if n.Kind == input.NoteMissingRanks {
				d = append(d, prose("Note: "+n.Text+"."))
			}
		}
		return append(d, hint("-v for evidence, operators and walks"))
	}
	d = append(d, whyBlocks(v)...)
	d = append(d, kindBlocks(o)...)
	d = append(d, walkBlocks(v)...)
	d = append(d, nextBlocks(v)...)
	return append(d, noteBlocks(o.Notes)...)
}

// noteBlocks are what is incomplete, and what was made of it.
func noteBlocks(notes []input.Note) document {
	if len(notes) == 0 {
		return nil
	}
	return document{heading("How this was read"), bullets(texts(notes))}
}

func stepTerms(o *diagnose.Operators) terms {
	layout := fmt.Sprintf("dp %d × pp %d", o.Replicas, o.Stages())
	for _, axis := range []struct {
		name string
		size int
	}{{"tp", o.Layout.TP}, {"dsp", o.Layout.DSP}, {"vpp", o.Layout.VPP}} {
		if axis.size > 1 {
			layout += fmt.Sprintf(" × %s %d", axis.name, axis.size)
		}
	}
	r := o.Replay
	out := terms{
		{"job", fmt.Sprintf("%s, %s recorded", layout, counted(len(o.Workers), "worker"))},
		{"trace", fmt.Sprintf("%s in %s (%d–%d)", counted(o.Ops, "operator"), counted(len(o.Steps), "step"), o.Steps[0], o.Steps[len(o.Steps)-1])},
		{"step", length(r.Recorded.Mean)},
		{"replayed", fmt.Sprintf("%s without launch delays, %s with every operator as long as its peers: slowdown S = %s",
			length(r.NoDelay.Mean), length(r.Ideal.Mean), factor(r.Slowdown.Overall))},
	}
	if o.Offset > 0 {
		out = append(out, term{"clocks", fmt.Sprintf("up to %s off the middle one, aligned", length(float64(o.Offset)))})
	}
	return out
}

// stageBlocks are a line per pipeline stage, with its slowest worker.
func stageBlocks(o *diagnose.Operators) document {
	if o.Passes == nil {
		return nil
	}
	t := &table{columns: []column{{head: "stage", kind: kindName}, {head: "compute, %s/step", kind: kindLength}, {kind: kindBar},
		{head: "vs others", kind: kindFactor}, {head: "slowest", kind: kindText}, {head: "vs peers", kind: kindFactor}}}
	for s, level := range o.Passes.Stages {
		workers := o.Passes.Workers[s*max(1, o.Replicas) : (s+1)*max(1, o.Replicas)]
		worst := 0
		for d, w := range workers {
			if w.Factor > workers[worst].Factor {
				worst = d
			}
		}
		row := []cell{textCell(fmt.Sprintf("pp=%d", s)), realCell(level.Time), realCell(level.Time), realCell(level.Factor),
			textCell(replicaOf(o.Workers[s*max(1, o.Replicas)+worst])), realCell(workers[worst].Factor)}
		row[2].strong, row[3].strong, row[5].strong = level.Slow, level.Slow, workers[worst].Slow
		if len(o.Passes.Stages) < 2 {
			row[3] = cell{}
		}
		if o.Replicas < 2 {
			row[4], row[5] = cell{}, cell{}
		}
		t.rows = append(t.rows, row)
	}
	t.caption = "compute: time in forward and backward; of a stage the median over its replicas, against the median of the other stages; of a worker against the median of its peers."
	return document{heading(counted(len(o.Passes.Stages), "pipeline stage")), t.tidy()}
}

// replicaOf names a rank with its dp coordinate.
func replicaOf(r trace.Rank) string {
	if dp, ok := r.Role.Coord(trace.DataParallel); ok {
		return fmt.Sprintf("rank %d (dp=%d)", r.ID, dp)
	}
	return fmt.Sprintf("rank %d", r.ID)
}

// kindBlocks say what each kind of operator costs beyond its ideal.
func kindBlocks(o *diagnose.Operators) document {
	const worth = 0.005
	t := &table{columns: []column{{head: "operators", kind: kindName}, {head: "costs", kind: kindFraction}, {kind: kindBar}}}
	for _, p := range o.Replay.ByOp {
		if p.Overall-1 < worth {
			continue
		}
		t.rows = append(t.rows, []cell{textCell(p.Name), realCell(p.Overall - 1), realCell(p.Overall - 1)})
	}
	if len(t.rows) == 0 {
		return nil
	}
	t.caption = "By how much a step with all else ideal is longer with these operators as recorded."
	return document{heading("Which operators"), t.tidy()}
}

// walkBlocks show one walk that led to the first suspect.
func walkBlocks(v *diagnose.RunVerdict) document {
	if len(v.Findings) == 0 || v.Findings[0].Rank == nil {
		return nil
	}
	o := v.Operators
	i := slices.IndexFunc(o.Walks.Culprits, func(w operators.Culprit) bool {
		return o.Workers[w.Worker].ID == *v.Findings[0].Rank && len(w.Path) > 1
	})
	if i < 0 {
		return nil
	}
	return document{heading("One walk back from a victim"), walkTable(o.Walks.Culprits[i].Path)}
}

// operatorWhere is where a suspect of an operator trace is: operator and
// pipeline stage.
func operatorWhere(s diagnose.Finding) string {
	op := s.Op
	if op != "" && s.Seq != nil {
		op = fmt.Sprintf("%s %d", op, *s.Seq)
	}
	return strings.Join(slices.DeleteFunc([]string{op, s.Stage}, func(x string) bool { return x == "" }), ", ")
}
