package arrivals

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/sync"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// pipeline is a job of two stages of two replicas: ranks 0 and 1 send to 2 and 3 and wait for them,
// which nothing records, and each stage reduces its gradients.
func pipeline(late int, atEnd bool) *Job {
	rng := rand.New(rand.NewPCG(1, 2))
	now := make([]float64, 4)
	calls := make([][]comms.Call, 4)
	for step := range 40 {
		var begun [2]float64
		for replica := range 2 {
			a, b := replica, replica+2
			take := func(r int, mean float64) {
				now[r] += mean + 0.3*rng.NormFloat64()
				if r == late && !atEnd {
					now[r] += 40
				}
			}
			take(a, 20)
			now[b] = max(now[a], now[b])
			take(b, 20)
			now[a] = max(now[a], now[b]) // its gradients
			for stage, r := range []int{a, b} {
				if r == late && atEnd {
					now[r] += 40
				}
				c := comms.UnknownCall(0)
				c.Group, c.Name, c.Op, c.Seq = 0, "gloo:all_reduce", nccl.AllReduce, int64(step+1)
				c.Enter, c.HasEnter, c.State = int64(now[r]*ms), true, comms.Completed
				calls[r] = append(calls[r], c)
				begun[stage] = max(begun[stage], now[r])
			}
		}
		for r := range now {
			now[r] = begun[r/2] + 1
		}
	}
	j := &Job{}
	for r := range calls {
		first := r / 2 * 2
		if err := j.Add(&comms.Record{
			Sources:   []comms.Source{{Name: "dump"}},
			Processes: []comms.Process{{Rank: r, Host: "node0"}},
			Groups:    []comms.Group{{Name: []string{"1", "2"}[r/2], Members: []int{first, first + 1}, Size: 2, Enqueued: -1, Completed: -1}},
			Calls:     calls[r],
		}); err != nil {
			panic(err)
		}
	}
	return j
}

// Where nothing recorded connects the stages of a pipeline, a rank that is late before its messages and
// the one that waits for them are late together; one that is late behind them costs what its own group waits.
func TestApart(t *testing.T) {
	for _, late := range []int{0, 1} {
		r := pipeline(late, false).Analyze(Options{MinGain: 0.1})
		if !r.Apart || len(r.Late) > 0 || r.Set == nil || !slices.Equal(r.Set.Ranks, []int{late, late + 2}) {
			t.Errorf("rank %d before its messages: late %+v, together %+v", late, r.Late, r.Set)
		}
	}
	for late := range 4 {
		r := pipeline(late, true).Analyze(Options{MinGain: 0.1})
		if !r.Apart || len(r.Late) != 1 || r.Late[0].Rank() != late {
			t.Errorf("rank %d behind its messages: late %+v, together %+v", late, r.Late, r.Set)
			continue
		}
		if want := 40 * ms / float64(r.Step); math.Abs(r.Late[0].Saves.AtMost-want) > 0.06 || r.Late[0].Saves.Alone != 0 {
			t.Errorf("rank %d: saves %+v, expected at most %.3f, and nothing for certain", late, r.Late[0].Saves, want)
		}
	}
}

// TestApartBehindFirstCalls: calls that all ranks make when a job begins connect nobody in its steps.
func TestApartBehindFirstCalls(t *testing.T) {
	j := pipeline(1, true)
	for r := range j.Ranks {
		var first []sync.Call
		for k := range int64(2) {
			c := j.Ranks[r].Calls[0]
			c.Group, c.Kind, c.Seq, c.Enter = 2, int32(len(j.Kinds)), k+1, c.Enter-(100-10*k)*ms
			first = append(first, c)
		}
		j.Ranks[r].Calls = append(first, j.Ranks[r].Calls...)
	}
	j.Groups = append(j.Groups, sync.Group{Name: "0", Members: []int{0, 1, 2, 3}})
	j.Kinds = append(j.Kinds, sync.Kind{Name: "gloo:broadcast", Op: nccl.Broadcast, Stack: -1, Size: 4})
	r := j.Analyze(Options{MinGain: 0.1})
	if !r.Apart || len(r.Late) != 1 || r.Late[0].Rank() != 1 || r.Late[0].Saves.Alone != 0 || r.Late[0].Saves.AtMost < 0.3 {
		t.Errorf("apart %v, late %+v, want rank 1 by at most half of the steps", r.Apart, r.Late)
	}
}

// A rank that entered nothing with others sets nobody apart.
func TestNotApart(t *testing.T) {
	j := synthetic{seed: 7, ranks: 4, steps: 40, buckets: 2, barrier: true, jitter: 2, perHost: 8, delay: 50, late: []int{2}}.job()
	if err := j.Add(&comms.Record{Sources: []comms.Source{{Name: "dump"}}, Processes: []comms.Process{{Rank: 9, Host: "node0"}}}); err != nil {
		t.Fatal(err)
	}
	if r := j.Analyze(Options{MinGain: 0.1}); r.Apart || len(r.Late) != 1 || r.Late[0].Rank() != 2 {
		t.Errorf("apart %v, late %+v", r.Apart, r.Late)
	}
}
