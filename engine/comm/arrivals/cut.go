package arrivals

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sfstat/sfstat/engine/sync"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace/stagename"
)

// Cuts are the steps of a job's windows, each divided by the calls that its ranks wait for: what they work in each stage on the way
// to each synchronisation point, and what they wait. Nothing in the length of a step is lost.
type Cuts struct {
	Ranks   []int   // as in the times of columns
	Steps   []int64 // as recorded
	Known   []bool  // [step] its calls divide it; the times of others are 0
	Columns []Column
	// Clocked: the clocks are known well enough to tell waits from work. Else there is one point, where ranks wait for the
	// first time, which each knows by its own clock, and what they do in its stage from then on is its column.
	Clocked bool
	Every   int     // steps from one meeting of the ranks to the next; 1: they meet in each
	Sets    [][]int // positions of ranks that wait for each other at points, where not all do; nil: all do
	Peers   []int   // [position] of those who do the same work; nil: all do
}

// Column is a part of a step, in the order of time.
type Column struct {
	StepPart
	Times []int64 // [step · ranks + rank], ns
}

// StepPart says what a part of a step is.
type StepPart struct {
	Stage string // "": in none
	Point int    // that it leads to, or is; behind the last one their number
	Kind  PartKind
}

// PartKind is what ranks do in a part of a step.
type PartKind uint8

const (
	Works  PartKind = iota // each by itself
	Waits                  // for some of the others
	Points                 // all for each other
	kinds  = iota
)

const (
	// mostOfSteps is the part of the steps in which all ranks wait for each other in a place for it to be a point of each.
	mostOfSteps = 0.9
	// leastOfSteps is the part of the time below which a part of a step is none: what clocks are off by.
	leastOfSteps = 0.005
	// mostOff is the part of a step that clocks may be off for waits to be told from work by them.
	mostOff = 0.02
)

// block is when a rank begins to wait, and how long it does.
type block struct {
	from, wait int64
	at         int // in the division's points, where all ranks wait for each other; −1: not all do
}

// cutter divides the recorded steps of ranks.
type cutter struct {
	*Cuts
	lines  []*fitted
	blocks [][][]block  // [rank][step], in the order of time
	points []int        // of steps, by those of the division; −1: none
	n      int          // how many points a step has
	untold map[int]bool // steps in which it is not known what some call waits for
	of     []int        // [point, stage, kind] column; −1: none
}

// cuts returns how the recorded steps divide where ranks wait; nil where recorders do not say when these began, or
// all ranks wait for each other nowhere in most of them. O(calls · log calls + steps · columns · ranks).
func (s *strikes) cuts(d *sync.Division) *Cuts {
	lines := make([]*fitted, len(s.Ranks))
	for r := range s.Ranks {
		f := s.lineOf(r)
		if f == nil || !f.exact || f.summed || r > 0 && !slices.Equal(f.stages, lines[0].stages) {
			return nil
		}
		s.layOut(f, r)
		lines[r] = f
	}
	off := s.halfWidth()
	c := &cutter{lines: lines, Cuts: &Cuts{Steps: lines[0].steps, Every: 1, Sets: d.Peers, Peers: d.PeersOf,
		Clocked: off >= 0 && float64(off) <= mostOff*float64(sync.Period(lines[0].begin))}}
	for r := range s.Ranks {
		c.Ranks = append(c.Ranks, s.Ranks[r].ID)
	}
	c.Known = make([]bool, len(c.Steps))
	if d.Neighbours {
		if !c.Clocked || !c.sort(s.neighbourBlocks(d)) {
			return nil
		}
		c.divideNeighbours()
		return c.Cuts
	}
	c.untold = c.stepsOf(s.untold())
	if !c.sort(s.blocksOf(d)) || !c.findPoints(len(d.At)) {
		return nil
	}
	for t := range c.Steps {
		c.divide(t)
	}
	c.tidy()
	return c.Cuts
}

// neighbourBlocks returns when each rank waits for messages of its neighbours, in the order of time.
func (s *strikes) neighbourBlocks(d *sync.Division) [][]block {
	out := make([][]block, len(s.Ranks))
	for r := range s.Ranks {
		for i, work := range s.NeighbourWork(d, r) {
			if i == 0 {
				continue
			}
			e := sync.Nth(r, i)
			from := s.Time(sync.Previous(e, 1))
			if wait := s.Time(e) - from - work; wait > 0 {
				out[r] = append(out[r], block{from, wait, -1})
			}
		}
	}
	return out
}

// divideNeighbours divides the steps of ranks that wait for messages of their neighbours alone. As one that is late holds its neighbours, and
// these theirs, all wait for it in the end: a step has one point, behind all work, where each waits as long as it does in the step. Where that
// is what time in no stage varies by, ranks wait there, and work in stages all that these take; else stages are laid out, and each wait is in
// the one in which it lies.
func (c *cutter) divideNeighbours() {
	S, R := len(c.lines[0].stages), len(c.lines)
	c.column(S, 0, Points)
	c.n = 1
	waits, at := make([]int64, len(c.Steps)*R), make([]int, len(c.Steps)*R)
	for t := range c.Steps {
		c.Known[t] = true
		for r, f := range c.lines {
			i, ok := slices.BinarySearch(f.steps, c.Steps[t])
			if !ok {
				c.Known[t] = false
				continue
			}
			at[t*R+r] = i
			for _, b := range c.blocks[r][t] {
				waits[t*R+r] += b.wait
			}
		}
	}
	outside := c.waitsOutside(waits, at)
	for t := range c.Steps {
		for r, f := range c.lines {
			i, n := at[t*R+r], t*R+r
			if !c.Known[t] {
				continue
			}
			if !outside {
				spans, _ := c.waitsIn(t, r)
				c.divideOf(f, i, spans, n)
				continue
			}
			for k := range S {
				c.column(k, 0, Works)[n] = f.durations[i*S+k]
			}
			rest := f.timeInNone(i)
			wait := min(rest, waits[n])
			c.Columns[0].Times[n], c.column(S, 0, Works)[n] = wait, rest-wait
		}
	}
	most, works := int64(0), []Column(nil)
	for _, p := range c.Columns[1:] {
		if p.Kind != Waits {
			works = addMicrostep(works, p)
			continue
		}
		sum := int64(0)
		for i, x := range p.Times {
			c.Columns[0].Times[i] += x
			sum += x
		}
		if sum > most {
			c.Columns[0].Stage, most = p.Stage, sum
		}
	}
	c.Columns = append(works, c.Columns[0])
	c.tidy()
}

// addMicrostep adds a column to the one of the same stage in another micro-batch, if there is one: the ranks of a pipeline go through these
// in orders of their own.
func addMicrostep(columns []Column, p Column) []Column {
	base, micro := stagename.Split(p.Stage)
	at := slices.IndexFunc(columns, func(q Column) bool {
		stage, k := stagename.Split(q.Stage)
		return micro >= 0 && k >= 0 && stage == base && q.Kind == p.Kind
	})
	if at < 0 {
		return append(columns, p)
	}
	for i, x := range p.Times {
		columns[at].Times[i] += x
	}
	return columns
}

// timeInNone returns how long a step is in no stage, ns.
func (f *fitted) timeInNone(t int) int64 {
	if f.wall == nil {
		return 0
	}
	rest := f.wall[t]
	for _, took := range f.durations[t*len(f.stages) : (t+1)*len(f.stages)] {
		rest -= took
	}
	return max(0, rest)
}

// waitsOutside reports whether ranks wait in no stage, given how long they do, [step · ranks + rank], and where their steps are: the time there is
// longer in nearly all steps, and varies less over steps and ranks without the waits.
func (c *cutter) waitsOutside(waits []int64, at []int) bool {
	R := len(c.lines)
	var rest, without []int64
	longer := 0
	for t := range c.Steps {
		for r, f := range c.lines {
			if !c.Known[t] {
				continue
			}
			x := f.timeInNone(at[t*R+r])
			rest, without = append(rest, x), append(without, x-waits[t*R+r])
			if x >= waits[t*R+r] {
				longer++
			}
		}
	}
	return float64(longer) >= mostOfSteps*float64(len(rest)) && deviation(without) < deviation(rest)
}

// deviation returns how far values are from their median, in all.
func deviation(x []int64) (sum int64) {
	if len(x) == 0 {
		return 0
	}
	mid := robust.Lower(slices.Clone(x))
	for _, v := range x {
		sum += absolute(v - mid)
	}
	return sum
}

// sort puts the blocks of each rank into the steps in which they begin, and reports whether they end in these, but for few: a rank
// that goes on to the next step while it waits for a call waits elsewhere.
func (c *cutter) sort(all [][]block) bool {
	blocks, longer := 0, 0
	c.blocks = make([][][]block, len(c.lines))
	for r, f := range c.lines {
		c.blocks[r] = make([][]block, len(c.Steps))
		for _, b := range all[r] {
			t := f.step(b.from)
			if t < 0 {
				continue
			}
			i, ok := slices.BinarySearch(c.Steps, f.steps[t])
			if !ok {
				continue
			}
			if blocks++; b.from+b.wait > f.begin[t+1] {
				longer++
				b.wait = max(0, f.begin[t+1]-b.from)
			}
			c.blocks[r][i] = append(c.blocks[r][i], b)
		}
	}
	return float64(longer) <= (1-mostOfSteps)*float64(blocks)
}

// stepsOf returns the steps in which ranks enter calls at some times, [rank].
func (c *cutter) stepsOf(times [][]int64) map[int]bool {
	out := map[int]bool{}
	for r, f := range c.lines {
		for _, at := range times[r] {
			if t := f.step(at); t >= 0 {
				if i, ok := slices.BinarySearch(c.Steps, f.steps[t]); ok {
					out[i] = true
				}
			}
		}
	}
	return out
}

// untold returns when ranks enter calls of places that are too rare to tell what they wait for before them, [rank].
func (s *strikes) untold() [][]int64 {
	out := make([][]int64, len(s.Ranks))
	for i := range s.Places {
		if s.Places[i].Lag != 0 || s.Repeats(i) {
			continue
		}
		for _, e := range slices.Concat(s.Places[i].Cohorts...) {
			out[e.Process] = append(out[e.Process], s.Time(e))
		}
	}
	return out
}

// slotAt returns where in a step a time lies: 2·k + 1 in stage k, 2·k in no stage before it.
func (f *fitted) slotAt(t int, at int64) int {
	S := len(f.stages)
	for k := range S {
		from := f.from[t*S+k]
		if at < from {
			return 2 * k
		}
		if at <= from+f.durations[t*S+k] {
			return 2*k + 1
		}
	}
	return 2 * S
}

// pass is how ranks pass a point of the division.
type pass struct {
	slots map[int]int // where in a step they do, how often
	steps []int       // in which all do, ascending
}

// passes returns how ranks pass the points of the division, so many.
func (c *cutter) passes(n int) []pass {
	out := make([]pass, n)
	for p := range out {
		out[p].slots = map[int]int{}
	}
	seen, had := make([]int, n), make([]bool, n)
	for t := range c.Steps {
		clear(seen)
		for r, f := range c.lines {
			clear(had)
			at, recorded := slices.BinarySearch(f.steps, c.Steps[t])
			for _, b := range c.blocks[r][t] {
				if b.at < 0 || !recorded {
					continue
				}
				middle := b.from
				if c.Clocked {
					middle += b.wait / 2
				}
				out[b.at].slots[f.slotAt(at, middle)]++
				if !had[b.at] {
					had[b.at] = true
					seen[b.at]++
				}
			}
		}
		for p, ranks := range seen {
			if ranks == len(c.lines) {
				out[p].steps = append(out[p].steps, t)
			}
		}
	}
	return out
}

// slot returns where in a step most ranks pass it.
func (p *pass) slot() int {
	best := -1
	for slot, n := range p.slots {
		if best < 0 || n > p.slots[best] || n == p.slots[best] && slot < best {
			best = slot
		}
	}
	return best
}

// findPoints finds where in a step all ranks wait for each other, in most steps or in every n-th, of so many points of the division: those
// that lie in one stage, or between the same two, are one, and so are all of every n-th step. It reports whether there is any.
func (c *cutter) findPoints(n int) bool {
	all := c.passes(n)
	c.points = slices.Repeat([]int{-1}, n)
	slots := make(map[int][]int)
	for p := range all {
		if float64(len(all[p].steps)) >= mostOfSteps*float64(len(c.Steps)) {
			slot := all[p].slot()
			slots[slot] = append(slots[slot], p)
		}
	}
	if len(slots) == 0 {
		last := -1 // slot
		for p := range all {
			if every := meetsEvery(all[p].steps, len(c.Steps)); every > 0 && (c.Every == 1 || every == c.Every) {
				c.Every, last = every, max(last, all[p].slot())
				slots[0] = append(slots[0], p)
			}
		}
		if last >= 0 {
			slots[last], slots[0] = slots[0], slots[last]
		}
	}
	order := slices.Sorted(maps.Keys(slots))
	order = slices.DeleteFunc(order, func(slot int) bool { return len(slots[slot]) == 0 })
	if !c.Clocked && len(order) > 1 {
		order = order[:1]
	}
	for _, slot := range order {
		for _, p := range slots[slot] {
			c.points[p] = c.n
		}
		stage := len(c.lines[0].stages)
		if slot%2 == 1 {
			stage = slot / 2
		}
		c.column(stage, c.n, Points)
		c.n++
	}
	return c.n > 0
}

const (
	// mostBetween is how many steps lie between one meeting of ranks and the next at most.
	mostBetween = 32
	// fewestMeetings is how many meetings make intervals enough to judge them by the steps between.
	fewestMeetings = 9
)

// meetsEvery returns the number of steps from each meeting to the next, given the steps of the meetings and the length of the run; 0: meetings
// are few, or their distances differ.
func meetsEvery(steps []int, all int) int {
	if len(steps) < fewestMeetings {
		return 0
	}
	every := steps[1] - steps[0]
	for i := 1; i < len(steps); i++ {
		if steps[i]-steps[i-1] != every {
			return 0
		}
	}
	if every < 2 || every > mostBetween || (len(steps)+1)*every < all-every {
		return 0
	}
	return every
}

// column returns the times of a part of a step in a stage, whose number is that of none; they may be new.
func (c *cutter) column(stage, point int, kind PartKind) []int64 {
	stages := c.lines[0].stages
	at := (point*(len(stages)+1)+stage)*kinds + int(kind)
	for len(c.of) <= at {
		c.of = append(c.of, -1)
	}
	if c.of[at] < 0 {
		c.of[at] = len(c.Columns)
		part := StepPart{Point: point, Kind: kind}
		if stage < len(stages) {
			part.Stage = stages[stage]
		}
		c.Columns = append(c.Columns, Column{part, make([]int64, len(c.Steps)*len(c.lines))})
	}
	return c.Columns[c.of[at]].Times
}

// span is a time at which a rank waits, for all others at a point; −1: for some.
type span struct {
	from, to int64
	point    int
}

// waitsIn returns when a rank waits in a step, each point once, as the last of the calls that make it; ok is false where it does not pass the
// points in their order.
func (c *cutter) waitsIn(t, r int) (spans []span, ok bool) {
	last := make([]int, c.n) // block of each point
	for p := range last {
		last[p] = -1
	}
	blocks := c.blocks[r][t]
	for i, b := range blocks {
		if b.at >= 0 && c.points[b.at] >= 0 && (c.Clocked || last[c.points[b.at]] < 0) {
			last[c.points[b.at]] = i
		}
	}
	at := 0
	for i, b := range blocks {
		s := span{from: b.from, to: b.from + b.wait, point: -1}
		if p := slices.Index(last, i); p >= 0 {
			if p < at {
				return nil, false
			}
			s.point, at = p, p+1
		}
		if !c.Clocked {
			if s.to = s.from; s.point < 0 {
				continue
			}
		}
		if n := len(spans); n > 0 && s.from < spans[n-1].to {
			s.from = spans[n-1].to
			s.to = max(s.to, s.from)
		}
		if s.point >= 0 || s.to > s.from {
			spans = append(spans, s)
		}
	}
	return spans, true
}

// divide divides a step, unless a point is not passed in it by all ranks; where they meet in every n-th step, by none is as well.
func (c *cutter) divide(t int) {
	R := len(c.lines)
	if c.untold[t] {
		return
	}
	all, passed := make([][]span, R), make([]int, c.n)
	for r := range c.lines {
		spans, ok := c.waitsIn(t, r)
		if !ok {
			return
		}
		for _, s := range spans {
			if s.point >= 0 {
				passed[s.point]++
			}
		}
		all[r] = spans
	}
	if slices.ContainsFunc(passed, func(n int) bool { return n != R && (n != 0 || c.Every == 1) }) {
		return
	}
	c.Known[t] = true
	for r, f := range c.lines {
		i, ok := slices.BinarySearch(f.steps, c.Steps[t])
		if !ok {
			c.Known[t] = false
			return
		}
		c.divideOf(f, i, all[r], t*R+r)
	}
}

// divideOf adds how long a rank is in each part of a step.
func (c *cutter) divideOf(f *fitted, t int, waits []span, at int) {
	S, point := len(f.stages), 0
	parts := func(stage int, from, to int64) {
		kind := Works
		for from < to {
			if len(waits) == 0 || waits[0].from > from {
				end := to
				if len(waits) > 0 {
					end = min(to, waits[0].from)
				}
				if kind == Points {
					c.Columns[point-1].Times[at] += end - from
				} else {
					c.column(stage, point, kind)[at] += end - from
				}
				from = end
				continue
			}
			w := waits[0]
			end := min(to, max(w.to, from))
			if w.point >= 0 {
				c.Columns[w.point].Times[at] += end - from
			} else {
				c.column(stage, point, Waits)[at] += end - from
			}
			if from = end; w.to > from {
				continue
			}
			if waits = waits[1:]; w.point >= 0 {
				if point = w.point + 1; !c.Clocked {
					kind = Points
				}
			}
		}
	}
	now := f.begin[t]
	for k := range S {
		from := f.from[t*S+k]
		parts(S, now, from)
		now = from + f.durations[t*S+k]
		parts(k, from, now)
	}
	if f.wall != nil {
		parts(S, now, f.begin[t]+f.wall[t])
	}
}

// tidy joins parts of a step that hardly take any time with those of the same stage, and puts all in the order of time.
func (c *cutter) tidy() {
	sums, whole := make([]int64, len(c.Columns)), int64(0)
	for i := range c.Columns {
		for _, x := range c.Columns[i].Times {
			sums[i] += x
		}
		whole += sums[i]
	}
	gone := make([]bool, len(c.Columns))
	for i := range c.Columns {
		p := &c.Columns[i]
		if p.Kind == Points || float64(sums[i]) >= leastOfSteps*float64(whole) {
			continue
		}
		to := -1
		for k := range c.Columns {
			q := &c.Columns[k]
			if k != i && q.Kind == p.Kind && q.Stage == p.Stage && sums[k] > sums[i] && (to < 0 || sums[k] > sums[to]) {
				to = k
			}
		}
		if to < 0 || gone[to] {
			continue
		}
		for n, x := range p.Times {
			c.Columns[to].Times[n] += x
		}
		gone[i] = true
	}
	var left []Column
	for i := range c.Columns {
		if !gone[i] {
			left = append(left, c.Columns[i])
		}
	}
	place := func(p *Column) int {
		if p.Stage == "" {
			return len(c.lines[0].stages)
		}
		return slices.Index(c.lines[0].stages, p.Stage)
	}
	slices.SortStableFunc(left, func(a, b Column) int {
		behind := func(p *Column) int { return [...]int{Works: 0, Waits: 1, Points: 2}[p.Kind] }
		return cmp.Or(cmp.Compare(a.Point, b.Point), cmp.Compare(behind(&a), behind(&b)), cmp.Compare(place(&a), place(&b)))
	})
	c.Columns = left
}

// blocksOf returns when each rank waits, in the order of time, and when it passes points without waiting, as the root of an operation does.
func (s *strikes) blocksOf(d *sync.Division) [][]block {
	out := make([][]block, len(s.Ranks))
	holds := s.pointsOf(d)
	waits := make([]map[int32]bool, len(s.Points)) // ranks that wait at a point
	for i := range s.Places {
		p := &s.Places[i]
		for _, c := range p.Cohorts {
			for _, e := range c {
				lag := s.LagOf(e, p.Lag)
				awaited, ok := s.Awaited(e, lag)
				if !ok {
					continue
				}
				from, at := s.Time(sync.Previous(e, 1)), holds(awaited)
				out[e.Process] = append(out[e.Process], block{from, s.Time(e) - from - s.Work(e, lag), at})
				if at >= 0 {
					if of := &waits[s.Of[awaited.Process][awaited.Call]]; *of == nil {
						*of = map[int32]bool{e.Process: true}
					} else {
						(*of)[e.Process] = true
					}
				}
			}
		}
	}
	for i, of := range waits {
		for _, e := range s.Points[i].Entries {
			if of != nil && !of[e.Process] && int(e.Call)+1 < len(s.Ranks[e.Process].Calls) {
				out[e.Process] = append(out[e.Process], block{s.Time(e), 0, holds(e)})
			}
		}
	}
	for _, blocks := range out {
		slices.SortFunc(blocks, func(a, b block) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.wait, b.wait)) })
	}
	return out
}

// pointsOf returns a function for which point of a division an entry is of; −1: not all ranks that wait for each other there entered it.
func (s *strikes) pointsOf(d *sync.Division) func(e sync.Entry) int {
	members := slices.Repeat([]int{len(s.Ranks)}, len(s.Ranks)) // of the set of a rank
	for _, set := range d.Peers {
		for _, r := range set {
			members[r] = len(set)
		}
	}
	holds := make(map[int32]int) // calls of a line, by the point
	for p, i := range d.At {
		holds[s.SiteOf(s.Places[i].Cohorts[0][0])] = p
	}
	return func(e sync.Entry) int {
		if p, ok := holds[s.SiteOf(e)]; ok && len(s.Points[s.Of[e.Process][e.Call]].Entries) == members[e.Process] {
			return p
		}
		return -1
	}
}
