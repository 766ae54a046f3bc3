// Package suspects says who in a job delays the others: ranks that arrive late at
// collectives by their own delay ([Latecomers]), and links and communicators that are
// slower than others like them ([Find]), placed at the rank, host or pair of hosts that
// the slow ones have in common.
package suspects

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/comm"
)

// span returns the time from the first start of a collective or message to the last end, of those on the first clock.
func span(r *comm.Result) int64 {
	var first, last int64
	see := func(begin, end int64) {
		if first == 0 || begin < first {
			first = begin
		}
		last = max(last, end)
	}
	for i := range r.Collectives {
		if c := &r.Collectives[i]; r.SharesFirstClock(c.Parts[0].Rank) {
			see(c.Begin, c.End)
		}
	}
	for i := range r.Transfers {
		for _, p := range r.Transfers[i].Parts {
			if r.SharesFirstClock(p.Rank) {
				see(p.Start, p.End)
			}
		}
	}
	return last - first
}

// Find returns the ranks that arrive late and the links and communicators that are slow, by what they cost. A communicator that is
// slow because a link in it is, is not one beside that.
func Find(r *comm.Result) []claim.Claim {
	all := append(Latecomers(r), slices.DeleteFunc(slowOf(r), func(c claim.Claim) bool { return faint(r, c.Bandwidth) })...)
	slices.SortStableFunc(all, func(a, b claim.Claim) int { return cmp.Compare(Cost(&b), Cost(&a)) })
	return all
}

// Cost returns what a claim costs, ns of the recording: of the subject that lost most, or the own delay of a late rank.
func Cost(c *claim.Claim) int64 {
	if c.Entered != nil {
		return c.Entered.Own
	}
	return c.Charged()
}

// unlike is how much slower than its only peer a subject of which nothing else tells is that is a suspect at all. Of less
// it is only said that the two differ.
const unlike = 0.75

// UndecidedClaims returns links and communicators that are slower than the only other like them, by too little to suspect either.
func UndecidedClaims(r *comm.Result) []claim.Claim {
	return slices.DeleteFunc(slowOf(r), func(c claim.Claim) bool { return !faint(r, c.Bandwidth) })
}

// faint reports whether nothing tells which of two is as it should be, and they differ by little.
func faint(r *comm.Result, b *claim.Bandwidth) bool {
	return b.Settled == claim.Open && r.Speed.Cells[b.Cell].Bus > unlike*b.Bus
}

// unreached is the part of a link's bandwidth below which a subject is slow where its only peer is faster. Collectives of large
// messages reach 0.6 to 0.9.
const unreached = 0.5

// settleByLimit returns what a link's bandwidth settles of two subjects: that one is slow where it stays far below it and the other does not.
func settleByLimit(r *comm.Result, e comm.Evidence) claim.Settled {
	c := &r.Speed.Cells[e.Cell]
	limit := c.Limit.Bandwidth
	if limit > 0 && c.Efficiency < unreached && e.Bus/limit >= unreached && c.Bound == comm.ByBandwidth {
		return claim.ByLimit
	}
	return claim.Open
}

// smallest returns the least class in which the subjects are slow, where below it they were compared and are not; else −1.
func smallest(r *comm.Result, subjects []int) int {
	least, usual := 1<<10, 1<<10
	for i := range r.Speed.Cells {
		c := &r.Speed.Cells[i]
		if !slices.Contains(subjects, c.Subject) {
			continue
		}
		switch c.Standing {
		case comm.Slower:
			least = min(least, c.Class)
		case comm.Usual:
			usual = min(usual, c.Class)
		}
	}
	if usual < least {
		return least
	}
	return -1
}
