package comm

import (
	"math"
	"testing"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Two machines of two GPUs on NVLink, the second with a slower card; a way that is said twice counts as the
// wider; nonsense counts for nothing.
func TestNarrowest(t *testing.T) {
	way := func(from, to int, class nccl.Link, bandwidth float64) comms.Path {
		return comms.Path{From: from, To: to, Class: class, Bandwidth: bandwidth}
	}
	net := comms.ToNetwork
	ways := []comms.Path{way(0, 1, nccl.NVL, 80), way(1, 0, nccl.SYS, 16), way(2, 3, nccl.NVL, 80), way(0, net, nccl.PHB, 25), way(1, net, nccl.PHB, 25),
		way(2, net, nccl.PHB, 12.5), way(3, net, nccl.PHB, 25), way(0, 9, nccl.SYS, 1), way(-5, 0, nccl.SYS, 1), way(0, 1, nccl.SYS, math.NaN())}
	two := map[int]string{0: "a", 1: "a", 2: "b", 3: "b"}
	if got, want := Narrowest(ways, two), (Limit{nccl.NET, 12.5, false}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := Narrowest(ways[:2], map[int]string{0: "a", 1: "a"}), (Limit{nccl.NVL, 80, false}); got != want {
		t.Errorf("one machine: got %+v, want %+v", got, want)
	}
	if got, want := Narrowest(nil, two), (Limit{}); got != want {
		t.Errorf("nothing known: got %+v, want %+v", got, want)
	}
	if got := Narrowest(nil, nil); got != (Limit{}) {
		t.Errorf("nobody: got %+v", got)
	}
}

// Of a link of 12.5 GB/s and four ranks: an AllReduce on a ring has the limits of Fig. 4.2 of the thesis, 9.375 and 18.75 GB/s. By nccl-tests a ring
// that uses all of the link has the whole of both limits.
func TestBounds(t *testing.T) {
	for _, tt := range []struct {
		op             nccl.Op
		algo           nccl.Algo
		how            Convention
		algorithm, bus float64
	}{
		{nccl.AllReduce, nccl.Ring, Thesis, 9.375, 18.75},
		{nccl.AllReduce, nccl.Tree, Thesis, 12.5, 25},
		{nccl.AllGather, nccl.Ring, Thesis, 9.375, 9.375},
		{nccl.ReduceScatter, nccl.Ring, Thesis, 9.375, 9.375},
		{nccl.Broadcast, nccl.Ring, Thesis, 12.5, 12.5},
		{nccl.SendRecv, nccl.UnknownAlgo, Thesis, 12.5, 12.5},
		{nccl.AllReduce, nccl.Tree, NCCLTests, 12.5 * 4 / 6, 12.5},
		{nccl.AllGather, nccl.Ring, NCCLTests, 12.5 * 4 / 3, 12.5},
		{nccl.Broadcast, nccl.Ring, NCCLTests, 12.5, 12.5},
	} {
		algorithm, bus := tt.how.bounds(tt.op, tt.algo, 4, 12.5)
		if math.Abs(algorithm-tt.algorithm) > 1e-12 || bus != tt.bus {
			t.Errorf("%v %v: %v and %v, want %v and %v", tt.op, tt.algo, algorithm, bus, tt.algorithm, tt.bus)
		}
	}
	if a, b := NCCLTests.bounds(nccl.AllReduce, nccl.Ring, 1, 12.5); a != 0 || b != 0 {
		t.Errorf("of one rank: %v, %v", a, b)
	}
}
