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

// problemsOf returns the refused inputs for JSON.
func problemsOf(problems []Problem) []publish.Problem {
	return each(problems, func(p Problem) publish.Problem { return publish.Problem{Path: p.Path, Error: p.Reason()} })
}
