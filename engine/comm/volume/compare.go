package volume

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Traffic is one call of a rank.
type Traffic struct {
	Dimension parallel.Kind
	Op        nccl.Op
	Ranks     int64
	Bytes     int64 // as logged
	Self      bool  // a Send or Recv between a rank and itself
}

// Observed adds up a rank's calls, by dimension, operation and size of communicator. Calls of one rank
// communicate nothing and are left out.
func Observed(calls []Traffic) []Flow {
	type key struct {
		parallel.Kind
		nccl.Op
		ranks int64
	}
	var all ordered.List[key, Flow]
	for _, c := range calls {
		if c.Ranks < 2 {
			continue
		}
		f, _ := all.Of(key{c.Dimension, c.Op, c.Ranks})
		f.Dimension, f.Op, f.Ranks = c.Dimension, c.Op, c.Ranks
		f.Calls++
		f.Logged += float64(c.Bytes)
		if !c.Self {
			f.Sent += sentBytes(c.Op, float64(c.Bytes), c.Ranks)
		}
	}
	out := all.All
	slices.SortFunc(out, func(a, b Flow) int {
		return cmp.Or(cmp.Compare(a.Dimension, b.Dimension), cmp.Compare(a.Op, b.Op), cmp.Compare(a.Ranks, b.Ranks))
	})
	return out
}

// Row holds what was expected of one operation beside what was seen.
type Row struct {
	Dimension        parallel.Kind
	Op               nccl.Op
	Theory, Observed Flow // zero where there is none
	// Ratio is observed over expected bytes, as logged, and the product of the other two: how
	// many more calls, and how much larger each. NaN where nothing is expected; all 0 where nothing was seen.
	Ratio, Count, Size float64
	Excess             float64 // logged bytes more than expected
}

// For is what the bytes are communicated for.
func (r *Row) For() string {
	if r.Dimension == parallel.UnknownKind {
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

// Compare holds a rank's flows against theory. Each operation of a dimension is one row.
func Compare(theory, observed []Flow) Comparison {
	type key struct {
		parallel.Kind
		nccl.Op
	}
	var rows ordered.List[key, Row]
	row := func(f *Flow) *Row {
		r, _ := rows.Of(key{f.Dimension, f.Op})
		r.Dimension, r.Op = f.Dimension, f.Op
		return r
	}
	for i := range theory {
		row(&theory[i]).Theory.add(&theory[i])
	}
	for i := range observed {
		row(&observed[i]).Observed.add(&observed[i])
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
		if f := &observed[i]; f.Dimension == parallel.ExpertParallel && f.Op == nccl.AlltoAll {
			return AlltoAllCalls
		}
	}
	return SendsAndReceives
}
