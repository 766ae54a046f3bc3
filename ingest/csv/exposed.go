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

// A program is what the ranks run in a step: instances of operators in their order. Every moment of a
// step counts for one instance, so that their times add up to no more than the wall time:
//
//   - of operators inside one another the innermost has the time;
//   - a collective that runs beside computation has the time in which nothing is computed: one by its
//     name that outlasts what it began in, or for which what it began in does not wait. Those that begin
//     beside or behind one operator count together;
//   - what no operator covers is nobody's: the residual stage of the step.
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
	// mostInstances is how many operators of a step are told apart; of more, those of a name count together.
	mostInstances = 256
	// mostStages is how many operators of a step are stages by themselves; of more, neighbours are one that take no
	// more than shortest, a part of the step, together.
	mostStages = 12
	shortest   = 1.0 / 8
	// minRunShare is in which part of its steps a rank runs what it runs in every step: rows may be lost.
	minRunShare = 0.8
	// minCompleteShare is the part of the steps of a rank that have all their rows, at least.
	minCompleteShare = 0.1
	// minOutlastShare is the part of the instances of a collective that outlast the computation that they began in
	// from which on it runs beside computation.
	minOutlastShare = 0.02
	// independent is the slope of when a computation ends over when a collective inside begins, above which it does
	// not wait for that: 0 if it goes on when all have come, 1 and more if it goes on at once.
	independent = 0.5
	// rounding is the part of an operator by which its times may be off.
	rounding = 0.05
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
	if total > mostInstances {
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

// match numbers the operators of steps that lack some of those of their rank anew, as they stand in a usual
// step: the second of a name is the second there too if the first has no row. It updates how often names are run.
func (p *program) match(most []int32) {
	byRank, ranks := p.stepsByRank()
	for _, rank := range ranks {
		cells := byRank[rank]
		usual := usualStep(cells)
		for _, c := range cells {
			if len(c.ops) < len(usual.ops) {
				c.follow(usual)
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

// usualStep returns a step of median length of those with as many operators as a tenth of the steps have or more:
// rows are lost, and few steps run what others do not.
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

// follow numbers the operators of a step as those of another that it has some of: in order, as many as can be,
// with the least difference of when they begin in the step, counted from its begin or from its end, as whichever of
// both may have no row.
func (c *cell) follow(usual *cell) {
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

// numbersOf returns the numbers of the operators of a step as those of another, of that length, if it lay so much
// later, and how badly they fit.
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

// joinBeside counts the collectives of a name as one that begin beside or behind the same operator: only when the
// last of them ends does the rank go on.
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
			for k := max(0, i-overlapOperators); k < min(len(c.ops), i+overlapOperators); k++ {
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
			p.beside[name] = slope > independent
		}
	}
}

// enclosure returns when the first operator of a name begins in a step that runs inside a computation, and when that
// computation ends.
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

// overlaps reports whether an operator runs beside another, neither inside the other, for more of the shorter than
// times are rounded by.
func (a operatorRun) overlaps(b operatorRun) bool {
	if a.start > b.start {
		a, b = b, a
	}
	least := max(1, int64(rounding*float64(min(a.end-a.start, b.end-b.start))))
	return b.start-a.start >= least && a.end-b.start >= least && b.end-a.end >= least
}

// overlapOperators is how many operators before and behind one are looked at for an overlap.
const overlapOperators = 32

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

// nameStages names the stages. A collective by its name whose times show it is a measured wait: who starts it has
// arrived, and what is left of it is others' lateness and the transfer. That needs all rows of collectives beside
// computation: of one without, nobody knows what ran in its time.
func (p *program) nameStages() {
	for i, in := range p.instances {
		name := p.names[in.name]
		waits := p.waits(i)
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

// joinShort makes one stage of operators that follow one another, none of which is one in which ranks wait, of steps
// with many: until they take a part of the step in which a delay shows. A rank that is slower in all of a hundred is late
// in none of them by much.
func (p *program) joinShort() {
	if len(p.stages) <= mostStages {
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
		short := float64(taken+usual[i]) <= shortest*float64(step)
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

// endsStage reports whether an instance is a collective of which a step has one: the ranks may wait in it, and work behind it.
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

// closeGaps takes the time outside operators for what it may be where no operator shows that ranks wait in it: in the
// rest of a step if who comes to it later stays less, else not known, so that steps have no wall time. Who waits is
// then not taken for late.
func (p *program) closeGaps() {
	_, high := slopeOf(p.cells, func(c *cell) (end, gap int64, ok bool) {
		_, last := c.bounds()
		return last - c.begin, c.begin + c.wall - last, true
	})
	rest := high < waiting
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

// waiting is the slope of time in an operator over when it begins below which a rank waits in it: −1 where it goes
// on when all have come, 0 where that does not matter.
const waiting = -0.5

// waits reports whether ranks that begin an instance later in a step are shown to be in it for less long.
func (p *program) waits(instance int) bool {
	_, high := slopeOf(p.cells, func(c *cell) (begin, length int64, ok bool) {
		for _, op := range c.ops {
			if op.at == instance {
				return op.start - c.begin, c.times[instance], true
			}
		}
		return 0, 0, false
	})
	return high < waiting
}

// slopeOf returns by how much y is larger on ranks of which x is, beside what is usual of each: the median over steps,
// and what it is at most, at 97.5 %; 0 and 0 where too few ranks and steps tell. Steps of ranks that lack rows do not.
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
	if len(slopes) < fewestSlopes {
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

const fewestSlopes = 5 // steps

// expectedInstances reports, by instance, whether the ranks that run it do so in nearly every step.
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
