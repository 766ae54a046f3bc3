package diagnose

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/whatif"
)

// localize is in which operators a worker loses its time: one kind, or one
// instance, where that is nearly all; else op is "" and the times are of the
// two kinds that cost it most.
func (j *opJudge) localize(w int, d *delayed) (op string, seq *int, times evidence.OperatorTimes) {
	kinds, instances := j.excess(w)
	charged, total := make(map[string]float64), 0.0
	for _, t := range d.terms {
		charged[t.kind().op] += t.Charged
		total += t.Charged
	}
	names := slices.SortedFunc(maps.Keys(charged), func(a, b string) int { return cmp.Or(cmp.Compare(charged[b], charged[a]), cmp.Compare(a, b)) })
	times.P = d.p()
	first := names[0]
	if charged[first] < nearlyAll*total {
		for _, name := range names[:2] {
			times.In = append(times.In, evidence.OpTime{Op: name, Own: kinds[name].own, Peers: kinds[name].peers})
		}
		return "", nil, times
	}
	all := *kinds[first]
	only := evidence.OpTime{Op: first, Own: all.own, Peers: all.peers}
	if best := j.onlyInstance(first, instances, all); best >= 0 {
		at := int(j.v.Grid.Instances[best].Seq)
		seq = &at
		only.Seq, only.Own, only.Peers = seq, instances[best].own, instances[best].peers
	}
	times.In = []evidence.OpTime{only}
	if all.instances == 1 {
		seq = new(int)
	}
	return first, seq, times
}

// onlyInstance is the instance of a kind of operator that has nearly all of its
// excess; −1 for none.
func (j *opJudge) onlyInstance(kind string, instances map[int]compared, all compared) int {
	best := -1
	for i, x := range instances {
		if j.v.Trace.Names[j.v.Grid.Instances[i].Name] != kind {
			continue
		}
		if best < 0 || x.more() > instances[best].more() || x.more() == instances[best].more() && i < best {
			best = i
		}
	}
	if best < 0 || all.instances < 2 || float64(instances[best].more()) < nearlyAll*float64(all.more()) {
		return -1
	}
	return best
}

// compared is what operators took on a worker and, of the others, the median.
type compared struct {
	own, peers int64 // ns over the window
	instances  int
}

func (c compared) more() int64 { return c.own - c.peers }

// excess compares a worker's own work over the window with that of the other
// replicas, by kind and by instance: with the median of what each took.
func (j *opJudge) excess(w int) (kinds map[string]*compared, instances map[int]compared) {
	stage, own := j.v.Stage(w), j.v.Replica(w)
	ofKind, count := make(map[string][]int64), make(map[string]int)
	instances = make(map[int]compared)
	totals := make([]int64, j.Replicas)
	j.nodes(func(n int, node whatif.Node) bool { return node.Stage == stage && j.priced.local(n) }, func(n, at int) {
		name := j.v.Model.Nodes()[n].Op
		if ofKind[name] == nil {
			ofKind[name] = make([]int64, j.Replicas)
		}
		clear(totals)
		for l, x := range j.recorded[at : at+j.v.Grid.Lanes()] {
			totals[l%j.Replicas] += x
			ofKind[name][l%j.Replicas] += x
		}
		count[name]++
		instances[int(j.v.Model.Instances()[n])] = compared{totals[own], middleOfOthers(totals, own), 1}
	})
	kinds = make(map[string]*compared)
	for name, totals := range ofKind {
		kinds[name] = &compared{totals[own], middleOfOthers(totals, own), count[name]}
	}
	return kinds, instances
}
