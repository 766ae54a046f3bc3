package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
)

// rule is what a verdict may become under a change. broken returns how after breaks it, seen from
// before in the names of after; "" where it holds.
type rule struct {
	name   string
	says   string // for people
	broken func(before, after *spoken) string
}

// Tolerances of gains: those that a change of names, of order or of storage may move by rounding, and
// those of times that were measured or rounded otherwise.
const (
	gainExact = 1e-6
	gainAlike = 0.005
	gainPart  = 0.05
	gainLeast = 0.01
)

var (
	same = rule{"same", "the same status, and every claim the same: who, where, how, how certain, and its gain", func(before, after *spoken) string {
		return differs(before, after, func(*claim) bool { return true }, gainExact, gainExact)
	}}
	alike = rule{"alike", "the same status, and every claim the same but for its gain, which is within half a percentage point",
		func(before, after *spoken) string {
			return differs(before, after, func(*claim) bool { return true }, 0, gainAlike)
		}}
	nearly = rule{"nearly", "the same status, and the same flagged claims; their gains within 5 % or one percentage point",
		func(before, after *spoken) string {
			return differs(before, after, (*claim).isFlagged, gainPart, gainLeast)
		}}
	weaker = rule{"weaker", "may become less certain; flags no other rank, and no straggler or unseen run becomes an all-clear", func(before, after *spoken) string {
		if bad := newlyAccused(before, after, (*claim).isFlagged); bad != "" {
			return bad
		}
		return judgeCleared(before, after)
	}}
	damaged = rule{"damaged", "may become less certain; no strong claim against another rank", func(before, after *spoken) string {
		return newlyAccused(before, after, isStrong)
	}}
	bereft = rule{"bereft", "no strong claim against another rank, and no all-clear", func(before, after *spoken) string {
		if bad := newlyAccused(before, after, isStrong); bad != "" {
			return bad
		}
		return judgeCleared(before, after)
	}}
	culprit = rule{"culprit", "the first flagged claim stays, who and where; without one nobody is flagged", func(before, after *spoken) string {
		i, k := slices.IndexFunc(before.claims, flaggedClaim), slices.IndexFunc(after.claims, flaggedClaim)
		switch {
		case i < 0:
			return newlyAccused(before, after, (*claim).isFlagged)
		case k < 0 || before.claims[i].subject() != after.claims[k].subject() || before.claims[i].stage != after.claims[k].stage:
			return fmt.Sprintf("%v → %v", before, after)
		}
		return ""
	}}
)

// rules are all of them, in the order in which they are explained.
var rules = []rule{same, alike, nearly, weaker, damaged, bereft, culprit}

func isStrong(c *claim) bool { return c.certainty == evidence.Strong && !c.small }

func flaggedClaim(c claim) bool { return c.isFlagged() }

// differs returns how two verdicts differ in status, runs, or in the claims that count, "" where they do not. Gains may be
// apart by a part or by an absolute amount.
func differs(before, after *spoken, counts func(*claim) bool, part, least float64) string {
	if before.refused != "" || after.refused != "" || before.status != after.status || before.runs != after.runs {
		if before.refused == "" && after.refused == "" && before.runs != after.runs {
			return fmt.Sprintf("%d runs: %v → %d runs: %v", before.runs, before, after.runs, after)
		}
		return fmt.Sprintf("%v → %s", before, after.verdictLine())
	}
	was, is := sortClaims(before, counts), sortClaims(after, counts)
	var lost, gained []string
	for _, c := range was {
		if !slices.ContainsFunc(is, func(x claim) bool { return x.key() == c.key() }) {
			lost = append(lost, c.key())
		}
	}
	for _, c := range is {
		if !slices.ContainsFunc(was, func(x claim) bool { return x.key() == c.key() }) {
			gained = append(gained, c.key())
		}
	}
	if len(lost)+len(gained) > 0 {
		return fmt.Sprintf("%v: %s → %s", after.status, joinTexts(lost), joinTexts(gained))
	}
	for i := range was {
		if !roughlyEqual(was[i].gain, is[i].gain, part, least) {
			return fmt.Sprintf("%s: saves %.2f %% → %.2f %%", was[i].key(), 100*was[i].gain, 100*is[i].gain)
		}
	}
	if len(was) != len(is) {
		return fmt.Sprintf("%d claims → %d", len(was), len(is))
	}
	return ""
}

// sortClaims returns the claims that count, by key.
func sortClaims(s *spoken, counts func(*claim) bool) (out []claim) {
	for _, c := range s.claims {
		if counts(&c) {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b claim) int { return strings.Compare(a.key(), b.key()) })
	return out
}

// joinTexts returns the texts in a sentence.
func joinTexts(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, " and ")
}

// newlyAccused returns the ranks that claims of a kind accuse and no claim accused before.
func newlyAccused(before, after *spoken, when func(*claim) bool) string {
	known := before.accusedRanks(func(*claim) bool { return true })
	for _, r := range after.accusedRanks(when) {
		if !slices.Contains(known, r) {
			return fmt.Sprintf("%v → %v", before, after)
		}
	}
	return ""
}

// judgeCleared returns the loss where somebody was flagged, a call hung, or a place was unseen, and nothing is left: a smaller
// recording shows no more.
func judgeCleared(before, after *spoken) string {
	suspicious := before.status == answer.Straggler || before.status == answer.Hang || before.status == answer.Unseen
	if suspicious && after.refused == "" && after.status == answer.NoStraggler {
		return fmt.Sprintf("%v → %v", before, after)
	}
	return ""
}

// verdictLine returns the verdict in a line, or why there is none.
func (s *spoken) verdictLine() string {
	if s.refused != "" {
		return "refused: " + firstLine(s.refused)
	}
	return s.String()
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
