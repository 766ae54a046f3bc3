package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/engine/whatif"
)

// nearlyAll is the part of a worker's excess that names an operator.
const nearlyAll = 0.85

// narrow says in which operators a worker loses its time: one kind or one
// instance (seq, else −1) where that is nearly all, and a phrase with by how
// much.
func (j *opJudge) narrow(w int, m mark) (op string, seq int, words string) {
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
		return "", -1, "takes as long as its peers on the whole, but not in every step"
	}
	first := names[0]
	// Tests, where there are any, are surer than sums.
	if flagged := j.flaggedKinds(m); len(flagged) == 1 && !m.level {
		if first = flagged[0]; kinds[first] == nil {
			return first, -1, fmt.Sprintf("takes longer than its peers in %s, which has no place in the replay", first)
		}
	} else if float64(kinds[first].more()) < nearlyAll*float64(total) {
		return "", -1, inSeveral(kinds, names)
	}
	if best := j.onlyInstance(first, instances, m, kinds[first]); best >= 0 {
		seq := int(j.v.Grid.Instances[best].Seq)
		return first, seq, fmt.Sprintf("takes %s in %s number %d of the step", instances[best].times(), first, seq)
	}
	seq = -1
	if kinds[first].instances == 1 {
		seq = 0
	}
	return first, seq, fmt.Sprintf("takes %s in %s", kinds[first].times(), first)
}

// inSeveral says by how much a worker is slow in the two kinds of operators
// that cost it most.
func inSeveral(kinds map[string]*compared, names []string) string {
	text := fmt.Sprintf("takes %s in %s", kinds[names[0]].times(), names[0])
	if len(names) > 1 {
		more := strings.NewReplacer(" as long as its peers", "", " than its peers", "").Replace(kinds[names[1]].times())
		text += fmt.Sprintf(" and %s in %s", more, names[1])
	}
	return text
}

// onlyInstance is the instance of a kind of operator that has nearly all of its
// excess, or the only one that was flagged; −1 for none.
func (j *opJudge) onlyInstance(kind string, instances map[int]compared, m mark, all *compared) int {
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

// times is "2.5 times as long as its peers".
func (c compared) times() string {
	if c.peers <= 0 {
		return ms(c.own) + " where its peers take nothing"
	}
	switch f := float64(c.own) / float64(c.peers); {
	case f >= 100:
		return fmt.Sprintf("%s where its peers take %s", ms(c.own), ms(c.peers))
	case f >= 1.1:
		return fmt.Sprintf("%.3g times as long as its peers", f)
	}
	return fmt.Sprintf("%s longer than its peers", percent(float64(c.own)/float64(c.peers)-1))
}

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

// middleOfOthers is the median of x but for one, of an even number the mean of
// the middle two.
func middleOfOthers(x []int64, own int) int64 {
	rest := slices.Concat(x[:own], x[own+1:])
	slices.Sort(rest)
	n := len(rest)
	return rest[(n-1)/2]/2 + rest[n/2]/2 + (rest[(n-1)/2]%2+rest[n/2]%2)/2
}
