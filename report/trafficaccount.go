package report

import (
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/volume"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace"
)

// modelBlocks returns the communication beside the model's; nothing without a model.
func modelBlocks(r *comm.Result) document {
	if len(r.Accounts) == 0 {
		return nil
	}
	t := modelColumns()
	for _, g := range volume.GroupAlike(r.Accounts) {
		a := &r.Accounts[g[0]]
		ranks := make([]int, len(g))
		for i, n := range g {
			ranks[i] = r.Ranks[r.Accounts[n].Rank].Rank
		}
		for i := range a.Rows {
			x := &a.Rows[i]
			if max(x.Observed.Logged, x.Theory.Logged) < a.Theory.Logged/1000 {
				continue
			}
			expected := "–"
			if x.Theory.Logged > 0 {
				expected = Size(int64(x.Theory.Logged))
			}
			t.Row(trace.RankList(ranks), x.Purpose(), x.Op.String(), expected, Size(int64(x.Observed.Logged)), x.Ratio, x.Count, x.Size)
		}
	}
	return section("Volumes beside the model", t.Tidy(), prose(sayBubble(&r.Accounts[0])))
}

func modelColumns() *table.Table {
	return &table.Table{Caption: "bytes of one rank as the log counts them; ratio is how many more calls times how much larger each. Only rows of at least a thousandth of what was expected are shown.", Columns: []table.Column{
		{Head: "ranks", Kind: table.Text},
		{Head: "for", Kind: table.Text},
		{Head: "operation", Kind: table.Text},
		{Head: "expected", Kind: table.Text},
		{Head: "observed", Kind: table.Text},
		{Head: "ratio", Kind: table.Factor},
		{Head: "calls", Kind: table.Factor},
		{Head: "size", Kind: table.Factor},
	}}
}
