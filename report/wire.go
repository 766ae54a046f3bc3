package report

import (
	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/publish"
)

// words are the sentences in what is published.
var words = publish.Worded{
	Verdict: func(v *diagnose.RunVerdict) publish.Said {
		a := answerTo(v)
		return publish.Said{Headline: a.headline(), Why: a.why, Advice: a.next}
	},
	WindowWords: publish.WindowWords{Cut: cutReason, Fit: fitReason},
}

// windowsJSON is the JSON of all commands over windows.
type windowsJSON[T any] struct {
	Windows []T `json:"windows" doc:"one for each window and role group, in the order of the input"`
}

// problemsOf are the refused inputs for JSON.
func problemsOf(problems []Problem) []publish.Problem {
	return each(problems, func(p Problem) publish.Problem { return publish.Problem{Path: p.Path, Error: p.Reason()} })
}
