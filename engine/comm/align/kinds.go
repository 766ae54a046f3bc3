package align

import (
	"math"

	"github.com/sfstat/sfstat/engine/comm/needleman"
	"github.com/sfstat/sfstat/trace/nccl"
)

// learnKinds is the odds of each kind of kernel for every launch, and how often each kind is.
func (h *hmm) learnKinds() (rows [][]float64, often []float64) {
	often = make([]float64, len(h.shapes))
	for _, k := range h.kinds {
		often[k] += 1 / float64(len(h.kinds))
	}
	joint := make([][]float64, len(h.classes))
	for c := range joint {
		joint[c] = make([]float64, len(h.shapes))
		sum, best := unseen, h.perfect(&h.classes[c])
		for k := range h.shapes {
			if s := h.prior(&h.classes[c], &h.shapes[k]); s > needleman.Never {
				joint[c][k] = often[k] * math.Exp(float64(s-best)/10)
				sum += joint[c][k]
			}
		}
		for k := range h.shapes {
			joint[c][k] /= sum
		}
	}
	h.countKinds(joint)
	ghosts := make([][]float64, len(h.classes))
	for c := range ghosts {
		ghosts[c] = make([]float64, len(h.shapes))
		for k := range ghosts[c] {
			ghosts[c][k] = 0.95*joint[c][k] + 0.05*often[k]
		}
	}
	rows = make([][]float64, len(h.launches))
	for i, l := range h.launches {
		switch {
		case h.labels[i] == unknown:
			rows[i] = often
		case l.Lead < 0:
			rows[i] = ghosts[h.labels[i]]
		default:
			rows[i] = joint[h.labels[i]]
		}
	}
	return rows, often
}

// perfect is what a launch and a kernel say of one another that agree in all that is known of the launch.
func (e *evidence) perfect(c *class) int32 {
	s := int32(maybe)
	if c.datatype != nccl.UnknownType {
		s += typeAgrees
	}
	if c.algo == nccl.Tree || c.algo == nccl.Ring {
		s += algoAgrees
	}
	if c.channels > 0 && c.calls == 1 {
		s += gridAgrees
	}
	return s
}

// countKinds adds what the pairs so far say to what names say, which counts as one pair.
func (h *hmm) countKinds(joint [][]float64) {
	of := make([]float64, len(joint))
	seen := map[[2]int]float64{}
	for _, q := range h.pairs {
		if h.launches[q.Row].Lead >= 0 {
			seen[[2]int{h.labels[q.Row], h.kinds[q.Column]}] += q.chance
			of[h.labels[q.Row]] += q.chance
		}
	}
	for c := range joint {
		for k := range joint[c] {
			if joint[c][k] > 0 {
				joint[c][k] = (joint[c][k] + seen[[2]int{c, k}]) / (1 + of[c])
			}
		}
	}
}
