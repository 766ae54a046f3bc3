package report

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
)

// The structs of this file are the JSON of a verdict; see wire.go.

// verdictJSON is the run that most needs attention, then the others.
type verdictJSON struct {
	MinGain float64 `json:"min_gain" doc:"fraction of a step from which on a finding is large enough to act on"`
	runJSON
	Others    []runJSON               `json:"other_runs" doc:"all runs but the first, in the order of the input"`
	Recurring *evidence.RecurringHost `json:"recurring_host" doc:"host that the late ranks of several runs are on; null: none"`
	diagnose.Thresholds
}

// runJSON is the verdict on a run, with its sentence and the accounts behind it.
type runJSON struct {
	Headline string `json:"headline" doc:"what delays the job and what fixing it saves, in two sentences at most"`
	Why      string `json:"why" doc:"what speaks for that, and how certain it is, in words; empty: nothing more is known"`
	Advice   string `json:"advice" doc:"what to do first, in words; next has it as values"`
	diagnose.RunVerdict
	Windows []windowJSON `json:"windows" doc:"one for each window by the cut of the analysis, each followed by its role groups"`
	Paper   []windowJSON `json:"paper_windows" doc:"the same windows by the step cut without model fit, where that differs"`
}

// refused is the kind of problem that an input was not read.
const refused answer.ProblemKind = "input_refused"

func verdictOf(v *diagnose.Verdict, problems []Problem) verdictJSON {
	out := verdictJSON{MinGain: v.MinGain, runJSON: runFrom(&v.RunVerdict), Others: []runJSON{}, Recurring: v.Recurring, Thresholds: v.Thresholds}
	out.Problems = slices.Clone(out.Problems)
	for _, p := range problems {
		out.Problems = append(out.Problems, answer.Problem{Problem: refused, Path: p.Path, Text: p.Reason()})
	}
	for i := range v.Runs {
		if i != v.First {
			out.Others = append(out.Others, runFrom(&v.Runs[i]))
		}
	}
	return out
}

// runsOf are the verdicts on all runs, in the order of the input.
func runsOf(v *diagnose.Verdict) runsJSON {
	return runsJSON{each(v.All(), func(r diagnose.RunVerdict) runJSON { return runFrom(&r) })}
}

type runsJSON struct {
	Runs []runJSON `json:"runs"`
}

func runFrom(v *diagnose.RunVerdict) runJSON {
	a := answerTo(v)
	out := runJSON{Headline: a.headline(), Why: a.why, Advice: a.next, RunVerdict: *v, Windows: []windowJSON{}, Paper: []windowJSON{}}
	for _, w := range v.Windows {
		out.Windows = append(append(out.Windows, windowFrom(w.Main)), each(w.Groups, windowFrom)...)
		if w.Paper != nil {
			out.Paper = append(out.Paper, windowFrom(w.Paper))
		}
	}
	return out
}
