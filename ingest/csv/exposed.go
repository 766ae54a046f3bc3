package csv

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace/nccl"
	"github.com/sfstat/sfstat/trace/stagename"
)

// A program is the operators that the ranks run in a step, as instances in order. Every moment of a step counts for one
// instance, so that their times add up to at most the wall time:
//
//   - a nested operator has its own time, not the operator around it;
//   - a collective beside computation has only the time without computation. It outlasts an operator, or an operator does not wait for it. Collectives that begin beside or behind one operator count together;
//   - time outside operators is the residual stage of the step.
type program struct {
	names     []string
	cells     []*cell
	instances []instance
	stages    []string // by instance
	beside    []bool   // by name: a collective beside computation
	holds     []bool   // by name: mostly others run inside
	most      []int32  // by name: instances in a step
	apart     []bool   // by instance: it is a stage of its own
	ran, lost int
	absent    []absence
	// incomplete: steps lack rows that their ranks usually have.
	incomplete bool
	// synchronises: an operator shows that ranks wait in it. unbounded: how long steps take is not known.
	synchronises, unbounded bool
}

// instance is an operator of a step: the n-th of a name.
type instance struct{ name, seq int32 }

const (
	// maxInstances is the number of operators of a step that are distinguished; of more, those of a name count together.
	maxInstances = 256
	// maxStages is the number of operators of a step that are stages by themselves. Of more, neighbours are joined that
	// take no more than maxJoinedShare of the step together.
	maxStages      = 12
	maxJoinedShare = 1.0 / 8
	// minRunShare is in which part of its steps a rank runs what it runs in every step: rows may be lost.
	minRunShare = 0.8
	// minCompleteShare is the part of the steps of a rank that have all their rows, at least.
	minCompleteShare = 0.1
	// minOutlastShare is the part of the instances of a collective that outlast the computation that they began in
	// from which on it runs beside computation.
	minOutlastShare = 0.02
	// minIndependentSlope is the slope of a computation's end over the begin of a collective inside it, above which the
	// computation does not wait. The slope is 0 if it continues when all ranks have come, 1 or more if it continues at
	// once.
	minIndependentSlope = 0.5
	// roundingShare is the share of an operator by which its times may be off.
	roundingShare = 0.05
)

// programOf finds the instances of the cells, and numbers their operators.
func programOf(names []string, cells []*cell) *program {
	p := &program{names: names, cells: cells}
	most := make([]int32, len(names))
	for _, c := range cells {
		slices.SortStableFunc(c.ops, func(a, b operatorRun) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end)) })
		count := make([]int32, len(names))
		for i := range c.ops {
			op := &c.ops[i]
			op.seq = count[op.name]
			count[op.name]++
			most[op.name] = max(most[op.name], count[op.name])
		}
		p.ran += len(c.ops)
	}
	p.findBeside()
	p.findHolding()
	for _, c := range cells {
		p.joinBeside(c)
	}
	total := 0
	for _, n := range most {
		total += int(n)
	}
	if total > maxInstances {
		p.joinInstances()
		clear(most)
	} else {
		p.match(most)
	}
	p.order()
	p.most = most
	return p
}

// joinInstances counts the operators of a name as one.
func (p *program) joinInstances() {
	for _, c := range p.cells {
		for i := range c.ops {
			c.ops[i].seq = 0
		}
	}
}

// match renumbers the operators of incomplete steps by the usual step of their rank: if the first of two equal names has
// no row, the second stays the second. It updates most, the number of operators of each name.
func (p *program) match(most []int32) {
	byRank, ranks := p.stepsByRank()
	for _, rank := range ranks {
		cells := byRank[rank]
		usual := usualStep(cells)
		for _, c := range cells {
			if len(c.ops) < len(usual.ops) {
				c.numberAs(usual)
				c.incomplete, p.incomplete = true, true
			}
		}
	}
	clear(most)
	for _, c := range p.cells {
		for _, op := range c.ops {
			most[op.name] = max(most[op.name], op.seq+1)
		}
	}
}

// stepsByRank returns the steps of every rank, ascending, and the ranks in the order of their first rows.
func (p *program) stepsByRank() (of map[string][]*cell, ranks []string) {
	of = make(map[string][]*cell)
	for _, c := range p.cells {
		if of[c.rank] == nil {
			ranks = append(ranks, c.rank)
		}
		of[c.rank] = append(of[c.rank], c)
	}
	for _, cells := range of {
		slices.SortStableFunc(cells, func(a, b *cell) int { return cmp.Compare(a.step, b.step) })
	}
	return of, ranks
}

// usualStep returns the step of median length among steps with the usual number of operators: the largest number that a
// tenth of the steps have. Rows may be lost, and few steps run extra operators.
func usualStep(cells []*cell) *cell {
	count := make(map[int]int)
	for _, c := range cells {
		count[len(c.ops)]++
	}
	best, most := 0, 0
	for n, steps := range count {
		if float64(steps) >= minCompleteShare*float64(len(cells)) && n > best {
			best = n
		}
		most = max(most, steps)
	}
	if best == 0 {
		for n, steps := range count {
			if steps == most && n > best {
				best = n
			}
		}
	}
	alike := slices.DeleteFunc(slices.Clone(cells), func(c *cell) bool { return len(c.ops) != best })
	length := func(c *cell) int64 {
		first, last := c.bounds()
		return last - first
	}
	slices.SortStableFunc(alike, func(a, b *cell) int { return cmp.Compare(length(a), length(b)) })
	return alike[len(alike)/2]
}

// numberAs numbers the operators of a step as in a usual step of which it lacks some. It matches as many as possible in
// order, with the least difference in begin times. Times count from the first or the last operator, whichever fits
// better, since either may have no row.
func (c *cell) numberAs(usual *cell) {
	first, last := c.bounds()
	start, end := usual.bounds()
	fromBegin, least := c.numbersOf(usual, start-first, end-start)
	fromEnd, cost := c.numbersOf(usual, end-last, end-start)
	if cost < least {
		fromBegin = fromEnd
	}
	for i := range c.ops {
		c.ops[i].seq = fromBegin[i]
	}
}

// numbersOf returns the numbers of a step's operators as in a usual step of that length, if the step began later by
// later, and the cost of the match.
func (c *cell) numbersOf(usual *cell, later, length int64) (seq []int32, badness float64) {
	n, m := len(c.ops), len(usual.ops)
	same := func(i, j int) float64 {
		if c.ops[i].name != usual.ops[j].name {
			return 2
		}
		off := float64(c.ops[i].start+later-usual.ops[j].start) / float64(max(1, length))
		return min(max(off, -off), 1) / 2
	}
	// cost[i][j] is that of the first i operators of c against the first j of usual; one that is left over costs 1.
	cost := make([][]float64, n+1)
	for i := range cost {
		cost[i] = make([]float64, m+1)
		cost[i][0] = float64(i)
	}
	for i := 1; i <= n; i++ {
		for j := 1; j <= m; j++ {
			cost[i][j] = min(cost[i-1][j]+1, cost[i][j-1], cost[i-1][j-1]+same(i-1, j-1))
		}
	}
	for _, op := range c.ops {
		seq = append(seq, op.seq)
	}
	for i, j := n, m; i > 0 && j > 0; {
		switch cost[i][j] {
		case cost[i-1][j-1] + same(i-1, j-1):
			i, j = i-1, j-1
			seq[i] = usual.ops[j].seq
		case cost[i][j-1]:
			j--
		default:
			i--
		}
	}
	return seq, cost[n][m]
}

// order lists the instances by their mean place in the steps that have them.
func (p *program) order() {
	type place struct {
		sum float64
		n   int
	}
	places := make(map[instance]place)
	for _, c := range p.cells {
		for i, op := range c.ops {
			in := instance{op.name, op.seq}
			at := places[in]
			places[in] = place{at.sum + (float64(i)+0.5)/float64(len(c.ops)), at.n + 1}
		}
	}
	for in := range places {
		p.instances = append(p.instances, in)
	}
	mean := func(in instance) float64 { return places[in].sum / float64(places[in].n) }
	slices.SortFunc(p.instances, func(a, b instance) int {
		return cmp.Or(cmp.Compare(mean(a), mean(b)), cmp.Compare(a.name, b.name), cmp.Compare(a.seq, b.seq))
	})
}

// joinBeside counts collectives of a name that begin beside or behind one operator as one instance, since the rank
// continues when the last of them ends.
func (p *program) joinBeside(c *cell) {
	type burst struct{ name, behind int32 }
	seq := make(map[burst]int32)
	count := make(map[int32]int32)
	behind := int32(-1) // the last operator that is none of them
	for i := range c.ops {
		op := &c.ops[i]
		if !p.beside[op.name] {
			behind = int32(i)
			continue
		}
		b := burst{op.name, behind}
		if _, known := seq[b]; !known {
			seq[b] = count[op.name]
			count[op.name]++
		}
		op.seq = seq[b]
	}
}

// findHolding finds the operators in which others run.
func (p *program) findHolding() {
	p.holds = make([]bool, len(p.names))
	holding, of := make([]int, len(p.names)), make([]int, len(p.names))
	for _, c := range p.cells {
		for i, op := range c.ops {
			of[op.name]++
			if i+1 < len(c.ops) && !p.beside[c.ops[i+1].name] && c.ops[i+1].end <= op.end {
				holding[op.name]++
			}
		}
	}
	for name, n := range holding {
		p.holds[name] = 2*n > of[name]
	}
}

// findBeside finds the collectives that run beside computation.
func (p *program) findBeside() {
	p.beside = make([]bool, len(p.names))
	collective := make([]bool, len(p.names))
	for i, name := range p.names {
		collective[i] = nccl.OpIn(name) != nccl.UnknownOp
	}
	outlasts, of := make([]int, len(p.names)), make([]int, len(p.names))
	for _, c := range p.cells {
		for i, op := range c.ops {
			of[op.name]++
			// Operators are short against a step: what overlaps is near.
			for k := max(0, i-overlapDistance); k < min(len(c.ops), i+overlapDistance); k++ {
				if k != i && collective[op.name] && !collective[c.ops[k].name] && op.overlaps(c.ops[k]) {
					outlasts[op.name]++
					break
				}
			}
		}
	}
	for name, n := range outlasts {
		p.beside[name] = float64(n) > minOutlastShare*float64(of[name])
		if collective[name] && !p.beside[name] {
			slope, _ := slopeOf(p.cells, func(c *cell) (x, y int64, ok bool) { return c.enclosure(int32(name), collective) })
			p.beside[name] = slope > minIndependentSlope
		}
	}
}

// enclosure returns when the first operator of a name that runs inside a computation begins, and when the computation
// ends.
func (c *cell) enclosure(name int32, collective []bool) (begin, end int64, ok bool) {
	for i, op := range c.ops {
		if op.name != name {
			continue
		}
		for k := i - 1; k >= 0; k-- {
			if around := c.ops[k]; !collective[around.name] && around.start < op.start && around.end > op.end {
				return op.start - c.ops[0].start, around.end - c.ops[0].start, true
			}
		}
	}
	return 0, 0, false
}

// overlaps reports whether two operators run beside each other, neither inside the other, by more than rounding.
func (a operatorRun) overlaps(b operatorRun) bool {
	if a.start > b.start {
		a, b = b, a
	}
	least := max(1, int64(roundingShare*float64(min(a.end-a.start, b.end-b.start))))
	return b.start-a.start >= least && a.end-b.start >= least && b.end-a.end >= least
}

// overlapDistance is the number of operators before and behind one that are searched for an overlap.
const overlapDistance = 32

// account fills times and wall times of the cells.
func (p *program) account() {
	at := make(map[instance]int, len(p.instances))
	for i, in := range p.instances {
		at[in] = i
	}
	byRank, ranks := p.stepsByRank()
	for _, c := range p.cells {
		c.times, c.has = make([]int64, len(p.instances)), make([]bool, len(p.instances))
		for i := range c.ops {
			op := &c.ops[i]
			op.at = at[instance{op.name, op.seq}]
			c.has[op.at] = true
		}
		p.expose(c)
	}
	expected := p.expectedInstances(byRank)
	usual := make([]*usualOperators, len(ranks))
	for i, rank := range ranks {
		usual[i] = usualOf(byRank[rank], expected)
	}
	p.findAbsent(usual, func(rank int) *cell { return byRank[ranks[rank]][0] })
	for i, rank := range ranks {
		usual[i].spans(byRank[rank])
		for _, c := range byRank[rank] {
			p.fill(c, usual[i])
		}
	}
	p.nameStages()
}

// nameStages names the stages. A collective whose times show waiting becomes a measured wait: it starts when its rank
// arrives, and its time is the lateness of others and the transfer. With collectives beside computation this needs all
// their rows, since the time of a missing row is unknown.
func (p *program) nameStages() {
	for i, in := range p.instances {
		name := p.names[in.name]
		waits := p.ranksWait(i)
		p.apart = append(p.apart, waits || p.holds[in.name])
		p.synchronises = p.synchronises || waits
		if waits && isCollective(name) && !(p.beside[in.name] && p.incomplete) {
			name = stagename.WaitStem + name
		}
		if p.most[in.name] > 1 {
			name = fmt.Sprintf("%s@%d", name, in.seq)
		}
		p.stages = append(p.stages, name)
	}
	p.joinShort()
	if !p.synchronises {
		p.closeGaps()
	}
}

// joinShort joins neighbouring operators of long steps into stages, until a stage is a share of the step in which a
// delay shows. Operators in which ranks wait stay apart. A rank that is slower in a hundred operators is late in none of
// them by much.
func (p *program) joinShort() {
	if len(p.stages) <= maxStages {
		return
	}
	usual, step := make([]int64, len(p.stages)), int64(0)
	for i := range usual {
		var all []int64
		for _, c := range p.cells {
			all = append(all, c.times[i])
		}
		usual[i] = middle(all)
		step += usual[i]
	}
	var joined []string
	var from []int // the first operator of each
	taken := int64(0)
	for i := range p.stages {
		short := float64(taken+usual[i]) <= maxJoinedShare*float64(step)
		if i == 0 || p.apart[i] || p.apart[i-1] || p.endsStage(i-1) || !short {
			from, taken = append(from, i), 0
		}
		taken += usual[i]
	}
	for k, first := range from {
		last := len(p.stages) - 1
		if k+1 < len(from) {
			last = from[k+1] - 1
		}
		joined = append(joined, p.rangeName(first, last))
		for _, c := range p.cells {
			sum := int64(0)
			for _, t := range c.times[first : last+1] {
				sum += t
			}
			c.times[k] = sum
		}
	}
	for _, c := range p.cells {
		c.times = c.times[:len(from)]
	}
	p.stages = joined
}

// endsStage reports whether an instance is the only collective of its name in a step: ranks may wait in it and work
// after it.
func (p *program) endsStage(instance int) bool {
	name := p.instances[instance].name
	return p.most[name] == 1 && isCollective(p.names[name])
}

// rangeName returns the name of the operators from one to another.
func (p *program) rangeName(first, last int) string {
	a, b := p.instances[first], p.instances[last]
	switch {
	case first == last:
		return p.stages[first]
	case a.name == b.name:
		return fmt.Sprintf("%s@%d%s%d", p.names[a.name], a.seq, stagename.Several, b.seq)
	}
	name := func(i int) string { return strings.ReplaceAll(p.stages[i], "@", "#") }
	return name(first) + stagename.Several + name(last)
}

// closeGaps interprets the time outside operators where no operator shows waiting. If ranks that come to it later spend
// less of it, they wait in the remainder of the step, which becomes a stage; else its meaning is unknown. Steps have no
// wall time then, so a waiting rank is not mistaken for a late one.
func (p *program) closeGaps() {
	_, high := slopeOf(p.cells, func(c *cell) (end, gap int64, ok bool) {
		_, last := c.bounds()
		return last - c.begin, c.begin + c.wall - last, true
	})
	rest := high < maxWaitSlope
	ranks := make(map[string]bool)
	for _, c := range p.cells {
		ranks[c.rank] = true
	}
	if len(ranks) < 2 {
		return
	}
	for _, c := range p.cells {
		if rest {
			c.times = append(c.times, max(0, c.wall-c.coveredTime()))
		}
	}
	if rest {
		p.stages = append(p.stages, stagename.Remainder)
	}
	p.unbounded = true
}

// isCollective reports whether the name of an operator may be that of a collective of all ranks.
func isCollective(name string) bool {
	switch nccl.OpIn(name) {
	case nccl.AllReduce, nccl.AllGather, nccl.ReduceScatter, nccl.AlltoAll, nccl.Broadcast, nccl.Barrier:
		return true
	}
	return false
}

// maxWaitSlope is the slope of time in an operator over its begin, below which ranks wait in it: −1 if it ends when all
// ranks have come, 0 if it takes the same time anyway.
const maxWaitSlope = -0.5

// ranksWait reports whether ranks that begin an instance later in a step are shown to spend less time in it.
func (p *program) ranksWait(instance int) bool {
	_, high := slopeOf(p.cells, func(c *cell) (begin, length int64, ok bool) {
		for _, op := range c.ops {
			if op.at == instance {
				return op.start - c.begin, c.times[instance], true
			}
		}
		return 0, 0, false
	})
	return high < maxWaitSlope
}

// slopeOf returns the slope of y over x between ranks, beyond the usual differences of ranks: the median over steps, and
// its upper bound at 97.5 %. Both are 0 with too few ranks or steps. Steps with missing rows are left out.
func slopeOf(cells []*cell, of func(*cell) (x, y int64, ok bool)) (slope, high float64) {
	type point struct{ x, y, n float64 }
	own, points := make(map[string]point), make([]point, len(cells))
	for i, c := range cells {
		if x, y, ok := of(c); ok && !c.incomplete {
			points[i] = point{float64(x), float64(y), 1}
			m := own[c.rank]
			own[c.rank] = point{m.x + points[i].x, m.y + points[i].y, m.n + 1}
		}
	}
	steps := make(map[int64][]point)
	for i, q := range points {
		if m := own[cells[i].rank]; q.n > 0 {
			steps[cells[i].step] = append(steps[cells[i].step], point{q.x - m.x/m.n, q.y - m.y/m.n, 1})
		}
	}
	var slopes []float64
	for _, at := range steps {
		var mean point
		for _, q := range at {
			mean.x, mean.y = mean.x+q.x/float64(len(at)), mean.y+q.y/float64(len(at))
		}
		xx, xy := 0.0, 0.0
		for _, q := range at {
			xx, xy = xx+(q.x-mean.x)*(q.x-mean.x), xy+(q.x-mean.x)*(q.y-mean.y)
		}
		if xx > 0 {
			slopes = append(slopes, xy/xx)
		}
	}
	if len(slopes) < minSlopes {
		return 0, 0
	}
	slices.Sort(slopes)
	n := float64(len(slopes))
	off := int(math.Ceil(medianBoundZ * math.Sqrt(n) / 2))
	middle := len(slopes) / 2
	return slopes[middle], slopes[min(len(slopes)-1, middle+off)]
}

// medianBoundZ is the normal quantile of the bound of a median by order statistics, which holds at 97.5 %.
const medianBoundZ = 1.96

const minSlopes = 5 // steps

// expectedInstances reports, by instance, whether the ranks that run it run it in nearly every step.
func (p *program) expectedInstances(byRank map[string][]*cell) []bool {
	runs, of := make([]int, len(p.instances)), make([]int, len(p.instances))
	for _, cells := range byRank {
		for i := range p.instances {
			n := 0
			for _, c := range cells {
				if c.has[i] {
					n++
				}
			}
			if n > 0 {
				runs[i] += n
				of[i] += len(cells)
			}
		}
	}
	out := make([]bool, len(p.instances))
	for i := range out {
		out[i] = float64(runs[i]) >= minRunShare*float64(of[i])
	}
	return out
}

// expose gives every moment of a step to one instance.
func (p *program) expose(c *cell) {
	var edges []int64
	for _, op := range c.ops {
		edges = append(edges, op.start, op.end)
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	next := 0
	var running []operatorRun // by start
	for i := 0; i+1 < len(edges); i++ {
		for ; next < len(c.ops) && c.ops[next].start <= edges[i]; next++ {
			running = append(running, c.ops[next])
		}
		running = slices.DeleteFunc(running, func(op operatorRun) bool { return op.end <= edges[i] })
		if len(running) > 0 {
			owner := p.owner(running)
			c.times[owner.at] += edges[i+1] - edges[i]
		}
	}
}

// owner returns the operator that a moment counts for, of those that run then.
func (p *program) owner(running []operatorRun) operatorRun {
	for i := len(running) - 1; i >= 0; i-- {
		if !p.beside[running[i].name] {
			return running[i]
		}
	}
	return running[0]
}
