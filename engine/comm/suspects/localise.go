package suspects

import (
	"slices"

	"github.com/sfstat/sfstat/engine/comm"
)

// Of pairs of ranks some are slow and some are not; which part they have in common is the place of the fault. In this order,
// as long as it explains at least two slow pairs and no pair that is not slow:
//
//  1. a host: its ways to two other hosts or more;
//  2. two hosts: all ways between them;
//  3. a rank: its ways to two other ranks or more;
//  4. what is left are single pairs.

// localiser looks for what slow pairs have in common.
type localiser struct {
	r       *comm.Result
	slow    map[int]comm.Suspect // by subject
	pairs   []int                // subjects of two ranks that were compared, in order
	claimed map[int]bool
}

func newLocaliser(r *comm.Result) *localiser {
	l := &localiser{r: r, slow: map[int]comm.Suspect{}, claimed: map[int]bool{}}
	for _, s := range slices.Concat(r.Speed.Unsettled, r.Speed.Suspects) {
		l.slow[s.Subject] = s
	}
	for i := range r.Speed.Cells {
		c := &r.Speed.Cells[i]
		if c.Standing >= comm.Usual && !slices.Contains(l.pairs, c.Subject) && len(r.MembersOf(c.Subject)) == 2 {
			l.pairs = append(l.pairs, c.Subject)
		}
	}
	return l
}

// slowOf is the slow links and communicators.
func slowOf(r *comm.Result) (all []Suspect) {
	l := newLocaliser(r)
	for _, scope := range []Scope{OneHost, TwoHosts, OneRank} {
		for _, key := range l.keys(scope) {
			if members, subjects := l.common(scope, key); subjects != nil {
				all = append(all, l.suspect(scope, members, subjects))
			}
		}
	}
	var groups []Suspect
	for _, s := range slices.Concat(r.Speed.Suspects, r.Speed.Unsettled) {
		members := r.MembersOf(s.Subject)
		switch {
		case l.claimed[s.Subject]:
		case len(members) == 2:
			same := func(p int) bool { return l.isSlow(p) && slices.Equal(r.MembersOf(p), members) }
			all = append(all, l.suspect(OnePair, members, kept(l.pairs, same)))
		default:
			groups = append(groups, l.suspect(WholeComm, members, []int{s.Subject}))
		}
	}
	for _, g := range groups {
		if !slices.ContainsFunc(all, func(link Suspect) bool { return link.Scope != WholeComm && within(r, link, g) }) {
			all = append(all, g)
		}
	}
	return all
}

// within reports whether a slow link explains that a group is slow: it is part of the group.
func within(r *comm.Result, link, group Suspect) bool {
	of := r.MembersOf(group.Subjects[0])
	return slices.ContainsFunc(link.Subjects, func(s int) bool {
		return !slices.ContainsFunc(r.MembersOf(s), func(rank int) bool { return !slices.Contains(of, rank) })
	})
}

func kept(list []int, that func(int) bool) []int {
	return slices.DeleteFunc(slices.Clone(list), func(x int) bool { return !that(x) })
}

func (l *localiser) isSlow(pair int) bool {
	_, slow := l.slow[pair]
	return slow
}

// spot is what pairs may have in common: one or two hosts, or a rank and whether its ways stay on the host.
type spot struct {
	hosts  [2]string
	rank   int
	inside bool
}

// keys are the places of unclaimed slow pairs, in their order.
func (l *localiser) keys(scope Scope) (keys []spot) {
	for _, p := range l.pairs {
		if !l.isSlow(p) || l.claimed[p] {
			continue
		}
		for _, k := range l.keysOf(scope, p) {
			if !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	return keys
}

// keysOf are the places of a kind that a pair is of. Pairs within a host have no part in what lies between hosts.
func (l *localiser) keysOf(scope Scope, pair int) []spot {
	ranks := l.r.MembersOf(pair)
	a, b := l.r.Ranks[ranks[0]].Host, l.r.Ranks[ranks[1]].Host
	switch {
	case scope == OneRank:
		return []spot{{rank: ranks[0], inside: a == b}, {rank: ranks[1], inside: a == b}}
	case a == b:
		return nil
	case scope == OneHost:
		return []spot{{hosts: [2]string{a}}, {hosts: [2]string{b}}}
	}
	return []spot{{hosts: [2]string{min(a, b), max(a, b)}}}
}

// common is the ranks and the slow pairs of a place, indices of Ranks and subjects, if all its pairs are slow, and enough.
func (l *localiser) common(scope Scope, key spot) (members, subjects []int) {
	hosts := map[string]bool{}
	for _, p := range l.pairs {
		if !slices.Contains(l.keysOf(scope, p), key) {
			continue
		}
		if !l.isSlow(p) {
			return nil, nil
		}
		if l.claimed[p] {
			continue
		}
		subjects = append(subjects, p)
		for _, r := range l.r.MembersOf(p) {
			hosts[l.r.Ranks[r].Host] = true
			if !slices.Contains(members, r) {
				members = append(members, r)
			}
		}
	}
	switch {
	case scope == OneHost && len(hosts) < 3, scope == TwoHosts && len(members) < 4, scope == OneRank && len(members) < 3:
		return nil, nil
	case scope == OneRank:
		members = kept(members, func(r int) bool { return r == key.rank })
	case scope == OneHost:
		members = kept(members, func(r int) bool { return l.r.Ranks[r].Host == key.hosts[0] })
	}
	return members, subjects
}

// suspect is slow subjects with one place, which they are claimed for; members are indices of Ranks.
func (l *localiser) suspect(scope Scope, members, subjects []int) Suspect {
	s := Suspect{Scope: scope, Subjects: subjects, Chance: 1, Smallest: smallest(l.r, subjects), Settled: ByPeers}
	for _, i := range members {
		s.Ranks = append(s.Ranks, l.r.Ranks[i].Rank)
		if h := l.r.Ranks[i].Host; !slices.Contains(s.Hosts, h) {
			s.Hosts = append(s.Hosts, h)
		}
	}
	slices.Sort(s.Ranks)
	worst := 2.0
	for _, subject := range subjects {
		l.claimed[subject] = true
		for _, i := range l.r.MembersOf(subject) {
			if rank := l.r.Ranks[i].Rank; !slices.Contains(members, i) && !slices.Contains(s.Partners, rank) {
				s.Partners = append(s.Partners, rank)
			}
		}
		b := l.slow[subject]
		s.Cost, s.Chance = max(s.Cost, b.Cost), min(s.Chance, b.P)
		for _, e := range b.Evidence {
			if ratio := l.r.Speed.Cells[e.Cell].Bus / e.Bus; ratio < worst {
				worst, s.Worst = ratio, e
			}
		}
	}
	slices.Sort(s.Partners)
	if span := span(l.r); span > 0 {
		s.Share = float64(s.Cost) / float64(span)
	}
	if s.Worst.Peers < 2 {
		s.Settled = byLimit(l.r, s.Worst)
	}
	return s
}
