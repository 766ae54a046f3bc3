package sync

import (
	"slices"

	"github.com/sfstat/sfstat/internal/ordered"
)

// site is a call of the program behind another.
type site struct{ kind, before int32 }

// siteAt returns the site of an entry that has a call before it.
func (m *Matching) siteAt(e Entry) site { return site{m.SiteOf(e), m.siteBefore(e)} }

// findExits collects how ranks leave the calls from which they come to one that others come to from different calls, as the leaders of hosts do
// that hand on to these what they have exchanged, and the calls with ranks of other clocks from which those of one come to a call of their own.
func (t *Waits) findExits() {
	var by ordered.List[site, Place]
	for i := range t.Places {
		p := &t.Places[i]
		if t.Blocks != nil || !t.leavesClocks(p) && !(p.Mixed && t.isMixedByRank(p)) {
			continue
		}
		for _, exits := range t.exits(sampleCohorts(p.Cohorts, mostExits)) {
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

// leavesClocks reports whether ranks of one clock each time come to a place from calls with ranks of other clocks: how they leave these shows more
// of the clocks than the place.
func (t *Waits) leavesClocks(p *Place) bool {
	c := p.Cohorts[len(p.Cohorts)/2]
	before := Previous(c[0], 1)
	return !p.Mixed && !t.hasClocks(c) && t.hasClocks(t.Points[t.Of[before.Process][before.Call]].Entries)
}

// mostExits is of how many calls of a place it is collected how ranks leave those before.
const mostExits = 4 * learned

// learnExits finds what the members of one call wait for that come to it from different calls: each what those wait for that leave the call
// which it comes from, whatever they do next. at has the place of each point.
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

// byRank is the part of the entries of a place that must be made behind the usual call of their rank.
const byRank = 0.95

// isMixedByRank reports whether it is the program from which call each rank comes to a place, another for some than for others. Where several
// threads make calls, it is chance.
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
	return len(of) > 1 && float64(same) >= byRank*float64(n)
}

// exits returns how ranks leave the calls before some cohorts: of each call that all its members entered, their next entries. Where somebody
// lacks either, it is left out.
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

// exitsFrom returns the next entries of those who entered a call, in the order of these; nil where somebody lacks either.
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

// ClockPlaces returns the places whose entries tell how clocks are apart: those whose ranks waited for others of several clocks, and those of
// how they leave the calls in which they did.
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

// AwaitsClocks reports whether the calls that the ranks of a place wait for have members of several clocks. Where a rank waits for none
// other than those of its own, its work is the same whatever the clocks.
func (t *Waits) AwaitsClocks(p *Place) bool {
	for _, c := range sampleCohorts(p.Cohorts, leastSample) {
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
