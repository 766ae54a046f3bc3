package diagnose

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/internal/robust"
)

// localize is in which operators a worker loses its time: one kind, or one
// instance, where that is nearly all; else op is "" and the times are of the
// two kinds that cost it most.
func (j *opJudge) localize(d *delayed) (op string, seq *int, times evidence.OperatorTimes) {
	charged, nodes, total := make(map[string]float64), make(map[string][]int), d.charged()
	for _, t := range d.terms {
		charged[t.kind().op] += t.Charged
		nodes[t.kind().op] = slices.Concat(t.kind().nodes...)
	}
	names := slices.SortedFunc(maps.Keys(charged), func(a, b string) int { return cmp.Or(cmp.Compare(charged[b], charged[a]), cmp.Compare(a, b)) })
	times.P = d.p()
	rank := d.terms[0].Rank
	for _, name := range names[:min(2, len(names))] {
		own, peers := j.compared(rank, nodes[name])
		times.In = append(times.In, evidence.OpTime{Op: name, Own: own, Peers: peers})
	}
	op = names[0]
	if charged[op] < nearlyAll*total {
		return "", nil, times
	}
	times.In = times.In[:1]
	only, all := &times.In[0], nodes[op]
	if len(all) == 1 {
		return op, new(int), times
	}
	best, least := *only, nearlyAll*float64(only.Own-only.Peers)
	for i, n := range all {
		if own, peers := j.compared(rank, []int{n}); i == 0 || own-peers > best.Own-best.Peers {
			at := j.v.Model.Nodes()[n].Seq
			best.Seq, best.Own, best.Peers = &at, own, peers
		}
	}
	if float64(best.Own-best.Peers) >= least {
		*only, seq = best, best.Seq
	}
	return op, seq, times
}

// compared is what nodes of a stage took on one of its replicas and, of the others, the median, ns over the window.
func (j *opJudge) compared(replica int, nodes []int) (own, peers int64) {
	totals, scratch := make([]int64, j.Replicas), make([]int64, j.Replicas)
	for _, n := range nodes {
		for l, x := range j.row(j.recorded, n) {
			totals[l%j.Replicas] += x
		}
	}
	return totals[replica], robust.MiddleOf(totals, scratch).Without(totals[replica])
}
