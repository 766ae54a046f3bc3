package report

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// operatorBlocks returns the verdict on an operator trace: the parts of a step, and slow workers with their operators; in
// detail also the evidence, and one walk from a victim to the culprit.
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
	return put(d, evidenceBlocks(v), coverageBlocks(v), latentBlocks(v.Latent), kindBlocks(o), walkBlocks(v), nextBlocks(v), replicaBlocks(o), noteBlocks(o.Notes))
}

// replicaBlocks returns the accounts of the replicas of each pipeline stage, a line each, and their labels.
func replicaBlocks(o *diagnose.Operators) document {
	if o.Replicas < 2 {
		return nil
	}
	t := replicasColumns()
	var given []labels.Label
	var reasons []labels.Reason
	for _, a := range o.Accounts {
		given, reasons = append(given, a.Labels...), append(reasons, a.Reasons...)
		row := t.Cells(a.Group, perStep(a.Makespan, a), nil, nil, labelItems(a.Labels), nil)
		if s := lead(a); s >= 0 {
			row[2], row[3] = table.TextCell(a.Stages[s].Name), table.OptionalCell(a.Stages[s].Share)
		}
		if a.Leader.Rank != nil {
			row[5] = table.TextCell(fmt.Sprintf("%s %d", nounOf(o.StandsFor(*a.Leader.Rank) != nil), *a.Leader.Rank))
		}
		t.Add(row...)
	}
	slices.Sort(given)
	slices.Sort(reasons)
	return put(section("Frontier over the replicas", ends(t, windowLimit).Tidy()), wordBlocks(slices.Compact(given), slices.Compact(reasons)))
}

// noteBlocks returns the incomplete parts, and the choices made in reading.
func noteBlocks(notes []input.Note) document {
	return section("How this was read", bullets(texts(notes)))
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
	out := terms{
		{Name: "job", Text: fmt.Sprintf("%s, %s recorded", layout, table.Counted(len(o.Workers), "worker"))},
		{Name: "trace", Text: sayOperatorTrace(o)},
		{Name: "step", Text: length(o.Replay.Recorded.Mean)},
		{Name: "replayed", Text: sayReplayed(o.Replay)},
	}
	if o.Offset > 0 {
		out = append(out, glyph.Term{Name: "clocks", Text: fmt.Sprintf("up to %s off the middle one, aligned", length(float64(o.Offset)))})
	}
	return out
}

// stageBlocks returns a line per pipeline stage, with its slowest worker.
func stageBlocks(o *diagnose.Operators) document {
	if o.Passes == nil {
		return nil
	}
	slowest := "slowest"
	if o.StandsFor(0) != nil {
		slowest = "slowest worker"
	}
	t := pipelineStagesColumns()
	t.Columns[4].Head = slowest
	for s, level := range o.Passes.Stages {
		workers := o.Passes.Workers[s*max(1, o.Replicas) : (s+1)*max(1, o.Replicas)]
		worst := 0
		for d, w := range workers {
			if w.Factor > workers[worst].Factor {
				worst = d
			}
		}
		row := t.Cells(fmt.Sprintf("pp=%d", s), level.Time, level.Time, level.Factor, replicaOf(o, o.Workers[s*max(1, o.Replicas)+worst]), workers[worst].Factor)
		row[2].Strong, row[3].Strong, row[5].Strong = level.Slow, level.Slow, workers[worst].Slow
		if len(o.Passes.Stages) < 2 {
			row[3] = table.Cell{}
		}
		if o.Replicas < 2 {
			row[4], row[5] = table.Cell{}, table.Cell{}
		}
		t.Add(row...)
	}
	return document{heading(table.Counted(len(o.Passes.Stages), "pipeline stage")), t.Tidy()}
}

// replicaOf names a worker with its dp coordinate.
func replicaOf(o *diagnose.Operators, r trace.Rank) string {
	if ranks := o.StandsFor(r.ID); ranks != nil {
		return fmt.Sprintf("%d (%s)", r.ID, representedRanks(ranks))
	}
	role := ""
	if dp, ok := r.Role.Coord(trace.DataParallel); ok {
		role = fmt.Sprintf("dp=%d", dp)
	}
	return workerName(r.ID, role, nil)
}

// kindBlocks returns the cost of each kind of operator beyond its ideal.
func kindBlocks(o *diagnose.Operators) document {
	t := kindColumns()
	for _, p := range o.Costly() {
		t.Row(p.Name, p.Overall-1, p.Overall-1)
	}
	return section("Which operators", t.Tidy())
}

// walkBlocks returns one walk that led to the first suspect.
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

func replicasColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "stage", Kind: table.Name},
		{Head: "%s/step", Kind: table.Length},
		{Head: "lead stage", Kind: table.Name},
		{Head: "share", Kind: table.Fraction},
		{Head: "labels", Kind: table.List, Last: true},
		{Head: "latest in it", Kind: table.Text, Last: true},
	}}
}

func pipelineStagesColumns() *table.Table {
	return &table.Table{Caption: "compute: time in forward and backward; of a stage the median over its replicas, against the median of the other stages; of a worker against the median of its peers.", Columns: []table.Column{
		{Head: "stage", Kind: table.Name},
		{Head: "compute, %s/step", Kind: table.Length},
		{Kind: table.Bar},
		{Head: "vs others", Kind: table.Factor},
		{Head: "slowest", Kind: table.Text},
		{Head: "vs peers", Kind: table.Factor},
	}}
}

func kindColumns() *table.Table {
	return &table.Table{Caption: "By how much a step with all else ideal is longer with these operators as recorded.", Columns: []table.Column{
		{Head: "operators", Kind: table.Name},
		{Head: "costs", Kind: table.Fraction},
		{Kind: table.Bar},
	}}
}
