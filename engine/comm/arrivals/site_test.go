package arrivals

import (
	"math/rand/v2"
	"testing"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// sized returns a job of three ranks on one host, in each step of which all exchange with all, twice, and reduce; sizes
// are those of a rank, a step and an exchange. One rank is late before the reduction.
func sized(seed uint64, late int, size func(rank, step, k int) int64) *Job {
	rng := rand.New(rand.NewPCG(seed, 6))
	now := make([]float64, 3)
	c := &comms.Record{Sources: []comms.Source{{Name: "test"}}}
	for r := range now {
		c.Processes = append(c.Processes, comms.Process{Rank: r, Host: "n0"})
		c.Groups = append(c.Groups, comms.Group{Process: r, Name: "0", Size: 3, Members: []int{0, 1, 2}, Rank: r, Enqueued: -1, Completed: -1})
	}
	calls := make([][]comms.Call, 3)
	for step := range 45 {
		for k, op := range []nccl.Op{nccl.AlltoAll, nccl.AlltoAll, nccl.AllReduce} {
			last := 0.0
			for r := range now {
				now[r] += []float64{30, 12, 8}[k] + rng.NormFloat64()
				if r == late && k == 2 {
					now[r] += 25
				}
				x := comms.UnknownCall(r)
				x.Group, x.Name, x.Op, x.Seq, x.Enter, x.HasEnter = r, "gloo:"+op.String(), op, int64(len(calls[r])+1), int64(now[r]*ms), true
				if x.Tensors = (&comms.Tensors{InSizes: [][]int64{{500}}}); k < 2 {
					x.Tensors = &comms.Tensors{InSizes: [][]int64{{size(r, step, k)}}}
				}
				calls[r] = append(calls[r], x)
				last = max(last, now[r])
			}
			for r := range now {
				now[r] = last
			}
		}
	}
	for r := range now {
		c.Calls = append(c.Calls, calls[r]...)
	}
	j := &Job{}
	if err := j.Add(c); err != nil {
		panic(err)
	}
	return j
}

// TestSizesThatChange: exchanges whose size is another in every step, on all ranks alike or not, are two calls of the
// program, and a rank that is late behind them is so in every step. Sizes that come back in each step tell calls apart.
func TestSizesThatChange(t *testing.T) {
	rng, few := rand.New(rand.NewPCG(1, 7)), make([]int64, 90)
	for i := range few {
		few[i] = int64(128 * (1 + rng.IntN(4)))
	}
	for name, size := range map[string]func(rank, step, k int) int64{
		"of each rank": func(rank, step, k int) int64 { return int64(20 + (step*31+rank*17+k*7+step*step)%71) },
		"of all":       func(_, step, k int) int64 { return int64(20 + (step*step*13+k*7)%71) },
		"of few":       func(_, step, k int) int64 { return few[(2*step+k)%len(few)] },
		"of two":       func(_, _, k int) int64 { return int64(100 + k) },
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(5) {
				r := sized(seed, 1, size).Analyze(Options{})
				if len(r.Late) != 1 || r.Late[0].Rank() != 1 || r.Late[0].Steps.Count < 42 {
					t.Errorf("seed %d: late %+v, want rank 1 in every step", seed, r.Late)
				}
				repeat := 0
				for _, p := range r.Places {
					if p.Repeats {
						repeat++
					}
				}
				if repeat != 3 {
					t.Errorf("seed %d: %d places repeat, want the three of the program", seed, repeat)
				}
				if healthy := sized(seed, -1, size).Analyze(Options{}); len(healthy.Late) > 0 {
					t.Errorf("seed %d: nobody is late: %+v", seed, healthy.Late)
				}
			}
		})
	}
}
