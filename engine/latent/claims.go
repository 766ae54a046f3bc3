package latent

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/blocks"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/internal/robust"
)

// FromDivision returns what ranks work by themselves in the intervals of a division in which all pieces were recorded, whose
// median length is that of a step. Where these lie side by side its values are those of the division. The micro-batches of a stage on the way to
// one point are one piece: ranks may go through them in another order, as those of a pipeline do.
func FromDivision(d *points.Division) Work {
	w := Work{Ranks: d.Ranks, Points: len(d.Points)}
	if d.Peers != nil {
		w.Peers = make([]int, d.Ranks)
		for i, set := range d.Peers {
			for _, r := range set {
				w.Peers[r] = i
			}
		}
	}
	var whole []int
	for n := range d.Intervals {
		if hasAllPieces(d, n) {
			whole = append(whole, n)
		}
	}
	beside := len(whole) > 0 && whole[len(whole)-1]-whole[0]+1 == len(whole)
	first := make(map[microbatches]int) // piece, by what its micro-batches have in common
	for k, p := range d.Pieces {
		if stage, micro := d.Stages[p.Stage].Microbatch(); micro >= 0 && !(d.Every > 0 && p.Tail) {
			at := microbatches{stage, p.Point, d.Stages[p.Stage].Role}
			of, known := first[at]
			if known {
				for i, n := range whole {
					row := w.Own[of][i*d.Ranks : (i+1)*d.Ranks]
					for r, x := range d.Work[k][n*d.Ranks : (n+1)*d.Ranks] {
						row[r] += x
					}
				}
				continue
			}
			first[at] = len(w.Pieces)
			w.Pieces = append(w.Pieces, Piece{Stage: p.Stage, Point: p.Point})
			w.Own = append(w.Own, valuesOf(d.Work[k], whole, d.Ranks))
			continue
		}
		if d.Every > 0 && p.Tail { // a part of its stage: it has the others as well
			of := slices.IndexFunc(w.Pieces, func(have Piece) bool { return have.Stage == p.Stage })
			w.Own[of] = slices.Clone(w.Own[of])
			for i, x := range d.Work[k][whole[0]*d.Ranks:][:len(w.Own[of])] {
				w.Own[of][i] += x
			}
			continue
		}
		w.Pieces = append(w.Pieces, Piece{Stage: p.Stage, Point: p.Point})
		if beside {
			w.Own = append(w.Own, d.Work[k][whole[0]*d.Ranks:(whole[0]+len(whole))*d.Ranks])
			continue
		}
		w.Own = append(w.Own, valuesOf(d.Work[k], whole, d.Ranks))
	}
	lengths := make([]int64, len(whole))
	for i, n := range whole {
		for p, arrive := range d.Arrivals {
			lengths[i] += slices.Max(arrive[n*d.Ranks : (n+1)*d.Ranks])
			if p < len(d.After) {
				lengths[i] += d.After[p][n]
			}
		}
	}
	w.Step = robust.MedianTime(lengths)
	return w
}

// microbatches is what the micro-batches of a stage on the way to a point have in common.
type microbatches struct {
	stage string
	point int
	role  points.Role
}

// valuesOf returns the values of some intervals, [interval · ranks + rank].
func valuesOf(work []int64, intervals []int, ranks int) []int64 {
	out := make([]int64, 0, len(intervals)*ranks)
	for _, n := range intervals {
		out = append(out, work[n*ranks:(n+1)*ranks]...)
	}
	return out
}

// hasAllPieces reports whether all pieces of an interval were recorded.
func hasAllPieces(d *points.Division, interval int) bool {
	for k := range d.Pieces {
		if d.Step(interval, k) < 0 {
			return false
		}
	}
	return true
}

// shareAgreeing is the part of a run whose stretches must agree.
const shareAgreeing = 0.75

// Join returns the result of a run from those of stretches of it, one after another, with the same ranks and pieces; nil
// of none. P is that at which three quarters of the run agree, times 4/3, which holds whatever they have to do with one
// another (Rüger 1978, Metrika 25:171–178); in what was screened nobody differs. Levels and shares are means over what was tested.
func Join(stretches []*Result) *Result {
	if len(stretches) < 2 {
		return slices.Concat(stretches, []*Result{nil})[0]
	}
	judged := slices.DeleteFunc(slices.Clone(stretches), func(r *Result) bool { return r.Blocks.Refused != blocks.Judged })
	tested := slices.DeleteFunc(slices.Clone(judged), func(r *Result) bool { return r.Screened })
	if len(judged) < 2 || len(tested) == 0 {
		return slices.Concat(tested, judged, stretches)[0]
	}
	out := *tested[0]
	out.Workers, out.Blame = slices.Clone(out.Workers), slices.Clone(out.Blame)
	out.Blocks.Steps, out.Blocks.N = 0, 0
	weight := make([]float64, len(judged))
	for i, r := range judged {
		weight[i] = float64(r.Blocks.Steps)
		out.Blocks.Steps, out.Blocks.N = out.Blocks.Steps+r.Blocks.Steps, out.Blocks.N+r.Blocks.N
		out.Blocks.Length, out.Blocks.Tau = max(out.Blocks.Length, r.Blocks.Length), max(out.Blocks.Tau, r.Blocks.Tau)
		out.Draws, out.Margin = max(out.Draws, r.Draws), max(out.Margin, r.Margin)
	}
	for i := range out.Workers {
		out.Workers[i] = joinScores(judged, weight, i)
	}
	for i := range out.Blame {
		s := &out.Blame[i]
		s.P = agreementP(len(judged), weight, func(k int) float64 {
			if judged[k].Screened {
				return 1
			}
			return judged[k].Blame[i].P
		})
		s.Last, s.Of, s.Quarters = 0, 0, [quarters]claim.Quarter{}
		all := 0
		for _, r := range tested {
			all += r.Blame[i].Of
		}
		for _, r := range tested {
			for _, part := range r.Blame[i].Quarters {
				if part.Of > 0 {
					q := &s.Quarters[quarterOf(s.Of+part.Of/2, all)] // that its middle is in
					q.Last, q.Of = q.Last+part.Last, q.Of+part.Of
				}
				s.Last, s.Of = s.Last+part.Last, s.Of+part.Of
			}
		}
	}
	return &out
}

// joinScores returns how a rank differs in a column over all stretches.
func joinScores(judged []*Result, weight []float64, i int) (out Score) {
	all := 0.0
	for k, r := range judged {
		if !r.Screened {
			s := r.Workers[i]
			out.D, out.Level, all = max(out.D, s.D), out.Level+weight[k]*s.Level, all+weight[k]
		}
	}
	out.Level /= all
	out.Places = joinPlaces(judged, weight, i)
	out.Quarters = agreeing
	out.P = agreementP(len(judged), weight, func(k int) float64 {
		if judged[k].Screened || judged[k].Workers[i].Quarters < agreeing {
			return 1
		}
		return judged[k].Workers[i].P
	})
	out.Bound = out.P
	return out
}

// joinPlaces returns the means of the places of a rank in a column over the stretches in which it was tested; none: in none.
func joinPlaces(judged []*Result, weight []float64, i int) (out []claim.Place) {
	all := 0.0
	var beyond [grid]float64
	for k, r := range judged {
		if r.Screened || len(r.Workers[i].Places) == 0 {
			continue
		}
		if out == nil {
			out = make([]claim.Place, grid)
		}
		all += weight[k]
		for g, p := range r.Workers[i].Places {
			beyond[g] += weight[k] * float64(p.Beyond)
			out[g].Peers, out[g].Rank, out[g].D = out[g].Peers+weight[k]*p.Peers, out[g].Rank+weight[k]*p.Rank, out[g].D+weight[k]*p.D
		}
	}
	for g := range out {
		p := &out[g]
		p.Beyond, p.Peers, p.Rank, p.D = int64(math.Round(beyond[g]/all)), p.Peers/all, p.Rank/all, p.D/all
	}
	return out
}

// agreementP returns the chance at which enough of some stretches of a run agree.
func agreementP(n int, weight []float64, p func(int) float64) float64 {
	order, all := make([]int, n), 0.0
	for i, w := range weight {
		order[i], all = i, all+w
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(p(a), p(b)) })
	sum := 0.0
	for _, i := range order {
		if sum += weight[i]; sum >= shareAgreeing*all {
			return min(1, p(i)/shareAgreeing)
		}
	}
	return 1
}

// agreeing is in how many quarters of a run a rank must exceed its peers.
const agreeing = 3

// strongPart is the part of a level at which a claim is strong.
const strongPart = 0.2

// Claims returns the ranks that differ, the largest level first: of those that blame confirms with their certainty, and
// of those by whose distribution alone the claim is an event. Ranks are positions.
func (r *Result) Claims() (out []claim.Claim) {
	if r == nil || r.Blocks.Refused != blocks.Judged {
		return nil
	}
	for rank := range r.Ranks {
		var best *claim.Claim
		for point := range max(1, len(r.Blame)/max(1, r.Ranks)) {
			if c, differs := r.claim(rank, point); differs && (best == nil || c.Certainty > best.Certainty || c.Certainty == best.Certainty && c.Difference.D > best.Difference.D) {
				best = &c
			}
		}
		if best != nil {
			out = append(out, *best)
		}
	}
	slices.SortStableFunc(out, func(a, b claim.Claim) int {
		return cmp.Or(cmp.Compare(b.Certainty, a.Certainty), cmp.Compare(b.Difference.Level, a.Difference.Level))
	})
	return out
}

// claim returns what a rank's own work before a point shows, and whether it differs.
func (r *Result) claim(rank, point int) (c claim.Claim, differs bool) {
	piece, deciding, least := -1, -1, 1.0
	for k, column := range r.Columns {
		if column.Point != point {
			continue
		}
		s := r.Score(rank, k)
		least = min(least, s.P)
		if deciding < 0 || s.D > r.Score(rank, deciding).D {
			deciding = k
		}
		if !column.Sum() && s.P <= r.o.Level && (piece < 0 || s.D > r.Score(rank, piece).D) {
			piece = k
		}
	}
	if deciding < 0 || least > r.o.Level || r.Score(rank, deciding).Quarters < agreeing {
		return c, false
	}
	named := piece
	if named < 0 {
		named = deciding
	}
	s := r.Score(rank, named)
	d := claim.Difference{Level: int64(math.Round(s.Level)), Margin: r.Margin, D: r.Score(rank, deciding).D, Sum: piece < 0, Alone: least,
		Tau: r.Blocks.Tau, Block: r.Blocks.Length, Blocks: r.Blocks.N, Places: r.Score(rank, deciding).Places, Together: r.Columns[deciding].Sum()}
	c = claim.Claim{Kind: claim.Rank, Cause: claim.Latent, Ranks: []int{rank}, Host: -1, Length: r.Step, P: least, Certainty: claim.Event,
		Steps: claim.Struck{Count: r.Blocks.Steps, Of: r.Blocks.Steps, Last: r.Blocks.Steps - 1, Pattern: claim.Constant}}
	c.Size, d.Total = max(0, d.Level), d.Level
	for k, column := range r.Columns {
		if column.Sum() && column.Point == point {
			d.Total = int64(math.Round(r.Score(rank, k).Level))
		}
	}
	c.Parts = r.parts(rank, named)
	if len(r.Blame) > 0 {
		b := r.Blame[rank*(len(r.Blame)/r.Ranks)+point]
		d.Blame, d.Last, d.Of = b.P, b.Last, b.Of
		if b.Of > 0 {
			d.Quarters = b.Quarters[:]
		}
		if b.Waits && b.P <= r.o.Blame {
			c.Certainty, c.P = claim.Supported, max(least, b.P*r.o.Level/r.o.Blame)
		}
		if c.Certainty == claim.Supported {
			c = r.Confirm(c)
		}
	}
	c.Difference = &d
	return c, true
}

// Confirm returns a claim of this result with the certainty that it has where others are seen to wait for the rank, be it
// by [Result.Blame] or by walks over the dependencies of operators.
func (r *Result) Confirm(c claim.Claim) claim.Claim {
	if c.Certainty = claim.Supported; c.P <= strongPart*r.o.Level {
		c.Certainty = claim.Strong
	}
	return c
}

// parts returns what the pieces of a column take beyond the peers, the largest first.
func (r *Result) parts(rank, column int) (out []claim.Part) {
	at := r.Columns[column]
	for k, c := range r.Columns {
		if level := r.Score(rank, k).Level; k == column && !at.Sum() || at.Sum() && c.Point == at.Point && !c.Sum() && level > 0 {
			size := int64(math.Round(max(0, level)))
			out = append(out, claim.Part{Stage: c.Stage, Size: size, Charged: size * int64(r.Blocks.Steps)})
		}
	}
	slices.SortStableFunc(out, func(a, b claim.Part) int { return cmp.Compare(b.Size, a.Size) })
	return out
}
