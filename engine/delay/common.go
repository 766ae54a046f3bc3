package delay

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"github.com/sfstat/sfstat/engine/changepoint"
	"github.com/sfstat/sfstat/engine/claim"
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
	*places
	x []float64
	// point is whether it follows the last arrival at one, tail whether it was recorded in the step before that of its point.
	point, tail bool
	// single is by what factor of x the rank that takes longest exceeds its peers, of a piece that is
	// long enough to say so; else nil.
	single []float32
}

// places are the intervals of values, and the steps in which they were recorded. Most stages share them.
type places struct{ at, step []int32 }

// trend is what is kept of all steps of a run: how long they take and what all ranks have in
// common. 8 bytes for each step and stage, 4 more for each stage in which ranks work alone, and some 24 for
// each step.
type trend struct {
	rows  []shared
	took  []float64 // [interval] length as recorded
	step  float64   // median length
	whole float64   // length of the run
	// partly is of a part of a longer run: slow steps that cost half as much there may cost enough in all of it.
	partly bool
}

func (s *series) trend() *trend {
	t := &trend{took: s.took, step: s.step, whole: s.whole}
	R := s.Ranks
	heads, tails := s.placesOf(s.Head), s.placesOf(s.Tail)
	for k, piece := range s.Pieces {
		c := shared{stage: piece.Stage, tail: piece.Tail, places: heads}
		if piece.Tail {
			c.places = tails
		}
		if s.Absent != nil {
			c.places = s.present(k, c.places)
		}
		c.x = make([]float64, len(c.at))
		for i, n := range c.at {
			c.x[i] = s.common[k][n]
		}
		if R == 1 || s.Stages[piece.Stage].Role == points.Rest { // no rank exceeds its peers, or nothing says so
			t.rows = append(t.rows, c)
			continue
		}
		if usual := median(c.x); usual >= factorPart*s.step {
			c.single = make([]float32, 0, len(c.at))
			for _, n := range c.at {
				c.single = append(c.single, float32(float64(slices.Max(s.excess[k][int(n)*R:(int(n)+1)*R]))/usual))
			}
		}
		t.rows = append(t.rows, c)
	}
	all := heads
	if s.Missing != nil { // who was not recorded may be waited for there
		all = &places{}
		for i, n := range heads.at {
			if s.IsComplete(int(n)) {
				all.at, all.step = append(all.at, n), append(all.step, heads.step[i])
			}
		}
	}
	for p, point := range s.Points {
		c := shared{stage: point.Stage, point: true, places: all, x: make([]float64, len(all.at))}
		for i, n := range all.at {
			c.x[i] = float64(s.After[p][n])
		}
		t.rows = append(t.rows, c)
	}
	return t
}

// placesOf returns the intervals with a step, and the steps.
func (s *series) placesOf(steps []int) *places {
	p := &places{make([]int32, 0, len(steps)), make([]int32, 0, len(steps))}
	for n, t := range steps {
		if t >= 0 {
			p.at, p.step = append(p.at, int32(n)), append(p.step, int32(t))
		}
	}
	return p
}

// present returns the intervals in which something of a piece was recorded.
func (s *series) present(k int, all *places) *places {
	p := &places{}
	for i, n := range all.at {
		if !s.Absent[k][n] {
			p.at, p.step = append(p.at, n), append(p.step, all.step[i])
		}
	}
	return p
}

// clone returns a copy with room for the trends of those stretches.
func (t *trend) clone(list []*Stretch) *trend {
	n := 0
	for _, s := range list {
		n += len(s.trend.took)
	}
	out := *t
	out.took = roomy(t.took, n)
	out.rows = slices.Clone(t.rows)
	of := make(map[*places]*places)
	for i := range out.rows {
		c := &out.rows[i]
		if of[c.places] == nil {
			of[c.places] = &places{roomy(c.at, n), roomy(c.step, n)}
		}
		c.places, c.x = of[c.places], roomy(c.x, n)
		if len(c.single) > 0 {
			c.single = roomy(c.single, n)
		}
	}
	return &out
}

// roomy returns a copy with room for n values.
func roomy[T any](v []T, n int) []T { return append(make([]T, 0, max(n, len(v))), v...) }

// join appends the trend of the steps that follow.
func (t *trend) join(next *trend, steps int) {
	n := int32(len(t.took))
	joined := make(map[*places]*places) // what was appended to each
	for i := range t.rows {
		a := &t.rows[i]
		k := slices.IndexFunc(next.rows, func(b shared) bool { return b.follows(a) })
		switch {
		case k < 0: // ranks do not synchronise there any more
			t.separate(i)
			continue
		case joined[a.places] == nil && t.continues(a.places, next, next.rows[k].places):
			joined[a.places] = next.rows[k].places
			a.places.join(next.rows[k].places, n, steps)
		case joined[a.places] == nil:
			t.separate(i)
			a.places.join(next.rows[k].places, n, steps)
		}
		b := &next.rows[k]
		a.x, a.single = append(a.x, b.x...), append(a.single, b.single...)
	}
	t.took = append(t.took, next.took...)
	t.whole += next.whole
}

// continues reports whether all rows with some places go on in rows that share theirs.
func (t *trend) continues(of *places, next *trend, in *places) bool {
	return !slices.ContainsFunc(t.rows, func(a shared) bool {
		return a.places == of && !slices.ContainsFunc(next.rows, func(b shared) bool { return b.follows(&a) && b.places == in })
	})
}

// follows reports whether a row goes on where another ends.
func (c *shared) follows(before *shared) bool {
	return c.stage == before.stage && c.point == before.point && c.tail == before.tail
}

// separate gives a row places of its own, unless it has.
func (t *trend) separate(row int) {
	c := &t.rows[row]
	for i, other := range t.rows {
		if i != row && other.places == c.places {
			c.places = &places{slices.Clone(c.at), slices.Clone(c.step)}
			return
		}
	}
}

func (p *places) join(next *places, intervals int32, steps int) {
	for i, x := range next.at {
		p.at, p.step = append(p.at, x+intervals), append(p.step, next.step[i]+int32(steps))
	}
}

// typical returns the median of each stage.
func (t *trend) typical(stages int) []int64 {
	out := make([]int64, stages)
	for _, c := range t.rows {
		if len(c.x) > 0 {
			out[c.stage] += int64(median(c.x))
		}
	}
	return out
}

// aboveAll is by what factor the first step of the only rank must exceed all others to be start-up: nothing else tells.
const aboveAll = 1.2

// singleRank returns how the only rank spends its steps.
func (t *trend) singleRank(first *Stretch, stages int) *Alone {
	out := &Alone{StartUp: first.startUp, Mean: make([]int64, stages), Took: t.took}
	skip := int32(0)
	if first.start != nil {
		out.First = first.start.Size + int64(t.step)
	} else if n := len(t.took); n > 2 && t.took[0] > aboveAll*slices.Max(t.took[1:]) {
		out.StartUp, out.First, skip = 1, int64(t.took[0]), 1
	}
	sums := make([]float64, stages)
	for _, c := range t.rows {
		n := 0
		for i := range c.at {
			if c.at[i] >= skip {
				n++
			}
		}
		for i, x := range c.x {
			if c.at[i] >= skip {
				sums[c.stage] += x / float64(n)
			}
		}
	}
	for i, x := range sums {
		out.Mean[i] = int64(x)
	}
	return out
}

// common finds what makes steps longer on all ranks alike: changes of level and slow steps.
func (s *trend) common(o Options) []claim.Claim { return s.findInRows(o, s.commonOf) }

// findInRows returns what is found in each row, and merges what is of the same steps.
func (s *trend) findInRows(o Options, find func(row int, o Options) []claim.Claim) (out []claim.Claim) {
	of := make([][]claim.Claim, len(s.rows))
	parallel.Do(len(s.rows), 0, func(i int) { of[i] = find(i, o) })
	for _, list := range of {
		for _, f := range list {
			out = mergeFinding(out, f)
		}
	}
	for i := range out {
		if out[i].Cause == claim.Regression && !out[i].Grows {
			s.setStageTimes(&out[i])
		}
	}
	return out
}

// commonOf finds them in one row.
func (s *trend) commonOf(i int, o Options) (out []claim.Claim) {
	c := s.rows[i]
	if len(c.x) < 2*shortest {
		return nil
	}
	if f, level, ok := s.growth(c, o); ok {
		out = append(out, f)
		if f, big, ok := s.slow(level, o); ok && f.Cause != claim.Regression {
			s.spreadOver(&f, big, i)
			out = append(out, f)
		}
		return out
	}
	f, big, ok := s.slow(c, o)
	if !ok || f.Steps.Pattern == claim.Span { // the highest of several levels is no more than a part of them
		saves := 0.0
		for _, f := range s.changes(c, o) {
			saves += f.Saves.Alone
			s.spreadOver(&f, spanOf(c, f.Steps), i)
			out = append(out, f)
		}
		if ok && saves < f.Saves.Alone+leastCommon {
			s.spreadOver(&f, big, i)
			return []claim.Claim{f}
		}
		return out
	}
	s.spreadOver(&f, big, i)
	out = append(out, f)
	if f.Steps.Pattern == claim.Periodic { // what is slow beside the period has another cause
		if f, big, ok := s.slow(c.replaceOutliers(big), o); ok && f.Steps.Pattern != claim.Periodic {
			s.spreadOver(&f, big, i)
			out = append(out, f)
		}
	}
	return out
}

// replaceOutliers returns a row in which some intervals have the usual length of the others.
func (c shared) replaceOutliers(big []bool) shared {
	usual := make([]float64, 0, len(c.x))
	for i, x := range c.x {
		if !big[i] {
			usual = append(usual, x)
		}
	}
	level := median(usual)
	c.x = slices.Clone(c.x)
	for i := range c.x {
		if big[i] {
			c.x[i] = level
		}
	}
	return c
}

// mergeFinding adds a finding to those of the same steps.
func mergeFinding(list []claim.Claim, f claim.Claim) []claim.Claim {
	for i := range list {
		h := &list[i]
		if h.Cause != f.Cause || abs(h.Steps.First-f.Steps.First) > besides || abs(h.Steps.Last-f.Steps.Last) > besides || abs(h.Steps.Count-f.Steps.Count) > besides {
			continue
		}
		if slices.ContainsFunc(h.Parts, func(p claim.Part) bool { return p.Stage == f.Parts[0].Stage }) {
			return list // counted with the others
		}
		if f.Parts[0].Charged > h.Parts[0].Charged {
			h.Steps = f.Steps
		}
		h.Parts = append(h.Parts, f.Parts...)
		slices.SortStableFunc(h.Parts, func(a, b claim.Part) int { return cmp.Compare(b.Charged, a.Charged) })
		h.Size += f.Size
		h.Saves.Alone += f.Saves.Alone
		h.Saves.After, h.Saves.Low, h.Saves.High, h.Saves.AtMost = h.Saves.Alone, h.Saves.Low+f.Saves.Low, h.Saves.High+f.Saves.High, h.Saves.Alone
		h.P, h.Certainty = min(h.P, f.P), max(h.Certainty, f.Certainty)
		return list
	}
	return append(list, f)
}

func abs(x int) int { return max(x, -x) }

// slow returns steps that are longer on all ranks than the others. Where ranks synchronise, one long at work delays all: the
// cost there of chance strikes of single ranks, as seen in the compute before, is no slow step.
func (s *trend) slow(c shared, o Options) (claim.Claim, []bool, bool) {
	big, by, cost := s.exceptions(c.x)
	least := leastCommon * s.whole
	if s.partly {
		least /= 2
	}
	if cost == 0 || cost < least {
		return claim.Claim{}, nil, false
	}
	if kept, period := regular(big); period > 0 {
		big, cost = kept, costOf(c.x, kept)
	}
	f := s.commonFinding(c, claim.SlowSteps, big, cost)
	periodic := f.Steps.Period > 0 && f.Steps.Count > fewestSlow
	if f.Steps.Count >= fewestSlow && (!c.point || periodic || s.singleRankChance(c, f.Steps.Count, by) <= o.Strong) {
		f.Certainty = claim.Supported
	}
	if _, _, ok := stretch(big); ok {
		f.Steps.Pattern, f.Steps.Period, f.Steps.List = claim.Span, 0, nil
		if f.Steps.Ongoing {
			f.Cause = claim.Regression
		}
	}
	return f, big, true
}

// spanOf marks the values of the steps from the first to the last that were struck.
func spanOf(c shared, at claim.Struck) []bool {
	out := make([]bool, len(c.x))
	for i, t := range c.step {
		out[i] = int(t) >= at.First && int(t) <= at.Last
	}
	return out
}

// setStageTimes finds the time before and after of the stage with most of a regression.
func (s *trend) setStageTimes(f *claim.Claim) {
	for _, c := range s.rows {
		if c.stage != f.Parts[0].Stage {
			continue
		}
		var in, out []float64
		for i, b := range spanOf(c, f.Steps) {
			if b {
				in = append(in, c.x[i])
			} else {
				out = append(out, c.x[i])
			}
		}
		if len(in) > 0 && len(out) > 0 {
			f.Before, f.From = int64(median(out)), int64(median(in))
		}
	}
}

// spreadOver adds to slow steps of one stage what the others take longer in the same intervals.
func (s *trend) spreadOver(f *claim.Claim, big []bool, row int) {
	struck := make([]bool, len(s.took))
	for i, b := range big {
		struck[s.rows[row].at[i]] = b
	}
	for i, o := range s.rows {
		if i == row {
			continue
		}
		var in, usual []float64
		for k, n := range o.at {
			if struck[n] {
				in = append(in, o.x[k])
			} else {
				usual = append(usual, o.x[k])
			}
		}
		if len(in) == 0 || len(usual) == 0 {
			continue
		}
		base, cost := median(usual), 0.0
		for _, x := range in {
			cost += x - base
		}
		if cost < leastOfRun*s.whole || 10*cost < float64(f.Parts[0].Charged) || median(in) < base {
			continue
		}
		f.Parts = append(f.Parts, claim.Part{Stage: o.stage, Size: int64(cost / float64(len(in))), Charged: int64(cost)})
		f.Size += int64(cost / float64(len(in)))
		gain := f.Saves.Alone + cost/s.whole
		f.Saves = claim.Exact(gain)
	}
	slices.SortStableFunc(f.Parts, func(a, b claim.Part) int { return cmp.Compare(b.Charged, a.Charged) })
}

// singleRankChance returns the chance of so many slow steps at a point, were they work of single ranks there that struck them twice
// as often as the visible pieces, and by as large a factor: the number is Poisson's, with twice the most that a piece shows,
// and one more, as mean.
func (s *trend) singleRankChance(c shared, count int, by float64) float64 {
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

// exceptions returns the values far above the level of the others, their least excess, and their cost beyond it; no values
// where they are too many to be exceptions.
func (s *trend) exceptions(x []float64) (big []bool, by, cost float64) {
	low, middle := lowerHalf(x)
	level := robust.Median(low)
	// Where exceptions are many the differences are between them and the others, and the spread of
	// the lower half, which is that of half of a normal distribution, is not.
	noise := min(noiseOf(x), halfNormal*(middle-slices.Min(low)))
	if few := middle; few-level < 2*noise {
		level = few
	}
	least := level + max(slowAbove*noise, slowPart*s.step)
	big = make([]bool, len(x))
	n := 0
	for i, v := range x {
		if big[i] = v > least; big[i] {
			n++
		}
	}
	if n == 0 || float64(n) >= mostSlow*float64(len(x)) {
		return big, 0, 0
	}
	return big, least - level, costOf(x, big)
}

// costOf returns the cost of some values above the median of the others.
func costOf(x []float64, big []bool) (cost float64) {
	usual := make([]float64, 0, len(x))
	for i, v := range x {
		if !big[i] {
			usual = append(usual, v)
		}
	}
	base := robust.Median(usual)
	for i, v := range x {
		if big[i] {
			cost += v - base
		}
	}
	return cost
}

// halfNormal bounds a standard deviation by the distance of the median of values from the least of
// them, which of eight normal values is 1.4 on average and of more is larger.
const halfNormal = 0.7

// lowerHalf returns the values up to the median, and the median.
func lowerHalf(x []float64) (low []float64, middle float64) {
	s := slices.Clone(x)
	n := (len(s) + 1) / 2
	middle = robust.Select(s, n-1)
	if len(s)%2 == 0 {
		middle = (middle + slices.Min(s[n:])) / 2
	}
	return s[:n], middle
}

// commonFinding returns a finding about all ranks: some intervals cost so much more than the others.
func (s *trend) commonFinding(c shared, cause claim.Cause, big []bool, cost float64) claim.Claim {
	f := claim.Claim{Kind: claim.Everyone, Cause: cause, Host: -1, P: 1, Steps: claim.Struck{First: -1, Last: -1, Of: len(big), Pattern: claim.Irregular}}
	last := -2
	struck := make([]bool, len(s.took))
	for i, b := range big {
		if !b {
			continue
		}
		struck[c.at[i]] = true
		f.Steps.List = append(f.Steps.List, int(c.step[i]))
		if f.Steps.Count++; f.Steps.First < 0 {
			f.Steps.First = int(c.step[i])
		}
		if i > last+1 {
			f.Steps.Incidents++
		}
		f.Steps.Last, last = int(c.step[i]), i
	}
	f.Steps.Period = periodOf(big)
	if f.Steps.Period > 0 {
		f.Steps.Pattern, f.Steps.List = claim.Periodic, nil
	}
	f.Steps.Ongoing = len(big)-1-last <= max(1, f.Steps.Period)
	f.Length = lengthOf(s.took, struck)
	f.Size = int64(cost / float64(max(1, f.Steps.Count)))
	f.Parts = []claim.Part{{Stage: c.stage, Size: f.Size, Charged: int64(cost)}}
	gain := cost / s.whole
	f.Saves = claim.Exact(gain)
	return f
}

// noiseOf returns the standard deviation of values, from their differences.
func noiseOf(x []float64) float64 {
	v := make([]float64, 0, len(x))
	for i := 1; i < len(x); i++ {
		v = append(v, math.Abs(x[i]-x[i-1]))
	}
	return robust.SigmaOfDifference*median(v) + 1
}

// changes returns changes of level. Blocks of the series are exchangeable in time without a change; the block length comes from
// the residuals of the best-fitting changes.
func (s *trend) changes(c shared, o Options) (out []claim.Claim) {
	if _, shift := bestCut(c.x, shortest); math.Abs(shift) < leastShift*s.step {
		return nil
	}
	left := slices.Clone(c.x)
	taken := takeLevels(left, leastShift*s.step, mostCuts)
	tau := newAutocovariance([][]float64{left}).tau()
	if taken > 1 { // less is left than there was
		tau = 2*tau - 1
	}
	block := int(math.Ceil(tau))
	means := blockMedians(c.x, block)
	found, err := changepoint.Find(means, changepoint.Options{Level: o.Strong, Tests: len(s.rows), Points: true})
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
	return s.levels(c, cuts, p, o)
}

// mostCuts is how many changes are taken off a row before its correlation is measured.
const mostCuts = 3

// takeLevels takes the levels off values on either side of the cut that fits best, and again on each side, as long as a cut
// shifts the level by so much. It returns how many cuts it took, of so many at most.
func takeLevels(x []float64, least float64, most int) (cuts int) {
	at, shift := bestCut(x, shortest)
	if most == 0 || len(x) < 2*shortest+1 || math.Abs(shift) < least {
		level := median(x)
		for i := range x {
			x[i] -= level
		}
		return 0
	}
	before := takeLevels(x[:at], least, most-1)
	return 1 + before + takeLevels(x[at:], least, most-1-before)
}

// levels returns the stretches between changes that are slower than the run's beginning, or, after a slow beginning, than the
// lowest that follows.
func (s *trend) levels(c shared, cuts []int, p float64, o Options) (out []claim.Claim) {
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
		big, cost := make([]bool, len(c.x)), 0.0
		for n := cuts[i]; n < cuts[j+1]; n++ {
			big[n] = true
			cost += c.x[n] - base
		}
		if cost >= leastCommon*s.whole {
			f := s.commonFinding(c, claim.SlowSteps, big, cost)
			f.Steps.Pattern, f.Steps.Period, f.Steps.List, f.P, f.Certainty = claim.Span, 0, nil, p, claim.Supported
			if j+1 == len(level) && i > 0 {
				f.Cause = claim.Regression
			}
			out = append(out, f)
		}
		i = j
	}
	return out
}

// bestCut returns the cut at which the medians on both sides differ most, weighted by their numbers of values, and the
// difference. No side is of fewer values than edge.
func bestCut(x []float64, edge int) (at int, shift float64) {
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
		if i < edge || i > len(x)-edge {
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

func blockMedians(x []float64, block int) (out []float64) {
	for i := 0; i < len(x); i += block {
		out = append(out, median(x[i:min(len(x), i+block)]))
	}
	return out
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
