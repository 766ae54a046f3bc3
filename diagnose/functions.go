package diagnose

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/operator"
	"github.com/sfstat/sfstat/trace/stagename"
)

// mostOf is the part of a delay that one line of the program must take longer than on
// the peers to stand for it.
const mostOf = 0.5

// line returns the line in which a late rank spends what it is late by, in profiled steps among those that it delays.
// Nobody is suspected because of a function alone.
func (j *judge) line(f *Finding) (e evidence.SpentIn, ok bool) {
	if f.Kind != KindRank || f.Rank == nil || f.Cause != CauseLate {
		return e, false
	}
	return j.functionLine(f)
}

// functionLine returns the line of a finding, in the first stretch of profiled steps that shows it: a rank may have been profiled
// before it became late.
func (j *judge) functionLine(f *Finding) (e evidence.SpentIn, ok bool) {
	for _, t := range j.functions {
		for i, k := 0, 0; i < len(t.Steps); i = k {
			for k = i + 1; k < len(t.Steps) && t.Steps[k] == t.Steps[k-1]+1; k++ {
			}
			stretch := &trace.Selection{Steps: &trace.StepRange{First: max(t.Steps[i], f.Struck.First), Last: min(t.Steps[k-1], f.Struck.Last)}}
			part := t.Select(stretch)
			if part == nil {
				continue
			}
			profiled := &trace.Selection{Ranks: ranksIn(part)} // others took no time that is known
			if part = part.Select(profiled); len(part.Ranks) < 2 {
				continue
			}
			r, err := opnames.Compare(part, opnames.Alpha)
			if err != nil {
				continue // other evidence stands without it
			}
			if e, ok = slowestLine(r, f); ok {
				return e, true
			}
		}
	}
	return e, false
}

// ranksIn returns the ranks that have rows.
func ranksIn(t *operator.Totals) (ids []int) {
	seen := make([]bool, len(t.Ranks))
	for _, row := range t.Rows {
		if !seen[row.Rank] {
			seen[row.Rank] = true
			ids = append(ids, t.Ranks[row.Rank].ID)
		}
	}
	return ids
}

// slowestLine returns the line in which the rank of a finding takes longest beside its peers, in the stage that it is late in; ok
// if that is most of the delay.
func slowestLine(r *opnames.Result, f *Finding) (e evidence.SpentIn, ok bool) {
	type line struct {
		evidence.SpentIn
		most float64 // of any function there
	}
	var lines []line
	for _, d := range r.RankDifferences(*f.Rank, "") {
		source, placed := sourceOfFunction(d.Name)
		if !placed || f.Stage != "" && cmp.Or(d.Stage, stagename.Residual) != f.Stage {
			continue
		}
		i := slices.IndexFunc(lines, func(l line) bool { return l.Source.File == source.File && l.Source.Line == source.Line })
		if i < 0 {
			i = len(lines)
			lines = append(lines, line{SpentIn: evidence.SpentIn{Rank: *f.Rank, Stage: f.Stage, Source: source, Steps: len(r.Steps)}})
		}
		l := &lines[i]
		l.Own += int64(d.Whole.Own)
		l.Peers += int64(d.Whole.Peers)
		if d.Excess() > l.most {
			l.most, l.Source = d.Excess(), source
		}
	}
	if len(lines) == 0 {
		return e, false
	}
	e = slices.MaxFunc(lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.Own-a.Peers, b.Own-b.Peers), cmp.Compare(b.Source.File, a.Source.File), cmp.Compare(b.Source.Line, a.Source.Line))
	}).SpentIn
	return e, float64(e.Own-e.Peers) >= mostOf*float64(f.Excess) && f.Excess > 0
}

// sourceOfFunction returns the line in the name of a function, "sleep at train.py:40".
func sourceOfFunction(name string) (evidence.SourceLine, bool) {
	call, at, ok := strings.Cut(name, " at ")
	colon := strings.LastIndexByte(at, ':')
	if !ok || colon <= 0 {
		return evidence.SourceLine{}, false
	}
	n, err := strconv.Atoi(at[colon+1:])
	return evidence.SourceLine{File: at[:colon], Line: n, Call: call}, err == nil
}

// reading returns the action for a rank whose line is known: to read the line. It has been profiled.
func reading(f *Finding, all []answer.Action) []answer.Action {
	e, ok := evidence.Find[evidence.SpentIn](f.Evidence)
	if !ok {
		return all
	}
	out := []answer.Action{{Action: answer.ReadLine, Host: f.Host, Ranks: []int{e.Rank}, Stages: []string{f.Stage}, Line: &e.Source}}
	for _, a := range all {
		if a.Action != answer.Profile && a.Action != answer.SampleStack {
			out = append(out, a)
		}
	}
	return out
}
