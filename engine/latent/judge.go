package latent

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sfstat/sfstat/engine/blocks"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/internal/robust"
)

const (
	leastSpread = 0.01 // of F₀·(1 − F₀): far quantiles count no more than tenfold
	quarters    = 4
	rounding    = 1e-9 // up to which two departures are one
)

// Test holds the ranks of a run against one another. Too few steps or ranks refuse an answer, and are no error; errors
// are those of [Work.Validate] and [Options.Validate].
func Test(w *Work, o Options) (*Result, error) {
	if err := w.Validate(); err != nil {
		return nil, err
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.orDefault()
	if o.Screen && passesScreen(w, o) {
		return &Result{Ranks: w.Ranks, Step: w.Step, Margin: int64(math.Round(marginOf(w, o))), Screened: true, Blocks: blocks.Blocks{Steps: w.Intervals()}, o: o}, nil
	}
	j := newJudge(w, o)
	if j.cut.Refused == blocks.Judged && len(j.groups) > 0 {
		j.count()
		j.draw()
	}
	return j.Result, nil
}

// judge is the test of one run.
type judge struct {
	*Result
	work    *Work
	own     [][]int64 // of Columns
	margin  float64   // ns
	cut     blocks.Blocks
	groups  []*group
	held    []bool  // [rank] against peers
	quarter []uint8 // [interval] of the run
}

// group is a set of peers.
type group struct {
	ranks  []int       // in the order of what they work in all
	a      [][]float64 // [column][interval · ranks + rank of the set] excess less its level, ns
	level  [][]float64 // [column][rank of the set], ns
	counts [][]uint64  // [block · ranks + rank][column · grid + place, two in a word] intervals above the place, offsets widened
	f0     []float64   // [column · grid + place]
	spread []float64   // likewise
	won    [][]int32   // [block · ranks + rank][point] intervals in which the rank is last, levels taken off
}

func newJudge(w *Work, o Options) *judge {
	j := &judge{work: w, Result: &Result{Ranks: w.Ranks, Step: w.Step, o: o}}
	j.Columns, j.own = columnsOf(w)
	j.margin = marginOf(w, o)
	j.Margin = int64(math.Round(j.margin))
	j.Workers = make([]Score, w.Ranks*len(j.Columns))
	for i := range j.Workers {
		j.Workers[i].P, j.Workers[i].Bound = 1, 1
	}
	j.Blame = make([]Share, w.Ranks*w.Points)
	for i := range j.Blame {
		j.Blame[i].P, j.Blame[i].Bound = 1, 1
	}
	tau := 1.0
	j.held = make([]bool, w.Ranks)
	if steps := w.Intervals(); steps >= blocks.FewestSteps && len(j.Columns) > 0 {
		for _, set := range j.sets() {
			g := j.newGroup(set)
			j.groups = append(j.groups, g)
			for _, a := range g.a {
				tau = max(tau, blocks.Tau(limitRanks(a, len(set))))
			}
		}
	}
	j.cut = blocks.Of(w.Intervals(), tau)
	j.Blocks = j.cut
	return j
}

// sets returns the sets of two ranks or more, each in the order of what its ranks work in all, and the sets likewise.
func (j *judge) sets() (out [][]int) {
	all := make([]float64, j.work.Ranks)
	for _, own := range j.work.Own {
		for row := range slices.Chunk(own, j.work.Ranks) {
			for r, x := range row {
				all[r] += float64(x)
			}
		}
	}
	of := map[int][]int{}
	for r := range j.work.Ranks {
		set := 0
		if j.work.Peers != nil {
			set = j.work.Peers[r]
		}
		of[set] = append(of[set], r)
	}
	for _, set := range of {
		if len(set) > 1 {
			slices.SortFunc(set, func(a, b int) int { return cmp.Or(cmp.Compare(all[a], all[b]), j.compare(a, b)) })
			out = append(out, set)
		}
	}
	slices.SortFunc(out, func(a, b []int) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(all[a[0]], all[b[0]]), j.compare(a[0], b[0]))
	})
	return out
}

// compare orders two ranks by their times: ranks with the same times are the same to the test.
func (j *judge) compare(a, b int) int {
	for _, own := range j.work.Own {
		for at := 0; at < len(own); at += j.work.Ranks {
			if c := cmp.Compare(own[at+a], own[at+b]); c != 0 {
				return c
			}
		}
	}
	return 0
}

func (j *judge) newGroup(set []int) *group {
	g := &group{ranks: set}
	n := len(set)
	for c, own := range j.own {
		a := excess(own, j.work.Ranks, set)
		level := levels(a, n)
		for t := 0; t < len(a); t += n {
			for i := range n {
				a[t+i] -= level[i]
			}
		}
		g.a, g.level = append(g.a, a), append(g.level, level)
		for i, r := range set {
			j.Score(r, c).Level, j.held[r] = level[i], true
		}
	}
	return g
}

// count counts in how many intervals of each block each rank is above each place.
func (j *judge) count() {
	for _, g := range j.groups {
		n := len(g.ranks)
		g.counts = rows[uint64](j.cut.N*n, words(len(j.Columns)*grid))
		g.f0, g.spread = make([]float64, len(j.Columns)*grid), make([]float64, len(j.Columns)*grid)
		for c := range j.Columns {
			j.countColumn(g, c)
		}
		g.won = rows[int32](j.cut.N*n, j.work.Points)
		for p := range j.work.Points {
			j.countLast(g, p)
		}
	}
}

// rows returns so many rows of values beside one another.
func rows[T any](n, length int) [][]T {
	all, out := make([]T, n*length), make([][]T, n)
	for i := range out {
		out[i] = all[i*length : (i+1)*length : (i+1)*length]
	}
	return out
}

// words returns how many words hold so many counts, two in each: sums of a run stay below 2³¹.
func words(counts int) int { return (counts + 1) / 2 }

func pack(row []uint64, i int, count int32) { row[i/2] |= uint64(count) << (32 * (i % 2)) }

func unpack(row []uint64, i int) int32 { return int32(row[i/2] >> (32 * (i % 2))) }

func (j *judge) countColumn(g *group, c int) {
	n, a := len(g.ranks), g.a[c]
	x := places(a, n)
	all := make([][grid + 1]int32, n)              // under the null
	beyond := make([][quarters][grid + 1]int32, n) // less the margin, with its level
	start, cut := j.cut.Start(), j.cut.N*j.cut.Length
	tested := j.testedIn(g, c)
	if j.quarter == nil {
		for t := range cut {
			j.quarter = append(j.quarter, uint8(quarterOf(t, cut)))
		}
	}
	shift, here := make([]float64, n), make([][grid + 1]int32, n)
	for b := range j.cut.N {
		from := start + b*j.cut.Length
		clear(shift)
		clear(here)
		for t := from; t < from+j.cut.Length; t++ {
			for i, v := range a[t*n : (t+1)*n] {
				shift[i] += v
			}
		}
		for i := range shift {
			shift[i] *= (j.cut.Widen - 1) / float64(j.cut.Length)
		}
		for t := from; t < from+j.cut.Length; t++ {
			q := j.quarter[t-start]
			for i, v := range a[t*n : (t+1)*n] {
				here[i][countExceeded(v+shift[i], &x)]++
				if tested[i] {
					beyond[i][q][countExceeded(v+g.level[c][i]-j.margin, &x)]++
				}
			}
		}
		for i := range here {
			cumulate(&here[i])
			for k, m := range here[i][1:] {
				pack(g.counts[b*n+i], c*grid+k, m)
			}
			for k, m := range here[i] {
				all[i][k] += m
			}
		}
	}
	column := make([]float64, n)
	for k := range grid {
		for i := range column {
			column[i] = float64(all[i][k+1]) / float64(cut)
		}
		f := robust.Median(column)
		g.f0[c*grid+k], g.spread[c*grid+k] = f, math.Sqrt(max(leastSpread, f*(1-f)))
	}
	for i, r := range g.ranks {
		s := j.Score(r, c)
		if s.D = math.Inf(-1); !tested[i] {
			continue
		}
		for q := range beyond[i] {
			cumulate(&beyond[i][q])
		}
		j.depart(s, &beyond[i], &x, g, c, cut)
	}
}

// testedIn reports which ranks of a set are tested in a column: all, or those that a screen of all intervals does not pass.
func (j *judge) testedIn(g *group, c int) []bool {
	n, steps := len(g.ranks), len(g.a[c])/len(g.ranks)
	out, spreads := make([]bool, n), make([]float64, n)
	for i := range n {
		out[i] = !j.o.Screen || g.level[c][i] >= nearMargin*j.margin
	}
	if !j.o.Screen {
		return out
	}
	for row := range slices.Chunk(g.a[c], n) {
		for i, x := range row {
			spreads[i] += math.Abs(x)
		}
	}
	for i := range spreads {
		spreads[i] /= float64(steps)
	}
	for i, wide := range wider(spreads, steps, j.margin) {
		out[i] = out[i] || wide
	}
	return out
}

// depart computes D and the shares at all places x, and in how many quarters of the run the rank exceeds its peers at D's place.
func (j *judge) depart(s *Score, beyond *[quarters][grid + 1]int32, x *[grid]float64, g *group, c, cut int) {
	at := 0
	s.Places = make([]claim.Place, grid)
	for k := range grid {
		sum := int32(0)
		for q := range beyond {
			sum += beyond[q][k+1]
		}
		share, f := float64(sum)/float64(cut), g.f0[c*grid+k]
		d := (share - f) / g.spread[c*grid+k]
		if d > s.D {
			s.D, at = d, k
		}
		s.Places[k] = claim.Place{Beyond: int64(math.Round(x[k])), Peers: f, Rank: share, D: d}
	}
	for q := range beyond {
		if float64(beyond[q][at+1])/float64(sizeOfQuarter(q, cut)) > g.f0[c*grid+at] {
			s.Quarters++
		}
	}
}

// cumulate turns counts of values that exceed exactly so many places into counts of those that exceed at least so many.
func cumulate(counts *[grid + 1]int32) {
	for k := grid - 1; k >= 0; k-- {
		counts[k] += counts[k+1]
	}
}

// sizeOfQuarter returns how many of the intervals are in a quarter: the first ones have those that are left over.
func sizeOfQuarter(q, intervals int) int {
	size := intervals / quarters
	if q < intervals%quarters {
		size++
	}
	return size
}

// quarterOf returns in which quarter an interval is.
func quarterOf(t, intervals int) (q int) {
	for t >= sizeOfQuarter(q, intervals) {
		t -= sizeOfQuarter(q, intervals)
		q++
	}
	return q
}

// countLast counts who arrives last at a point: as the null has it, levels taken off and offsets widened, and who is last
// even less the margin.
func (j *judge) countLast(g *group, point int) {
	n, start, cut := len(g.ranks), j.cut.Start(), j.cut.N*j.cut.Length
	d := j.arrivals(g, point) // less the median of all, then less the level
	level, column := make([]float64, n), make([]float64, cut)
	for i := range n {
		for t := range column {
			column[t] = d[(start+t)*n+i]
		}
		level[i] = middleMean(column)
	}
	reference := make([]float64, n) // of the others
	for i := range n {
		reference[i] = robust.Median(slices.Delete(slices.Clone(level), i, i+1))
	}
	last := make([][quarters]int, n)
	row := make([]float64, n)
	for b := range j.cut.N {
		from := start + b*j.cut.Length
		shift := make([]float64, n)
		for t := from; t < from+j.cut.Length; t++ {
			first, second, who := math.Inf(-1), math.Inf(-1), 0
			for i := range n {
				v := d[t*n+i] - level[i]
				shift[i] += v
				if v > first {
					first, second, who = v, first, i
				} else {
					second = max(second, v)
				}
			}
			for i := range n {
				rest := first
				if i == who {
					rest = second
				}
				if d[t*n+i]-j.margin-reference[i] > rest {
					last[i][j.quarter[t-start]]++
				}
			}
		}
		for i := range shift {
			shift[i] *= (j.cut.Widen - 1) / float64(j.cut.Length)
		}
		for t := from; t < from+j.cut.Length; t++ {
			for i := range n {
				row[i] = d[t*n+i] - level[i] + shift[i]
			}
			top := slices.Max(row)
			for i, v := range row {
				if v >= top {
					g.won[b*n+i][point]++
				}
			}
		}
	}
	for i, r := range g.ranks {
		s := &j.Blame[r*j.work.Points+point]
		s.Waits = true
		for q, n := range last[i] {
			s.Quarters[q] = claim.Quarter{Last: n, Of: sizeOfQuarter(q, cut)}
			s.Last, s.Of = s.Last+n, s.Of+s.Quarters[q].Of
		}
	}
}

// arrivals returns what leads to a point less the median of the set, [interval][rank of the set], ns.
func (j *judge) arrivals(g *group, point int) []float64 {
	n := len(g.ranks)
	out := make([]float64, j.work.Intervals()*n)
	row, scratch := make([]int64, n), make([]int64, n)
	for t := range j.work.Intervals() {
		clear(row)
		for k, p := range j.work.Pieces {
			if p.Point == point {
				for i, r := range g.ranks {
					row[i] += 2 * j.work.Own[k][t*j.work.Ranks+r]
				}
			}
		}
		middle := robust.MiddleOf(row, scratch).Median()
		for i, x := range row {
			out[t*n+i] = float64(x-middle) / 2
		}
	}
	return out
}

// draw hands the blocks to ranks at random until nobody can be found any more, or as often as it takes. What a bound
// decides needs no draws.
func (j *judge) draw() {
	j.boundChances()
	largest, blamed := j.largestUndecided()
	if math.IsInf(largest, -1) && !blamed {
		return
	}
	var tops []float64 // the largest departure of each draw
	var last []int32   // likewise the most intervals in which one rank is last
	reached := 0
	memory := j.newDrawn()
	for len(tops) < j.o.Many {
		if len(tops) == j.o.Draws && !j.setP(tops, last) {
			break
		}
		d, n := memory.maxima(len(tops))
		tops, last = append(tops, d), append(last, n)
		if d >= largest-rounding {
			reached++
		}
		if len(tops) < j.o.Draws && !blamed && float64(1+reached) > j.o.Level*float64(1+j.o.Draws) {
			break
		}
	}
	j.setP(tops, last)
}

// largestUndecided returns the largest departure that no bound decides, −∞ where there is none, and whether blame of a rank that a
// bound decides is open.
func (j *judge) largestUndecided() (largest float64, blamed bool) {
	largest = math.Inf(-1)
	for rank, held := range j.held {
		decided := false
		for c := range j.Columns {
			if s := j.Score(rank, c); held && s.P > strongPart*j.o.Level {
				largest = max(largest, s.D)
			} else if held {
				decided = true
			}
		}
		for p := range j.work.Points {
			blamed = blamed || decided && j.Blame[rank*j.work.Points+p].P > strongPart*j.o.Blame
		}
	}
	return largest, blamed
}

// setP sets P by some draws, where no bound is lower, and reports whether any rank differs by D.
func (j *judge) setP(tops []float64, last []int32) (any bool) {
	j.Draws = len(tops)
	tops, last = slices.Clone(tops), slices.Clone(last)
	slices.Sort(tops)
	slices.Sort(last)
	p := func(below int) float64 { return float64(1+j.Draws-below) / float64(1+j.Draws) }
	for i := range j.Workers {
		s := &j.Workers[i]
		if j.held[i/len(j.Columns)] {
			below, _ := slices.BinarySearch(tops, s.D-rounding)
			s.P = min(s.Bound, p(below))
			any = any || s.P <= j.o.Level
		}
	}
	for i := range j.Blame {
		if s := &j.Blame[i]; s.Waits {
			below, _ := slices.BinarySearch(last, int32(s.Last))
			s.P = min(s.Bound, p(below))
		}
	}
	return any
}

// drawn is the memory of a draw.
type drawn struct {
	j      *judge
	counts [][][]uint64 // [group][rank of the set][column · grid + place, two in a word]
	won    [][][]int32  // [group][rank of the set][point]
	order  []int
	most   []int32
}

func (j *judge) newDrawn() *drawn {
	d := &drawn{j: j, most: make([]int32, 2*words(len(j.Columns)*grid))}
	for _, g := range j.groups {
		d.counts = append(d.counts, rows[uint64](len(g.ranks), words(len(j.Columns)*grid)))
		d.won = append(d.won, rows[int32](len(g.ranks), j.work.Points))
	}
	return d
}

// maxima returns the largest departure and the most intervals in which one rank is last, blocks handed to ranks at random.
func (d *drawn) maxima(draw int) (top float64, last int32) {
	top = math.Inf(-1)
	for k, g := range d.j.groups {
		random := rand.New(rand.NewPCG(d.j.o.Seed, uint64(draw)<<32|uint64(k)))
		n, counts, won := len(g.ranks), d.counts[k], d.won[k]
		d.order = d.order[:0]
		for i := range n {
			clear(counts[i])
			clear(won[i])
			d.order = append(d.order, i)
		}
		for b := range d.j.cut.N {
			random.Shuffle(n, func(i, k int) { d.order[i], d.order[k] = d.order[k], d.order[i] })
			for i, from := range d.order {
				add(counts[i], g.counts[b*n+from])
				add(won[i], g.won[b*n+from])
			}
		}
		clear(d.most)
		for _, row := range counts {
			for i, x := range row {
				d.most[2*i], d.most[2*i+1] = max(d.most[2*i], int32(x)), max(d.most[2*i+1], int32(x>>32))
			}
		}
		cut := float64(d.j.cut.N * d.j.cut.Length)
		for i, f := range g.f0 {
			top = max(top, (float64(d.most[i])/cut-f)/g.spread[i])
		}
		for _, row := range won {
			for _, x := range row {
				last = max(last, x)
			}
		}
	}
	return top, last
}

func add[T int32 | uint64](to, v []T) {
	to = to[:len(v)]
	for i, x := range v {
		to[i] += x
	}
}
