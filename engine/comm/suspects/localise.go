package suspects

import (
	"slices"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/gates"
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

// slowOf returns the slow links and communicators.
func slowOf(r *comm.Result) (all []claim.Claim) {
	l := newLocaliser(r)
	for _, scope := range []claim.Scope{claim.OneHost, claim.TwoHosts, claim.OneRank} {
		for _, key := range l.keys(scope) {
			if members, subjects := l.common(scope, key); subjects != nil {
				all = append(all, l.suspect(scope, members, subjects))
			}
		}
	}
	var groups []claim.Claim
	for _, s := range slices.Concat(r.Speed.Suspects, r.Speed.Unsettled) {
		members := r.MembersOf(s.Subject)
		switch {
		case l.claimed[s.Subject]:
		case len(members) == 2:
			same := func(p int) bool { return l.isSlow(p) && slices.Equal(r.MembersOf(p), members) }
			all = append(all, l.suspect(claim.OnePair, members, filter(l.pairs, same)))
		default:
			groups = append(groups, l.suspect(claim.WholeComm, members, []int{s.Subject}))
		}
	}
	for _, g := range groups {
		if !slices.ContainsFunc(all, func(link claim.Claim) bool { return link.Kind == claim.Link && explainsGroup(r, link, g) }) {
			all = append(all, g)
		}
	}
	return all
}

// explainsGroup reports whether a slow link explains that a group is slow: it is part of the group.
func explainsGroup(r *comm.Result, link, group claim.Claim) bool {
	of := r.MembersOf(group.Bandwidth.Subjects[0])
	return slices.ContainsFunc(link.Bandwidth.Subjects, func(s int) bool {
		return !slices.ContainsFunc(r.MembersOf(s), func(rank int) bool { return !slices.Contains(of, rank) })
	})
}

func filter(list []int, that func(int) bool) []int {
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

// keys returns the places of unclaimed slow pairs, in their order.
func (l *localiser) keys(scope claim.Scope) (keys []spot) {
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

// keysOf returns the places of a kind that a pair is of. Pairs within a host have no part in what lies between hosts.
func (l *localiser) keysOf(scope claim.Scope, pair int) []spot {
	ranks := l.r.MembersOf(pair)
	a, b := l.r.Ranks[ranks[0]].Host, l.r.Ranks[ranks[1]].Host
	switch {
	case scope == claim.OneRank:
		return []spot{{rank: ranks[0], inside: a == b}, {rank: ranks[1], inside: a == b}}
	case a == b:
		return nil
	case scope == claim.OneHost:
		return []spot{{hosts: [2]string{a}}, {hosts: [2]string{b}}}
	}
	return []spot{{hosts: [2]string{min(a, b), max(a, b)}}}
}

// common returns the ranks and the slow pairs of a place, indices of Ranks and subjects, if all its pairs are slow, and enough.
func (l *localiser) common(scope claim.Scope, key spot) (members, subjects []int) {
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
	case scope == claim.OneHost && len(hosts) < 3, scope == claim.TwoHosts && len(members) < 4, scope == claim.OneRank && len(members) < 3:
		return nil, nil
	case scope == claim.OneRank:
		members = filter(members, func(r int) bool { return r == key.rank })
	case scope == claim.OneHost:
		members = filter(members, func(r int) bool { return l.r.Ranks[r].Host == key.hosts[0] })
	}
	return members, subjects
}

// suspect returns the claim about slow subjects with one place, which they are claimed for; members are indices of Ranks.
func (l *localiser) suspect(scope claim.Scope, members, subjects []int) claim.Claim {
	b := &claim.Bandwidth{Scope: scope, Subjects: subjects, Smallest: smallest(l.r, subjects), Settled: claim.ByPeers}
	c := claim.Claim{Source: claim.NCCL, Kind: claim.Link, Cause: claim.Transfer, Host: -1, P: 1, Certainty: claim.Strong, Bandwidth: b}
	if scope == claim.WholeComm {
		c.Kind = claim.Communicator
	}
	for _, i := range members {
		c.Ranks = append(c.Ranks, l.r.Ranks[i].Rank)
		if h := l.r.Ranks[i].Host; !slices.Contains(c.Hosts, h) {
			c.Hosts = append(c.Hosts, h)
		}
	}
	slices.Sort(c.Ranks)
	worst, part := 2.0, claim.Part{Stage: -1}
	var slowest comm.Evidence
	for _, subject := range subjects {
		l.claimed[subject] = true
		for _, i := range l.r.MembersOf(subject) {
			if rank := l.r.Ranks[i].Rank; !slices.Contains(members, i) && !slices.Contains(b.Partners, rank) {
				b.Partners = append(b.Partners, rank)
			}
		}
		s := l.slow[subject]
		if c.P = min(c.P, s.P); s.Cost > part.Charged {
			part = claim.Part{Stage: subject, Charged: s.Cost}
		}
		for _, e := range s.Evidence {
			if ratio := l.r.Speed.Cells[e.Cell].Bus / e.Bus; ratio < worst {
				worst, slowest = ratio, e
			}
		}
	}
	slices.Sort(b.Partners)
	b.Cell, b.Peers, b.Bus = slowest.Cell, slowest.Peers, slowest.Bus
	c.Parts = []claim.Part{part}
	if span := span(l.r); span > 0 {
		c.Saves = claim.Exact(float64(part.Charged) / float64(span))
	}
	if b.Peers < 2 {
		b.Settled = settleByLimit(l.r, slowest)
	}
	switch {
	case b.Settled == claim.Open:
		c.Certainty = claim.Event
	case b.Settled == claim.ByLimit || c.P > gates.Strong:
		c.Certainty = claim.Supported
	}
	return c
}
