package volume

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/trace/nccl"
)

// Traffic is one call of a rank.
type Traffic struct {
	Dimension Dimension
	Op        nccl.Op
	Ranks     int64
	Bytes     int64 // as logged
	Self      bool  // a Send or Recv between a rank and itself
}

// Observed adds up a rank's calls, by dimension, operation and size of communicator. Calls of one rank
// communicate nothing and are left out.
func Observed(calls []Traffic) []Flow {
	type key struct {
		Dimension
		nccl.Op
		ranks int64
	}
	at := map[key]int{}
	var out []Flow
	for _, c := range calls {
		if c.Ranks < 2 {
			continue
		}
		k := key{c.Dimension, c.Op, c.Ranks}
		i, known := at[k]
		if !known {
			i = len(out)
			at[k] = i
			out = append(out, Flow{Dimension: c.Dimension, Op: c.Op, Ranks: c.Ranks})
		}
		f := &out[i]
		f.Calls++
		f.Logged += float64(c.Bytes)
		if !c.Self {
			f.Sent += sentBytes(c.Op, float64(c.Bytes), c.Ranks)
		}
	}
	slices.SortFunc(out, func(a, b Flow) int {
		return cmp.Or(cmp.Compare(a.Dimension, b.Dimension), cmp.Compare(a.Op, b.Op), cmp.Compare(a.Ranks, b.Ranks))
	})
	return out
}

// Row holds what was expected of one operation beside what was seen.
type Row struct {
	Dimension        Dimension
	Op               nccl.Op
	Theory, Observed Flow // zero where there is none
	// Ratio is observed over expected bytes, as logged, and the product of the other two: how
	// many more calls, and how much larger each. NaN where nothing is expected; all 0 where nothing was seen.
	Ratio, Count, Size float64
	Excess             float64 // logged bytes more than expected
}

// Comparison is the account of one rank.
type Comparison struct {
	Rows             []Row // by how much they account for, the most first
	Theory, Observed Flow  // all rows that have theory, added up
	Unmodelled       Flow  // what no formula is for, added up
}

// Compare holds a rank's flows against theory. Each operation of a dimension is one row.
func Compare(theory, observed []Flow) Comparison {
	type key struct {
		Dimension
		nccl.Op
	}
	at := map[key]int{}
	var c Comparison
	row := func(f *Flow) *Row {
		k := key{f.Dimension, f.Op}
		i, known := at[k]
		if !known {
			i = len(c.Rows)
			at[k] = i
			c.Rows = append(c.Rows, Row{Dimension: f.Dimension, Op: f.Op})
		}
		return &c.Rows[i]
	}
	for i := range theory {
		row(&theory[i]).Theory.add(&theory[i])
	}
	for i := range observed {
		row(&observed[i]).Observed.add(&observed[i])
	}
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
		return cmp.Or(cmp.Compare(math.Abs(b.Excess), math.Abs(a.Excess)), cmp.Compare(a.Dimension, b.Dimension), cmp.Compare(a.Op, b.Op))
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

// ExchangeOf is how observed flows write all-to-alls.
func ExchangeOf(observed []Flow) Exchange {
	for i := range observed {
		if f := &observed[i]; f.Dimension == Expert && f.Op == nccl.AlltoAll {
			return AlltoAllCalls
		}
	}
	return SendsAndReceives
}
