package traffic

import (
	"slices"
)

// Lateness is how a rank comes to collectives, of those that all their ranks were seen in and every
// match is certain. Sends and receives are left out.
type Lateness struct {
	Rank    int   // index of Ranks
	Met     int   // collectives with others
	Last    int   // of them it came last to
	Caused  int64 // nanoseconds that only it made the others wait: its start less that of the last but one
	Typical int64 // the median of that, where it came last
	Waited  int64 // from its own start to the last one's
	Moving  int64 // from the last one's start to its end
}

// Lateness is of every rank, by rank; Span is from the first start of a collective to the last end.
func (r *Result) Lateness() (all []Lateness, span int64) {
	all = make([]Lateness, len(r.Ranks))
	by := make([][]int64, len(r.Ranks))
	var first, last int64
	for i := range r.Collectives {
		c := &r.Collectives[i]
		if !c.Certain || len(c.Parts) < 2 || !c.Whole(r) {
			continue
		}
		if first == 0 || c.Begin < first {
			first = c.Begin
		}
		last = max(last, c.End)
		late := c.Parts[c.Last].Rank
		margin := c.Begin - c.second()
		all[late].Last++
		all[late].Caused += margin
		by[late] = append(by[late], margin)
		for _, p := range c.Parts {
			l := &all[p.Rank]
			l.Met++
			l.Waited += c.Begin - p.Start
			l.Moving += max(p.End-c.Begin, 0)
		}
	}
	for i := range all {
		all[i].Rank = i
		if slices.Sort(by[i]); len(by[i]) > 0 {
			all[i].Typical = by[i][len(by[i])/2]
		}
	}
	return all, last - first
}

// second is when the last rank but one came.
func (c *Collective) second() (t int64) {
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

// A rank stands out when it comes last to this many of its collectives, this often, and makes the others
// wait for this part of the time.
const (
	oftenLast  = 0.6
	enoughMet  = 20
	worthwhile = 0.02
)

// Latecomer is the rank that makes the others wait, if one stands out.
func (r *Result) Latecomer() (worst Lateness, share float64, ok bool) {
	all, span := r.Lateness()
	if span <= 0 {
		return Lateness{}, 0, false
	}
	for _, l := range all {
		if l.Caused > worst.Caused {
			worst = l
		}
	}
	share = float64(worst.Caused) / float64(span)
	ok = worst.Met >= enoughMet && float64(worst.Last) >= oftenLast*float64(worst.Met) && share >= worthwhile
	return worst, share, ok
}
