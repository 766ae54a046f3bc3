package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/sfstat/sfstat/diagnose/crosscheck"
	"github.com/sfstat/sfstat/diagnose/runs"
	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/engine/compare"
	"github.com/sfstat/sfstat/engine/overhead"
	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace"
)

// What two sets of runs differ in, what something costs, what several recorders say of one run.

func sayComparison(c *runs.Comparison) string {
	r := c.Step()
	switch {
	case r == nil:
		return "Step times cannot be compared: neither side has any."
	case !table.Finite(r.Change):
		return "Step times cannot be compared: one side has none."
	}
	text := sayStepTimes(c, r)
	if c.Gate != nil {
		text += sayGate(c.Standing, *c.Gate)
	}
	return text + "."
}

func sayStepTimes(c *runs.Comparison, r *runs.Row) string {
	shows := fraction(r.Shows / r.Base)
	if r.Verdict == compare.NoneShown && !c.Notable() {
		return fmt.Sprintf("No difference in step time is shown (%s and %s); one of %s would probably have been", length(r.Base), length(r.New), shows)
	}
	longer := "longer"
	if r.Change < 0 {
		longer = "shorter"
	}
	text := fmt.Sprintf("A step takes %s instead of %s: %s %s", length(r.New), length(r.Base), fraction(math.Abs(r.Change)/r.Base), longer)
	switch r.Verdict {
	case compare.Untested:
		return text + ", which so little data cannot test"
	case compare.NoneShown:
		if m := c.Mostly(); m != nil {
			text += fmt.Sprintf(", mostly in %s (%s instead of %s)", stageWord(m.Stage), length(m.New), length(m.Base))
		}
		return text + fmt.Sprintf(", which may be chance (%s would probably have been shown)", shows)
	}
	low, high := math.Abs(r.Low), math.Abs(r.High)
	text += fmt.Sprintf(" (%s to %s)", fraction(min(low, high)/r.Base), fraction(max(low, high)/r.Base))
	if c.Unit == runs.Batches {
		text += " in these two recordings"
	}
	return text
}

func sayGate(s runs.Standing, gate float64) string {
	switch s {
	case runs.Within:
		return ": within the gate of " + percentOf(gate)
	case runs.NotShown:
		return "; it is not shown to be within the gate of " + percentOf(gate)
	case runs.BelowGate:
		return fmt.Sprintf(", which is below the gate of %s as estimated", percentOf(gate))
	case runs.Exceeded:
		return fmt.Sprintf(", which is above the gate of %s as estimated", percentOf(gate))
	}
	return ", above the gate of " + percentOf(gate)
}

// sayUnits states which units were compared, and at which confidence.
func sayUnits(c *runs.Comparison) string {
	text := ""
	switch c.Unit {
	case runs.Pairs:
		text = table.Counted(len(c.Base), "pair") + " of runs, by name"
	case runs.Batches:
		text = "one run on each side"
		if r := c.Step(); r != nil && r.Units[0] > 1 {
			text += ", in batches of steps"
		}
	default:
		text = fmt.Sprintf("%s against %d", table.Counted(len(c.Base), "run"), len(c.New))
	}
	return text + "; all intervals together hold at " + percentOf(c.Confidence)
}

// sayNextOfComparison states what to do next; "" where there is nothing to do.
func sayNextOfComparison(c *runs.Comparison) string {
	step, largest := c.Step(), c.Largest()
	switch {
	case step == nil:
		return ""
	case c.Unit == runs.Batches:
		text := "record the job again, three times or more on each side: two healthy runs differ too"
		if len(largest) > 0 {
			text = fmt.Sprintf("look into %s; or %s", measureName(largest[0].Measure), text)
		}
		return text
	case step.Verdict == compare.Regression && len(largest) > 0:
		return fmt.Sprintf("look into %s; sfstat diagnose on the new runs shows which rank is late there", measureName(largest[0].Measure))
	case step.Verdict == compare.Regression:
		return "sfstat diagnose on the new runs"
	case step.Verdict == compare.NoneShown:
		if n := c.RunsFor(c.Smallest()); n > 0 {
			return fmt.Sprintf("about %d runs on each side would probably show a difference of %s", n, percentOf(c.Smallest()))
		}
	}
	return ""
}

// measureName names a measure for people: "data.next_wait", "wait".
func measureName(m runs.Measure) string {
	switch m.Kind {
	case runs.StepTime:
		return "step time"
	case runs.SyncWait:
		return "wait"
	case runs.ArrivalSkew:
		return "arrival skew"
	case runs.ExposedCommunication:
		return "exposed communication"
	case runs.FoundDelay:
		if m.Stage != "" {
			return "found delay in " + m.Stage
		}
		return "found delay"
	}
	return m.Stage
}

func sayAlike(measures int) string {
	if measures == 1 {
		return "1 more measure shows no difference (-v)."
	}
	return fmt.Sprintf("%d more measures show no difference (-v).", measures)
}

// sayVerdict names what a comparison of a measure comes to.
func sayVerdict(v compare.Verdict) string {
	switch v {
	case compare.Untested:
		return "not tested"
	case compare.NoneShown:
		return "none shown"
	}
	return v.String()
}

// sayFound states who or what a finding of either side is, and where.
func sayFound(f *runs.Found) string {
	text := f.Kind.String()
	if f.Rank != nil {
		text = fmt.Sprintf("rank %d", *f.Rank)
	}
	if f.Host != "" {
		text += fmt.Sprintf(" (%s)", glyph.Visible(f.Host))
	}
	if f.Stage != "" {
		text += " in " + glyph.Visible(f.Stage)
		if f.Op != "" {
			text += fmt.Sprintf(" (%s)", glyph.Visible(f.Op))
		}
	} else if f.Op != "" {
		text += " in " + glyph.Visible(f.Op)
	}
	return text
}

// sayDoubt states why to read a comparison with care; "" of another number of ranks, which stands with the answer.
func sayDoubt(c *runs.Comparison, d runs.Doubt) string {
	switch d {
	case runs.OneRunEach:
		return "One run on each side: intervals and results are about these two recordings. By how much healthy runs of this job differ is not in them."
	case runs.FewRuns:
		return "Fewer than five runs on a side: only large differences can be shown."
	case runs.LeftOver:
		return fmt.Sprintf("%s without a partner of the same name: left out (%s). --match none takes all.", table.Counted(len(c.Left), "run"), glyph.Visible(strings.Join(c.Left[:min(3, len(c.Left))], ", ")))
	case runs.OtherStages:
		return "Some stages are on one side only; they are not tested."
	case runs.OtherCut:
		return "The steps of some runs are cut elsewhere than those of others, so stages do not compare and are left out; --cut step compares them."
	case runs.MixedSchemas:
		return "Some runs lack a stage that others of their side have."
	case runs.StartUp:
		n := c.StartUps()
		if n[0] == n[1] {
			return fmt.Sprintf("The first steps are start-up and left out: %d on either side.", n[0])
		}
		return fmt.Sprintf("The first steps are start-up and left out: %d of the base, %d of the other side.", n[0], n[1])
	}
	return ""
}

func sayOverhead(a *overhead.Account) string {
	text, i := "The overhead is "+table.FinePercent(a.Estimate.Value), a.Interval
	switch {
	case i == nil:
		text += " in the one pair of runs, with no bound"
	case !table.Finite(i.AtMost):
		text += fmt.Sprintf(", with no upper bound at %s confidence", percentOf(a.Confidence))
	case a.Gate != nil && a.Standing == bootstrap.Above:
		text += fmt.Sprintf(", at least %s at %s confidence", table.FinePercent(i.AtLeast), percentOf(a.Confidence))
	default:
		text += fmt.Sprintf(", at most %s at %s confidence", table.FinePercent(i.AtMost), percentOf(a.Confidence))
	}
	if a.Gate == nil {
		return text + "."
	}
	gate := percentOf(*a.Gate)
	switch a.Standing {
	case bootstrap.PerhapsWithin:
		return text + fmt.Sprintf(": not shown to be within the gate of %s.", gate)
	case bootstrap.Within:
		return text + fmt.Sprintf(": within the gate of %s.", gate)
	case bootstrap.PerhapsAbove:
		return text + fmt.Sprintf(": above the gate of %s, but not surely.", gate)
	}
	return text + fmt.Sprintf(": above the gate of %s.", gate)
}

// sayOverheadBasis states of what an overhead is, over what, and how it is bounded.
func sayOverheadBasis(a *overhead.Account) string {
	of, by := "overhead of all time together", "from a file"
	switch a.Estimate.Statistic {
	case bootstrap.Mean:
		of = "mean overhead"
	case bootstrap.Median:
		of = "median overhead"
	}
	if a.Matched != overhead.ByFile {
		by = fmt.Sprintf("matched by %v", a.Matched)
	}
	text := fmt.Sprintf("The %s over %s in %s of runs, %s.", of, table.Counted(a.Pairs, "measurement"), table.Counted(a.Blocks, "pair"), by)
	if a.Interval == nil || !table.Finite(a.Interval.AtMost) {
		return text
	}
	method := "percentile"
	switch a.Interval.Method {
	case bootstrap.Order:
		return text + " The bound is an order statistic's."
	case bootstrap.Studentised:
		method = "studentised"
	}
	return text + fmt.Sprintf(" The bound is the %s bootstrap's: whole runs resampled %s times, seed %d.", method, table.Grouped(int64(a.Replicates)), a.Seed)
}

// saySources states whether several recorders send to the same stages; odd are those that do not, "" where all do.
func saySources(c *crosscheck.Comparison, odd string) string {
	n := len(c.Accounts)
	text := fmt.Sprintf("%d sources agree on the stages to look into;", n)
	switch {
	case !c.Agree() && odd != "":
		text = fmt.Sprintf("The sources do not agree: %s would send you to other stages than %s;", odd, c.Accounts[0].Name)
	case !c.Agree():
		text = "The sources do not agree;"
	case n == 2:
		text = "Both sources agree on the stages to look into;"
	}
	h := c.Worst().Held
	if h == nil {
		return text + "."
	}
	differs := "no share differs by more than"
	if h.Difference > c.Tie {
		differs = "a share differs by"
	} else if n > 2 {
		differs = "no share differs from the first source's by more than"
	}
	return fmt.Sprintf("%s %s %s (%s).", text, differs, table.Decimals(h.Difference, 3), h.Stage)
}

func saySourcesBasis(c *crosscheck.Comparison) string {
	ranks := "ranks"
	if len(c.Ranks) == 1 {
		ranks = "rank"
	}
	return fmt.Sprintf("%s and %s %s that all sources have, matched by %v, each step from zero; the stages to look into reach %s of the exposed time. Shares within %s of each other are a tie.",
		table.Counted(c.Steps, "step"), ranks, trace.RankList(c.Ranks), c.Match, percentOf(c.Tau), gigabytes(c.Tie))
}
