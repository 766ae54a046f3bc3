package report

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace/stagename"
)

// What sentences share: numbers with their units, arithmetic, names and lists of them.

// share returns a part of a whole; of no whole the part.
func share[N int | int64](part, whole N) float64 { return float64(part) / float64(max(1, whole)) }

// ratio returns a over b; of no b an infinity.
func ratio(a, b int64) float64 { return float64(a) / float64(b) }

// hundredths writes a number with two decimals.
func hundredths(f float64) string { return table.Decimals(f, 2) }

// round returns the nearest whole number of one that is not negative.
func round(f float64) int { return int(f + 0.5) }

// countIs writes "1 step is" or "5 steps are".
func countIs(n int, noun string) string { return table.Counted(n, noun) + " " + isAre(n) }

// lower lets a sentence stand inside of another.
func lower(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// trimStop returns a sentence without its full stop.
func trimStop(s string) string { return strings.TrimRight(glyph.Visible(s), ".") }

// stagesWord returns "data, forward or backward", or how many stages they are.
func stagesWord(stages []string) string {
	const most = 5
	if len(stages) > most {
		return fmt.Sprintf("%d stages", len(stages))
	}
	return joinList(each(stages, bareStage), "or")
}

// blindTo returns what a recording does not show, and how large a delay may hide there.
func blindTo(h *diagnose.Healthy) string {
	var hidden, drowned, alone, text []string
	noise, hides, single := int64(0), int64(0), int64(0)
	for _, c := range h.Blind {
		switch c.Reason {
		case answer.NoMeeting:
			return "This recording does not show where the ranks wait for each other, so a late one cannot be told from the others."
		case answer.TooCoarse:
			return "The times are too coarse to show where the ranks wait for each other, so a late one cannot be told from the others."
		case answer.RanksUnknown:
			if c.Stage == "" {
				return fmt.Sprintf("In %s of the run not all ranks were recorded, and the others may have waited for one that was not.", fraction(float64(c.Hides)/float64(max(1, h.Step))))
			}
			hidden, hides = append(hidden, stageWord(c.Stage)), hides+c.Hides
		case answer.NoPeers:
			alone, single = append(alone, c.Stage), max(single, c.Hides)
		case answer.Spread:
			text = append(text, fmt.Sprintf("Over all stages together one rank is up to %s of a %s step behind, in none of them for certain.", length(float64(c.Hides)), length(float64(h.Step))))
		case answer.Uneven:
			text = append(text, fmt.Sprintf("In %s other ranks take %s longer than the fastest one, by design or not.", stageWord(c.Stage), length(float64(c.Hides))))
		case answer.NotRecorded:
			text = append(text, fmt.Sprintf("A rank enters up to %s later than its stages say: that time is in no stage.", length(float64(c.Hides))))
		case answer.TooNoisy:
			drowned, noise = append(drowned, stageWord(c.Stage)), noise+c.Hides
		default:
			hidden, hides = append(hidden, stageWord(c.Stage)), hides+c.Hides
		}
	}
	if len(hidden) > 0 {
		of := ""
		if len(h.Stages) == 0 && h.Step > 0 {
			of = fmt.Sprintf(" of a %s step", length(float64(h.Step)))
		}
		text = append(text, fmt.Sprintf("This recording cannot see into %s: a rank may lose up to %s%s there unseen.", stagesOrCount(hidden), length(float64(hides)), of))
	}
	if len(alone) > 0 {
		text = append(text, fmt.Sprintf("No two ranks do the same work in %s: one may lose up to %s of a %s step there unseen.", stagesOrCount(alone), length(float64(single)), length(float64(h.Step))))
	}
	if len(drowned) > 0 {
		text = append(text, fmt.Sprintf("In %s what one rank takes longer than its peers costs up to %s of a %s step; no delay there is certain.", stagesOrCount(drowned), length(float64(noise)), length(float64(h.Step))))
	}
	return strings.Join(text, " ")
}

// minDetectable returns the least delay that is found wherever in a step it is, ns a step; 0 where any place is not seen.
func minDetectable(coverage []answer.Coverage) (least int64) {
	for _, c := range coverage {
		if !c.Seen {
			return 0
		}
		least = max(least, c.Least)
	}
	return least
}

// noiseLimit returns how much of a step may be a delay that does not stand out of the noise, ns.
func noiseLimit(coverage []answer.Coverage) (sum int64) {
	for _, c := range coverage {
		if c.Reason == answer.TooNoisy {
			sum += c.Hides
		}
	}
	return sum
}

// reasons returns the place that hides most of each reason why places are not seen, the largest first.
func reasons(blind []answer.Coverage) (out []answer.Coverage) {
	for _, c := range blind {
		if !slices.ContainsFunc(out, func(have answer.Coverage) bool { return have.Reason == c.Reason }) {
			out = append(out, c)
		}
	}
	return out
}

// stagesOrCount returns stages as a list, or how many they are.
func stagesOrCount(stages []string) string {
	if len(stages) > mostNamed {
		return fmt.Sprintf("%d stages", len(stages))
	}
	return orList(stages)
}

// stagesToCheck returns what to look at of stages.
func stagesToCheck(stages []string) string {
	switch stagename.KindOf(stages[0]) {
	case stagename.Callbacks:
		return "the callback"
	case stagename.Data:
		return "the data loader"
	}
	return stageWord(stages[0])
}

// participants returns the ranks of an action, or the workers that they name.
func participants(a answer.Action, ranks []int) string {
	if len(a.Workers) == 0 {
		return ranksWord(ranks)
	}
	word := "workers "
	if len(ranks) == 1 {
		word = "worker "
	}
	return word + andList(each(ranks, func(rank int) string {
		i := slices.IndexFunc(a.Workers, func(w answer.Worker) bool { return w.Worker == rank })
		if i < 0 {
			return fmt.Sprint(rank)
		}
		return fmt.Sprintf("%d (%s)", rank, representedRanks(a.Workers[i].StandsFor))
	}))
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// groupWord returns a group by its description, or "group 2" where it has but a number.
func groupWord(name string) string {
	if strings.Trim(name, "0123456789") == "" {
		return "group " + name
	}
	return name
}

// bareOp returns an operation without its library.
func bareOp(op string) string {
	_, bare, ok := strings.Cut(op, ":")
	if !ok {
		return op
	}
	return bare
}

// callOf returns a call with what it differs in.
func callOf(op, sizes, types, difference string) string {
	switch difference {
	case "sizes", "input_and_output", "totals":
		return op + " of " + sizes
	case "types":
		return op + " of " + types
	}
	return op
}

// sourceWord returns a line as people write it: "train.py:66 (backward)".
func sourceWord(s *evidence.SourceLine) string {
	if s == nil || s.Call == "" {
		return s.Short()
	}
	return fmt.Sprintf("%s (%s)", s.Short(), s.Call)
}

// rate writes bytes per nanosecond.
func rate(f float64) string {
	switch {
	case !table.Finite(f):
		return table.Absent + " GB/s"
	case f >= 100:
		return fmt.Sprintf("%.0f GB/s", f)
	}
	return fmt.Sprintf("%.3g GB/s", f)
}

// binaryBytes writes a size class: "32 MiB".
func binaryBytes(n int64) string { return binarySize(max(0, bits.Len64(uint64(n))-1)) }

// clockWord returns a time of day, dayOf its day, instant both.
func clockWord(at int64) string { return time.Unix(0, at).UTC().Format("15:04:05 UTC") }
func dayOf(at int64) string     { return time.Unix(0, at).UTC().Format("2 January 2006") }
func instant(at int64) string   { return time.Unix(0, at).UTC().Format(time.DateTime) }

// valueWithUnit returns a value with its unit.
func valueWithUnit(x float64, unit string) string {
	switch unit {
	case "fraction":
		return fraction(x)
	case "1/s":
		if x > 0 && x < 0.1 {
			return plainNumber(60*x) + " a minute"
		}
		return plainNumber(x) + " a second"
	case "tasks/CPU":
		return plainNumber(x)
	}
	return plainNumber(x) + " " + unit
}

// plainNumber returns a number with three digits, or all before the point.
func plainNumber(x float64) string {
	switch {
	case x >= 100 || x == float64(int64(x)):
		return table.Grouped(int64(x + 0.5))
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}
