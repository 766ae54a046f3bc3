package report

import (
	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/engine/frontier"
)

// The structs of this file are the JSON of a verdict; see wire.go.

type verdictJSON struct {
	Schema string `json:"schema"`
	runJSON
	Runs         []runJSON      `json:"runs"`
	Windows      []windowJSON   `json:"windows"`
	PaperWindows []windowJSON   `json:"paper_windows"`
	Gates        frontier.Gates `json:"gates"`
	Problems     []problemJSON  `json:"problems"`
}

type runJSON struct {
	Run         string        `json:"run"`
	Headline    string        `json:"headline"`
	Confidence  string        `json:"confidence"`
	Suspects    []suspectJSON `json:"suspects"`
	Undecidable []string      `json:"undecidable"`
	CapturePlan *planJSON     `json:"capture_plan"`
	// Operators is null for a run of windows.
	Operators *operatorsJSON `json:"operators"`
}

type suspectJSON struct {
	Kind       string   `json:"kind"`
	Rank       *int     `json:"rank"`
	Role       *string  `json:"role"`
	Stage      *string  `json:"stage"`
	Op         *string  `json:"op"`
	Seq        *int     `json:"seq"`
	Group      *string  `json:"group"`
	Score      number   `json:"score"`
	Explained  int64    `json:"explained_ns"`
	Gain       number   `json:"gain"`
	Confidence string   `json:"confidence"`
	Evidence   []string `json:"evidence"`
	Windows    []int64  `json:"windows"`
	Ranks      []int    `json:"ranks"`
}

type planJSON struct {
	Window    int64    `json:"window"`
	FirstStep int64    `json:"first_step"`
	LastStep  int64    `json:"last_step"`
	Ranks     []int    `json:"ranks"`
	Stages    []string `json:"stages"`
	Tool      string   `json:"tool"`
	Why       string   `json:"why"`
}

func verdictOf(v *diagnose.Verdict, problems []Problem) verdictJSON {
	out := verdictJSON{Schema: verdictSchema, runJSON: runFrom(&v.RunVerdict), Runs: []runJSON{},
		Windows: []windowJSON{}, PaperWindows: []windowJSON{}, Gates: v.Gates, Problems: problemsOf(problems)}
	out.Headline = verdictHeadline(v)
	runs := runsOf(v)
	for i := range runs {
		out.Runs = append(out.Runs, runFrom(&runs[i]))
		for _, w := range runs[i].Windows {
			out.Windows = append(out.Windows, windowFrom(w.Main))
			out.Windows = append(out.Windows, windowsOf(w.Groups)...)
			if w.Paper != nil {
				out.PaperWindows = append(out.PaperWindows, windowFrom(w.Paper))
			}
		}
	}
	return out
}

func runFrom(v *diagnose.RunVerdict) runJSON {
	out := runJSON{Run: v.Run, Headline: Headline(v), Confidence: v.Confidence.String(), Operators: operatorsFrom(v.Operators),
		Suspects: make([]suspectJSON, len(v.Suspects)), Undecidable: list(undecidedWords(v))}
	for i, s := range v.Suspects {
		out.Suspects[i] = suspectJSON{Kind: s.Kind.String(), Rank: s.Rank, Role: optionalString(s.Role), Stage: optionalString(s.Stage),
			Op: optionalString(s.Op), Seq: s.Seq,
			Group: optionalString(s.Group), Score: number(s.Score), Explained: s.Explained, Gain: number(s.Gain),
			Confidence: s.Confidence.String(), Evidence: list([]string(evidenceWords(s.Evidence))), Windows: list(s.Windows),
			Ranks: list(s.Ranks)}
	}
	if p := planOf(v); p != nil {
		out.CapturePlan = &planJSON{p.Window, p.Steps[0], p.Steps[1], list(p.Ranks), list(p.Stages), p.Tool, p.Why}
	}
	return out
}
