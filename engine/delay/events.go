package delay

import (
	"slices"

	"github.com/sfstat/sfstat/engine/claim"
)

// most that is once, and least of a step that it takes: an event is told, whatever chance says of it.
const (
	mostOnce  = 3
	leastOnce = 0.5
)

// eventFindings returns the ranks that kept the others waiting in one step or a few, long enough to be reported: past events of a rank, wherever in a
// step, and how likely it is that as many of all events are of one rank by chance.
func (s *series) eventFindings(found []claim.Claim, o Options) (out []claim.Claim) {
	isFound := func(rank int) bool {
		return slices.ContainsFunc(found, func(f claim.Claim) bool { return slices.Contains(f.Ranks, rank) })
	}
	byRank := make(map[int][]*term)
	var order []int
	for _, t := range s.events(leastOnce, isFound) {
		if byRank[t.rank] == nil {
			order = append(order, t.rank)
		}
		byRank[t.rank] = append(byRank[t.rank], t)
	}
	for _, rank := range order {
		p := s.eventChance(rank, isFound)
		for _, t := range byRank[rank] {
			t.p = p
		}
		out = append(out, s.event(o, byRank[rank]...))
	}
	return out
}

// eventChance returns the chance that as many of all events strike one rank as this one, were all ranks alike: R·P(Bin(N, 1/R) ≥ n). Events in
// intervals that follow one another are one.
func (s *series) eventChance(rank int, found func(rank int) bool) float64 {
	const own, other = 1, 2
	who := make([]uint8, s.Intervals)
	for k := range s.charge {
		for _, e := range s.charge[k].entries {
			switch {
			case e.x <= leastOnce*s.step || found(int(e.rank)):
			case int(e.rank) == rank:
				who[e.at] |= own
			default:
				who[e.at] |= other
			}
		}
	}
	all, mine := 0, 0
	for n := 0; n < len(who); n++ {
		if who[n] == 0 {
			continue
		}
		by := who[n]
		for ; n+1 < len(who) && who[n+1] != 0; n++ {
			by |= who[n+1]
		}
		all++
		if by&own != 0 {
			mine++
		}
	}
	return min(1, float64(s.Ranks)*binomialTail(all, mine, 1/float64(s.Ranks)))
}

// events returns the terms of ranks, other than the found ones, that strike a few steps by at least a fraction of a step, at a
// cost.
func (s *series) events(least float64, found func(rank int) bool) (out []*term) {
	for _, c := range s.candidates() {
		if found(c.rank) {
			continue
		}
		x := s.charge[c.piece].rankCharges(c.rank, s.Intervals)
		t := &term{rank: c.rank, piece: c.piece, d: make([]float64, len(x)), pattern: claim.Irregular, chance: chance{p: 1, block: 1}}
		struck := 0
		for n, v := range x {
			if v > least*s.step {
				t.d[n] = v
				t.charged += v
				struck++
			}
		}
		if struck == 0 || struck > mostOnce || t.charged < leastTurns*s.whole {
			continue
		}
		t.claim = t.charged / float64(struck)
		out = append(out, t)
	}
	return out
}
