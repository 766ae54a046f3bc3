package tables

import (
	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
)

// verdict is what the diagnosis of a run names first, and whether that is
// right.
type verdict struct {
	Kind       string // of the first suspect; "" without one
	Rank       *int
	Stage      string
	Gain       float64
	Confidence string
	Called     bool // certain and large enough to act on
	StageRight bool
	Answer     rankAnswer
	// Named: stage and rank are right, and the confidence lets them be called
	// (supported or strong).
	Named bool
	// Innocent is how many suspects that may be called name a rank that hides
	// nothing.
	Innocent int
}

// rankAnswer is what a method, such as the first suspect of the verdict, says about the rank.
type rankAnswer string

const (
	rankNotJudged   rankAnswer = "not judged"    // too few steps, or nothing to test
	rankNone        rankAnswer = "none"          // nobody is suspected of anything
	rankUndecidable rankAnswer = "not decidable" // a suspect, and no rank with it
	rankWrong       rankAnswer = "wrong"
	rankRight       rankAnswer = "right"
)

// places reports whether a finding is of what is seeded: its stage or operator, or a worker with several of them.
func (c *runCase) places(f *diagnose.Finding) bool {
	if c.isSeeded(f.Stage) || f.Op != "" && c.isSeeded(f.Op) {
		return true
	}
	own := 0
	for _, h := range c.Hidden {
		if f.Rank != nil && h.Rank == *f.Rank {
			own++
		}
	}
	return f.Op == "" && f.Role != "" && own > 1
}

// rate compares a verdict with the truth.
func rate(c *runCase, v *diagnose.RunVerdict) verdict {
	out := verdict{Confidence: v.Confidence.String(), Answer: rankNone}
	for _, s := range v.Findings {
		if s.Kind == diagnose.KindRank && s.Rank != nil && s.IsFlagged() && !c.hides(*s.Rank) {
			out.Innocent++
		}
	}
	if u, hidden := v.LargestHidden(); hidden && v.Status <= answer.UndecidedRun && v.Status != answer.TooLittleData {
		out.Kind, out.Stage, out.StageRight, out.Answer = diagnose.KindStage.String(), u.Stage, c.isSeeded(u.Stage), rankUndecidable
		return out
	}
	if len(v.Findings) == 0 {
		return out
	}
	first := v.Findings[0]
	out.Kind, out.Rank, out.Stage, out.Gain = first.Kind.String(), first.Rank, first.Stage, first.Gain
	out.StageRight = c.places(&first)
	switch {
	case first.Rank == nil:
		out.Answer = rankUndecidable
	case c.hides(*first.Rank):
		out.Answer = rankRight
	default:
		out.Answer = rankWrong
	}
	out.Called = first.IsFlagged()
	out.Named = out.StageRight && out.Answer == rankRight && out.Called
	return out
}
