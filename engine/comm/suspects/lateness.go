package suspects

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/internal/student"
)

// Lateness is how a rank arrives at collectives, of those that all their ranks were seen in and every
// match is certain. Sends and receives are left out: who waits for a message waits by design.
type Lateness struct {
	Rank    int   // index of Ranks
	Of      int   // collectives with others
	Last    int   // of them it arrived last at
	Caused  int64 // nanoseconds that only it made the others wait: its start less that of the last but one
	Typical int64 // the median of that, where it arrived last
	Waited  int64 // from its own start to the last one's
	Moving  int64 // from the last one's start to its end
	// Own is its own delay beyond the median rank: since its last kernel of NCCL had
	// ended, more time went by than for the others since theirs. What began before, on a slow link or as wait for
	// somebody late, is not in it.
	Own    int64
	Usual  int64   // the median of that, over collectives that it arrived last at
	Chance float64 // that it has most of Own in so many parts of the recording if all ranks are alike, for any rank
}

// LatenessOf is the arrival skew of every rank, by rank; span is from the first start of a collective to the last end, on the first clock.
func LatenessOf(r *comm.Result) (all []Lateness, span int64) {
	all = make([]Lateness, len(r.Ranks))
	margins, owns := make([][]int64, len(r.Ranks)), make([][]int64, len(r.Ranks))
	var first, last int64
	points := synchronised(r)
	for _, i := range points {
		c := &r.Collectives[i]
		if r.Placed(c.Parts[0].Rank) {
			if first == 0 || c.Begin < first {
				first = c.Begin
			}
			last = max(last, c.End)
		}
		late := c.Parts[c.Last].Rank
		margin := c.Begin - second(c)
		all[late].Last++
		all[late].Caused += margin
		margins[late] = append(margins[late], margin)
		for k, p := range c.Parts {
			l := &all[p.Rank]
			l.Of++
			l.Waited += c.Begin - p.Start
			l.Moving += max(p.End-c.Begin, 0)
			l.Own += p.Own
			if k == c.Last {
				owns[p.Rank] = append(owns[p.Rank], p.Own)
			}
		}
	}
	chances := chances(r, points)
	for i := range all {
		all[i].Rank, all[i].Chance = i, chances[i]
		all[i].Typical, all[i].Usual = robust.Upper(margins[i]), robust.Upper(owns[i])
	}
	return all, last - first
}

// synchronised are the synchronisation points: the collectives that all their ranks were surely seen in, by time.
func synchronised(r *comm.Result) (all []int) {
	for i := range r.Collectives {
		if c := &r.Collectives[i]; c.Certain && len(c.Parts) > 1 && c.Whole(r) {
			all = append(all, i)
		}
	}
	return all
}

// parts is how many parts of the recording the chance of being late is taken over: collectives that follow
// each other are not independent.
const parts = 16

// chances is of each rank, where all ranks are alike, the chance that it or any other has most of what is charged in as many
// of the parts. A rank that surely has is left out for the others: two that are late divide the parts.
func chances(r *comm.Result, points []int) []float64 {
	there := make([]bool, len(r.Ranks))
	for _, i := range points {
		for _, p := range r.Collectives[i].Parts {
			there[p.Rank] = true
		}
	}
	sums := ownByPart(r, points)
	out := make([]float64, len(r.Ranks))
	for i := range out {
		out[i] = 1
	}
	for range there {
		c := chancesAmong(sums, there)
		least := -1
		for i, in := range there {
			if in {
				out[i] = c[i]
			}
			if in && c[i] <= surely && (least < 0 || c[i] < c[least]) {
				least = i
			}
		}
		if least < 0 {
			return out
		}
		there[least] = false
	}
	return out
}

// ownByPart is what is charged to each rank, [part][rank].
func ownByPart(r *comm.Result, points []int) [][]int64 {
	all := make([][]int64, min(parts, len(points)))
	for b := range all {
		all[b] = make([]int64, len(r.Ranks))
		for at := b * len(points) / len(all); at < (b+1)*len(points)/len(all); at++ {
			for _, p := range r.Collectives[points[at]].Parts {
				all[b][p.Rank] += p.Own
			}
		}
	}
	return all
}

// chancesAmong is of each rank there n·P(Binomial(K, 1/n) ≥ k), n their number and k of how many of K parts it has most:
// of all parts or, where it is late now and then, of the quarter in which most is charged; twice the lower of both.
func chancesAmong(sums [][]int64, there []bool) []float64 {
	type part struct {
		rank int
		most int64
	}
	n := 0
	for _, in := range there {
		if in {
			n++
		}
	}
	out := make([]float64, len(there))
	if n < 2 {
		for i := range out {
			out[i] = 1
		}
		return out
	}
	var won []part
	for _, by := range sums {
		top := part{rank: -1}
		for i, x := range by {
			if there[i] && x > top.most {
				top = part{i, x}
			}
		}
		won = append(won, top)
	}
	slices.SortStableFunc(won, func(a, b part) int { return cmp.Compare(b.most, a.most) })
	for i := range out {
		p := 1.0
		for _, of := range []int{len(won), len(won) / 4} {
			wins := 0
			for _, w := range won[:of] {
				if w.rank == i {
					wins++
				}
			}
			p = min(p, student.AtLeast(of, wins, 1/float64(n)))
		}
		out[i] = min(1, 2*float64(n)*p)
	}
	return out
}

// second is when the last rank but one arrived.
func second(c *comm.Collective) (t int64) {
	t = c.Parts[0].Start
	if c.Last == 0 {
		t = c.Parts[1].Start
	}
	for i, p := range c.Parts {
		if i != c.Last {
			t = max(t, p.Start)
		}
	}
	return t
}

// A rank stands out when it surely has most of what began with a rank, and more of it than the (lower) median rank, of two the
// other. Ranks of healthy jobs differ too, always in the same order, so that this alone is no fault: from plain of the time on
// none does by so much; from worthwhile on a rank must be an outlier among the ranks.
const (
	enough     = 20
	surely     = gates.Supported
	plain      = 0.05
	worthwhile = 0.02
)

// Latecomers are the ranks that make the others wait, if any stand out, the worst first; shares are of the recording, of what is
// more than the median rank's.
func Latecomers(r *comm.Result) (found []Lateness, shares []float64) {
	all, excess := byOwnDelay(r)
	outlying := outliers(excess)
	for i, l := range all {
		if l.Of >= enough && l.Chance <= surely && (excess[i] >= plain || i < outlying && excess[i] >= worthwhile) {
			found, shares = append(found, l), append(shares, excess[i])
		}
	}
	return found, shares
}

// Unproven is the rank that would plainly stand out, being the last to enter more than half of its collectives, if these were not too few to
// tell; share is as of [Latecomers].
func Unproven(r *comm.Result) (l Lateness, share float64, ok bool) {
	all, excess := byOwnDelay(r)
	if len(all) == 0 || all[0].Of >= enough || 2*all[0].Last <= all[0].Of || excess[0] < plain {
		return Lateness{}, 0, false
	}
	return all[0], excess[0], true
}

// byOwnDelay is the ranks that were seen in collectives, those with most own delay first, and which part of the recording that is, beyond the
// (lower) median rank's.
func byOwnDelay(r *comm.Result) (all []Lateness, excess []float64) {
	all, span := LatenessOf(r)
	all = slices.DeleteFunc(all, func(l Lateness) bool { return l.Of == 0 })
	if span <= 0 || len(all) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(all, func(a, b Lateness) int { return cmp.Compare(b.Own, a.Own) })
	usual := all[len(all)/2].Own
	for _, l := range all {
		excess = append(excess, float64(l.Own-usual)/float64(span))
	}
	return all, excess
}

// outliers is how many of the first of x, in descending order and fewer than half, are outliers: where ranks differ as draws of
// a normal distribution, the last of them is so far above the rest by a chance of at most surely, corrected for all ranks. It is
// Student's prediction interval of one more draw, for the most outliers that pass, as in Rosner's test for many.
func outliers(x []float64) (found int) {
	for k := 1; k <= (len(x)-1)/2; k++ {
		rest := x[k:]
		n := float64(len(rest))
		mean, spread := stat.MeanStdDev(rest, nil)
		t := (x[k-1] - mean) / (spread * math.Sqrt(1+1/n))
		if float64(len(x))*student.TwoSided(t, n-1)/2 <= surely {
			found = k
		}
	}
	return found
}
