package arrivals

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// overlapping is a job of four ranks, in each step of which 0 and 1 synchronise in a group of their
// own, then 1 and 2, then all. One rank is late before its call in one of the groups.
type overlapping struct {
	seed  uint64
	rank  int // late; −1: none
	group int
	delay float64 // ms
}

func (o overlapping) job(t *testing.T) *Job {
	t.Helper()
	groups := [][]int{{0, 1}, {1, 2}, {0, 1, 2, 3}}
	rng := rand.New(rand.NewPCG(o.seed, 2))
	c := &comms.Record{Sources: []comms.Source{{Name: "test"}}}
	at := map[[2]int]int{} // index of Groups, by rank and group
	for r := range 4 {
		c.Processes = append(c.Processes, comms.Process{Rank: r, Host: "n0"})
		for g, members := range groups {
			if i := slices.Index(members, r); i >= 0 {
				at[[2]int{r, g}] = len(c.Groups)
				c.Groups = append(c.Groups, comms.Group{Process: r, Name: string(rune('0' + g)), Size: len(members), Members: members, Rank: i, Enqueued: -1, Completed: -1})
			}
		}
	}
	now, seq := make([]float64, 4), make([]int64, len(c.Groups))
	for range 50 {
		for r := range now {
			now[r] += 25 + rng.NormFloat64()
		}
		for g, members := range groups {
			last := 0.0
			for _, r := range members {
				now[r] += 2 + 0.2*rng.NormFloat64()
				if r == o.rank && g == o.group {
					now[r] += o.delay
				}
				i := at[[2]int{r, g}]
				seq[i]++
				x := comms.UnknownCall(r)
				x.Group, x.Name, x.Op, x.Seq, x.Enter, x.HasEnter = i, "gloo:all_reduce", nccl.AllReduce, seq[i], int64(now[r]*ms), true
				c.Calls = append(c.Calls, x)
				last = max(last, now[r])
			}
			for _, r := range members {
				now[r] = last + 0.2
			}
		}
	}
	j := &Job{}
	if err := j.Add(c); err != nil {
		t.Fatal(err)
	}
	return j
}

// A rank that comes to a call of a group from work that another member did before it met a
// third is not late, and neither is one that waited in another group.
func TestOverlappingGroups(t *testing.T) {
	for name, o := range map[string]overlapping{
		"nobody":                      {rank: -1},
		"before the first group":      {rank: 0, group: 0, delay: 30},
		"before the first group, too": {rank: 1, group: 0, delay: 30},
		"before the second group":     {rank: 2, group: 1, delay: 60},
		"in no group but that of all": {rank: 3, group: 2, delay: 60},
		"before that of all":          {rank: 0, group: 2, delay: 30},
	} {
		t.Run(name, func(t *testing.T) {
			for o.seed = range uint64(20) {
				late := gainful(o.job(t).Analyze(Options{}))
				switch {
				case o.rank < 0 && len(late) > 0:
					t.Errorf("seed %d: %+v, expected nobody", o.seed, late)
				case o.rank >= 0 && (len(late) != 1 || late[0].Rank() != o.rank || math.Abs(float64(late[0].Entered.Delay)/ms-o.delay) > 6):
					t.Errorf("seed %d: %+v, expected rank %d by %.0f ms", o.seed, late, o.rank, o.delay)
				}
			}
		})
	}
}
