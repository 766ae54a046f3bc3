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

// fourRanks returns a record of four ranks on one host without calls, and the index of its Groups by rank and group.
func fourRanks(groups [][]int) (*comms.Record, map[[2]int]int) {
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
	return c, at
}

func (o overlapping) job(t *testing.T) *Job {
	t.Helper()
	groups := [][]int{{0, 1}, {1, 2}, {0, 1, 2, 3}}
	rng := rand.New(rand.NewPCG(o.seed, 2))
	c, at := fourRanks(groups)
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

// TestMissingOfMesh: where groups list no members, those of one description in which every rank is once are of one size, so that a rank is
// missing from the smaller one; not where the description is of a part of the ranks, or all groups are as large.
func TestMissingOfMesh(t *testing.T) {
	for name, c := range map[string]struct {
		group map[int]string // of each recorded rank
		want  []int
	}{
		"one of four":     {map[int]string{0: "a", 1: "a", 2: "b"}, []int{3}},
		"two of six":      {map[int]string{0: "a", 1: "a", 2: "a", 3: "b"}, []int{4, 5}},
		"none":            {map[int]string{0: "a", 1: "a", 2: "b", 3: "b"}, nil},
		"alone in groups": {map[int]string{0: "a", 1: "b"}, nil},
		"part of them":    {map[int]string{0: "a", 1: "a", 2: "b", 3: ""}, nil},
	} {
		r := &comms.Record{Sources: []comms.Source{{Name: "test"}}}
		for p := range len(c.group) {
			desc := "mesh_dp"
			if c.group[p] == "" {
				desc = "other"
			}
			r.Processes = append(r.Processes, comms.Process{Rank: p, Host: "n0"})
			r.Groups = append(r.Groups, comms.Group{Process: p, Name: "g" + c.group[p], Desc: desc, Rank: -1, Enqueued: -1, Completed: -1})
			for seq := range int64(30) {
				x := comms.UnknownCall(p)
				x.Group, x.Name, x.Op, x.Seq, x.Enter, x.HasEnter = p, "gloo:all_reduce", nccl.AllReduce, seq+1, (seq*100+int64(p))*ms, true
				r.Calls = append(r.Calls, x)
			}
		}
		j := &Job{}
		if err := j.Add(r); err != nil {
			t.Fatal(err)
		}
		if got := j.Analyze(Options{}).Missing; !slices.Equal(got, c.want) {
			t.Errorf("%s: missing %v, want %v", name, got, c.want)
		}
	}
}
