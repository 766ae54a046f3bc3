package arrivals

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// answered is a report: counts of all-reduces by communicator and rank, −1 for who does not answer.
func answered(second int64, of map[uint64]map[int]int64) *comms.Record {
	c := &comms.Record{Sources: []comms.Source{{Kind: comms.SourceRAS}}}
	for id, counts := range of {
		for rank, n := range counts {
			g := comms.Group{Process: len(c.Processes), ID: id, Name: strconv.FormatUint(id, 10), Unanswered: n < 0}
			if n >= 0 {
				g.Launched = []comms.Launched{{Op: nccl.Send, N: int64(rank)}, {Op: nccl.AllReduce, N: n}}
			}
			c.Processes = append(c.Processes, comms.Process{Rank: rank, Written: second * 1e9})
			c.Groups = append(c.Groups, g)
		}
	}
	return c
}

// Rank 3 is behind in its pair; rank 2 waits for it there, and so is behind in the world without being a root.
func TestAnswers(t *testing.T) {
	chain := map[uint64]map[int]int64{1: {0: 81, 1: 81, 2: 80, 3: 80}, 2: {0: 645, 1: 645}, 3: {2: 640, 3: 639}}
	moved := map[uint64]map[int]int64{1: {0: 80, 1: 80, 2: 80, 3: 80}, 2: {0: 640, 1: 645}, 3: {2: 640, 3: 639}}
	for name, c := range map[string]struct {
		reports []map[uint64]map[int]int64
		behind  map[uint64][]int
		stands  map[uint64]int64
		roots   []int
	}{
		"one report":        {[]map[uint64]map[int]int64{chain}, map[uint64][]int{1: {2, 3}, 3: {3}}, nil, []int{3}},
		"it stands":         {[]map[uint64]map[int]int64{moved, chain, chain, chain}, map[uint64][]int{1: {2, 3}, 3: {3}}, map[uint64]int64{1: 20e9, 3: 30e9}, []int{3}},
		"one still goes on": {[]map[uint64]map[int]int64{moved, chain}, map[uint64][]int{3: {3}}, map[uint64]int64{3: 10e9}, []int{3}},
		"nobody is behind":  {[]map[uint64]map[int]int64{{1: {0: 4, 1: 4}}}, map[uint64][]int{}, nil, []int{}},
		"a circle":          {[]map[uint64]map[int]int64{{1: {0: 4, 1: 5}, 2: {0: 9, 1: 8}}}, map[uint64][]int{1: {0}, 2: {1}}, nil, []int{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var j Job
			for i, r := range c.reports {
				if err := j.Add(answered(int64(100+10*i), r)); err != nil {
					t.Fatal(err)
				}
			}
			a := j.Analyze(Options{}).Asked
			got := map[uint64][]int{}
			for _, b := range a.Behind {
				id, _ := strconv.ParseUint(b.Communicator, 0, 64)
				got[id] = b.Ranks
				if b.Stands != c.stands[id] {
					t.Errorf("communicator %d stands for %d", id, b.Stands)
				}
				if b.Op != nccl.AllReduce {
					t.Errorf("of %s", b.Name)
				}
			}
			if diff := cmp.Diff(c.behind, got); diff != "" {
				t.Errorf("behind (want −, got +):\n%s", diff)
			}
			if diff := cmp.Diff(c.roots, a.Roots); diff != "" || a.Reports != len(c.reports) {
				t.Errorf("of %d reports, roots (want −, got +):\n%s", a.Reports, diff)
			}
		})
	}
	var j Job
	j.Add(answered(1, map[uint64]map[int]int64{1: {0: 4, 1: -1}}))
	if a := j.Analyze(Options{}).Asked; len(a.Unanswered) != 1 || a.Unanswered[0] != 1 || len(a.Behind) > 0 {
		t.Errorf("%+v", a)
	}
}
