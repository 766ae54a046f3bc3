package communication

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/align"
	"github.com/sfstat/sfstat/trace/comms"
)

// Method is a way to pair calls with kernels.
type Method uint8

const (
	Sliding  Method = iota // the first kernel of the name among the next few
	Thesis                 // the thesis's alignment, by operation names alone
	Alone                  // all that both sides know but times and threads, each rank by itself
	Together               // the same, the ranks of a node together
	Default                // what sfstat comm does: times too, where they are
	methods
)

var methodNames = [methods]string{"sliding window", "thesis", "one rank, no clocks", "ranks together, no clocks", "default"}

func (m Method) String() string { return methodNames[min(m, methods-1)] }

// Score counts pairs of call and kernel. A kernel that ran several calls has as many.
type Score struct {
	True         int // whose call and kernel were both recorded
	Found        int
	Right        int // found and true
	Certain      int // found and called certain
	CertainRight int
}

// Precision is 1 where nothing was found.
func (s Score) Precision() float64 { return part(s.Right, s.Found) }

// Recall is 1 where nothing is true.
func (s Score) Recall() float64 { return part(s.Right, s.True) }

// F1 is 1 where nothing is true and nothing was found.
func (s Score) F1() float64 { return part(2*s.Right, s.Found+s.True) }

func part(n, of int) float64 {
	if of == 0 {
		return 1
	}
	return float64(n) / float64(of)
}

func (s *Score) sum(o Score) {
	s.True, s.Found, s.Right = s.True+o.True, s.Found+o.Found, s.Right+o.Right
	s.Certain, s.CertainRight = s.Certain+o.Certain, s.CertainRight+o.CertainRight
}

// judge counts a pair that was found. One whose call stands in no log, as those that NVTX tells, is not counted where the
// truth is of logs alone.
func (r *Recording) judge(s *Score, found comm.Match) {
	p := pairAt(r.Result, found.Rank, found.Call, found.Kernel)
	if r.Result.Recorded.Sources[r.Result.Calls[found.Call].Source].Kind != comms.SourceNCCLLog && !r.Truth.files[p.log] {
		return
	}
	s.add(r.Truth.pairs[p], found.Certain)
}

// add counts one pair.
func (s *Score) add(true, certain bool) {
	s.Found++
	if true {
		s.Right++
	}
	if certain {
		s.Certain++
		if true {
			s.CertainRight++
		}
	}
}

// Score pairs the recording by a method and holds it against its truth, which there must be.
func (r *Recording) Score(m Method) (Score, error) {
	s := Score{True: len(r.Truth.pairs)}
	var err error
	switch m {
	case Sliding, Thesis:
		err = r.scoreNames(&s, m)
	case Alone, Together:
		err = r.scoreBlind(&s, m)
	default:
		r.scoreDefault(&s)
	}
	if err != nil {
		return s, fmt.Errorf("%s, %v: %w", r.Name, m, err)
	}
	return s, nil
}

// scoreNames scores what looks at names alone; nothing of it is certain.
func (r *Recording) scoreNames(s *Score, m Method) error {
	for i := range r.Result.Ranks {
		p, both := r.Result.Aligned(i)
		if !both {
			continue
		}
		found := align.BySliding(p, align.SlidingWindow)
		if m == Thesis {
			var err error
			if found, err = align.ByThesis(p); err != nil {
				return err
			}
		}
		for _, x := range found {
			r.judge(s, comm.Match{Rank: i, Call: r.Result.Ranks[i].Calls[x.Row], Kernel: x.Column})
		}
	}
	return nil
}

// scoreBlind scores what has no clock to look at.
func (r *Recording) scoreBlind(s *Score, m Method) error {
	var ps []align.Process
	var ranks []int
	at := map[int]int{} // of a process that logged
	for i := range r.Result.Ranks {
		if p, both := r.Result.Aligned(i); both {
			at[r.Result.Ranks[i].Log] = len(ps)
			ps, ranks = append(ps, p), append(ranks, i)
		}
	}
	var groups [][]align.Member
	if m == Together {
		groups = r.members(at)
	}
	all, err := align.Joint(ps, groups, align.Options{Clockless: true})
	if err != nil {
		return err
	}
	for i, x := range all {
		for _, k := range x.Matches {
			for _, c := range x.Launches[k.Launch].Calls {
				r.judge(s, comm.Match{Rank: ranks[i], Call: r.Result.Ranks[ranks[i]].Calls[c], Kernel: k.Kernel, Certain: x.IsCertain(k)})
			}
		}
	}
	return nil
}

// members are the sides of each communicator that the log itself puts together: no clock was needed.
func (r *Recording) members(at map[int]int) (groups [][]align.Member) {
	for i := range r.Result.Communicators {
		c := &r.Result.Communicators[i]
		if c.Joined || c.Alone {
			continue
		}
		var list []align.Member
		for _, side := range c.Sides {
			if p, ok := at[r.Result.Groups[side].Process]; ok {
				list = append(list, align.Member{Process: p, Comm: side})
			}
		}
		if len(list) > 1 {
			groups = append(groups, list)
		}
	}
	return groups
}

// scoreDefault scores the pairs that the recording was put together by.
func (r *Recording) scoreDefault(s *Score) {
	for _, m := range r.Result.Matches {
		r.judge(s, m)
	}
}
