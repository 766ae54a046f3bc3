package stages

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/operator"
	"github.com/sfstat/sfstat/trace/profile"
)

// operators returns the operators behind the stages, by the names of the timeline that the options ask for.
func (c *converter) operators(ranks []*profile.Rank) *operator.Totals {
	if c.o.Operators == Auto || c.o.Operators == c.o.Timeline {
		return c.operatorTotals()
	}
	other, err := c.prepareTimeline(ranks, c.o.Operators)
	if err != nil {
		return nil
	}
	return other.operatorTotals()
}

// operatorTotals returns the operators behind the stages of the windows, by name. nil
// where some rank had too many names to keep apart, only some have functions, or no
// rank has any. Functions are of all steps of a rank, whoever else recorded them.
// O(n log n).
func (c *converter) operatorTotals() *operator.Totals {
	functions := c.ranks[0].Functions
	if slices.ContainsFunc(c.ranks, func(r *profile.Rank) bool { return r.Functions != functions || r.TalliesLost }) {
		return nil
	}
	if functions {
		for r, rank := range c.ranks {
			c.steps[r] = c.steps[r][:0]
			for at := range rank.Steps {
				c.steps[r] = append(c.steps[r], at)
			}
		}
	}
	t := totaler{converter: c, out: &operator.Totals{Run: c.o.Run, Functions: functions}, names: make(map[string]int32), stages: make(map[string]int32),
		row: make(map[operator.Total]int32)}
	t.out.Steps, t.step = c.stepNumbers(c.steps)
	for r, rank := range c.ranks {
		t.out.Ranks = append(t.out.Ranks, trace.Rank{ID: rank.ID, Host: rank.Host, LocalRank: rank.LocalRank, Role: c.roles[r]})
		t.rank(r)
	}
	if len(t.out.Rows) == 0 {
		return nil
	}
	slices.SortFunc(t.out.Rows, func(a, b operator.Total) int {
		return cmp.Or(cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Step, b.Step), cmp.Compare(a.Rank, b.Rank))
	})
	return t.out
}

// totaler adds operators up.
type totaler struct {
	*converter
	out           *operator.Totals
	names, stages map[string]int32
	step          map[int64]int32
	row           map[operator.Total]int32 // by the place alone
}

// rank adds the operators of one rank.
func (t *totaler) rank(r int) {
	rank, used := t.ranks[r], t.usedSteps(r)
	for _, tally := range rank.Tallies {
		if used[tally.Step] {
			row := t.rowOf(r, t.step[rank.Steps[tally.Step].Index], t.stageName(rank.Stage(tally.Stage), deviceTime), rank.Names[tally.Name])
			row.Count += tally.Count
			row.Dur += tally.Dur
		}
	}
	for i, at := range rank.Pieces() {
		c := &rank.Comm.Calls[i]
		step, ok := t.step[c.Step]
		if !ok || at != i {
			continue
		}
		row := t.rowOf(r, step, t.stageName(c.Stage, transferTime), c.Name)
		start, end := rank.Comm.Ran(i)
		row.Count++
		row.Communicates++
		row.Dur += end - start
		if t.matched.isComplete(r, i) {
			row.Joined++
			row.Wait += end - t.unawaited[r][i]
		}
	}
}

// rowOf returns the row of a place, which is made where there is none.
func (t *totaler) rowOf(r int, step int32, stage, name string) *operator.Total {
	place := operator.Total{Rank: int32(r), Step: step,
		Stage: operator.Number(t.stages, &t.out.Stages, stage), Name: operator.Number(t.names, &t.out.Names, name)}
	return &t.out.Rows[operator.Number(t.row, &t.out.Rows, place)]
}

// stageName returns the name in windows of a stage of a rank, or of its communication; without a stage none.
func (c *converter) stageName(name string, what portion) string {
	stem, ours := strings.CutSuffix(name, hostSuffix)
	switch {
	case c.o.Timeline != OnDevice || name == "":
		return name
	case what == transferTime:
		return transferStem + stem
	case ours:
		return stem + deviceSuffix
	}
	return name
}
