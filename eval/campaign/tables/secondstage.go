package tables

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
)

// secondStage is whom the second stage names in a run: by how what ranks work by themselves is distributed (K-S), and of
// those the ranks to which the waits of others lead (hybrid: K-S with blame). Z-scores and blame are beside it, as their
// commands have them.
type secondStage struct{ KS, Hybrid, Outliers, Blame differing }

// differing is the ranks that one method names, the surest first, and whether that is right.
type differing struct {
	Ranks  []int
	Answer rankAnswer
}

// rateSecond compares the second stage of a run with the truth, l, which is nil where nothing was tested, and z-scores
// and blame.
func rateSecond(c *runCase, l *answer.Latent, by *stagewise) (s secondStage) {
	s.KS.Answer, s.Hybrid.Answer, s.Outliers.Answer, s.Blame.Answer = rankNotJudged, rankNotJudged, rankNotJudged, rankNotJudged
	if by.judged {
		s.Outliers, s.Blame = rateNamed(c, by.outlying), rateNamed(c, by.cause)
	}
	if l == nil || l.Refused != "" {
		return s
	}
	hybrid := slices.DeleteFunc(slices.Clone(l.Differences), func(d answer.Difference) bool { return d.Confidence < evidence.Supported })
	s.KS, s.Hybrid = rateDiffering(c, l.Differences), rateDiffering(c, hybrid)
	return s
}

// rateNamed compares ranks that a method names with those that hide something.
func rateNamed(c *runCase, ranks []int) differing {
	out := differing{Ranks: ranks, Answer: rankNone}
	for _, r := range ranks {
		if out.Answer = rankRight; !c.hides(r) {
			out.Answer = rankWrong
			break
		}
	}
	return out
}

// rateDiffering returns the ranks of some differences, and wrong if one of them hides nothing. Of two ranks nobody can
// tell which one differs.
func rateDiffering(c *runCase, list []answer.Difference) differing {
	out := differing{Answer: rankNone}
	for _, d := range list {
		out.Ranks = append(out.Ranks, d.Rank)
		switch {
		case d.Peer != nil:
			out.Answer = rankUndecidable
		case !c.hides(d.Rank):
			out.Answer = rankWrong
		case out.Answer == rankNone:
			out.Answer = rankRight
		}
	}
	return out
}

// rankList returns the ranks as a cell, separated by spaces.
func (d *differing) rankList() string {
	var out []string
	for _, r := range d.Ranks {
		out = append(out, strconv.Itoa(r))
	}
	return strings.Join(out, " ")
}
