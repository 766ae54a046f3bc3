package sync

import (
	"slices"

	"github.com/sfstat/sfstat/internal/ordered"
)

// site is a call of the program behind another.
type site struct{ kind, before int32 }

// siteAt returns the site of an entry that has a call before it.
func (m *Matching) siteAt(e Entry) site { return site{m.SiteOf(e), m.siteBefore(e)} }

// findExits collects how ranks leave two kinds of calls. The first are calls before a mixed place, as where leaders hand
// on to their hosts the result of an exchange. The second are calls across clocks from which ranks of one clock come to
// a call of their own.
func (t *Waits) findExits() {
	var by ordered.List[site, Place]
	for i := range t.Places {
		p := &t.Places[i]
		if t.Blocks != nil || !t.leavesClocks(p) && !(p.Mixed && t.isMixedByRank(p)) {
			continue
		}
		for _, exits := range t.exits(sampleCohorts(p.Cohorts, maxExits)) {
			last := site{-1, -1}
			for _, e := range exits {
				if s := t.siteAt(e); s.kind == p.Kind && s != last {
					of, _ := by.Of(s)
					of.Kind, of.Before, of.leaves, of.Cohorts, last = s.kind, s.before, true, append(of.Cohorts, exits), s
				}
			}
		}
	}
	t.exitPlaces = slices.DeleteFunc(by.All, func(p Place) bool { return len(p.Cohorts) < Enough })
}

// leavesClocks reports whether ranks of one clock come to a place from calls across clocks. How ranks leave those calls
// then shows more of the clocks than the place does.
func (t *Waits) leavesClocks(p *Place) bool {
	c := p.Cohorts[len(p.Cohorts)/2]
	before := Previous(c[0], 1)
	return !p.Mixed && !t.hasClocks(c) && t.hasClocks(t.Points[t.Of[before.Process][before.Call]].Entries)
}

// maxExits is the number of calls of a place whose exits are collected.
const maxExits = 4 * learnedCohorts

// learnExits finds the lags of members that come to one call from different calls. Members that leave the same call have
// the same lag, whatever they do next. at holds the place of each point.
func (t *Waits) learnExits(at []int32) {
	t.lagAfter = nil
	if len(t.exitPlaces) == 0 || t.Blocks != nil {
		return
	}
	found := make(map[site]int8)
	for i := range t.exitPlaces {
		p := &t.exitPlaces[i]
		if p.Lag, p.Carried = 0, len(t.Clocks) > 1 && t.Carries(p); !p.Carried {
			p.Lag = t.waitLag(p, at)
			if p.Lag > 1 && !t.Agree && t.hasClocks(p.Cohorts[0]) {
				p.Lag = 1 // the clocks that exclude it are not known before it is
			}
			found[site{p.Kind, p.Before}] = p.Lag
		}
	}
	t.lagAfter = found
}

// byRankShare is the share of entries of a place that must follow the usual call of their rank.
const byRankShare = 0.95

// isMixedByRank reports whether the program decides from which call each rank comes to a place, and the calls differ
// between ranks. Where several threads make calls, chance decides.
func (t *Waits) isMixedByRank(p *Place) bool {
	count, usual, n := make([]map[site]int, len(t.Ranks)), make([]site, len(t.Ranks)), 0
	for _, c := range t.Sample(p.Cohorts) {
		for _, e := range c {
			r, s := e.Process, t.siteAt(e)
			if count[r] == nil {
				count[r] = make(map[site]int)
			}
			n++
			if count[r][s]++; count[r][s] >= count[r][usual[r]] {
				usual[r] = s
			}
		}
	}
	same, of := 0, make(map[site]bool)
	for r, c := range count {
		if c != nil {
			same, of[usual[r]] = same+c[usual[r]], true
		}
	}
	return len(of) > 1 && float64(same) >= byRankShare*float64(n)
}

// exits returns the exits from the calls before some cohorts: the next entries of all members of such a call. Calls with
// a missing entry or exit are left out.
func (t *Waits) exits(sample []Cohort) (out []Cohort) {
	seen := make(map[int32]bool)
	for _, c := range sample {
		for _, e := range c {
			p := t.Of[e.Process][e.Call-1]
			if !seen[p] {
				seen[p] = true
				if next := t.exitsFrom(p); len(next) > 1 {
					out = append(out, next)
				}
			}
		}
	}
	return out
}

// exitsFrom returns the next entry of each member of a call, in the order of its entries; nil where an entry or exit is
// missing.
func (t *Waits) exitsFrom(point int32) Cohort {
	of := &t.Points[point]
	if of.Message || len(of.Entries) < len(t.Members[of.Group]) {
		return nil
	}
	out := make(Cohort, len(of.Entries))
	for i, e := range of.Entries {
		if int(e.Call)+1 == len(t.Ranks[e.Process].Calls) {
			return nil
		}
		out[i] = Entry{Process: e.Process, Call: e.Call + 1}
	}
	return out
}

// ClockPlaces returns the places that show offsets between clocks: places whose ranks waited for ranks of several
// clocks, and exits from calls in which they did.
func (t *Waits) ClockPlaces() (out []*Place) {
	for i := range t.Places {
		if p := &t.Places[i]; !p.Carried && t.LagOf(p.Cohorts[0][0], p.Lag) > 0 && !(p.Mixed && t.Blocks == nil) && t.AwaitsClocks(p) {
			out = append(out, p)
		}
	}
	for i := range t.exitPlaces {
		if p := &t.exitPlaces[i]; p.Lag > 0 && t.AwaitsClocks(p) {
			out = append(out, p)
		}
	}
	return out
}

// AwaitsClocks reports whether the awaited calls of a place have members of several clocks. Otherwise the work of its
// ranks does not depend on clock offsets.
func (t *Waits) AwaitsClocks(p *Place) bool {
	for _, c := range sampleCohorts(p.Cohorts, minSample) {
		for _, e := range c {
			w, ok := t.Awaited(e, t.LagOf(e, p.Lag))
			if !ok {
				continue
			}
			if t.hasClocks(t.Points[t.Of[w.Process][w.Call]].Entries) {
				return true
			}
		}
	}
	return false
}
