package comm

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// spans are members that start at starts and end together.
func spans(end int64, starts ...int64) []Part {
	var out []Part
	for _, s := range starts {
		out = append(out, Part{Start: s, End: end})
	}
	return out
}

// By hand: 4 ranks, 1,000,000 bytes logged, the last starts at 400 ns, all end at 100,400 ns, so that the
// transfer takes 100 µs: 10 GB/s of what is logged. Factors: nccl-tests doc/PERFORMANCE.md.
func TestByHand(t *testing.T) {
	for _, tt := range []struct {
		op             nccl.Op
		algo           nccl.Algo
		how            Convention
		algorithm, bus float64
	}{
		{nccl.AllReduce, nccl.Ring, NCCLTests, 10, 15},
		{nccl.AllReduce, nccl.Tree, NCCLTests, 10, 15},
		{nccl.AllReduce, nccl.Tree, Thesis, 10, 20},
		{nccl.AllReduce, nccl.Ring, Thesis, 10, 15},
		{nccl.AllGather, nccl.Ring, NCCLTests, 40, 30},
		{nccl.ReduceScatter, nccl.Ring, NCCLTests, 40, 30},
		{nccl.AlltoAll, nccl.UnknownAlgo, NCCLTests, 40, 30},
		{nccl.Broadcast, nccl.Ring, NCCLTests, 10, 10},
		{nccl.Reduce, nccl.Ring, NCCLTests, 10, 10},
	} {
		c := Collective{Op: tt.op, Tuning: &comms.Tuning{Algo: tt.algo}, Bytes: 1e6, Parts: spans(100_400, 0, 400, 100, 300)}
		m := c.measureSpeed(tt.how)
		if want := (Measure{Transfer: 100_000, Wait: 200, Algorithm: tt.algorithm, Bus: tt.bus}); m != want {
			t.Errorf("%v %v: got %+v, want %+v", tt.op, tt.algo, m, want)
		}
	}
}

// A member that starts earlier changes its wait and nothing else; members in another order change
// nothing but which is the latest; twice the bytes is twice the bandwidth; another zero of time is none.
func TestInvariances(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		c := Collective{Op: nccl.AllReduce, Bytes: 1 + r.Int64N(1<<30)}
		n := 2 + r.IntN(9)
		for range n {
			c.Parts = append(c.Parts, Part{Start: r.Int64N(1000), End: 2000 + r.Int64N(1000)})
		}
		m, latest := c.measureSpeed(NCCLTests), 0
		for k, p := range c.Parts {
			if p.Start > c.Parts[latest].Start {
				latest = k
			}
		}
		early := c
		early.Parts = slices.Clone(c.Parts)
		who := (latest + 1) % n
		early.Parts[who].Start -= 1_000_000 * int64(n)
		e := early.measureSpeed(NCCLTests)
		if e.Transfer != m.Transfer || e.Bus != m.Bus || e.Wait-m.Wait < 999_999 || e.Wait-m.Wait > 1_000_001 {
			t.Fatalf("waiting 1 ms × n more on one of n: %+v after %+v", e, m)
		}
		other := Collective{Op: c.Op, Bytes: c.Bytes * 2}
		for _, k := range r.Perm(n) {
			s := c.Parts[k]
			other.Parts = append(other.Parts, Part{Start: s.Start + 777, End: s.End + 777})
		}
		o := other.measureSpeed(NCCLTests)
		if o.Transfer != m.Transfer || o.Wait != m.Wait || o.Apart != m.Apart || math.Abs(o.Bus/m.Bus-2) > 1e-12 {
			t.Fatalf("permuted, shifted, doubled: %+v after %+v", o, m)
		}
	}
}

func TestUnresolved(t *testing.T) {
	for name, tt := range map[string]struct {
		op       nccl.Op
		members  []Part
		measured bool
	}{
		"one member":                       {nccl.AllReduce, spans(10, 0), false},
		"none":                             {nccl.AllReduce, nil, false},
		"apart":                            {nccl.AllReduce, []Part{{Start: 0, End: 10}, {Start: 20, End: 30}}, false},
		"a sender that is done":            {nccl.Send, []Part{{Start: 0, End: 10}, {Start: 20, End: 30}}, true},
		"ends before it starts, the clock": {nccl.Send, []Part{{Start: 0, End: 10}, {Start: 30, End: 20}}, false},
	} {
		c := Collective{Op: tt.op, Parts: tt.members}
		if m := c.measureSpeed(NCCLTests); (m.Transfer > 0) != tt.measured {
			t.Errorf("%s: %+v, want measured: %v", name, m, tt.measured)
		}
	}
}
