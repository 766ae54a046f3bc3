package delay

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/claim"
	"gonum.org/v1/gonum/mathext"
)

const (
	// leastTurns is the part of the run that delays by turns must cost.
	leastTurns = 0.03
	// mostOfOne is the part of the delays that one rank may have.
	mostOfOne = 0.6
)

// turns finds delays of one rank after another. In nearly all steps exactly one rank is late
// in a piece, and no rank more often than the others. Were ranks late independently of one
// another, exactly one of R would be in at most (1 − 1/R)^(R−1) of the steps, however often each
// is late; the number of such steps is tested against that. Noise and spikes, which cost as
// much in large jobs, do not take turns. Or stalls of one size strike now one rank, now another.
func (s *series) turns(run *Run, o Options) (out []claim.Claim) {
	if len(s.Classes) == 1 { // nobody's work is like another's
		return nil
	}
	for k := range s.Pieces {
		if f, ok := s.members(k, run, o); ok {
			out = append(out, f)
		} else if f, ok := s.turnsIn(k, o); ok {
			out = append(out, f)
		} else if f, ok := s.stalls(k); ok {
			out = append(out, f)
		} else if f, ok := s.imbalance(k, o); ok {
			out = append(out, f)
		}
	}
	return out
}

func (s *series) turnsIn(k int, o Options) (claim.Claim, bool) {
	c := &s.charge[k]
	if s.Ranks < 3 || s.comparesSome() || c.sum < leastTurns*s.whole {
		return claim.Claim{}, false
	}
	top := make([]float64, s.Intervals)
	for _, e := range c.entries {
		top[e.at] = max(top[e.at], e.x)
	}
	d := median(top)
	if d < leastOfStep*s.step {
		return claim.Claim{}, false
	}
	count, own := make([]int, s.Intervals), make([]int, s.Ranks)
	columns := make([][]float64, s.Ranks)
	for r := range columns {
		columns[r] = make([]float64, s.Intervals)
	}
	for _, e := range c.entries {
		if e.x > d/2 {
			count[e.at]++
			own[e.rank]++
			columns[e.rank][e.at] = 1
		}
	}
	one, seen := 0, 0
	struck := make([]bool, s.Intervals)
	for n, x := range count {
		if s.Step(n, k) < 0 {
			continue
		}
		seen++
		if struck[n] = x == 1; struck[n] {
			one++
		}
	}
	if float64(slices.Max(own)) > mostOfOne*float64(one) {
		return claim.Claim{}, false
	}
	tau := newAutocovariance(columns).tau()
	draws := int(float64(seen) / tau)
	R := float64(s.Ranks)
	p := binomialTail(draws, int(math.Round(float64(draws)*float64(one)/float64(seen))), math.Pow(1-1/R, R-1)) * float64(len(s.Pieces))
	if p > o.Level {
		return claim.Claim{}, false
	}
	f := s.chargedTurns(k, p, struck, d)
	owner := make([]int, 0, one)
	for n := range s.Intervals {
		for r := range columns {
			if struck[n] && count[n] == 1 && s.isLate(k, n, r, d/2) {
				owner = append(owner, r)
			}
		}
	}
	f.Ranks = turnOrder(owner)
	f.Rotation = rotation(own, tau)
	return f, true
}

const (
	// oneSize is the part of the stalls that must be of one size: within half as much again of the
	// middle one. Of the exceptional values of one distribution, exponential or wider, 3 in 10 are.
	oneSize, halfAgain = 0.8, 1.5
	// fewestStalls are more than a few events.
	fewestStalls = 8
)

// stalls returns delays of one size that strike several ranks in a piece, and none of them most of the time: a time-out, a
// retry, a shared disk. Their cost is no matter of chance, but whom they strike is.
func (s *series) stalls(k int) (claim.Claim, bool) {
	c := &s.charge[k]
	if s.Ranks < 3 || s.comparesSome() || c.sum < leastTurns*s.whole {
		return claim.Claim{}, false
	}
	least := max(slowAbove*s.noise[k], leastShift*s.step)
	var sizes []float64
	own, struck := make([]int, s.Ranks), make([]bool, s.Intervals)
	for _, e := range c.entries {
		if e.x > least {
			sizes = append(sizes, e.x)
			own[e.rank]++
			struck[e.at] = true
		}
	}
	if len(sizes) < fewestStalls || float64(slices.Max(own)) > mostOfOne*float64(len(sizes)) {
		return claim.Claim{}, false
	}
	d, alike := median(sizes), 0
	for _, x := range sizes {
		if x < halfAgain*d && d < halfAgain*x {
			alike++
		}
	}
	f := s.chargedTurns(k, 1, struck, d)
	f.Rotation = rotation(own, 1)
	return f, float64(alike) >= oneSize*float64(len(sizes)) && f.Saves.Alone >= leastTurns
}

func (s *series) isLate(k, n, r int, least float64) bool {
	return math.Min(float64(s.excess[k][n*s.Ranks+r])-slackOfNoise*s.noise[k], float64(s.lead[s.Pieces[k].Point][n*s.Ranks+r])) > least
}

// longTurn is how many steps a turn takes, in the middle, from which on the ranks are of interest in
// their order.
const longTurn = 5

// turnOrder returns the ranks in the order of their first turns, where turns are long; else nil.
func turnOrder(owner []int) (out []int) {
	runs := 0
	for i, r := range owner {
		if i == 0 || owner[i-1] != r {
			runs++
		}
		if !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	if runs == 0 || len(owner) < longTurn*runs {
		return nil
	}
	return out
}

// bulk is how many standard deviations of the noise are its bulk: what lies beyond are spikes.
const bulk = 2

// imbalance finds a piece that takes ranks so different times in ordinary steps that evening it out
// would save MinGain: each step's last arrival is another rank's. Spikes do not count, which cost
// as much in large jobs.
func (s *series) imbalance(k int, o Options) (claim.Claim, bool) {
	if s.Ranks < 3 || s.Free() || s.noise[k] < leastOfStep*s.step {
		return claim.Claim{}, false
	}
	longest, seen := s.longest(k)
	if float64(slices.Max(longest)) > mostOfOne*float64(seen) { // not uneven, but that rank's
		return claim.Claim{}, false
	}
	most := int64(bulk * s.noise[k])
	struck := make([]bool, s.Intervals)
	for n := range struck {
		struck[n] = true
	}
	f := s.turnFinding(k, 1, struck, func(arrive []int64) {
		for i, e := range s.excess[k] {
			arrive[i] -= min(max(e, 0), most)
		}
	})
	f.Size = int64(f.Saves.Alone * s.step)
	f.Parts[0].Size = f.Size
	f.Rotation = rotation(longest, 1)
	return f, f.Saves.Alone >= o.MinGain
}

// longest counts in how many intervals each rank takes longest in a piece, of those in which it was recorded.
func (s *series) longest(k int) (count []int, seen int) {
	count = make([]int, s.Ranks)
	for n := range s.Intervals {
		if s.Step(n, k) < 0 {
			continue
		}
		row := s.excess[k][n*s.Ranks : (n+1)*s.Ranks]
		count[slices.Index(row, slices.Max(row))]++
		seen++
	}
	return count, seen
}

// rotation returns how often each rank is late, and how likely such counts are; as many turns as correlated count as one.
func rotation(turns []int, correlated float64) claim.Rotation {
	out := claim.Rotation{Among: len(turns), Correlated: correlated}
	for r, n := range turns {
		if n > 0 {
			out.Turns = append(out.Turns, claim.Turn{Rank: r, N: n})
		}
	}
	testCounts(&out)
	return out
}

// fewestOfRank is how many turns a rank must have on average for their counts to be compared (Cochran 1954, Biometrics
// 10:417–451).
const fewestOfRank = 5

// testCounts sorts turns and computes by Pearson's χ² how likely their counts are.
func testCounts(f *claim.Rotation) {
	slices.SortStableFunc(f.Turns, func(a, b claim.Turn) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Rank, b.Rank)) })
	all, squares := 0.0, 0.0
	for _, t := range f.Turns {
		all, squares = all+float64(t.N), squares+float64(t.N)*float64(t.N)
	}
	if f.Even = 0; f.Turns == nil || all < fewestOfRank*float64(f.Among)*f.Correlated {
		return
	}
	chi := (float64(f.Among)*squares/all - all) / f.Correlated
	f.Even = mathext.GammaIncRegComp(float64(f.Among-1)/2, max(0, chi)/2)
}

// chargedTurns prices turns of a size: without what is charged in the piece.
func (s *series) chargedTurns(k int, p float64, struck []bool, size float64) claim.Claim {
	f := s.turnFinding(k, p, struck, func(arrive []int64) {
		for _, e := range s.charge[k].entries {
			arrive[int(e.at)*s.Ranks+int(e.rank)] -= int64(e.x)
		}
	})
	f.Size = int64(size)
	f.Parts[0].Size = f.Size
	return f
}

// turnFinding prices turns in a piece by arrivals at its point that are less by something.
func (s *series) turnFinding(k int, p float64, struck []bool, less func(arrive []int64)) claim.Claim {
	at, arrive := s.Pieces[k].Point, slices.Clone(s.arrive)
	arrive[at] = slices.Clone(arrive[at])
	less(arrive[at])
	gain := 1 - s.length(arrive)/s.length(s.arrive)
	return claim.Claim{Kind: claim.Everyone, Cause: claim.Turns, Host: -1, P: p, Certainty: claim.Supported, Saves: claim.Exact(gain), Length: lengthOf(s.took, struck),
		Steps: s.steps(struck, &term{piece: k, pattern: claim.Irregular, chance: chance{block: 1}}),
		Parts: []claim.Part{{Stage: s.Pieces[k].Stage, Charged: int64(gain * s.whole)}}}
}

// binomialTail returns P(Bin(n, p) ≥ k).
func binomialTail(n, k int, p float64) float64 {
	if k < 1 {
		return 1
	}
	return mathext.RegIncBeta(float64(k), float64(n-k+1), p)
}
