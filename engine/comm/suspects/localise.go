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

// extent is slow subjects with one place.
type extent struct {
	scope    Scope
	ranks    []int // indices of Ranks
	subjects []int
	findings []comm.Suspect
}

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
	seen := map[int]bool{}
	for i := range r.Speed.Cells {
		c := &r.Speed.Cells[i]
		if c.Standing >= comm.Usual && !seen[c.Subject] && len(r.MembersOf(c.Subject)) == 2 {
			seen[c.Subject] = true
			l.pairs = append(l.pairs, c.Subject)
		}
	}
	return l
}

// found is the slow links, and the communicators of more than two ranks that are slow.
func (l *localiser) found() (links, groups []extent) {
	for _, scope := range []Scope{OneHost, TwoHosts, OneRank} {
		for _, key := range l.keys(scope) {
			if x, ok := l.common(scope, key); ok {
				links = append(links, x)
			}
		}
	}
	for _, s := range slices.Concat(l.r.Speed.Suspects, l.r.Speed.Unsettled) {
		ranks := l.r.MembersOf(s.Subject)
		switch {
		case l.claimed[s.Subject]:
		case len(ranks) == 2:
			links = append(links, l.extent(OnePair, ranks, l.same(ranks)))
		default:
			groups = append(groups, extent{WholeComm, ranks, []int{s.Subject}, []comm.Suspect{s}})
		}
	}
	return links, groups
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
		if _, slow := l.slow[p]; !slow || l.claimed[p] {
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

// common is the extent of a place if all its pairs are slow, and enough.
func (l *localiser) common(scope Scope, key spot) (x extent, ok bool) {
	var subjects, ranks []int
	hosts := map[string]bool{}
	for _, p := range l.pairs {
		if !slices.Contains(l.keysOf(scope, p), key) {
			continue
		}
		if _, slow := l.slow[p]; !slow {
			return extent{}, false
		}
		if l.claimed[p] {
			continue
		}
		subjects = append(subjects, p)
		for _, r := range l.r.MembersOf(p) {
			hosts[l.r.Ranks[r].Host] = true
			if !slices.Contains(ranks, r) {
				ranks = append(ranks, r)
			}
		}
	}
	switch {
	case scope == OneHost && len(hosts) < 3, scope == TwoHosts && len(ranks) < 4, scope == OneRank && len(ranks) < 3:
		return extent{}, false
	case scope == OneRank:
		ranks = slices.DeleteFunc(ranks, func(r int) bool { return r != key.rank })
	case scope == OneHost:
		ranks = slices.DeleteFunc(ranks, func(r int) bool { return l.r.Ranks[r].Host != key.hosts[0] })
	}
	return l.extent(scope, ranks, subjects), true
}

// same is the slow subjects of the same two ranks.
func (l *localiser) same(ranks []int) (list []int) {
	for _, p := range l.pairs {
		if _, slow := l.slow[p]; slow && slices.Equal(l.r.MembersOf(p), ranks) {
			list = append(list, p)
		}
	}
	return list
}

// extent claims subjects.
func (l *localiser) extent(scope Scope, ranks, subjects []int) extent {
	x := extent{scope: scope, ranks: ranks, subjects: subjects}
	for _, s := range subjects {
		l.claimed[s] = true
		x.findings = append(x.findings, l.slow[s])
	}
	return x
}
