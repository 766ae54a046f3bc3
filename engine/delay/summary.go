package delay

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/internal/parallel"
)

// blockOf is how many intervals are one in a summary: a change of level is placed within as many.
const blockOf = 64

// summary is what the trends of stretches come down to: which steps are slow beside the others, and the trend of what is left, of which an
// interval stands for blockOf. It takes 8 bytes for each of these and each stage.
type summary struct {
	trend     *trend
	slow      []claim.Claim
	intervals int
	whole     float64 // length
	alone     *Alone  // of a single rank; nil: there are several
}

// Summarise makes one summary of the trends of stretches that follow one another, so that of a long run memory does not grow with its steps.
// What all ranks have in common is then searched for slow steps in each summary, and for changes over all. [Join] takes stretches with a
// summary before others.
func Summarise(list []*Stretch, o Options) {
	o = o.fillDefaults()
	o.Once = true
	if len(list) == 0 {
		return
	}
	first := list[0]
	t := joinedTrend(list, o)
	first.summary = t.summary(first, o)
}

// hasSummary reports whether stretches begin with a summary.
func hasSummary(list []*Stretch) bool { return list[0].summary != nil }

// joinedTrend returns the trend of stretches that follow one another.
func joinedTrend(list []*Stretch, o Options) *trend {
	t, steps := list[0].trend.clone(list), 0
	for i, s := range list {
		if i > 0 {
			t.join(s.trend, steps)
		}
		if o.Once {
			s.trend = &trend{whole: s.trend.whole}
		}
		steps += s.steps
	}
	if len(list) > 1 {
		t.step = median(t.took)
	}
	return t
}

// summary returns that of a trend, which begins with a stretch.
func (t *trend) summary(first *Stretch, o Options) *summary {
	p := &summary{intervals: len(t.took), whole: t.whole}
	if first.alone {
		p.alone = t.singleRank(first, len(first.stages))
		p.alone.Took = nil
	}
	slow, struck := make([][]claim.Claim, len(t.rows)), make([][]bool, len(t.rows))
	t.partly = true
	parallel.Do(len(t.rows), 0, func(i int) { slow[i], struck[i] = t.slowOf(i, o) })
	for _, list := range slow {
		for _, f := range list {
			p.slow = mergeFinding(p.slow, f)
		}
	}
	p.trend = t.blocks(struck)
	return p
}

// slowOf returns the slow steps of a row beside its slope, and which values are theirs.
func (t *trend) slowOf(row int, o Options) (out []claim.Claim, struck []bool) {
	c := t.rows[row]
	struck = make([]bool, len(c.x))
	if len(c.x) < 2*shortest {
		return nil, struck
	}
	level := c.removeSlope()
	for range 2 { // what is slow beside a period has another cause
		f, big, ok := t.slow(level, o)
		if !ok || f.Steps.Pattern == claim.Span || len(out) > 0 && f.Steps.Pattern == claim.Periodic {
			break
		}
		t.spreadOver(&f, big, row)
		out = append(out, f)
		for i, b := range big {
			struck[i] = struck[i] || b
		}
		if f.Steps.Pattern != claim.Periodic {
			break
		}
		level = level.replaceOutliers(big)
	}
	return out, struck
}

// removeSlope returns a row without the line through its blocks.
func (c shared) removeSlope() shared {
	var means []float64
	for block := range slices.Chunk(c.x, blockOf) {
		means = append(means, stat.Mean(block, nil))
	}
	if len(means) < 2*shortest {
		return c
	}
	l, _, _ := lineThrough(means)
	c.x = slices.Clone(c.x)
	for i := range c.x {
		c.x[i] -= l.slope * float64(i) / blockOf
	}
	return c
}

// blocks returns the trend of blocks of intervals: the median length, and the mean of the values that are not struck.
func (t *trend) blocks(struck [][]bool) *trend {
	out := &trend{step: t.step, whole: t.whole / blockOf}
	for block := range slices.Chunk(t.took, blockOf) {
		out.took = append(out.took, median(block))
	}
	of := make(map[*places]*places)
	for i, c := range t.rows {
		b := shared{stage: c.stage, point: c.point, tail: c.tail, places: of[c.places]}
		if b.places == nil {
			b.places = c.places.blocks()
			of[c.places] = b.places
		}
		from := 0
		for _, at := range b.at {
			sum, n := 0.0, 0
			for ; from < len(c.x) && c.at[from]/blockOf == at; from++ {
				if !struck[i][from] {
					sum, n = sum+c.x[from], n+1
				}
			}
			if n == 0 {
				sum, n = median(c.x), 1
			}
			b.x = append(b.x, sum/float64(n))
		}
		out.rows = append(out.rows, b)
	}
	return out
}

// blocks returns the blocks that have intervals, and the first step of each.
func (p *places) blocks() *places {
	out := &places{}
	for i, at := range p.at {
		if n := len(out.at); n == 0 || out.at[n-1] != at/blockOf {
			out.at, out.step = append(out.at, at/blockOf), append(out.step, p.step[i])
		}
	}
	return out
}

// summaries are those of a run, in their order, and how many steps each is of.
type summaries struct {
	list  []*summary
	steps []int
	every int // steps of an interval
}

// summariesOf returns the summaries of stretches, which those are given that have none.
func summariesOf(list []*Stretch, o Options) (out summaries) {
	from := len(list)
	out.every = list[0].every
	for i, s := range list {
		switch {
		case s.summary != nil:
			out.list, out.steps = append(out.list, s.summary), append(out.steps, 0)
		case s.trend.took != nil || s.trend.rows != nil:
			from = min(from, i)
		}
		if i < from {
			out.steps[len(out.steps)-1] += s.steps
		}
	}
	if from < len(list) {
		steps := 0
		for _, s := range list[from:] {
			steps += s.steps
		}
		out.list, out.steps = append(out.list, joinedTrend(list[from:], o).summary(list[from], o)), append(out.steps, steps)
	}
	return out
}

// trend returns the trend of all.
func (p summaries) trend() *trend {
	t, steps := p.list[0].trend, 0
	t = &trend{rows: slices.Clone(t.rows), took: slices.Clone(t.took), whole: t.whole}
	for i := range t.rows {
		c := &t.rows[i]
		c.places, c.x = &places{slices.Clone(c.at), slices.Clone(c.step)}, slices.Clone(c.x)
	}
	for i, one := range p.list {
		if i > 0 {
			t.join(one.trend, steps)
		}
		steps += p.steps[i]
	}
	t.step = median(t.took)
	return t
}

// singleRank returns how the only rank spends its steps.
func (p summaries) singleRank() *Alone {
	out, n := *p.list[0].alone, 0.0
	sums := make([]float64, len(out.Mean))
	for _, one := range p.list {
		for k, v := range one.alone.Mean {
			sums[k] += float64(v) * float64(one.intervals)
		}
		n += float64(one.intervals)
	}
	out.Mean = make([]int64, len(sums))
	for k, sum := range sums {
		out.Mean[k] = int64(math.Round(sum / max(1, n)))
	}
	return &out
}

// common returns the slow steps of all summaries, and the changes over them, of which t is the trend.
func (p summaries) common(t *trend, o Options) []claim.Claim {
	var slow []claim.Claim
	whole, steps := 0.0, 0
	for i, one := range p.list {
		slow = joinFindings(slow, one.slow, steps, whole, one.whole)
		whole, steps = whole+one.whole, steps+p.steps[i]
	}
	out := t.findInRows(o, t.rowChanges)
	for i := range out {
		f := &out[i]
		f.Steps.Last = min(steps-1, f.Steps.Last+(blockOf-1)*p.every)
		count := (f.Steps.Last-f.Steps.First)/p.every + 1
		by := float64(count) / float64(max(1, f.Steps.Count)) // blocks may be of fewer intervals
		for k := range f.Parts {
			f.Parts[k].Charged = int64(by * float64(f.Parts[k].Charged))
		}
		f.Saves.Scale(by / blockOf)
		f.Steps.Count, f.Steps.Of = count, steps/p.every
	}
	for _, f := range filterReportable(slow, steps/p.every, len(p.list)) {
		if f.Saves.Alone >= leastCommon {
			f.P = 1
			out = append(out, f)
		}
	}
	return out
}

// rowChanges returns the growth of a row, or the changes of its level.
func (t *trend) rowChanges(row int, o Options) (out []claim.Claim) {
	c := t.rows[row]
	if len(c.x) < 2*shortest {
		return nil
	}
	if f, _, ok := t.growth(c, o); ok {
		return []claim.Claim{f}
	}
	for _, f := range t.changes(c, o) {
		t.spreadOver(&f, spanOf(c, f.Steps), row)
		out = append(out, f)
	}
	return out
}
