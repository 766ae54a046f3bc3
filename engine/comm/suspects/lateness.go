package suspects

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/internal/robust"
)

// Lateness is how a rank arrives at collectives, of those that all their ranks were seen in and every
// match is certain. Sends and receives are left out: who waits for a message waits by design.
type Lateness struct {
	Rank    int   // index of Ranks
	Of      int   // collectives with others, of which all ranks were seen and surely matched
	Last    int   // collectives of these that it entered last
	Caused  int64 // time that it alone made the others wait: its start less that of the last but one, over all of those
	Typical int64 // median of Caused over those collectives
	Waited  int64 // from its own start to the last one's, over all collectives
	Moving  int64 // from the last start to its own end, over all
	// Own is its own delay beyond the median rank: since its last kernel of NCCL had
	// ended, more time went by than for the others since theirs. What began before, on a slow link or as wait for
	// somebody late, is not in it.
	Own   int64
	Usual int64 // the median of that, over collectives that it arrived last at
}

// LatenessOf returns the arrival skew of every rank, by rank; span is from the first start of a collective to the last end, on the first clock.
func LatenessOf(r *comm.Result) (all []Lateness, span int64) {
	all = make([]Lateness, len(r.Ranks))
	margins, owns := make([][]int64, len(r.Ranks)), make([][]int64, len(r.Ranks))
	var first, last int64
	points := syncPoints(r)
	for _, i := range points {
		c := &r.Collectives[i]
		if r.SharesFirstClock(c.Parts[0].Rank) {
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
	for i := range all {
		all[i].Rank = i
		all[i].Typical, all[i].Usual = robust.Upper(margins[i]), robust.Upper(owns[i])
	}
	return all, last - first
}

// syncPoints returns the synchronisation points: the collectives that all their ranks were surely seen in, by time.
func syncPoints(r *comm.Result) (all []int) {
	for i := range r.Collectives {
		if c := &r.Collectives[i]; c.Certain && len(c.Parts) > 1 && c.Whole(r) {
			all = append(all, i)
		}
	}
	return all
}

// second returns when the last rank but one arrived.
func second(c *comm.Collective) int64 {
	t := c.Parts[(c.Last+1)%len(c.Parts)].Start
	for i, p := range c.Parts {
		if i != c.Last {
			t = max(t, p.Start)
		}
	}
	return t
}

const (
	// enough is of how many collectives a rank must have been seen in.
	enough = 20
	// plain is the part of the recording that a late rank must cost: ranks of healthy jobs differ by half as much, always in
	// the same order.
	plain = 0.05
)

// Latecomers returns claims about the ranks that make the others wait beyond chance, the worst first; what they save are parts of
// the recording.
func Latecomers(r *comm.Result) (found []claim.Claim) {
	all, _ := LatenessOf(r)
	d, hosts := divide(r)
	if d == nil {
		return nil
	}
	out := delay.AnalyzeDivision(d, &delay.Run{Hosts: hosts}, delay.Options{Limits: delay.NoLimits})
	for i := range out.Claims {
		f := &out.Claims[i]
		if f.Cause != claim.Late || f.Certainty < claim.Supported || f.Saves.Largest() < plain {
			continue
		}
		for _, rank := range f.Ranks {
			if l := &all[rank]; l.Of >= enough {
				found = append(found, latecomer(r, f, l))
			}
		}
	}
	return found
}

// latecomer returns the claim about one of the ranks of f.
func latecomer(r *comm.Result, f *claim.Claim, l *Lateness) claim.Claim {
	out, k := *f, &r.Ranks[l.Rank]
	out.Source, out.Kind, out.Ranks, out.Host, out.Hosts = claim.NCCL, claim.Rank, []int{k.Rank}, -1, []string{k.Host}
	for _, rank := range f.Ranks {
		out.Together = append(out.Together, r.Ranks[rank].Rank)
	}
	out.Parts = slices.Clone(f.Parts)
	for i := range out.Parts {
		out.Parts[i].Charged /= int64(len(f.Ranks))
	}
	out.Entered = &claim.Entered{Place: f.Parts[0].Stage, Delay: l.Usual, Last: l.Last, Points: l.Of, Recorded: [2]int64{-1, -1}, Own: l.Own, Waited: l.Waited, Transfer: l.Moving}
	return out
}

// mostIntervals bounds how finely a recording is divided: collectives that follow each other are put together where there
// are more.
const mostIntervals = 1 << 10

// divide takes the collectives that all their ranks were seen in, in the order of time, for the steps of a job whose ranks
// wait for each other at the end of each: what is their own before them is their work. Ranks are compared with those in
// communicators of the same size. nil: there are no collectives. O(parts) time, memory O(ranks).
func divide(r *comm.Result) (d *points.Division, hosts []int) {
	at := syncPoints(r)
	if len(at) == 0 {
		return nil, nil
	}
	T, R := min(len(at), mostIntervals), len(r.Ranks)
	d = &points.Division{Ranks: R, Intervals: T, Points: []points.Point{{Evidence: points.Shown, Slope: -1, Low: -1, High: -1}}}
	pieces := map[int]int{} // by size of communicator
	spent, ends := make([]int64, T*R), make([]int64, T)
	var members [][]bool
	for i, c := range at {
		c, n := &r.Collectives[c], i*T/len(at)
		k, ok := pieces[len(c.Parts)]
		if !ok {
			k = len(d.Pieces)
			pieces[len(c.Parts)] = k
			d.Pieces = append(d.Pieces, points.Piece{Stage: k})
			d.Stages = append(d.Stages, points.Stage{Name: fmt.Sprintf("collectives of %d", len(c.Parts))})
			d.Work = append(d.Work, make([]int64, T*R))
			members = append(members, make([]bool, R))
		}
		for _, p := range c.Parts {
			d.Work[k][n*R+p.Rank] += p.Own
			spent[n*R+p.Rank] += c.Begin - p.Start
			members[k][p.Rank] = true
		}
		ends[n] = max(ends[n], c.End)
	}
	for k := range d.Pieces {
		for rank, in := range members[k] {
			if in {
				d.Pieces[k].Ranks = append(d.Pieces[k].Ranks, rank)
			}
		}
	}
	d.Points[0].Stage = len(d.Stages)
	d.Stages = append(d.Stages, points.Stage{Name: "wait", Role: points.Wait})
	d.Spent = [][]int64{spent}
	d.Arrive()
	after, before := make([]int64, T), r.Collectives[at[0]].Begin
	for n := range T {
		d.Head, d.Tail = append(d.Head, n), append(d.Tail, -1)
		after[n] = max(0, ends[n]-before-slices.Max(d.Arrivals[0][n*R:(n+1)*R]))
		before = max(before, ends[n])
	}
	d.After = [][]int64{after}
	for i := range r.Ranks {
		h := -1
		if r.Ranks[i].Host != "" {
			h = slices.IndexFunc(r.Ranks, func(o comm.Rank) bool { return o.Host == r.Ranks[i].Host })
		}
		hosts = append(hosts, h)
	}
	return d, hosts
}

// UnprovenLatecomer returns the rank that would plainly stand out, being the last to enter more than half of its collectives, if these were not too few to
// tell; share is as of [Latecomers].
func UnprovenLatecomer(r *comm.Result) (l Lateness, share float64, ok bool) {
	all, excess := ranksByOwnDelay(r)
	if len(all) == 0 || all[0].Of >= enough || 2*all[0].Last <= all[0].Of || excess[0] < plain {
		return Lateness{}, 0, false
	}
	return all[0], excess[0], true
}

// ranksByOwnDelay returns the ranks that were seen in collectives, those with most own delay first, and which part of the recording that is, beyond the
// (lower) median rank's.
func ranksByOwnDelay(r *comm.Result) (all []Lateness, excess []float64) {
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
