package delay

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"github.com/sfstat/sfstat/engine/changepoint"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/internal/parallel"
	"github.com/sfstat/sfstat/internal/robust"
)

const (
	// slowAbove is how many standard deviations of its noise, and what part of a step, a
	// common value must exceed its level by to be a slow step's.
	slowAbove, slowPart = 6, 0.15
	// mostSlow is the part of the steps from which on they are no exception.
	mostSlow = 0.45
	// leastCommon is the part of the run that a common term must cost.
	leastCommon = 0.03
	// leastShift is the part of a step by which a level must change.
	leastShift = 0.03
	// fewestSlow is how many slow steps are more than an event.
	fewestSlow = 3
	// unseen is how many times as often chance may strike what is not seen as what is.
	unseen = 2
	// besides is how far apart changes of several stages may lie to be one.
	besides = 3
)

// shared is what all ranks have in common in one stage: the lower median over ranks of a piece,
// or what follows the last arrival.
type shared struct {
	stage int
	point bool      // whether it follows the last arrival at one
	tail  bool      // whether it is of the steps in which intervals begin
	x     []float64 // [interval]; NaN where nothing was recorded
	// single is by what factor of x the rank that takes longest exceeds its peers where something was
	// recorded, of a piece that is long enough to say so; else nil.
	single []float32
}

// trend is what is kept of all steps of a run: how long they take and what all ranks have in
// common. 8 bytes for each step and stage, 4 more for each stage in which ranks work alone, and some 16 for
// each step.
type trend struct {
	rows         []shared
	heads, tails []int32   // [interval] as those of the division
	took         []float64 // [interval] length as recorded
	step         float64   // median length
	whole        float64   // length of the run
}

func (s *series) trend() *trend {
	t := &trend{took: s.took, step: s.step, whole: s.whole, heads: make([]int32, s.Intervals), tails: make([]int32, s.Intervals)}
	for n := range s.Intervals {
		t.heads[n], t.tails[n] = int32(s.Head[n]), int32(s.Tail[n])
	}
	R := s.Ranks
	for k, piece := range s.Pieces {
		c := shared{stage: piece.Stage, tail: piece.Tail, x: slices.Clone(s.common[k])}
		for n := range c.x {
			if s.Step(n, k) < 0 {
				c.x[n] = math.NaN()
			}
		}
		if usual := median(recorded(c.x)); s.Stages[piece.Stage].Role != points.Rest && usual >= factorPart*s.step {
			for n, x := range c.x {
				if !math.IsNaN(x) {
					c.single = append(c.single, float32(float64(slices.Max(s.excess[k][n*R:(n+1)*R]))/usual))
				}
			}
		}
		t.rows = append(t.rows, c)
	}
	for p, point := range s.Points {
		c := shared{stage: point.Stage, point: true, x: floats(s.After[p])}
		for n := range c.x {
			if s.Head[n] < 0 {
				c.x[n] = math.NaN()
			}
		}
		t.rows = append(t.rows, c)
	}
	return t
}

// recorded are values without those that are none.
func recorded(x []float64) []float64 { return slices.DeleteFunc(slices.Clone(x), math.IsNaN) }

// join appends the trend of the steps that follow so many.
func (t *trend) join(next *trend, steps int) {
	for i := range t.rows {
		a := &t.rows[i]
		k := slices.IndexFunc(next.rows, func(b shared) bool { return b.stage == a.stage && b.point == a.point })
		if k < 0 { // ranks do not synchronise there any more
			a.x = append(a.x, slices.Repeat([]float64{math.NaN()}, len(next.took))...)
			continue
		}
		a.x, a.single = append(a.x, next.rows[k].x...), append(a.single, next.rows[k].single...)
	}
	later := func(to, of []int32) []int32 {
		for _, step := range of {
			if step >= 0 {
				step += int32(steps)
			}
			to = append(to, step)
		}
		return to
	}
	t.heads, t.tails = later(t.heads, next.heads), later(t.tails, next.tails)
	t.took, t.whole = append(t.took, next.took...), t.whole+next.whole
}

// joinTrends is the trend of all stretches, in their order. The trends of these stay as they are.
func joinTrends(list []*Stretch) *trend {
	if len(list) == 1 {
		return list[0].trend
	}
	out, steps := &trend{}, 0
	for _, c := range list[0].trend.rows {
		out.rows = append(out.rows, shared{stage: c.stage, point: c.point, tail: c.tail})
	}
	for _, s := range list {
		out.join(s.trend, steps)
		steps += s.steps
	}
	out.step = median(out.took)
	return out
}

// values are a row where something was recorded.
type values struct {
	*shared
	at, step []int32 // intervals, and the steps in which they were recorded
	x        []float64
}

func (t *trend) values(row int) values {
	c := &t.rows[row]
	out, steps, others := values{shared: c}, t.heads, t.tails
	if c.tail {
		steps, others = others, steps
	}
	for n, x := range c.x {
		if !math.IsNaN(x) {
			step := steps[n]
			if step < 0 { // of a stretch whose ranks synchronise elsewhere
				step = others[n]
			}
			out.at, out.step, out.x = append(out.at, int32(n)), append(out.step, step), append(out.x, x)
		}
	}
	return out
}

// typical is the median of each stage.
func (t *trend) typical(stages int) []int64 {
	out := make([]int64, stages)
	for _, c := range t.rows {
		out[c.stage] += int64(median(recorded(c.x)))
	}
	return out
}

// common finds what makes steps longer on all ranks alike: changes of level and slow steps.
func (s *trend) common() (out []Finding) {
	of := make([][]Finding, len(s.rows))
	parallel.Do(len(s.rows), 0, func(i int) { of[i] = s.commonOf(i) })
	for _, list := range of {
		for _, f := range list {
			out = merged(out, f)
		}
	}
	for i := range out {
		if out[i].Cause == Regression {
			s.fromTo(&out[i])
		}
	}
	return out
}

// commonOf finds them in one row.
func (s *trend) commonOf(i int) (out []Finding) {
	c := s.values(i)
	if len(c.x) < 2*shortest {
		return nil
	}
	if f, big, ok := s.slow(c); ok {
		s.spreadOver(&f, big, c)
		out = append(out, f)
		if f.Steps.Pattern == Periodic { // what is slow beside the period has another cause
			if f, big, ok := s.slow(c.without(big)); ok && f.Steps.Pattern != Periodic {
				s.spreadOver(&f, big, c)
				out = append(out, f)
			}
		}
		return out
	}
	for _, f := range s.changes(c) {
		s.spreadOver(&f, between(c, f.Steps), c)
		out = append(out, f)
	}
	return out
}

// without is a row in which some intervals are as long as the others usually are.
func (c values) without(big []bool) values {
	_, usual := parted(c.x, big)
	level := robust.Median(usual)
	c.x = slices.Clone(c.x)
	for i := range c.x {
		if big[i] {
			c.x[i] = level
		}
	}
	return c
}

// merged adds a finding to those of the same steps.
func merged(list []Finding, f Finding) []Finding {
	for i := range list {
		h := &list[i]
		if h.Cause != f.Cause || abs(h.Steps.First-f.Steps.First) > besides || abs(h.Steps.Last-f.Steps.Last) > besides || abs(h.Steps.Count-f.Steps.Count) > besides {
			continue
		}
		if slices.ContainsFunc(h.Parts, func(p Part) bool { return p.Stage == f.Parts[0].Stage }) {
			return list // counted with the others
		}
		if f.Parts[0].Charged > h.Parts[0].Charged {
			h.Steps = f.Steps
		}
		h.Parts = append(h.Parts, f.Parts...)
		largestFirst(h.Parts)
		h.Size, h.Saves = h.Size+f.Size, h.Saves.plus(f.Saves)
		h.P, h.Certainty = min(h.P, f.P), max(h.Certainty, f.Certainty)
		return list
	}
	return append(list, f)
}

func abs(x int) int { return max(x, -x) }

// slow are steps that are longer on all ranks than the others. Where ranks synchronise, one that is
// at work for long keeps all: what chance strikes of single ranks would cost there, as they are
// seen in the compute before, is no slow step.
func (s *trend) slow(c values) (Finding, []bool, bool) {
	big, by, cost := s.exceptions(c.x)
	if cost == 0 || cost < leastCommon*s.whole {
		return Finding{}, nil, false
	}
	if kept, period := regular(big); period > 0 {
		in, usual := parted(c.x, kept)
		big, cost = kept, costOf(in, robust.Median(usual))
	}
	f := s.commonFinding(c, big, cost)
	periodic := f.Steps.Period > 0 && f.Steps.Count > fewestSlow
	if f.Steps.Count >= fewestSlow && (!c.point || periodic || s.beyondSingle(c, f.Steps.Count, by) <= gates.Strong) {
		f.Certainty = Supported
	}
	if f.Steps.Pattern == Span && f.Steps.Ongoing {
		f.Cause = Regression
	}
	return f, big, true
}

// between are the values of the steps from the first to the last that were struck.
func between(c values, at Struck) []bool {
	out := make([]bool, len(c.x))
	for i, t := range c.step {
		out[i] = int(t) >= at.First && int(t) <= at.Last
	}
	return out
}

// fromTo says what the stage with most of a regression takes before it and from there on.
func (s *trend) fromTo(f *Finding) {
	for i := range s.rows {
		if s.rows[i].stage != f.Parts[0].Stage {
			continue
		}
		c := s.values(i)
		if in, out := parted(c.x, between(c, f.Steps)); len(in) > 0 && len(out) > 0 {
			f.Before, f.From = int64(robust.Median(out)), int64(robust.Median(in))
		}
	}
}

// parted are values, those that are big and the others.
func parted(x []float64, big []bool) (in, out []float64) {
	for i, v := range x {
		if big[i] {
			in = append(in, v)
		} else {
			out = append(out, v)
		}
	}
	return in, out
}

// spreadOver adds to slow steps of one stage what the others take longer in the same intervals.
func (s *trend) spreadOver(f *Finding, big []bool, c values) {
	struck := make([]bool, len(s.took))
	for i, b := range big {
		struck[c.at[i]] = b
	}
	for i := range s.rows {
		o := &s.rows[i]
		if o == c.shared {
			continue
		}
		in, usual := parted(o.x, struck)
		in, usual = recorded(in), recorded(usual)
		if len(in) == 0 || len(usual) == 0 {
			continue
		}
		base := robust.Median(usual)
		cost := costOf(in, base)
		if cost < leastOfRun*s.whole || 10*cost < float64(f.Parts[0].Charged) || robust.Median(in) < base {
			continue
		}
		f.Parts = append(f.Parts, Part{Stage: o.stage, Size: int64(cost / float64(len(in))), Charged: int64(cost)})
		f.Size += int64(cost / float64(len(in)))
		f.Saves = exactly(f.Saves.Alone + cost/s.whole)
	}
	largestFirst(f.Parts)
}

// costOf is what values are more than a base.
func costOf(x []float64, base float64) (cost float64) {
	for _, v := range x {
		cost += v - base
	}
	return cost
}

// beyondSingle is the chance of so many slow steps at a point, were they work of single ranks
// there that struck them twice as often as the pieces that can be seen, and by as large a factor:
// the number is Poisson's, with twice the most that a piece shows, and one more, as mean.
func (s *trend) beyondSingle(c values, count int, by float64) float64 {
	least, most := float32(by/median(c.x)), 0
	for _, o := range s.rows {
		n := 0
		for _, x := range o.single {
			if x > least {
				n++
			}
		}
		most = max(most, n)
	}
	return mathext.GammaIncReg(float64(count), float64(unseen*most+1))
}

// exceptions are the values far above the level of the others, by how much at least, and what they
// cost beyond it; none where they are too many to be exceptions.
func (s *trend) exceptions(x []float64) (big []bool, by, cost float64) {
	sorted := slices.Sorted(slices.Values(x))
	level, middle := median(sorted[:(len(sorted)+1)/2]), median(sorted)
	// Where exceptions are many the differences are between them and the others, and the spread of
	// the lower half, which is that of half of a normal distribution, is not.
	noise := min(noiseOf(x), halfNormal*(middle-sorted[0]))
	if few := middle; few-level < 2*noise {
		level = few
	}
	least := level + max(slowAbove*noise, slowPart*s.step)
	big = make([]bool, len(x))
	for i, v := range x {
		big[i] = v > least
	}
	in, usual := parted(x, big)
	if len(in) == 0 || float64(len(in)) >= mostSlow*float64(len(x)) {
		return big, 0, 0
	}
	return big, least - level, costOf(in, robust.Median(usual))
}

// halfNormal bounds a standard deviation by the distance of the median of values from the least of
// them, which of eight normal values is 1.4 on average and of more is larger.
const halfNormal = 0.7

// commonFinding is a finding about all ranks: some intervals cost so much more than the
// others.
func (s *trend) commonFinding(c values, big []bool, cost float64) Finding {
	pattern, period := patternOf(big)
	f := Finding{Kind: Everyone, Cause: SlowSteps, Host: -1, P: 1, Saves: exactly(cost / s.whole)}
	f.Steps = describe(big, func(i int) int { return int(c.step[i]) }, Struck{Pattern: pattern, Period: period}, 1)
	struck := make([]bool, len(s.took))
	for i, b := range big {
		struck[c.at[i]] = b
	}
	f.Length = lengthOf(s.took, struck)
	f.Size = int64(cost / float64(max(1, f.Steps.Count)))
	f.Parts = []Part{{Stage: c.stage, Size: f.Size, Charged: int64(cost)}}
	return f
}

// noiseOf is the standard deviation of values, from their differences.
func noiseOf(x []float64) float64 {
	v := make([]float64, 0, len(x))
	for i := 1; i < len(x); i++ {
		v = append(v, math.Abs(x[i]-x[i-1]))
	}
	return sigmaOfDifference*median(v) + 1
}

// changes are changes of level. Blocks of the series are exchangeable in time where there is
// none; the block length comes from what is left beside the best single change.
func (s *trend) changes(c values) (out []Finding) {
	at, shift := bestCut(c.x)
	if math.Abs(shift) < leastShift*s.step {
		return nil
	}
	left := slices.Clone(c.x)
	a, b := median(c.x[:at]), median(c.x[at:])
	for i := range left {
		if left[i] -= a; i >= at {
			left[i] -= b - a
		}
	}
	block := int(math.Ceil(newAutocovariance([][]float64{left}).tau(-1)))
	var means []float64
	for x := range slices.Chunk(c.x, block) {
		means = append(means, median(x))
	}
	found, err := changepoint.Find(means, changepoint.Options{Level: gates.Strong, Tests: len(s.rows)})
	if err != nil || len(found) == 0 {
		return nil
	}
	cuts := []int{0}
	p := 1.0
	for _, f := range found {
		cuts = append(cuts, refine(c.x, f.At*block, block))
		p = min(p, f.P)
	}
	slices.Sort(cuts)
	cuts = append(cuts, len(c.x))
	return s.levels(c, cuts, p)
}

// levels are the stretches between changes that are longer than where the run began, or, where it
// began slow, than the lowest that follows.
func (s *trend) levels(c values, cuts []int, p float64) (out []Finding) {
	var level []float64
	for i := range cuts[:len(cuts)-1] {
		if cuts[i+1] <= cuts[i] {
			return nil
		}
		level = append(level, median(c.x[cuts[i]:cuts[i+1]]))
	}
	base := level[0]
	if level[len(level)-1] < base-leastShift*s.step {
		base = slices.Min(level)
	}
	for i := 0; i < len(level); i++ {
		if level[i] < base+leastShift*s.step {
			continue
		}
		j := i
		for j+1 < len(level) && level[j+1] >= base+leastShift*s.step {
			j++
		}
		big := make([]bool, len(c.x))
		for n := cuts[i]; n < cuts[j+1]; n++ {
			big[n] = true
		}
		if cost := costOf(c.x[cuts[i]:cuts[j+1]], base); cost >= leastCommon*s.whole {
			f := s.commonFinding(c, big, cost)
			f.Steps.Pattern, f.Steps.Period, f.Steps.List, f.P, f.Certainty = Span, 0, nil, p, Supported
			if j+1 == len(level) && i > 0 {
				f.Cause = Regression
			}
			out = append(out, f)
		}
		i = j
	}
	return out
}

// bestCut is where the medians on both sides differ most, weighed by how many values they are
// of, and by how much.
func bestCut(x []float64) (at int, shift float64) {
	// Prefix sums of values clipped to their central 98 % stand for medians: one pass.
	s := slices.Clone(x)
	low, high := robust.Quantile(s, 0.01), robust.Quantile(s, 0.99)
	total := 0.0
	for _, v := range x {
		total += min(max(v, low), high)
	}
	n, sum, best, before := float64(len(x)), 0.0, -1.0, 0.0
	at = len(x) / 2
	for i := 1; i < len(x); i++ {
		sum += min(max(x[i-1], low), high)
		if i < shortest || i > len(x)-shortest {
			continue
		}
		// The square of the difference of means, by k(n − k) ÷ n.
		k := float64(i)
		d := total*k - sum*n
		if z := d * d / (k * (n - k)); z > best {
			best, at, before = z, i, sum
		}
	}
	if best < 0 {
		return at, 0
	}
	k := float64(at)
	return at, (total-before)/(n-k) - before/k
}

// refine places a change among single values: Σ|x − before| + Σ|x − after| is least.
func refine(x []float64, at, block int) int {
	from, to := max(1, at-2*block), min(len(x)-1, at+2*block)
	before, after := median(x[:max(1, min(at, len(x)-1))]), median(x[min(at, len(x)-1):])
	// Of long series the levels next to the change count.
	if w := 50 * block; at > w && len(x)-at > w {
		before, after = median(x[at-w:at]), median(x[at:at+w])
	}
	best, lowest, sum := at, math.Inf(1), 0.0
	for k := from; k <= to; k++ {
		if k > from {
			sum += math.Abs(x[k-1]-before) - math.Abs(x[k-1]-after)
		}
		if sum < lowest {
			lowest, best = sum, k
		}
	}
	return best
}
