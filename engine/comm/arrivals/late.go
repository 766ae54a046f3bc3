package arrivals

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/sync"
	"github.com/sfstat/sfstat/internal/robust"
)

// mostSets bounds how many sets of ranks are judged apart, each of which costs what all together do.
const mostSets = 64

// late fills in who delays the others, and what that costs. Ranks that nothing recorded connects wait
// for each other in what is not known, and are judged apart.
func (s *strikes) late(r *Result, o Options, lines []fitted, steps []int64) {
	of := s.connectedSets()
	sets := several(of)
	if r.Apart = len(sets) > 1; !r.Apart || len(sets) > mostSets {
		s.lateAmong(r, o, lines, steps)
	} else {
		for _, set := range sets {
			s.restrict(of, set).lateAmong(r, o, lines, steps)
		}
		r.Division, r.Cuts, r.Common = nil, nil, nil
		// What ranks of one set wait for in the others is not known, nor what a step saves: at most what the set does.
		for i := range r.Late {
			r.Late[i].Saves = claim.Saving{AtMost: r.Late[i].Saves.Largest()}
		}
		r.Joint = 0
	}
	slices.SortStableFunc(r.Late, func(a, b claim.Claim) int { return cmp.Compare(b.Saves.Largest(), a.Saves.Largest()) })
	if len(r.Late) > 0 {
		r.Doubted = nil
	}
	s.joinUnconnected(r, of)
	if len(r.Late) == 0 && len(r.Doubted) == 0 && r.Set == nil {
		s.lastUnawaited(r, o)
	}
}

// several returns the sets that hold several ranks, by the first of each: one alone is compared with nobody.
func several(of []int) (sets []int) {
	for q, first := range of {
		if q != first && !slices.Contains(sets, first) {
			sets = append(sets, first)
		}
	}
	return sets
}

// isApart reports whether nothing that was recorded connects some ranks with the others.
func (s *strikes) isApart() bool { return len(several(s.connectedSets())) > 1 }

// lastUnawaited finds the rank that enters last more often than chance, by enough to act on, where no call shows that
// the others wait for it and yet the ranks stay together: what holds them is not recorded, and it may be that rank.
func (s *strikes) lastUnawaited(r *Result, o Options) {
	l := r.Latest
	if l.Rank < 0 || !l.Significant() || s.Blocks != nil || s.Places[l.Place].Lag > 0 || s.Places[l.Place].Mixed {
		return
	}
	all, at := s.Places[l.Place].Cohorts, &r.Places[l.Place]
	begin, end := s.Middle(all[0]), s.Middle(all[len(all)-1])
	every := (end - begin) / int64(max(1, len(all)-1))
	least := cmp.Or(o.MinGain, 0.10)
	if float64(l.Behind) < least*float64(every) || !s.StayClose(all) {
		return
	}
	rank := s.ByRank[l.Rank]
	g := s.Groups[s.Call(all[0][0]).Group]
	struck := claim.Struck{Count: l.N, Of: l.Of, Last: l.Of - 1, Pattern: claim.Constant, Incidents: 1}
	if r.Step > 0 && 2*every > 3*r.Step { // it is entered in some steps only
		struck.Of, struck.Pattern = int((end-begin)/r.Step)+1, claim.Irregular
		struck.Last = struck.Of - 1
	}
	c := claim.Claim{Source: claim.Entries, Kind: claim.Rank, Cause: claim.Late, Ranks: []int{l.Rank}, Together: []int{l.Rank}, Host: -1, Group: g.Name,
		Parts: []claim.Part{{Stage: l.Place, Size: l.Behind, Charged: l.Behind * int64(l.N)}},
		Steps: struck, Size: l.Behind, Length: every,
		Saves: claim.Saving{AtMost: float64(l.Behind) / float64(every)}, P: l.P, Certainty: claim.Strong}
	if h := s.HostOf(rank); h != "" {
		c.Hosts = []string{h}
	}
	c.Entered = &claim.Entered{Place: l.Place, Desc: g.Desc, Stage: at.Stage, Delay: l.Behind, Last: l.N, Points: l.Of,
		First: begin, End: end}
	r.Unawaited = &c
}

// lateAmong finds the late ranks as late does, among ranks that calls connect.
func (s *strikes) lateAmong(r *Result, o Options, lines []fitted, steps []int64) {
	recorded := int64(0)
	if len(lines) > 0 {
		recorded = r.Step
	}
	d := s.Division(recorded)
	if d == nil {
		return
	}
	if d.Neighbours {
		s.meeting = d.Cut
	}
	r.Division, r.HalfWidth, r.Cuts = d, s.halfWidth(), s.cuts(d)
	out := delay.AnalyzeDivision(&d.Division, &delay.Run{Peers: d.PeersOf, Hosts: d.HostsOf}, delay.Options{MinGain: o.MinGain})
	r.setLimits(out.Limits, d.Cut.Ends, recorded)
	// What follows no point is left out of the lengths of steps.
	whole := float64(out.Whole) / float64(max(out.Whole, r.End-r.Begin))
	r.Joint = max(r.Joint, out.Joint*whole)
	calls := map[string]bool{}
	for i := range r.Places {
		calls[r.Places[i].Stage] = calls[r.Places[i].Stage] || r.Places[i].Repeats
	}
	for i := range out.Claims {
		f := &out.Claims[i]
		if f.Cause != claim.Late {
			r.addCommon(f, whole)
			continue
		}
		to := &r.Late
		if f.Certainty == claim.Event {
			at := &r.Places[f.Parts[0].Stage]
			at.Perhaps = at.Perhaps || f.Steps.Pattern == claim.Constant
			if f.P == 1 {
				continue
			}
			to = &r.Doubted
		}
		f.Saves.Scale(whole)
		if d.Roles {
			s.replay(d, f)
		}
		struck := s.struck(d, f)
		for _, rank := range f.Ranks {
			*to = append(*to, s.lateRank(d, f, rank, struck))
			l := &(*to)[len(*to)-1]
			switch {
			case s.meeting != nil: // its entries at one place are those of some steps
			case len(lines) > 0 && len(steps) > 0: // as recorded: those in which the middle of its delay is
				l.Steps = stepsStruck(struck, rank, len(steps)+1, func(e sync.Entry) int {
					i, _ := slices.BinarySearch(steps, s.Time(e)-l.Size/2)
					return i
				})
			case f.Steps.Of < len(d.Cut.Ends):
				// A call that a step may lack: equal distances mean nothing.
				l.Steps = stepsStruck(struck, rank, len(d.Cut.Ends), func(e sync.Entry) int { return d.Cut.Step(e, s.Time(e)) })
				if l.Steps.Pattern == claim.Periodic {
					l.Steps.Pattern, l.Steps.Period = claim.Irregular, 0
				}
			}
			l.Entered.Stage, l.Entered.Divided = s.lostIn(f.Parts, rankStruck{rank, struck}, lines, calls)
			for _, p := range l.Parts {
				r.Places[p.Stage].charge(l, p.Charged)
			}
		}
	}
}

// addCommon adds a claim about all ranks alike, in steps that are so large a part of what repeats.
func (r *Result) addCommon(f *claim.Claim, whole float64) {
	if f.Certainty < claim.Supported || len(f.Parts) == 0 || f.Cause != claim.Regression && f.Cause != claim.SlowSteps {
		return
	}
	out := *f
	out.Source = claim.Entries
	out.Saves.Scale(whole)
	r.Common = append(r.Common, out)
}

// PartAt returns the place of a part of a claim about all ranks, and whether the part is what follows its calls.
func (r *Result) PartAt(p claim.Part) (place int, follows bool) {
	if p.Stage < len(r.Places) {
		return p.Stage, false
	}
	return r.Division.At[p.Stage-len(r.Places)], true
}

// setLimits sets the least delays that are found before the calls of places, in a recorded step: of those found in a step as
// calls divide it a part where ranks enter them in every n-th recorded step alone; none where they do so too rarely for a delay
// that lasts a part of the run to be told. ends are those of the former, recorded is the length of the latter, ns; 0: not known.
func (r *Result) setLimits(limits []delay.Limit, ends []int64, recorded int64) {
	every := int64(1)
	if recorded > 0 {
		every = max(1, (sync.Period(ends)+recorded/2)/recorded)
	}
	if every > 1 && len(ends) < delay.FewestIntervals(len(r.Ranks)) {
		return
	}
	for _, l := range limits {
		if l.Stage < len(r.Places) {
			r.Places[l.Stage].Limit = max(r.Places[l.Stage].Limit, l.Reported/every)
		}
	}
}

// replay prices a claim about one rank of a pipeline: what it is late by also fills time in which it waited for others.
// What the rank works in a step longer than the median of the others is taken off its longest work.
func (s *strikes) replay(d *sync.Division, f *claim.Claim) {
	if len(f.Ranks) != 1 || f.Saves.Alone <= 0 {
		return
	}
	r, steps := f.Ranks[0], map[int][]int32{}
	own, shorter := s.OwnWork(r), map[sync.Entry]int64{}
	for i := range own {
		if step := d.Cut.Step(sync.Nth(r, i), s.Time(sync.Nth(r, i))); step >= 0 && f.Steps.Has(step) {
			steps[step] = append(steps[step], int32(i))
		}
	}
	for step, calls := range steps {
		row := slices.Clone(d.Work[0][step*d.Ranks : (step+1)*d.Ranks])
		left := d.Work[0][step*d.Ranks+r] - robust.Lower(slices.Delete(row, r, r+1))
		slices.SortFunc(calls, func(a, b int32) int { return cmp.Compare(own[b], own[a]) })
		for _, i := range calls {
			part := max(0, min(left, own[i]))
			shorter[sync.Nth(r, int(i))] = part
			left -= part
		}
	}
	recorded, without := s.Replay(func(e sync.Entry) int64 { return shorter[e] })
	first := d.Cut.Ends[0]
	f.Saves.Scale(float64(recorded-without) / float64(max(1, recorded-first)) / f.Saves.Alone)
}

// halfWidth returns how far the clocks may be off at most, ns; −1: entries do not bound them.
func (s *strikes) halfWidth() (most int64) {
	for _, c := range s.Clocks {
		if len(s.Clocks) > 1 && c.HalfWidth < 0 {
			return -1
		}
		most = max(most, c.HalfWidth)
	}
	return most
}

// charge adds to the rank of a place what it costs there.
func (p *Place) charge(l *claim.Claim, cost int64) {
	for i := range p.Ranks {
		if at := &p.Ranks[i]; at.Rank == l.Rank() {
			at.Charge, at.P = at.Charge+cost, min(at.P, l.P)
		}
	}
}

// struck returns the entries of late ranks in the steps that a finding struck.
func (s *strikes) struck(d *sync.Division, f *claim.Claim) map[sync.Entry]bool {
	out := map[sync.Entry]bool{}
	for _, p := range f.Parts {
		for _, e := range slices.Concat(s.Places[p.Stage].Cohorts...) {
			if slices.Contains(f.Ranks, int(e.Process)) && f.Steps.Has(d.Cut.Step(e, s.Time(e))) {
				out[e] = true
			}
		}
	}
	return out
}

// stepsStruck returns the steps, of so many, in which a rank delayed entries.
func stepsStruck(struck map[sync.Entry]bool, rank, steps int, step func(sync.Entry) int) claim.Struck {
	hit := make([]bool, steps)
	for e := range struck {
		if int(e.Process) == rank {
			hit[step(e)] = true
		}
	}
	return delay.Describe(hit)
}

// lateRank returns the claim about one of the ranks of f, with its part of the cost and how it enters the place where it costs most.
func (s *strikes) lateRank(d *sync.Division, f *claim.Claim, rank int, struck map[sync.Entry]bool) claim.Claim {
	out, place := *f, f.Parts[0].Stage
	out.Source, out.Kind, out.Ranks, out.Host = claim.Entries, claim.Rank, []int{s.Ranks[rank].ID}, -1
	for _, r := range f.Ranks {
		out.Together = append(out.Together, s.Ranks[r].ID)
	}
	out.Parts = slices.Clone(f.Parts)
	for i := range out.Parts {
		out.Parts[i].Charged /= int64(len(f.Ranks))
	}
	if at, ok := s.message(rank, out.Charged()/2); ok {
		place = at
	}
	t := s.cells[cell{place, rank}]
	if t == nil { // of a set whose ranks do not all enter it
		t = &tally{}
	}
	l := &claim.Entered{Place: place, First: beginOf(d, f.Steps.First), End: d.Cut.Ends[f.Steps.Last], Last: t.last, Points: len(t.own), Strikes: t.strikes}
	out.Entered = l
	l.Delay = t.excess / int64(max(1, t.strikes))
	hits, held := 0, 0
	for _, e := range slices.Concat(s.Places[place].Cohorts...) {
		if int(e.Process) != rank {
			continue
		}
		g := s.Groups[s.Call(e).Group]
		if out.Group, l.Desc = g.Name, g.Desc; struck[e] {
			hits++
			if s.MayHold(sync.Previous(e, 1)) {
				held++
			}
		}
	}
	if hits > 0 {
		l.Delay = f.Parts[0].Size * int64(f.Steps.Count) / int64(hits)
		l.Held = 2*held > hits
	}
	c := s.Clocks[s.Domain[rank]]
	if c.Host != "" {
		out.Hosts = []string{c.Host}
	}
	// Two clocks that were left as they are may be apart by as much: then the other
	// rank is late elsewhere.
	bounded := c.HalfWidth >= 0 && l.Delay >= c.HalfWidth && !(len(s.Clocks) == 2 && s.Agree && 2*l.Strikes > l.Points)
	l.Clock = s.even(rank, l.Delay) || len(s.Clocks) > 1 && s.Places[place].Lag > 0 && len(c.Ranks) < 2 && !bounded
	return out
}

// beginOf returns when a step began.
func beginOf(d *sync.Division, step int) int64 {
	if step > 0 {
		return d.Cut.Ends[step-1]
	}
	return d.Cut.Ends[0]
}

// message returns the send or receive, before a collective, at which a rank has more than most of own delay.
func (s *strikes) message(rank int, most int64) (place int, ok bool) {
	for at, t := range s.cells {
		if at.rank == rank && s.Repeats(at.place) && s.IsMessageAt(at.place) && (t.excess > most || ok && t.excess == most && at.place < place) {
			place, most, ok = at.place, t.excess, true
		}
	}
	return place, ok
}
