package volume

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Row holds what was expected of one operation beside what was seen.
type Row struct {
	Dimension parallel.Kind
	Name      string // of the ranks, where several dimensions have them
	Op        nccl.Op
	Theory    Flow // zero where there is none, as the next
	Observed  Flow
	// Ratio is the product of the other two: how many more calls, and how much larger each. NaN where
	// nothing is expected; all 0 where nothing was seen.
	Ratio  float64 // observed over expected bytes, as logged: Count times Size; NaN where nothing is expected
	Count  float64 // observed over expected calls
	Size   float64 // observed over expected mean size
	Excess float64 // logged bytes more than expected
}

// Purpose returns what the bytes are communicated for.
func (r *Row) Purpose() string {
	switch {
	case r.Name != "":
		return r.Name
	case r.Dimension == parallel.UnknownKind:
		return "other"
	}
	return r.Dimension.String()
}

// Comparison is the account of one rank.
type Comparison struct {
	Rows             []Row // by how much they account for, the most first
	Theory, Observed Flow  // all rows that have theory, added up
	Unmodelled       Flow  // what no formula is for, added up
}

// Compare holds a rank's calls against theory. Each operation of a dimension is one row. Calls of one rank communicate nothing and are
// left out.
func Compare(theory, observed []Flow) Comparison {
	type key struct {
		parallel.Kind
		name string
		nccl.Op
	}
	var rows ordered.List[key, Row]
	row := func(f *Flow) *Row {
		r, _ := rows.Of(key{f.Dimension, f.Name, f.Op})
		r.Dimension, r.Name, r.Op = f.Dimension, f.Name, f.Op
		return r
	}
	for i := range theory {
		row(&theory[i]).Theory.add(&theory[i])
	}
	for i := range observed {
		if observed[i].Ranks > 1 {
			row(&observed[i]).Observed.add(&observed[i])
		}
	}
	c := Comparison{Rows: rows.All}
	for i := range c.Rows {
		r := &c.Rows[i]
		r.explain()
		if r.Theory.Logged > 0 {
			c.Theory.add(&r.Theory)
			c.Observed.add(&r.Observed)
		} else {
			c.Unmodelled.add(&r.Observed)
		}
	}
	slices.SortStableFunc(c.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Excess), math.Abs(a.Excess)), cmp.Compare(a.Dimension, b.Dimension), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Op, b.Op))
	})
	return c
}

func (f *Flow) add(g *Flow) {
	f.Calls += g.Calls
	f.Logged += g.Logged
	f.Sent += g.Sent
}

// explain splits the ratio of bytes into that of calls and that of sizes.
func (r *Row) explain() {
	t, o := &r.Theory, &r.Observed
	r.Excess = o.Logged - t.Logged
	switch {
	case t.Logged == 0:
		r.Ratio, r.Count, r.Size = math.NaN(), math.NaN(), math.NaN()
	case o.Calls > 0:
		r.Ratio, r.Count = o.Logged/t.Logged, o.Calls/t.Calls
		r.Size = r.Ratio / r.Count
	}
}

// ExchangeOf returns how a rank's calls write all-to-alls.
func ExchangeOf(observed []Flow) Exchange {
	for i := range observed {
		if f := &observed[i]; f.Dimension == parallel.ExpertParallel && f.Op == nccl.AlltoAll {
			return AlltoAllCalls
		}
	}
	return SendsAndReceives
}

// Account is what one rank communicated beside what it should have.
type Account struct {
	Rank   int // index of the ranks of the job
	Stage  int64
	Bubble float64 // idle time of pipeline stages over computing, as the model's schedule has it
	Comparison
}

// GroupAlike groups accounts, by index, whose rows are the same: what was logged
// within a thousandth of all that was expected, as on the ranks of one stage.
func GroupAlike(all []Account) (groups [][]int) {
	for i := range all {
		at := slices.IndexFunc(groups, func(g []int) bool { return all[g[0]].equals(&all[i]) })
		if at < 0 {
			at = len(groups)
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], i)
	}
	return groups
}

func (a *Account) equals(b *Account) bool {
	return slices.EqualFunc(a.Rows, b.Rows, func(x, y Row) bool {
		return x.Dimension == y.Dimension && x.Name == y.Name && x.Op == y.Op && x.Theory.Logged == y.Theory.Logged &&
			math.Abs(x.Observed.Logged-y.Observed.Logged) <= a.Theory.Logged/1000
	})
}
