// Package suspects says who in a job delays the others: ranks that arrive late at
// collectives by their own delay ([Latecomers]), and links and communicators that are
// slower than others like them ([Find]), placed at the rank, host or pair of hosts that
// the slow ones have in common.
package suspects

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/comm"
)

// Settled says what tells that a slow subject is at fault and not its peers at their best.
type Settled uint8

const (
	Open    Settled = iota // nothing: its only peer differs, and no limit tells which is as it should be
	ByPeers                // most of several peers are faster
	ByLimit                // its only peer is faster, and it reaches less than half of what its link carries
)

// Scope is how far a slow link reaches.
type Scope string

const (
	OnePair   Scope = "pair"         // two ranks
	OneRank   Scope = "rank"         // the card or socket of one rank: all its ways to others
	OneHost   Scope = "host"         // all ways of a host to others
	TwoHosts  Scope = "hosts"        // all ways between two hosts
	WholeComm Scope = "communicator" // of more than two ranks
)

// Suspect is one cause of lost time: a rank that is late, or something that is slow.
type Suspect struct {
	Scope    Scope
	Ranks    []int // of the job, ascending: late, at both ends of the link, or of the communicator
	Partners []int // at the other ends of the ways of one rank or host
	Hosts    []string
	Subjects []int // of Speed that show it; of a late rank none
	Settled  Settled
	Cost     int64         // nanoseconds of the recording: of the subject that lost most, or that the rank arrived late
	Share    float64       // of the recording
	Chance   float64       // that it looks so by chance, corrected
	Worst    comm.Evidence // of what is slow: the comparison where it is slowest beside its peers
	Smallest int           // size class from which on it is slow, where smaller ones were compared and are not; −1: in all
	Late     *Lateness     // of a late rank
}

// span is from the first start of a collective or message to the last end, of those on the first clock.
func span(r *comm.Result) int64 {
	var first, last int64
	see := func(begin, end int64) {
		if first == 0 || begin < first {
			first = begin
		}
		last = max(last, end)
	}
	for i := range r.Collectives {
		if c := &r.Collectives[i]; r.Placed(c.Parts[0].Rank) {
			see(c.Begin, c.End)
		}
	}
	for i := range r.Transfers {
		for _, p := range r.Transfers[i].Parts {
			if r.Placed(p.Rank) {
				see(p.Start, p.End)
			}
		}
	}
	return last - first
}

// Find is the ranks that arrive late and the links and communicators that are slow, by what they cost. A communicator that is
// slow because a link in it is, is not one beside that.
func Find(r *comm.Result) []Suspect {
	var all []Suspect
	late, shares := Latecomers(r)
	for i := range late {
		l := &late[i]
		k := &r.Ranks[l.Rank]
		all = append(all, Suspect{Scope: OneRank, Ranks: []int{k.Rank}, Hosts: []string{k.Host}, Cost: l.Own, Share: shares[i],
			Chance: l.Chance, Settled: ByPeers, Smallest: -1, Late: l})
	}
	all = append(all, slices.DeleteFunc(slowOf(r), func(s Suspect) bool { return s.faint(r) })...)
	slices.SortStableFunc(all, func(a, b Suspect) int { return cmp.Compare(b.Cost, a.Cost) })
	return all
}

// unlike is how much slower than its only peer a subject of which nothing else tells is that is a suspect at all. Of less
// it is only said that the two differ.
const unlike = 0.75

// Undecided are links and communicators that are slower than the only other like them, by too little to suspect either.
func Undecided(r *comm.Result) []Suspect {
	return slices.DeleteFunc(slowOf(r), func(s Suspect) bool { return !s.faint(r) })
}

// faint reports whether nothing tells which of two is as it should be, and they differ by little.
func (s *Suspect) faint(r *comm.Result) bool {
	return s.Settled == Open && r.Speed.Cells[s.Worst.Cell].Bus > unlike*s.Worst.Bus
}

// unreached is the part of a link's bandwidth below which a subject is slow where its only peer is faster. Collectives of large
// messages reach 0.6 to 0.9.
const unreached = 0.5

func byLimit(r *comm.Result, e comm.Evidence) Settled {
	c := &r.Speed.Cells[e.Cell]
	limit := c.Limit.Bandwidth
	if limit > 0 && c.Efficiency < unreached && e.Bus/limit >= unreached && c.Bound == comm.ByBandwidth {
		return ByLimit
	}
	return Open
}

// smallest is the least class in which the subjects are slow, where below it they were compared and are not; else −1.
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
