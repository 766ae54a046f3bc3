package arrivals

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// nested is a job of four ranks that reduce among 0 and 1, and among 2 and 3; then 0 and 2 reduce, and hand the
// sum down. One rank is late before the first of these in every step or every third, by more than half of a step.
type nested struct {
	seed  uint64
	rank  int     // late; −1: none
	delay float64 // ms
	every int     // steps
}

const nestedWork, nestedSteps = 70.0, 60 // ms

func (n nested) job(t *testing.T) *Job {
	t.Helper()
	groups := [][]int{{0, 1}, {2, 3}, {0, 2}}
	rng := rand.New(rand.NewPCG(n.seed, 3))
	c, at := fourRanks(groups)
	now, seq := make([]float64, 4), make([]int64, len(c.Groups))
	enter := func(r, g int, op nccl.Op, name string) {
		i := at[[2]int{r, g}]
		seq[i]++
		x := comms.UnknownCall(r)
		x.Group, x.Name, x.Op, x.Seq, x.Enter, x.HasEnter = i, name, op, seq[i], int64(now[r]*ms), true
		c.Calls = append(c.Calls, x)
	}
	reduce := func(g int) {
		last := 0.0
		for _, r := range groups[g] {
			now[r] += 0.5 + 0.1*rng.Float64()
			enter(r, g, nccl.AllReduce, "gloo:all_reduce")
			last = max(last, now[r])
		}
		for _, r := range groups[g] {
			now[r] = last + 0.2
		}
	}
	for step := range nestedSteps {
		for r := range now {
			now[r] += nestedWork + 0.7*rng.NormFloat64()
			if r == n.rank && step%n.every == n.every-1 {
				now[r] += n.delay
			}
		}
		reduce(0)
		reduce(1)
		reduce(2)
		for g, root := range []int{0, 2} {
			for _, r := range groups[g] {
				now[r] += 0.3 + 0.1*rng.Float64()
				enter(r, g, nccl.Broadcast, "gloo:broadcast")
			}
			now[root+1] = max(now[root+1], now[root]) + 0.1
		}
	}
	j := &Job{}
	if err := j.Add(c); err != nil {
		t.Fatal(err)
	}
	return j
}

// TestNestedGroups: which step a call of a rank is in follows from whom it makes calls with, not from when: nobody is late in a healthy
// job, and a rank that comes to a call a step's length late is, by what it costs.
func TestNestedGroups(t *testing.T) {
	for rank := -1; rank < 4; rank++ {
		for seed := range uint64(20) {
			n := nested{seed: seed, rank: rank, delay: 100, every: 3}
			r := n.job(t).Analyze(Options{})
			if rank < 0 {
				if len(r.Late)+len(r.Doubted) > 0 {
					t.Errorf("healthy, seed %d: %+v %+v", seed, r.Late, r.Doubted)
				}
				continue
			}
			if len(r.Late) != 1 || r.Late[0].Rank() != rank {
				t.Errorf("rank %d, seed %d: %+v, doubted %+v", rank, seed, r.Late, r.Doubted)
				continue
			}
			saves, want := r.Late[0].Saves.Alone, n.delay/3/(nestedWork+2+n.delay/3)
			if saves < 0.8*want || saves > 1.2*want {
				t.Errorf("rank %d, seed %d: saves %.3f, want about %.3f", rank, seed, saves, want)
			}
		}
	}
}

// TestNestedPeers: ranks of a group do the same work as others where one of them does, however late the other is.
func TestNestedPeers(t *testing.T) {
	for rank := range 4 {
		r := nested{rank: rank, delay: 100, every: 1}.job(t).Analyze(Options{})
		if r.Division == nil || len(r.Division.PeersOf) > 0 && slices.Max(r.Division.PeersOf) > 0 {
			t.Errorf("rank %d is late in every step: peers %v, want all ranks to be", rank, r.Division.PeersOf)
		}
	}
}
