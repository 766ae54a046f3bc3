package delay

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/combin"

	"github.com/sfstat/sfstat/engine/claim"
)

const (
	// mostOfCharge is the part of what is charged in a piece that ranks must have for the others to be none of those who take turns.
	mostOfCharge = 0.9
	// fewestTurns is how many blocks must be struck, by any rank, for the ranks that strike them to be told.
	fewestTurns = 6
)

// members finds the ranks, no more than half, that delay the others by turns in a piece, where none of them is certain by itself: the fewest that
// have nearly all of its charge. Were every rank as likely to strike a block of steps, m of R would strike alone in m/R of the N struck blocks;
// that G of them are theirs alone has the chance
//
//	P = min(1, 2 · K · C(R, m) · P(Bin(N, m/R) ≥ G))
//
// of K pieces: who they are is chosen by the same charges. The others' waits must show what is charged.
func (s *series) members(k int, run *Run, o Options) (claim.Claim, bool) {
	c := &s.charge[k]
	if s.Ranks < 4 || s.comparesSome() || c.sum < leastTurns*s.whole {
		return claim.Claim{}, false
	}
	order := make([]int, s.Ranks)
	for r := range order {
		order[r] = r
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(c.total[b], c.total[a]) })
	m, sum := 0, 0.0
	for ; sum < mostOfCharge*c.sum; m++ {
		sum += c.total[order[m]]
	}
	if m < 2 || 2*m > s.Ranks {
		return claim.Claim{}, false
	}
	ranks := slices.Sorted(slices.Values(order[:m]))
	t := s.strikesOf(k)
	in, among := t.blocks(ranks)
	p := min(1, 2*float64(len(s.Pieces))*math.Exp(combin.LogGeneralizedBinomial(float64(s.Ranks), float64(m)))*binomialTail(among, in, float64(m)/float64(s.Ranks)))
	if among < fewestTurns || p > o.Level {
		return claim.Claim{}, false
	}
	one := cause{kind: claim.Ranks, ranks: ranks, host: hostOf(ranks, run)}
	if one.host >= 0 {
		one.kind = claim.Host
	}
	for _, r := range ranks {
		one.terms = append(one.terms, t.term(r, p))
	}
	f := s.finding(one, o)
	f.P, f.Certainty = p, claim.Supported
	f.Saves = claim.Exact(1 - s.length(subtractTerms(s.arrive, s, one.terms, 0))/s.length(s.arrive))
	f.Saves.After, f.Successive = f.Saves.Alone, t.successive(ranks)
	return f, f.Saves.Alone >= leastTurns && f.Waited >= waitsAddUp
}

// hostOf returns the host whose ranks these are, all of them; −1: none.
func hostOf(ranks []int, run *Run) int {
	if run.Hosts == nil {
		return -1
	}
	h, n := run.Hosts[ranks[0]], 0
	for r, of := range run.Hosts {
		if of != h {
			continue
		}
		if n++; !slices.Contains(ranks, r) {
			return -1
		}
	}
	if n != len(ranks) {
		return -1
	}
	return h
}

// struckBy are the intervals in which each rank is charged so much in a piece that it is no chance excess.
type struckBy struct {
	*series
	piece int
	by    [][]float64 // [rank][interval] its excess there; 0 elsewhere
	block int         // intervals that count as one
}

// strikesOf returns the strikes in a piece. Blocks are as long as what is left of the ranks' excess stays
// correlated, or that any rank strikes: a burst is one strike, however long.
func (s *series) strikesOf(k int) *struckBy {
	least := max(slackOfNoise*s.noise[k], leastOfStep*s.step)
	var sizes []float64
	for _, e := range s.charge[k].entries {
		if e.x > least {
			sizes = append(sizes, e.x)
		}
	}
	if len(sizes) > 0 {
		least = max(least, median(sizes)/2)
	}
	out := &struckBy{series: s, piece: k, by: make([][]float64, s.Ranks)}
	quiet, any := make([][]float64, s.Ranks), make([]float64, s.Intervals)
	for r := range out.by {
		out.by[r], quiet[r] = make([]float64, s.Intervals), s.column(s.excess[k], r)
	}
	for _, e := range s.charge[k].entries {
		if e.x > least {
			out.by[e.rank][e.at], quiet[e.rank][e.at], any[e.at] = quiet[e.rank][e.at], 0, 1
		}
	}
	out.block = int(math.Ceil(max(newAutocovariance(quiet).tau(), newAutocovariance([][]float64{any}).tau())))
	return out
}

// blocks returns how many blocks are struck by any rank, and how many of these by some ranks alone.
func (t *struckBy) blocks(ranks []int) (alone, struck int) {
	for from := 0; from < t.Intervals; from += t.block {
		in, out := false, false
		for r, x := range t.by {
			if slices.Max(x[from:min(from+t.block, t.Intervals)]) <= 0 {
				continue
			}
			if slices.Contains(ranks, r) {
				in = true
			} else {
				out = true
			}
		}
		if in || out {
			struck++
		}
		if in && !out {
			alone++
		}
	}
	return alone, struck
}

// successive returns from when to when each of some ranks strikes, in the order of time, where they do so one after another; else nil.
func (t *struckBy) successive(ranks []int) (out []claim.Lateness) {
	for _, r := range ranks {
		var steps []int
		for n, x := range t.by[r] {
			if x > 0 && t.Step(n, t.piece) >= 0 {
				steps = append(steps, t.Step(n, t.piece))
			}
		}
		if len(steps) == 0 {
			return nil
		}
		out = append(out, claim.Lateness{Rank: r, First: steps[0], Last: steps[len(steps)-1]})
	}
	slices.SortFunc(out, func(a, b claim.Lateness) int { return cmp.Compare(a.First, b.First) })
	for i := 1; i < len(out); i++ {
		if out[i].First <= out[i-1].Last {
			return nil
		}
	}
	return out
}

// term returns the strikes of a rank as a term.
func (t *struckBy) term(r int, p float64) *term {
	out := &term{rank: r, piece: t.piece, d: t.by[r], pattern: claim.Irregular, chance: chance{p: p, block: t.block, blocks: (t.Intervals + t.block - 1) / t.block}}
	var sizes []float64
	for _, x := range out.d {
		if x > 0 {
			sizes, out.charged = append(sizes, x), out.charged+x
		}
	}
	if len(sizes) > 0 {
		out.claim = median(sizes)
	}
	return out
}
