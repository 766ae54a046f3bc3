package diagnose

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/internal/robust"
)

// localize returns in which operators a worker loses its time: one kind, or one
// instance, where that is nearly all; else the two kinds that cost it most.
func (j *opJudge) localize(d *workerTerms) (in claim.Operation) {
	charged, nodes, total := make(map[string]float64), make(map[string][]int), d.sumCharged()
	for _, t := range d.terms {
		charged[t.kind().op] += t.Charged
		nodes[t.kind().op] = slices.Concat(t.kind().nodes...)
	}
	names := slices.SortedFunc(maps.Keys(charged), func(a, b string) int { return cmp.Or(cmp.Compare(charged[b], charged[a]), cmp.Compare(a, b)) })
	rank := d.terms[0].Rank
	for _, name := range names[:min(2, len(names))] {
		own, peers := j.compareReplica(rank, nodes[name])
		in.Took = append(in.Took, claim.Took{Op: name, Seq: -1, Own: own, Peers: peers})
	}
	if charged[names[0]] < nearlyAll*total {
		return in
	}
	in.Op, in.Took = names[0], in.Took[:1]
	only, all := &in.Took[0], nodes[in.Op]
	if len(all) == 1 {
		in.Seqs = []int{0}
		return in
	}
	best, least := *only, nearlyAll*float64(only.Own-only.Peers)
	for i, n := range all {
		if own, peers := j.compareReplica(rank, []int{n}); i == 0 || own-peers > best.Own-best.Peers {
			best.Seq, best.Own, best.Peers = j.v.Model.Nodes()[n].Seq, own, peers
		}
	}
	if float64(best.Own-best.Peers) >= least {
		*only, in.Seqs = best, []int{best.Seq}
	}
	return in
}

// compareReplica returns what nodes of a stage took on one of its replicas and, of the others, the median, ns over the window.
func (j *opJudge) compareReplica(replica int, nodes []int) (own, peers int64) {
	totals, scratch := make([]int64, j.Replicas), make([]int64, j.Replicas)
	for _, n := range nodes {
		for l, x := range j.row(j.recorded, n) {
			totals[l%j.Replicas] += x
		}
	}
	return totals[replica], robust.MiddleOf(totals, scratch).MedianWithout(totals[replica])
}
