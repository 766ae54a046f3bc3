package bandwidth

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/comm/capacity"
	"github.com/sfstat/sfstat/trace/nccl"
)

// spans are members that start at starts and end together.
func spans(end int64, starts ...int64) []Span {
	var out []Span
	for _, s := range starts {
		out = append(out, Span{s, end})
	}
	return out
}

// By hand: 4 ranks, 1,000,000 bytes logged, the last starts at 400 ns, all end at 100,400 ns, so that the
// transfer takes 100 µs: 10 GB/s of what is logged. Factors: nccl-tests doc/PERFORMANCE.md.
func TestByHand(t *testing.T) {
	for _, tt := range []struct {
		op             nccl.Op
		algo           nccl.Algo
		how            capacity.Convention
		algorithm, bus float64
	}{
		{nccl.AllReduce, nccl.Ring, capacity.NCCLTests, 10, 15},
		{nccl.AllReduce, nccl.Tree, capacity.NCCLTests, 10, 15},
		{nccl.AllReduce, nccl.Tree, capacity.Thesis, 10, 20},
		{nccl.AllReduce, nccl.Ring, capacity.Thesis, 10, 15},
		{nccl.AllGather, nccl.Ring, capacity.NCCLTests, 40, 30},
		{nccl.ReduceScatter, nccl.Ring, capacity.NCCLTests, 40, 30},
		{nccl.AlltoAll, nccl.UnknownAlgo, capacity.NCCLTests, 40, 30},
		{nccl.Broadcast, nccl.Ring, capacity.NCCLTests, 10, 10},
		{nccl.Reduce, nccl.Ring, capacity.NCCLTests, 10, 10},
	} {
		c := Call{Op: tt.op, Algo: tt.algo, Bytes: 1e6, Members: spans(100_400, 0, 400, 100, 300)}
		m, err := measure(&c, tt.how)
		if err != nil {
			t.Fatal(err)
		}
		if want := (Measure{Transfer: 100_000, Wait: 200, LatestRank: 1, Algorithm: tt.algorithm, Bus: tt.bus}); m != want {
			t.Errorf("%v %v: got %+v, want %+v", tt.op, tt.algo, m, want)
		}
	}
}

// A member that starts earlier changes its wait and nothing else; members in another order change
// nothing but which is the latest; twice the bytes is twice the bandwidth; another zero of time is none.
func TestInvariances(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		c := Call{Op: nccl.AllReduce, Bytes: 1 + r.Int64N(1<<30)}
		n := 2 + r.IntN(9)
		for range n {
			c.Members = append(c.Members, Span{r.Int64N(1000), 2000 + r.Int64N(1000)})
		}
		m, err := measure(&c, capacity.NCCLTests)
		if err != nil {
			t.Fatal(err)
		}
		early := c
		early.Members = slices.Clone(c.Members)
		who := (m.LatestRank + 1) % n
		early.Members[who].Start -= 1_000_000 * int64(n)
		e, _ := measure(&early, capacity.NCCLTests)
		if e.Transfer != m.Transfer || e.Bus != m.Bus || e.LatestRank != m.LatestRank || e.Wait-m.Wait < 999_999 || e.Wait-m.Wait > 1_000_001 {
			t.Fatalf("waiting 1 ms × n more on one of n: %+v after %+v", e, m)
		}
		other := Call{Op: c.Op, Bytes: c.Bytes * 2}
		for _, k := range r.Perm(n) {
			s := c.Members[k]
			other.Members = append(other.Members, Span{s.Start + 777, s.End + 777})
		}
		o, _ := measure(&other, capacity.NCCLTests)
		if o.Transfer != m.Transfer || o.Wait != m.Wait || o.Apart != m.Apart || math.Abs(o.Bus/m.Bus-2) > 1e-12 ||
			other.Members[o.LatestRank].Start != c.Members[m.LatestRank].Start+777 {
			t.Fatalf("permuted, shifted, doubled: %+v after %+v", o, m)
		}
	}
}

func TestUnresolved(t *testing.T) {
	for name, tt := range map[string]struct {
		op      nccl.Op
		members []Span
		want    error
	}{
		"one member":                       {nccl.AllReduce, spans(10, 0), errAlone},
		"none":                             {nccl.AllReduce, nil, errAlone},
		"apart":                            {nccl.AllReduce, []Span{{0, 10}, {20, 30}}, errUnresolved},
		"a sender that is done":            {nccl.Send, []Span{{0, 10}, {20, 30}}, nil},
		"ends before it starts, the clock": {nccl.Send, []Span{{0, 10}, {30, 20}}, errUnresolved},
	} {
		if _, err := measure(&Call{Op: tt.op, Members: tt.members}, capacity.NCCLTests); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", name, err, tt.want)
		}
	}
}
