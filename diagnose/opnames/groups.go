package opnames

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/operator"
)

// CompareGroups compares groups of peers, as Compare does, by operators that all ranks launch equally often in every step, such as the
// layers of a pipeline's stages: the amount of work is then no reason for longer operators in one group, unless its inputs are
// larger, which names do not show. A group is its mean, and stands under its lowest rank. nil where there are fewer than two
// groups. O(n·G) for n rows of G groups.
func CompareGroups(t *operator.Totals, alpha float64) (*Result, error) {
	groups := trace.RoleGroups(t.Ranks)
	if len(groups) < 2 {
		return nil, nil
	}
	out := &operator.Totals{Run: t.Run, Steps: t.Steps, Stages: t.Stages, Names: t.Names}
	for _, g := range groups {
		out.Ranks = append(out.Ranks, trace.Rank{ID: t.Ranks[g[0]].ID, LocalRank: -1})
	}
	for _, rows := range instances(t) {
		if len(rows) == len(t.Ranks) && !slices.ContainsFunc(rows, func(r operator.Total) bool { return r.Communicates > 0 || r.Count != rows[0].Count }) {
			out.Rows = append(out.Rows, groupMeans(rows, groups)...)
		}
	}
	return Compare(out, alpha)
}

// instances returns the rows of each operator in a step, by rank.
func instances(t *operator.Totals) [][]operator.Total {
	rows := slices.Clone(t.Rows)
	order := func(a, b operator.Total) int {
		return cmp.Or(cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Step, b.Step))
	}
	slices.SortFunc(rows, func(a, b operator.Total) int { return cmp.Or(order(a, b), cmp.Compare(a.Rank, b.Rank)) })
	var out [][]operator.Total
	for i, r := range rows {
		if i == 0 || order(rows[i-1], r) != 0 {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], r)
	}
	return out
}

// groupMeans returns the rows of one operator in one step, a rank for each group.
func groupMeans(rows []operator.Total, groups [][]int) []operator.Total {
	var out []operator.Total
	for g, ranks := range groups {
		row := rows[ranks[0]]
		row.Rank, row.Dur = int32(g), 0
		for _, r := range ranks {
			row.Dur += rows[r].Dur
		}
		row.Dur /= int64(len(ranks))
		out = append(out, row)
	}
	return out
}
