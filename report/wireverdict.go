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
	Suspects     []suspectJSON          `json:"suspects"`
	Observations []evidence.Observation `json:"observations"`
	Undecided    []answer.Undecided     `json:"undecided"`
	Problems     []problemFound         `json:"problems"`
	Next         []answer.Action        `json:"next"`
	// Operators is null for a run of windows.
	Operators *operatorsJSON `json:"operators"`
	Earlier   []stretchJSON  `json:"earlier"`
}

// stretchJSON is windows of a run before those of its verdict.
type stretchJSON struct {
	First   int64        `json:"first_step"`
	Last    int64        `json:"last_step"`
	Windows int          `json:"windows"`
	Steps   int          `json:"steps"`
	Status  string       `json:"status"`
	Suspect *suspectJSON `json:"suspect"`
}

type suspectJSON struct {
	Kind         string                 `json:"kind"`
	Cause        string                 `json:"cause"`
	Rank         *int                   `json:"rank"`
	Host         *string                `json:"host"`
	LocalRank    *int                   `json:"local_rank"`
	Role         *string                `json:"role"`
	Stage        *string                `json:"stage"`
	Op           *string                `json:"op"`
	Seq          *int                   `json:"seq"`
	Group        *string                `json:"group"`
	Ranks        []int                  `json:"ranks"`
	Source       *evidence.SourceLine   `json:"source_line"`
	Confidence   string                 `json:"confidence"`
	BelowMinGain bool                   `json:"below_min_gain"`
	Gain         float64                `json:"gain"`
	RunGain      float64                `json:"run_gain"`
	Struck       struckJSON             `json:"steps_struck"`
	Step         int64                  `json:"step_ns"`
	Excess       int64                  `json:"excess_ns"`
	Explained    int64                  `json:"explained_ns"`
	Score        float64                `json:"score"`
	Evidence     []evidence.Observation `json:"evidence"`
	Windows      []int64                `json:"windows"`
}

type struckJSON struct {
	Count   int    `json:"count"`
	Of      int    `json:"of"`
	First   *int64 `json:"first"`
	Last    *int64 `json:"last"`
	Pattern string `json:"pattern"`
	// null where the steps do not tell.
	RateLow    *float64 `json:"rate_low"`
	RateHigh   *float64 `json:"rate_high"`
	ExcessLow  *int64   `json:"excess_low_ns"`
	ExcessHigh *int64   `json:"excess_high_ns"`
	P          *float64 `json:"p"`
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
	runs := runsOf(v)
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
	out := runJSON{Run: v.Run, Status: v.Status.String(), Headline: Headline(v), Confidence: v.Confidence.String(), Operators: operatorsFrom(v.Operators),
		Suspects: make([]suspectJSON, len(v.Suspects)), Observations: v.Observed, Undecided: v.Undecided, Next: v.Next,
		Problems: each(v.Problems, func(p answer.Problem) problemFound { return problemFound{Problem: p} })}
	for i := range v.Suspects {
		out.Suspects[i] = suspectFrom(&v.Suspects[i])
	}
	for _, e := range v.Earlier {
		one := stretchJSON{First: e.First, Last: e.Last, Windows: e.Windows, Steps: e.Steps, Status: e.Status.String()}
		if e.Suspect != nil {
			s := suspectFrom(e.Suspect)
			one.Suspect = &s
		}
		out.Earlier = append(out.Earlier, one)
	}
	return out
}

func suspectFrom(s *diagnose.Finding) suspectJSON {
	out := suspectJSON{Kind: s.Kind.String(), Cause: s.Cause.String(), Rank: s.Rank, Host: optionalString(s.Host), LocalRank: s.LocalRank,
		Role: optionalString(s.Role), Stage: optionalString(s.Stage), Op: optionalString(s.Op), Seq: s.Seq, Group: optionalString(s.Group),
		Ranks: s.Ranks, Source: s.Source, Confidence: s.Confidence.String(), BelowMinGain: s.BelowMinGain,
		Gain: s.Gain, RunGain: s.RunGain, Step: s.Step, Excess: s.Excess, Explained: s.Explained, Score: s.Score,
		Evidence: s.Evidence, Windows: s.Windows,
		Struck: struckJSON{Count: s.Struck.Count, Of: s.Struck.Of, Pattern: s.Struck.Pattern.String()}}
	if s.Struck.Count > 0 && s.Struck.First >= 0 {
		out.Struck.First, out.Struck.Last = &s.Struck.First, &s.Struck.Last
	}
	if s.Struck.Bounded() {
		low, high, p := s.Struck.Low, s.Struck.High, s.Struck.P
		out.Struck.RateLow, out.Struck.RateHigh, out.Struck.P = &low, &high, &p
		out.Struck.ExcessLow, out.Struck.ExcessHigh = &s.Struck.ExcessLow, &s.Struck.ExcessHigh
	}
	return out
}
