package report

import (
	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier/gates"
)

// The structs of this file are the JSON of a verdict; see wire.go.

type verdictJSON struct {
	MinGain float64 `json:"min_gain"`
	runJSON
	Runs         []runJSON    `json:"runs"`
	Windows      []windowJSON `json:"windows"`
	PaperWindows []windowJSON `json:"paper_windows"`
	Gates        gates.Gates  `json:"gates"`
}

type runJSON struct {
	Run          string                 `json:"run"`
	Status       string                 `json:"status"`
	Headline     string                 `json:"headline"`
	Confidence   string                 `json:"confidence"`
	Suspects     []diagnose.Finding     `json:"suspects"`
	Observations []evidence.Observation `json:"observations"`
	Undecided    []answer.Undecided     `json:"undecided"`
	Problems     []problemFound         `json:"problems"`
	Next         []answer.Action        `json:"next"`
	// Operators is null for a run of windows.
	Operators *operatorsJSON     `json:"operators"`
	Earlier   []diagnose.Stretch `json:"earlier"`
	Limits    []diagnose.Limit   `json:"limits"`
}

// refused is the kind of problem that an input was not read.
const refused answer.ProblemKind = "input_refused"

// problemFound is a problem of a run, or an input that was refused.
type problemFound struct {
	answer.Problem
	Error string `json:"error,omitempty"`
}

func verdictOf(v *diagnose.Verdict, problems []Problem) verdictJSON {
	out := verdictJSON{MinGain: v.MinGain, runJSON: runFrom(&v.RunVerdict), Runs: []runJSON{},
		Windows: []windowJSON{}, PaperWindows: []windowJSON{}, Gates: v.Gates}
	for _, p := range problems {
		out.Problems = append(out.Problems, problemFound{answer.Problem{Problem: refused, Path: p.Path}, p.Reason()})
	}
	runs := v.All()
	for i := range runs {
		out.Runs = append(out.Runs, runFrom(&runs[i]))
		for _, w := range runs[i].Windows {
			out.Windows = append(out.Windows, windowFrom(w.Main))
			out.Windows = append(out.Windows, each(w.Groups, windowFrom)...)
			if w.Paper != nil {
				out.PaperWindows = append(out.PaperWindows, windowFrom(w.Paper))
			}
		}
	}
	return out
}

func runFrom(v *diagnose.RunVerdict) runJSON {
	return runJSON{Run: v.Run, Status: v.Status.String(), Headline: Headline(v), Confidence: v.Confidence.String(), Operators: operatorsFrom(v.Operators),
		Suspects: v.Suspects, Observations: v.Observed, Undecided: v.Undecided, Next: v.Next, Earlier: v.Earlier, Limits: v.Limits,
		Problems: each(v.Problems, func(p answer.Problem) problemFound { return problemFound{Problem: p} })}
}
