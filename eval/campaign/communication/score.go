package communication

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/comm"
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

// scorings are how sfstat comm pairs by each method.
var scorings = [methods]comm.Scoring{comm.BySliding, comm.ByThesis, comm.ClocklessAlone, comm.Clockless, comm.ByEvidence}

func (m Method) String() string { return methodNames[min(m, methods-1)] }

// Score counts pairs of call and kernel. A kernel that ran several calls has as many.
type Score struct {
	True         int // whose call and kernel were both recorded
	Found        int
	Right        int // found and true
	Certain      int // found and called certain
	CertainRight int
}

// Precision returns the share of found pairs that are true, 1 where nothing was found.
func (s Score) Precision() float64 { return part(s.Right, s.Found) }

// Recall returns the share of true pairs that were found, 1 where nothing is true.
func (s Score) Recall() float64 { return part(s.Right, s.True) }

// F1 returns the harmonic mean of precision and recall, 1 where nothing is true and nothing was found.
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

// Score pairs the recording by a method and holds it against its truth, which there must be. A pair whose call stands in no log, as
// those that NVTX tells, is not counted where the truth is of logs alone.
func (r *Recording) Score(m Method) (Score, error) {
	s := Score{True: len(r.Truth.pairs)}
	found, err := comm.Analyze(r.Result.Recorded, comm.Options{Scoring: scorings[m]})
	if err != nil {
		return s, fmt.Errorf("%s, %v: %w", r.Name, m, err)
	}
	for _, x := range found.Matches {
		p := pairAt(found, x.Rank, x.Call, x.Kernel)
		if found.Recorded.Sources[found.Calls[x.Call].Source].Kind == comms.SourceNCCLLog || r.Truth.files[p.log] {
			s.add(r.Truth.pairs[p], x.Certain)
		}
	}
	return s, nil
}
