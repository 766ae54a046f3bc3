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

// Fault is what a suspect is.
type Fault uint8

const (
	LateRank  Fault = iota // arrives late by its own delay, and the others wait
	SlowLink               // two ranks, one rank's way to all others, or all ways between two hosts
	SlowGroup              // a communicator of more than two ranks
)

// Settled says what tells that a slow subject is at fault and not its peers at their best.
type Settled uint8

const (
	Open    Settled = iota // nothing: its only peer differs, and no limit tells which is as it should be
	ByPeers                // most of several peers are faster
	ByLimit                // its only peer is faster, and it reaches less than half of what its link carries
)

// Scope is how far a slow link reaches.
type Scope uint8

const (
	OnePair   Scope = iota // two ranks
	OneRank                // the card or socket of one rank: all its ways to others
	OneHost                // all ways of a host to others
	TwoHosts               // all ways between two hosts
	WholeComm              // a communicator
)

// Suspect is one cause of lost time.
type Suspect struct {
	Fault    Fault
	Scope    Scope
	Ranks    []int // of the job, ascending: late, at both ends of the link, or of the communicator
	Partners []int // at the other ends of the ways of one rank or host
	Hosts    []string
	Subjects []int // of Speed that show it; of a late rank none
	Settled  Settled
	Cost     int64   // nanoseconds of the recording: of the subject that lost most, or that the rank arrived late
	Share    float64 // of the recording
	Chance   float64 // that it looks so by chance, corrected
	// Of what is slow:
	Worst    comm.Evidence // the comparison where it is slowest beside its peers
	Smallest int           // size class from which on it is slow, where smaller ones were compared and are not; −1: in all
	// Of a late rank:
	Late Lateness
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
	for i, l := range late {
		k := &r.Ranks[l.Rank]
		all = append(all, Suspect{Fault: LateRank, Scope: OneRank, Ranks: []int{k.Rank}, Hosts: []string{k.Host}, Cost: l.Own, Share: shares[i],
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
func Undecided(r *comm.Result) (all []Suspect) {
	for _, s := range slowOf(r) {
		if s.faint(r) {
			all = append(all, s)
		}
	}
	return all
}

// faint reports whether nothing tells which of two is as it should be, and they differ by little.
func (s *Suspect) faint(r *comm.Result) bool {
	return s.Settled == Open && r.Speed.Cells[s.Worst.Cell].Bus > unlike*s.Worst.Bus
}

// slow is the slow links and communicators.
func slowOf(r *comm.Result) (all []Suspect) {
	l := newLocaliser(r)
	links, groups := l.found()
	for _, x := range links {
		all = append(all, newSuspect(r, SlowLink, x))
	}
	for _, x := range groups {
		if !slices.ContainsFunc(links, func(link extent) bool { return within(r, link, x) }) {
			all = append(all, newSuspect(r, SlowGroup, x))
		}
	}
	return all
}

// within reports whether a slow link explains that a group is slow: it is part of the group.
func within(r *comm.Result, link, group extent) bool {
	for _, s := range link.subjects {
		both := true
		for _, rank := range r.MembersOf(s) {
			both = both && slices.Contains(r.MembersOf(group.subjects[0]), rank)
		}
		if both {
			return true
		}
	}
	return false
}

// suspect is an extent in the words of the job.
func newSuspect(r *comm.Result, f Fault, x extent) Suspect {
	s := Suspect{Fault: f, Scope: x.scope, Subjects: x.subjects, Chance: 1, Smallest: -1, Settled: ByPeers}
	for _, i := range x.ranks {
		s.Ranks = append(s.Ranks, r.Ranks[i].Rank)
		if h := r.Ranks[i].Host; !slices.Contains(s.Hosts, h) {
			s.Hosts = append(s.Hosts, h)
		}
	}
	slices.Sort(s.Ranks)
	s.Partners = partners(r, x)
	worst := 2.0
	for _, b := range x.findings {
		s.Cost = max(s.Cost, b.Cost)
		s.Chance = min(s.Chance, b.P)
		for _, e := range b.Evidence {
			if ratio := r.Speed.Cells[e.Cell].Bus / e.Bus; ratio < worst {
				worst, s.Worst = ratio, e
			}
		}
	}
	if span := span(r); span > 0 {
		s.Share = float64(s.Cost) / float64(span)
	}
	s.Smallest = smallest(r, x)
	if s.Worst.Peers < 2 {
		s.Settled = byLimit(r, s.Worst)
	}
	return s
}

// partners is the ranks of an extent's subjects that are not its own.
func partners(r *comm.Result, x extent) (list []int) {
	for _, s := range x.subjects {
		for _, i := range r.MembersOf(s) {
			if rank := r.Ranks[i].Rank; !slices.Contains(x.ranks, i) && !slices.Contains(list, rank) {
				list = append(list, rank)
			}
		}
	}
	slices.Sort(list)
	return list
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
func smallest(r *comm.Result, x extent) int {
	least, usual := 1<<10, 1<<10
	for i := range r.Speed.Cells {
		c := &r.Speed.Cells[i]
		if !slices.Contains(x.subjects, c.Subject) {
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
