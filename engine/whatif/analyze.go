package whatif

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/trace/operator"
)

// Analyze replays everything that a Result has: once for each kind of operator
// and each stage, and twice for all replicas or workers of a stage together.
func (m *Model) Analyze() *Result {
	full := m.chooseAll()
	list := []scenario{{recorded: full, delayed: &full, spans: true}, {recorded: full, sweep: true}}
	families, of := m.families()
	for k := range families {
		list = append(list, scenario{recorded: m.chooseNodes(func(v int) bool { return of[v] == k })})
	}
	for s := range m.stages {
		stage := m.chooseNodes(func(v int) bool { return m.nodes[v].Stage == s })
		list = append(list, scenario{recorded: stage}, scenario{recorded: stage, sweep: true})
	}
	out := m.replay(list)
	r := &Result{Steps: slices.Clone(m.steps), Recorded: stepTimes(m.base), NoDelay: stepTimes(m.noDelay.span), Ideal: stepTimes(m.allIdeal.span),
		Slowdown: ratio(m.noDelay.span, m.allIdeal.done), Launch: ratio(m.base, m.noDelay.done)}
	for s, t := range out[0].span {
		r.Misfit = max(r.Misfit, math.Abs(float64(t-m.base[s]))/math.Max(1, float64(m.base[s])))
	}
	for d, slow := range m.replicaSlowdowns(out[1]) {
		r.ByDP = append(r.ByDP, Part{Index: d, Ratio: slow})
	}
	for k, name := range families {
		r.ByOp = append(r.ByOp, Part{Name: name, Ratio: ratio(out[2+k].done, m.allIdeal.done)})
	}
	for s := range m.stages {
		stage := ratio(out[2+len(families)+2*s].done, m.allIdeal.done)
		r.ByStage = append(r.ByStage, Part{Index: s, Ratio: stage})
		for d, alone := range m.replicaSlowdowns(out[2+len(families)+2*s+1]) {
			r.Workers = append(r.Workers, Worker{Rank: m.ranks[s*m.replicas+d], DP: d, Stage: s,
				Score: min(r.ByDP[d].Overall, stage.Overall), Ratio: alone})
		}
	}
	if r.Launch.Overall >= cmp.Or(m.o.LaunchThreshold, LaunchThreshold) {
		m.launchParts(r)
	}
	for _, parts := range [][]Part{r.ByOp, r.ByStage, r.ByDP, r.LaunchByOp, r.LaunchByStage, r.LaunchByDP} {
		slices.SortStableFunc(parts, func(x, y Part) int { return cmp.Compare(y.Overall, x.Overall) })
	}
	r.TopRanks = topRanks(r.Workers)
	lastStage := m.chooseNodes(func(v int) bool { return m.nodes[v].Stage == m.stages-1 })
	top, _ := m.choose(Selection{{Ranks: r.TopRanks}})
	effects := m.effects([]laneChoice{lastStage, top})
	r.LastStage, r.TopWorkers = effects[0], effects[1]
	return r
}

// replicaSlowdowns returns the slowdowns of a sweep.
func (m *Model) replicaSlowdowns(t times) []Ratio {
	out := make([]Ratio, m.replicas)
	steps := make([]int64, len(m.steps))
	for d := range out {
		for s := range steps {
			steps[s] = t.done[s*m.replicas+d]
		}
		out[d] = ratio(steps, m.allIdeal.done)
	}
	return out
}

// families returns the names under which kinds are listed, and the position of
// each node's.
func (m *Model) families() (names []string, of []int) {
	of = make([]int, len(m.nodes))
	known := make(map[string]int32)
	for v, op := range m.opOf {
		of[v] = int(operator.Number(known, &names, family(m.ops[op])))
	}
	return names, of
}

// topShare is the share of the workers that count as the worst, for M_W.
const topShare = 0.03

// topRanks returns the ranks of the workers with the highest scores, rounded up; on
// ties the lower rank comes first.
func topRanks(workers []Worker) []int {
	sorted := slices.SortedFunc(slices.Values(workers), func(x, y Worker) int {
		return cmp.Or(cmp.Compare(y.Score, x.Score), cmp.Compare(x.Rank, y.Rank))
	})
	n := int(math.Ceil(topShare*float64(len(workers)) - 1e-9))
	var ranks []int
	for _, w := range sorted[:min(max(n, 1), len(sorted))] {
		ranks = append(ranks, w.Rank)
	}
	return ranks
}

// launchParts gives back launch delays, a part at a time.
func (m *Model) launchParts(r *Result) {
	all := m.chooseAll()
	families, of := m.families()
	families = append(families, FirstOp)
	for v, n := range m.nodes {
		if n.beginsStep() {
			of[v] = len(families) - 1
		}
	}
	var list []scenario
	keep := func(c laneChoice) { list = append(list, scenario{recorded: all, delayed: &c}) }
	for k := range families {
		keep(m.chooseNodes(func(v int) bool { return of[v] == k }))
	}
	for s := range m.stages {
		keep(m.chooseNodes(func(v int) bool { return m.nodes[v].Stage == s }))
	}
	for d := range m.replicas {
		c, _ := m.choose(Selection{{DP: []int{d}}})
		keep(c)
	}
	for i, t := range m.replay(list) {
		p := Part{Ratio: ratio(t.done, m.noDelay.done)}
		switch k := i - len(families); {
		case k < 0:
			p.Name = families[i]
			r.LaunchByOp = append(r.LaunchByOp, p)
		case k < m.stages:
			p.Index = k
			r.LaunchByStage = append(r.LaunchByStage, p)
		default:
			p.Index = k - m.stages
			r.LaunchByDP = append(r.LaunchByDP, p)
		}
	}
}

// beginsStep reports whether the node is the first work that its stage does in
// a step: what it waits for is no operator's fault.
func (n Node) beginsStep() bool {
	return n.Seq == 0 && (n.Stage == 0 && n.Op == "forward-compute" || n.Stage > 0 && n.Op == "forward-recv")
}

// effects replays every choice from both sides.
func (m *Model) effects(choices []laneChoice) []Effect {
	now, ideal := meanOf(m.noDelay.span), meanOf(m.allIdeal.span)
	var list []scenario
	for _, c := range choices {
		list = append(list, scenario{recorded: c.invert(), spans: true}, scenario{recorded: c, spans: true})
	}
	out := m.replay(list)
	effects := make([]Effect, len(choices))
	for i := range effects {
		removed, added := stepTimes(out[2*i].span), stepTimes(out[2*i+1].span)
		e := Effect{Now: now, Ideal: ideal, Removed: removed.Mean, Added: added.Mean, Saved: now - removed.Mean,
			RemovedPerStep: removed.PerStep, AddedPerStep: added.PerStep}
		if excess := e.Now - e.Ideal; excess > 0 {
			e.HasShare = true
			e.Share, e.AddedShare = e.Saved/excess, (e.Added-e.Ideal)/excess
		}
		effects[i] = e
	}
	return effects
}

func stepTimes(t []int64) StepTimes { return StepTimes{slices.Clone(t), meanOf(t)} }

func meanOf(t []int64) float64 {
	sum := int64(0)
	for _, v := range t {
		sum += v
	}
	return float64(sum) / float64(len(t))
}

// ratio returns a's step times to b's. A step of no time is no slower than another.
func ratio(a, b []int64) Ratio {
	over := func(x, y float64) float64 {
		if y == 0 {
			return 1
		}
		return x / y
	}
	r := Ratio{Overall: over(meanOf(a), meanOf(b)), PerStep: make([]float64, len(a))}
	for i := range a {
		r.PerStep[i] = over(float64(a[i]), float64(b[i]))
	}
	return r
}
