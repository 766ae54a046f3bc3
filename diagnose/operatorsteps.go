package diagnose

import (
	"math"

	"github.com/sfstat/sfstat/engine/recurrence"
	"github.com/sfstat/sfstat/engine/whatif"
	"github.com/sfstat/sfstat/internal/robust"
)

// strikes says in which steps the work of a worker took longer than its peers', and
// what such a step costs, where that is not every step and steps are told one by one.
func (j *opJudge) strikes(t *theory) {
	if t.Cause != CauseCompute || len(t.workers) != 1 || t.fix == nil {
		return
	}
	over, noise := j.excessOf(t)
	r, err := recurrence.Estimate(over, noise)
	if err != nil || r.Struck == 0 || !r.Separate || r.Pattern == recurrence.Constant {
		return
	}
	now, without := j.perStep(), j.perStep(t.fix)
	if len(now) != len(over) || len(without) != len(over) {
		return
	}
	saved, length := int64(0), int64(0)
	for i := r.First; i <= r.Last; i++ {
		if over[i] > r.Least {
			saved += now[i] - without[i]
			length += now[i]
		}
	}
	t.Struck = struckOf(r, j.Steps)
	t.Excess, t.Step = saved/int64(r.Struck), length/int64(r.Struck)
	t.Gain = max(t.RunGain, float64(saved)/float64(max(1, length)))
}

// excessOf is by how much the work that a theory is about takes longer in each step
// than on the median of the worker's peers, and the noise of that: what the peers
// themselves differ by.
func (j *opJudge) excessOf(t *theory) (over []float64, noise float64) {
	replicas, stage, own := j.Replicas, j.v.Stage(t.workers[0]), j.v.Replica(t.workers[0])
	work := make([]int64, j.v.Grid.Lanes())
	j.nodes(func(n int, node whatif.Node) bool {
		return node.Stage == stage && j.priced.local(n) && (t.Op == "" || node.Op == t.Op) && (t.Seq == nil || node.Seq == *t.Seq)
	}, func(_, at int) {
		for l, x := range j.recorded[at : at+len(work)] {
			work[l] += x
		}
	})
	apart, scratch := make([]int64, replicas), make([]int64, 0, replicas)
	var peers []float64
	for l := 0; l < len(work); l += replicas {
		fromOthers(apart, work[l:l+replicas], scratch)
		for d, x := range apart {
			if d == own {
				over = append(over, float64(x))
				continue
			}
			peers = append(peers, math.Abs(float64(x)))
		}
	}
	return over, robust.SigmaOfMAD * robust.Median(peers)
}

// struckOf is what was found of steps, as they are recorded.
func struckOf(r recurrence.Recurrence, steps []int64) Struck {
	s := Struck{Count: r.Struck, Of: r.Of, First: steps[r.First], Last: steps[r.Last],
		Low: r.Low, High: r.High, Own: int64(r.Excess), ExcessLow: int64(max(0, r.ExcessLow)), ExcessHigh: int64(r.ExcessHigh), P: r.P}
	switch r.Pattern {
	case recurrence.Constant:
		s.Pattern = PatternConstant
	case recurrence.Stretch:
		s.Pattern = PatternWindow
	case recurrence.Intermittent:
		s.Pattern = PatternIntermittent
	}
	return s
}
