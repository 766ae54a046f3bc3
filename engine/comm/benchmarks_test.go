package comm

import (
	"math"
	"testing"

	"github.com/sfstat/sfstat/trace/nccl"
)

// Sizes of a curve are those that calls log: an AllGather of two ranks logs half of what nccl-tests counts.
func TestCurve(t *testing.T) {
	list := []nccl.Benchmark{{Op: nccl.AllGather, Ranks: 2, Hosts: 1, Bytes: 4096, Bus: 10}, {Op: nccl.AllGather, Ranks: 2, Hosts: 1, Bytes: 8192, Bus: 20}}
	theory, of := Theory{Benchmarks: NewBenchmarks(list)}, &Subject{Ranks: 2, Hosts: 1}
	for range 2 { // what was measured stays as it is
		curve := theory.Curve(of, nccl.AllGather)
		if len(curve) != 2 || curve[0].Bytes != 2048 || curve[1].Bytes != 4096 || curve[1].Bus != 20 {
			t.Errorf("%+v", curve)
		}
	}
	if curve := theory.Curve(of, nccl.AllReduce); len(curve) != 0 {
		t.Errorf("of another operation: %+v", curve)
	}
}

// TestLimit: what is measured comes before the link, at as many ranks on as many hosts.
func TestLimit(t *testing.T) {
	benchmark := func(op nccl.Op, ranks, hosts int, bytes int64, bus float64) nccl.Benchmark {
		return nccl.Benchmark{Op: op, Ranks: ranks, Hosts: hosts, Bytes: bytes, Bus: bus}
	}
	b := NewBenchmarks([]nccl.Benchmark{
		benchmark(nccl.AllReduce, 4, 1, 1<<24, 80), benchmark(nccl.AllReduce, 4, 1, 1<<20, 20), benchmark(nccl.AllReduce, 4, 1, 1<<20, 10), benchmark(nccl.AllReduce, 4, 1, 8, 0),
		benchmark(nccl.AllGather, 4, 1, 1<<22, 60), benchmark(nccl.SendRecv, 2, 2, 1<<20, 12), benchmark(nccl.SendRecv, 4, 1, 1<<20, 13), benchmark(nccl.AlltoAll, 4, 1, 1<<20, 14),
	})
	group := &Subject{Ranks: 4, Hosts: 1, Limit: Limit{Link: nccl.NVL, Bandwidth: 100}}
	spread := &Subject{Ranks: 4, Hosts: 2, Limit: Limit{Link: nccl.NET, Bandwidth: 25}}
	edge := &Subject{Edge: true, Ranks: 2, Hosts: 2}
	tests := Theory{Benchmarks: b}
	for name, c := range map[string]struct {
		theory         Theory
		of             *Subject
		call           Collective
		source         string
		algorithm, bus float64
	}{
		"as measured, the faster of two":         {tests, group, Collective{Op: nccl.AllReduce, Bytes: 1 << 20}, "nccl-tests", 20 / 1.5, 20},
		"between two sizes":                      {tests, group, Collective{Op: nccl.AllReduce, Bytes: 1 << 22}, "nccl-tests", 40 / 1.5, 40}, // halfway: 20·(80/20)^½
		"above the largest":                      {tests, group, Collective{Op: nccl.AllReduce, Bytes: 1 << 30}, "nccl-tests", 80 / 1.5, 80},
		"below the smallest":                     {tests, group, Collective{Op: nccl.AllReduce, Bytes: 1 << 19}, "NVL", 100 / 1.5, 100},
		"sizes count all ranks' parts":           {tests, group, Collective{Op: nccl.AllGather, Bytes: 1 << 20}, "nccl-tests", 80, 60},
		"other hosts":                            {tests, spread, Collective{Op: nccl.AllReduce, Bytes: 1 << 20}, "NET", 25 / 1.5, 25},
		"another operation":                      {tests, group, Collective{Op: nccl.Broadcast, Bytes: 1 << 22}, "NVL", 100, 100},
		"messages between two ranks":             {tests, edge, Collective{Op: nccl.Send, Bytes: 1 << 20}, "nccl-tests", 12, 12},
		"messages of all are none of neighbours": {tests, group, Collective{Op: nccl.SendRecv, Bytes: 1 << 20}, "NVL", 100, 100},
		"RCCL's all-to-all":                      {tests, group, Collective{Op: nccl.AllToAllPivot, Bytes: 1 << 18}, "nccl-tests", 14 / 0.75, 14},
		"one rank":                               {tests, &Subject{Ranks: 1, Hosts: 1}, Collective{Op: nccl.AllReduce, Bytes: 1 << 20}, "?", 0, 0},
		"other conventions":                      {Theory{Convention: Thesis, Benchmarks: b}, group, Collective{Op: nccl.AllReduce, Bytes: 1 << 20}, "NVL", 75, 150},
		"none measured":                          {Theory{}, group, Collective{Op: nccl.AllReduce, Bytes: 1 << 20}, "NVL", 100 / 1.5, 100},
	} {
		t.Run(name, func(t *testing.T) {
			h := c.theory.Limit(c.of, &c.call)
			if h.Source() != c.source || math.Abs(h.Algorithm-c.algorithm) > 1e-9 || math.Abs(h.Bus-c.bus) > 1e-9 {
				t.Errorf("%s: algorithm %g, bus %g; expected %s: %g, %g", h.Source(), h.Algorithm, h.Bus, c.source, c.algorithm, c.bus)
			}
		})
	}
}
