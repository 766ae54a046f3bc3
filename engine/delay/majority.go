package delay

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/combin"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/points"
)

const (
	// apartOfNoise, apartInside and apartInUnits are how many times the noise, what ranks of one part differ by, and the unit of the times
	// two parts of the ranks must lie apart.
	apartOfNoise, apartInside, apartInUnits = 2, 3, 1.5
)

// majority finds pieces that take more than half of the ranks longer, all alike, than the others, where that costs MinGain: the
// median is then one of those that are slow, and the others look early. Which part is usual is not in the times: the faster one
// is taken for it, and nothing is stronger than Supported. Were ranks exchangeable, just these f of R would be the early ones of
// a block of steps with chance 1/C(R, f):
//
//	P = min(1, 2 · R · K · C(R, f)^−n · 2^(B−n))
//
// of n such blocks among B, in K pieces.
func (s *series) majority(o Options) (out []claim.Claim) {
	if s.Ranks < 3 || s.comparesSome() || s.Free() {
		return nil
	}
	for k, piece := range s.Pieces {
		if asRecorded := &s.rest[k][0] == &s.Work[k][0]; asRecorded && !s.waitsPerhaps(piece.Stage) { // where a rank is late by itself levels are no parts
			if f, ok := s.majorityIn(k, o); ok {
				out = append(out, f)
			}
		}
	}
	return out
}

func (s *series) majorityIn(k int, o Options) (claim.Claim, bool) {
	least := max(apartOfNoise*s.noise[k], leastOfStep*s.step)
	if s.levelsWithin(k, least) {
		return claim.Claim{}, false
	}
	level, times := make([]float64, s.Ranks), make([]float64, 0, 2*levelTimes)
	for r := range level {
		times = s.timesOf(k, r, times[:0])
		level[r] = median(times)
	}
	fast, slow, apart := parts(level)
	if 2*len(slow) <= s.Ranks || apart < max(least, apartInUnits*float64(points.Unit(s.Work[k]))) {
		return claim.Claim{}, false
	}
	early, blocks, block := s.early(k, fast, slow, apart)
	R, f := float64(s.Ranks), float64(len(fast))
	p := math.Log(2*R*float64(len(s.Pieces))) - float64(early)*combin.LogGeneralizedBinomial(R, f) + float64(blocks-early)*math.Ln2
	if blocks < fewestBlocks || p > math.Log(o.Level) {
		return claim.Claim{}, false
	}
	one := cause{kind: claim.Ranks, ranks: slow, host: -1}
	size := s.difference(k, fast, slow)
	for _, r := range slow {
		t := &term{rank: r, piece: k, claim: size, d: make([]float64, s.Intervals), pattern: claim.Constant, chance: chance{p: math.Exp(p), block: block, blocks: blocks}}
		for n := range t.d {
			if s.Step(n, k) >= 0 {
				t.d[n] = size
				t.charged += size
			}
		}
		one.terms = append(one.terms, t)
	}
	c := s.finding(one, o)
	c.P, c.Certainty, c.Others = min(1, math.Exp(p)), claim.Supported, fast
	c.Saves = claim.Exact(1 - s.length(subtractTerms(s.arrive, s, one.terms, 0))/s.length(s.arrive))
	return c, c.Saves.Alone >= o.MinGain
}

// levelTimes are enough to tell a rank's level.
const levelTimes = 64

// timesOf returns what a rank takes in a piece beside the terms, in intervals in which it was recorded, at equal distances where there are many, in
// the memory of out.
func (s *series) timesOf(k, r int, out []float64) []float64 {
	for n := 0; n < s.Intervals; n += s.levelStride() {
		if s.Step(n, k) >= 0 {
			out = append(out, float64(s.rest[k][n*s.Ranks+r]))
		}
	}
	return out
}

// levelStride returns how many intervals apart those are that tell a rank's level.
func (s *series) levelStride() int { return max(1, s.Intervals/levelTimes) }

// levelsWithin reports whether all ranks' levels in a piece lie less than so much apart, by how many of each rank's times are beyond half of that
// from the first rank's level: levels themselves take longer to find.
func (s *series) levelsWithin(k int, apart float64) bool {
	middle, of := median(s.timesOf(k, 0, nil)), 0
	beyond := make([][2]int, s.Ranks)
	for n := 0; n < s.Intervals; n += s.levelStride() {
		if s.Step(n, k) < 0 {
			continue
		}
		of++
		for r, x := range s.rest[k][n*s.Ranks : (n+1)*s.Ranks] {
			d := float64(x) - middle
			if d <= -apart/2 {
				beyond[r][0]++
			}
			if d >= apart/2 {
				beyond[r][1]++
			}
		}
	}
	return !slices.ContainsFunc(beyond, func(n [2]int) bool { return 2*max(n[0], n[1]) >= of })
}

// parts cuts ranks in two where their levels differ most, and returns by how much; 0 where the ranks of a part differ by a third of that.
func parts(level []float64) (fast, slow []int, apart float64) {
	order := make([]int, len(level))
	for r := range order {
		order[r] = r
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case level[a] < level[b]:
			return -1
		case level[a] > level[b]:
			return 1
		}
		return 0
	})
	cut := 0
	for i := 1; i < len(order); i++ {
		if gap := level[order[i]] - level[order[i-1]]; gap > apart {
			cut, apart = i, gap
		}
	}
	if cut == 0 {
		return nil, nil, 0
	}
	inside := max(level[order[cut-1]]-level[order[0]], level[order[len(order)-1]]-level[order[cut]])
	if apart < apartInside*inside {
		apart = 0
	}
	return slices.Sorted(slices.Values(order[:cut])), slices.Sorted(slices.Values(order[cut:])), apart
}

// early returns in how many blocks all fast ranks, and no slow one, are before the median of the slow by more than half of what lies between them, in
// most intervals.
func (s *series) early(k int, fast, slow []int, apart float64) (early, blocks, block int) {
	before := make([][]float64, s.Ranks)
	row := make([]float64, len(slow))
	for n := range s.Intervals {
		if s.Step(n, k) < 0 {
			continue
		}
		for i, r := range slow {
			row[i] = float64(s.rest[k][n*s.Ranks+r])
		}
		middle := median(row)
		for r := range before {
			before[r] = append(before[r], middle-float64(s.rest[k][n*s.Ranks+r]))
		}
	}
	columns := make([][]float64, s.Ranks)
	for r := range columns {
		columns[r] = slices.Clone(before[r])
	}
	block = int(math.Ceil(newAutocovariance(columns).tau()))
	for from := 0; from+block <= len(before[0]); from += block {
		blocks++
		is := func(r int) bool {
			n := 0
			for _, x := range before[r][from : from+block] {
				if x > apart/2 {
					n++
				}
			}
			return 2*n > block
		}
		if !slices.ContainsFunc(fast, func(r int) bool { return !is(r) }) && !slices.ContainsFunc(slow, is) {
			early++
		}
	}
	return early, blocks, block
}

// difference returns by how much the slow ranks take longer in a piece than the fast ones, the mean of the middle half of intervals.
func (s *series) difference(k int, fast, slow []int) float64 {
	var out []float64
	for n := range s.Intervals {
		if s.Step(n, k) < 0 {
			continue
		}
		middle := func(ranks []int) float64 {
			v := make([]float64, len(ranks))
			for i, r := range ranks {
				v[i] = float64(s.rest[k][n*s.Ranks+r])
			}
			return median(v)
		}
		out = append(out, middle(slow)-middle(fast))
	}
	return winsorizedMean(out)
}
