package tables

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
)

// secondStage is whom the second stage names in a run: by how what ranks work by themselves is distributed (K-S), and of
// those the ranks to which the waits of others lead (hybrid: K-S with blame).
type secondStage struct{ KS, Hybrid differing }

// differing is the ranks that one method names, the surest first, and whether that is right.
type differing struct {
	Ranks  []int
	Answer rankAnswer
}

// rateSecond compares the second stage of a run with the truth; l is nil where nothing was tested.
func rateSecond(c *runCase, l *answer.Latent) secondStage {
	if l == nil || l.Refused != "" {
		return secondStage{differing{Answer: rankNotJudged}, differing{Answer: rankNotJudged}}
	}
	hybrid := slices.DeleteFunc(slices.Clone(l.Differences), func(d answer.Difference) bool { return d.Confidence < evidence.Supported })
	return secondStage{rateDiffering(c, l.Differences), rateDiffering(c, hybrid)}
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
