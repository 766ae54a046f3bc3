package arrivals

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// broadcasts is a job in which every step has a broadcast and an all-reduce.
// Before the broadcast one rank is late now and then. In a tree, member 5 of six
// gets the data from 1, which waits until it is there; 0, 2, 3 and 4 go on.
func broadcasts(seed uint64, late int, wait func(now []float64)) *Job {
	const ranks, steps = 6, 45
	rng := rand.New(rand.NewPCG(seed, 2))
	now := make([]float64, ranks)
	c := &comms.Record{Sources: []comms.Source{{Name: "test"}}}
	calls := make([][]comms.Call, ranks)
	enter := func(r int, name string, op nccl.Op) {
		x := comms.UnknownCall(r)
		x.Group, x.Name, x.Op, x.Seq, x.Enter, x.HasEnter = r, name, op, int64(len(calls[r])+1), int64(now[r]*ms), true
		calls[r] = append(calls[r], x)
	}
	for step := range steps {
		for r := range now {
			now[r] += 40 + 3*rng.NormFloat64()
			if r == late && step%3 == 0 {
				now[r] += 60
			}
			enter(r, "gloo:broadcast", nccl.Broadcast)
		}
		wait(now)
		last := 0.0
		for r := range now {
			now[r] += 70 + 3*rng.NormFloat64()
			enter(r, "gloo:all_reduce", nccl.AllReduce)
			last = max(last, now[r])
		}
		for r := range now {
			now[r] = last + 0.2
		}
	}
	for r := range now {
		c.Processes = append(c.Processes, comms.Process{Rank: r, Host: "n0"})
		c.Groups = append(c.Groups, comms.Group{Process: r, Name: "0", Size: ranks, Members: []int{0, 1, 2, 3, 4, 5}, Rank: r, Enqueued: -1, Completed: -1})
		c.Calls = append(c.Calls, calls[r]...)
	}
	j := &Job{}
	if err := j.Add(c); err != nil {
		panic(err)
	}
	return j
}

// A member that waits in a broadcast for the one that it hands the data to is
// not late, however the broadcast is made.
func TestBroadcasts(t *testing.T) {
	for name, wait := range map[string]func([]float64){
		"in a tree": func(now []float64) {
			was := append([]float64(nil), now...)
			for member, others := range [][]int{{1, 2, 4}, {0, 3, 5}, {0}, {0, 1}, {0}, {0, 1}} {
				for _, o := range others {
					now[member] = max(now[member], was[o])
				}
			}
		},
		"all wait": func(now []float64) {
			last := 0.0
			for _, at := range now {
				last = max(last, at)
			}
			for r := range now {
				now[r] = last
			}
		},
		"nobody waits": func([]float64) {},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(10) {
				r := broadcasts(seed, 5, wait).Analyze(Options{})
				if len(r.Late) != 1 || r.Late[0].Rank() != 5 || math.Abs(float64(r.Late[0].Entered.Delay)/ms-60) > 6 {
					t.Errorf("seed %d: %+v", seed, r.Late)
				}
			}
		})
	}
}

// TestReduceToOne: the root of a reduce waits for a late rank and is not late itself; the others
// hand in and go on.
func TestReduceToOne(t *testing.T) {
	for seed := range uint64(5) {
		for late := -1; late < 6; late++ {
			j := reduces(seed, late)
			r := j.Analyze(Options{})
			var got []int
			for _, l := range r.Late {
				got = append(got, l.Rank())
			}
			if late < 0 && got != nil || late >= 0 && (len(got) != 1 || got[0] != late) {
				t.Errorf("seed %d, rank %d late: %v", seed, late, got)
			}
		}
	}
}

// reduces is a job in which every step reduces a loss to rank 0, before which one rank is
// late, and then all reduce gradients.
func reduces(seed uint64, late int) *Job {
	const ranks, steps = 6, 60
	rng := rand.New(rand.NewPCG(seed, 4))
	now := make([]float64, ranks)
	c := &comms.Record{Sources: []comms.Source{{Name: "test"}}}
	calls := make([][]comms.Call, ranks)
	enter := func(r int, name string, op nccl.Op) {
		x := comms.UnknownCall(r)
		x.Group, x.Name, x.Op, x.Seq, x.Enter, x.HasEnter = r, name, op, int64(len(calls[r])+1), int64(now[r]*ms), true
		calls[r] = append(calls[r], x)
	}
	for range steps {
		last := 0.0
		for r := range now {
			now[r] += 40 + rng.NormFloat64()
			if r == late {
				now[r] += 30
			}
			enter(r, "gloo:reduce", nccl.Reduce)
			last = max(last, now[r])
		}
		now[0], last = last, 0
		for r := range now {
			now[r] += 50 + rng.NormFloat64()
			enter(r, "gloo:all_reduce", nccl.AllReduce)
			last = max(last, now[r])
		}
		for r := range now {
			now[r] = last + 0.2
		}
	}
	for r := range now {
		c.Processes = append(c.Processes, comms.Process{Rank: r, Host: "n0"})
		c.Groups = append(c.Groups, comms.Group{Process: r, Name: "0", Size: ranks, Members: []int{0, 1, 2, 3, 4, 5}, Rank: r, Enqueued: -1, Completed: -1})
		c.Calls = append(c.Calls, calls[r]...)
	}
	j := &Job{}
	if err := j.Add(c); err != nil {
		panic(err)
	}
	return j
}
