package arrivals

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// A rank that is late in every step of the last part of a record is late in each of
// them, although the entries of all ranks then keep their distances.
func TestLateFromSomeStepOn(t *testing.T) {
	for seed := range uint64(10) {
		s := synthetic{seed: seed, ranks: 8, steps: 40, buckets: 3, jitter: 0.6, delay: 60, late: []int{0}, from: 32}
		late := s.job().Analyze(Options{}).Late
		if len(late) != 1 || late[0].Rank() != 0 || late[0].Steps.Count != 8 || math.Abs(late[0].Saves.Alone-8*60./(40*145+8*60)) > 0.02 {
			t.Errorf("seed %d: %+v, expected rank 0 in 8 steps", seed, late)
		}
	}
}

// crossed is a job in whose steps pairs of ranks synchronise, and several times in
// backward, each time with the ranks of equal place in their pairs after them, on clocks of their own.
type crossed struct {
	seed  uint64
	late  int     // before the call of its pair; −1: none
	delay float64 // ms
}

const crossedRanks = 8

// record is an empty one, and the index of its groups by rank and kind: the pair, and
// the others of equal place.
func (crossed) record() (*comms.Record, [crossedRanks][2]int) {
	c := &comms.Record{Sources: []comms.Source{{Name: "test"}}}
	var at [crossedRanks][2]int
	for r := range crossedRanks {
		c.Processes = append(c.Processes, comms.Process{Rank: r})
		across := []int{r % 2, r%2 + 2, r%2 + 4, r%2 + 6}
		for kind, members := range [][]int{{r &^ 1, r | 1}, across} {
			at[r][kind] = len(c.Groups)
			c.Groups = append(c.Groups, comms.Group{Process: r, Name: string(rune('a'+4*kind)) + string(rune('0'+members[0])), Size: len(members), Members: members,
				Rank: slices.Index(members, r), Enqueued: -1, Completed: -1})
		}
	}
	return c, at
}

func (x crossed) job(t *testing.T) *Job {
	t.Helper()
	c, at := x.record()
	rng := rand.New(rand.NewPCG(x.seed, 3))
	var now [crossedRanks]float64
	seq := make([]int64, len(c.Groups))
	enter := func(r, kind int, size int64) {
		g := at[r][kind]
		seq[g]++
		call := comms.UnknownCall(r)
		call.Group, call.Name, call.Op, call.Seq, call.Enter, call.HasEnter = g, "nccl:all_reduce", nccl.AllReduce, seq[g], int64(now[r]*ms), true
		call.Tensors = &comms.Tensors{InSizes: [][]int64{{size}}}
		c.Calls = append(c.Calls, call)
	}
	for range 40 {
		for r := range now {
			now[r] += 40 + 0.8*rng.NormFloat64()
			if r == x.late {
				now[r] += x.delay
			}
			enter(r, 0, 64)
		}
		pairs(&now)
		last := [2]float64{}
		for range 3 {
			for r := range now {
				now[r] += 20 + 0.4*rng.NormFloat64()
				enter(r, 0, 32)
			}
			pairs(&now)
			for r := range now {
				enter(r, 1, 1024)
				last[r%2] = max(last[r%2], now[r])
			}
		}
		for r := range now {
			now[r] = max(now[r], last[r%2]+2)
		}
	}
	j := &Job{}
	if err := j.Add(c); err != nil {
		t.Fatal(err)
	}
	return j
}

// pairs waits for both ranks of each pair.
func pairs(now *[crossedRanks]float64) {
	for r := 0; r < crossedRanks; r += 2 {
		last := max(now[r], now[r+1]) + 2
		now[r], now[r+1] = last, last
	}
}

// What a rank that is late in its pair costs the other pairs is seen where they wait
// for it in other groups.
func TestLateAcrossGroups(t *testing.T) {
	for seed := range uint64(10) {
		for _, x := range []crossed{{late: -1}, {late: 3, delay: 20}} {
			x.seed = seed
			late := gainful(x.job(t).Analyze(Options{}))
			switch {
			case x.late < 0 && len(late) > 0:
				t.Errorf("seed %d: %+v, expected nobody", seed, late)
			case x.late >= 0 && (len(late) != 1 || late[0].Rank() != x.late || math.Abs(late[0].Saves.Alone-x.delay/(110+x.delay)) > 0.03):
				t.Errorf("seed %d: %+v, expected rank %d by %.0f ms", seed, late, x.late, x.delay)
			}
		}
	}
}

// A rank that loses time in each piece of backward is later at every bucket, and late by all of it at the last, for
// which the others wait: a bucket that hosts only put on a stream charges nobody twice.
func TestBucketsNotWaitedFor(t *testing.T) {
	for seed := range uint64(10) {
		for _, buckets := range []int{2, 3, 4} {
			s := synthetic{seed: seed, ranks: 8, steps: 80, buckets: buckets, jitter: 2, perHost: 8, delay: 8, late: []int{3}, twice: true}
			r := s.job().Analyze(Options{})
			if len(r.Late) != 1 || r.Late[0].Rank() != 3 || math.Abs(float64(r.Late[0].Size)-16*ms) > 2*ms {
				t.Errorf("seed %d, %d buckets: %+v, expected rank 3 by 16 ms", seed, buckets, r.Late)
			}
		}
	}
}

// A call that all ranks enter behind the release of an earlier one, whatever they wait for, is not taken to wait for it.
func TestWaitsThatNeverHold(t *testing.T) {
	for seed := range uint64(10) {
		s := synthetic{seed: seed, ranks: 8, steps: 80, buckets: 3, jitter: 2, perHost: 8, delay: 30, late: []int{3}, at: 1}
		for _, p := range s.job().Analyze(Options{}).Places {
			if p.Waits > 1 {
				t.Errorf("seed %d: %s after %s waits for the call %d before it, which never holds a rank", seed, p.Op, p.After, p.Waits)
			}
		}
	}
}

// TestGrowingDelay: a rank that is later and later before calls that nobody waits for at once is named, by what it costs.
func TestGrowingDelay(t *testing.T) {
	for _, ranks := range []int{2, 4} {
		for _, buckets := range []int{1, 3} {
			for seed := range uint64(10) {
				s := synthetic{seed: seed, ranks: ranks, steps: 60, buckets: buckets, jitter: 1.5, delay: 50, late: []int{1}, grows: true}
				r := s.job().Analyze(Options{})
				step := beforeFirst + float64(between*(buckets-1)) + afterLast + s.delay
				if len(r.Late) != 1 || r.Late[0].Rank() != 1 || math.Abs(r.Late[0].Saves.Alone-s.delay/step) > 0.05 {
					t.Errorf("%d ranks, %d buckets, seed %d: %+v, want rank 1 to save %.2f", ranks, buckets, seed, r.Late, s.delay/step)
				}
			}
		}
	}
}
