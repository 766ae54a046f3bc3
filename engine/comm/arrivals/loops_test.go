package arrivals

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// loop is what the ranks of a job do in each step: they work, and reduce in groups, one after the other.
type loop struct {
	ranks  int
	work   []float64 // before each call, ms
	groups [][][]int // [call] the groups that make it; ranks in none of them go on
	onHost bool      // hosts wait for each call; else at the end of the step for all
}

const loopSteps, loopEnd = 60, 5.0 // ms

// loopFault is by how much a rank is late before a call.
type loopFault struct {
	rank, call int // −1: nobody is late
	delay      float64
	every      int
	grows      bool
}

// delayInStep returns by how many ms the rank is late in a step.
func (f loopFault) delayInStep(step int) float64 {
	switch {
	case step%f.every != f.every-1:
		return 0
	case f.grows:
		return 2 * f.delay * float64(step) / loopSteps
	}
	return f.delay
}

// randomLoop draws one to four calls, of all ranks, halves, neighbours, every second rank or ranks half of all apart.
func randomLoop(rng *rand.Rand) loop {
	p := loop{ranks: []int{2, 4, 4, 6, 8}[rng.IntN(5)], onHost: rng.IntN(2) == 0}
	R := p.ranks
	var all, second []int
	var neighbours, apart [][]int
	for r := range R {
		all = append(all, r)
	}
	for r := 0; r < R; r += 2 {
		second, neighbours = append(second, r), append(neighbours, []int{r, r + 1})
	}
	for r := range R / 2 {
		apart = append(apart, []int{r, r + R/2})
	}
	parts := [][][]int{{all}, {all}}
	if R > 2 {
		parts = append(parts, [][]int{all[:R/2], all[R/2:]}, neighbours, [][]int{second}, apart)
	}
	calls := 1 + rng.IntN(4)
	for range calls {
		p.work, p.groups = append(p.work, 10+40*rng.Float64()), append(p.groups, parts[rng.IntN(len(parts))])
	}
	if rng.IntN(3) > 0 {
		p.groups[calls-1] = parts[0]
	}
	return p
}

// play returns what is recorded of a loop, and how long it takes, ms.
func (p *loop) play(t *testing.T, seed uint64, f loopFault) (*Job, float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 8))
	now, done := make([]float64, p.ranks), make([]float64, p.ranks)
	groups, calls := make([][]comms.Group, p.ranks), make([][]comms.Call, p.ranks)
	enter := func(r, call int, members []int) {
		name := fmt.Sprint(members)
		g := slices.IndexFunc(groups[r], func(g comms.Group) bool { return g.Name == name })
		if g < 0 {
			g = len(groups[r])
			groups[r] = append(groups[r], comms.Group{Name: name, Size: len(members), Members: members, Rank: slices.Index(members, r), Enqueued: -1, Completed: -1})
		}
		x := comms.UnknownCall(0)
		x.Group, x.Name, x.Op, x.Enter, x.HasEnter = g, "nccl:all_reduce", nccl.AllReduce, int64(now[r]*ms), true
		if p.onHost {
			x.Name = "gloo:all_reduce"
		}
		x.Seq = 1
		for _, c := range calls[r] {
			if c.Group == g {
				x.Seq++
			}
		}
		x.Tensors = &comms.Tensors{InSizes: [][]int64{{int64(100 * (call + 1))}}}
		calls[r] = append(calls[r], x)
	}
	for step := range loopSteps {
		for k, groups := range p.groups {
			for r := range now {
				now[r] += p.work[k] * (1 + 0.02*rng.NormFloat64())
			}
			if k == f.call {
				now[f.rank] += f.delayInStep(step) * (1 + 0.02*rng.NormFloat64())
			}
			for _, members := range groups {
				last := 0.0
				for _, r := range members {
					now[r] += 0.2 + 0.1*rng.Float64()
					enter(r, k, members)
					last = max(last, now[r])
				}
				for _, r := range members {
					if done[r] = max(done[r], last); p.onHost {
						now[r] = last + 0.1
					}
				}
			}
		}
		for r := range now {
			now[r] = max(now[r], done[r]) + loopEnd*(1+0.02*rng.NormFloat64())
		}
	}
	j := &Job{}
	for r := range now {
		c := &comms.Record{Sources: []comms.Source{{Name: "test"}}, Processes: []comms.Process{{Rank: r, Host: "n0"}}, Groups: groups[r], Calls: calls[r]}
		if err := j.Add(c); err != nil {
			t.Fatal(err)
		}
	}
	return j, slices.Max(now)
}

// TestRandomLoops: of jobs that reduce in random groups nobody is accused where nobody is late; where one rank is, and costs 12 % or
// more, others are in at most 1 in 100, and it is named first in 90 of 100. What a delay costs is how much longer the same job takes with it.
func TestRandomLoops(t *testing.T) {
	due, right, innocent := 0, 0, 0
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 9))
		p := randomLoop(rng)
		step := loopEnd
		for _, w := range p.work {
			step += w
		}
		healthy, took := p.play(t, seed, loopFault{rank: -1, call: -1, every: 1})
		if r := healthy.Analyze(Options{}); len(r.Late) > 0 {
			t.Errorf("seed %d, %+v, healthy: %+v", seed, p, r.Late)
		}
		for _, f := range []loopFault{{every: 1}, {every: 3}, {every: 1, grows: true}} {
			f.call, f.delay = rng.IntN(len(p.groups)), step*(0.25+0.4*rng.Float64())*float64(f.every)*0.85
			members := slices.Concat(p.groups[f.call]...)
			f.rank = members[rng.IntN(len(members))]
			j, slow := p.play(t, seed, f)
			r := j.Analyze(Options{})
			if slices.ContainsFunc(r.Late, func(c claim.Claim) bool { return c.Rank() != f.rank && c.Saves.Largest() >= 0.1 }) {
				innocent++
				t.Logf("seed %d, %+v, %+v: %+v", seed, p, f, r.Late)
			}
			if 1-took/slow < 0.12 {
				continue
			}
			if due++; len(r.Late) > 0 && r.Late[0].Rank() == f.rank {
				right++
			}
		}
	}
	if 100*innocent > due || 10*right < 9*due {
		t.Errorf("of %d late ranks %d are named first, and beside %d an innocent one is named", due, right, innocent)
	}
	t.Logf("%d of %d named first, %d innocent", right, due, innocent)
}
