package diagnose

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/whatif"
)

// localize is in which operators a worker loses its time: one kind, or one
// instance, where that is nearly all; else op is "" and the times are of the
// two kinds that cost it most.
func (j *opJudge) localize(w int, m mark) (op string, seq *int, times evidence.OperatorTimes) {
	kinds, instances := j.excess(w)
	total := int64(0)
	var names []string
	for name, x := range kinds {
		if x.more() > 0 {
			total += x.more()
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(kinds[b].more(), kinds[a].more()), cmp.Compare(a, b))
	})
	if len(names) == 0 {
		return "", nil, times
	}
	first := names[0]
	// Tests, where there are any, are surer than sums.
	if flagged := j.flaggedKinds(m); len(flagged) == 1 && !m.level {
		if first = flagged[0]; kinds[first] == nil {
			return first, nil, evidence.OperatorTimes{In: []evidence.OpTime{{Op: first}}}
		}
	} else if float64(kinds[first].more()) < nearlyAll*float64(total) {
		for _, name := range names[:min(2, len(names))] {
			times.In = append(times.In, evidence.OpTime{Op: name, Own: kinds[name].own, Peers: kinds[name].peers})
		}
		return "", nil, times
	}
	all := *kinds[first]
	if best := j.onlyInstance(first, instances, m, all); best >= 0 {
		seq := int(j.v.Grid.Instances[best].Seq)
		return first, &seq, evidence.OperatorTimes{In: []evidence.OpTime{{Op: first, Seq: &seq, Own: instances[best].own, Peers: instances[best].peers}}}
	}
	if all.instances == 1 {
		seq = new(int)
	}
	return first, seq, evidence.OperatorTimes{In: []evidence.OpTime{{Op: first, Own: all.own, Peers: all.peers}}}
}

// onlyInstance is the instance of a kind of operator that has nearly all of its
// excess, or the only one that was flagged; −1 for none.
func (j *opJudge) onlyInstance(kind string, instances map[int]compared, m mark, all compared) int {
	best := -1
	for i, x := range instances {
		if j.v.Trace.Names[j.v.Grid.Instances[i].Name] != kind {
			continue
		}
		if best < 0 || x.more() > instances[best].more() || x.more() == instances[best].more() && i < best {
			best = i
		}
	}
	if best < 0 || all.instances < 2 {
		return -1
	}
	if float64(instances[best].more()) >= nearlyAll*float64(all.more()) || len(m.ops) == 1 && m.ops[best] > 0 {
		return best
	}
	return -1
}

// flaggedKinds are the names of the operators that were flagged.
func (j *opJudge) flaggedKinds(m mark) []string {
	var names []string
	for i := range m.ops {
		name := j.v.Trace.Names[j.v.Grid.Instances[i].Name]
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
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
