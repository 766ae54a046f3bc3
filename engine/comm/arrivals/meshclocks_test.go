package arrivals

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// meshDumps returns the dumps of hosts with a tensor-parallel group each, whose ranks of one place reduce among the hosts at the end of a step; late is how
// much longer the ranks of the second host take in a pass, 0 or 1, ms. Clocks are 3.3 s apart.
func meshDumps(t *testing.T, seed uint64, late [2]float64) *Job {
	t.Helper()
	const hosts, per = 4, 2
	rng, now := rand.New(rand.NewPCG(seed, 8)), make([]float64, hosts*per)
	c := &comms.Record{Sources: []comms.Source{{Name: "test"}}, Stacks: make([][]comms.Frame, 3)}
	for line := range c.Stacks {
		c.Stacks[line] = []comms.Frame{{Function: "step", File: "/job/train.py", Line: line}}
	}
	members := func(r int, among bool) (out []int) {
		for q := range hosts * per {
			if among && q%per == r%per || !among && q/per == r/per {
				out = append(out, q)
			}
		}
		return out
	}
	seq := make([]int64, 2*hosts*per)
	for r := range now {
		c.Processes = append(c.Processes, comms.Process{Rank: r, Host: fmt.Sprint("node", r/per)})
		for kind, of := range [][]int{members(r, false), members(r, true)} {
			c.Groups = append(c.Groups, comms.Group{Process: r, Name: fmt.Sprint(kind, of[0]), Size: len(of), Members: of, Enqueued: -1, Completed: -1})
		}
	}
	reduce := func(among, line int) {
		last := make([]float64, len(now))
		for r := range now {
			x := comms.UnknownCall(r)
			x.Group = 2*r + among
			seq[x.Group]++
			x.Name, x.Op, x.Stack, x.Seq, x.HasEnter, x.Enter = "gloo:all_reduce", nccl.AllReduce, line, seq[x.Group], true, int64((now[r]+3300*float64(r/per))*ms)
			c.Calls = append(c.Calls, x)
			for _, q := range members(r, among == 1) {
				last[q] = max(last[q], now[r])
			}
		}
		for r := range now {
			now[r] = last[r] + 1 + 0.1*rng.Float64()
		}
	}
	for range 60 {
		for pass, extra := range late {
			for r := range now {
				if now[r] += 40 + rng.NormFloat64(); r/per == 1 {
					now[r] += extra
				}
			}
			reduce(0, pass)
		}
		reduce(1, 2)
	}
	j := &Job{}
	if err := j.Add(c); err != nil {
		t.Fatal(err)
	}
	return j
}

// TestMeshOnSeveralClocks: a host that is late behind a call of its own is late whatever the clocks, and one that is before its first call since it
// waited for the others may have a clock that is off.
func TestMeshOnSeveralClocks(t *testing.T) {
	for seed := range uint64(10) {
		r := meshDumps(t, seed, [2]float64{0, 40}).Analyze(Options{MinGain: 0.1})
		if late := gainful(r); len(late) != 2 || late[0].Rank()/2 != 1 || late[1].Rank()/2 != 1 {
			t.Errorf("seed %d: %+v late, want the ranks of the second host", seed, late)
		}
		for _, ms := range []float64{0, 40} {
			r := meshDumps(t, seed, [2]float64{ms, 0}).Analyze(Options{MinGain: 0.1})
			if late := gainful(r); len(late) > 0 || r.MayHide.Delay < 30e6 {
				t.Errorf("seed %d, %v ms late in the first pass: %+v late, and %d ns may hide", seed, ms, late, r.MayHide.Delay)
			}
		}
	}
}
