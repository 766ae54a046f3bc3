package sync

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/trace/nccl"
)

// What a call waits for follows from what the calls before it do, and the entries check it once. Sends and receives
// hold one end or both (learnKinds), rooted operations those that hand to each other (findRoots), all others hold all
// their members: each rank until the last has entered. Where the host waits for its calls, that is the last call that
// no rank precedes. Where calls are put on a stream, the host waits for one of them, for one some calls back, or for
// none, and only the entries tell.

// maxLag is how many calls back the awaited call may be: prefetching frameworks enqueue two or three ahead.
const maxLag = 6

// allBefore is the lag of a rank whose host waits for all calls that it has put on streams of several groups.
const allBefore int8 = maxLag + 1

// Awaited returns the entry of the call that a rank waits for before entry e, lag calls back. ok is false where the rank
// does not wait, or the call was not recorded.
func (t *Waits) Awaited(e Entry, lag int8) (awaited Entry, ok bool) {
	switch {
	case lag == allBefore && e.Call > 0:
		return Entry{Process: e.Process, Call: t.lastReleased[e.Process][e.Call-1]}, true
	case lag <= 0 || lag == allBefore || int32(lag) > e.Call:
		return Entry{}, false
	}
	return Previous(e, int32(lag)), true
}

// findLastReleased computes, for each call, which call of its rank up to it is released last.
func (t *Waits) findLastReleased() {
	if len(t.Groups) == 1 {
		return
	}
	t.lastReleased = make([][]int32, len(t.Ranks))
	for r := range t.Ranks {
		of := make([]int32, len(t.Ranks[r].Calls))
		last, at := int64(math.MinInt64), int32(0)
		for i := range of {
			if release := t.ReleaseFor(Nth(r, i)); release >= last {
				last, at = release, int32(i)
			}
			of[i] = at
		}
		t.lastReleased[r] = of
	}
}

// learnWaits finds the lag of every place: the call before it that its ranks wait for.
func (t *Waits) learnWaits() {
	t.computeReleases()
	t.findRoots()
	t.learnKinds()
	t.findLastReleased()
	all := make([]int, len(t.Places))
	for i := range all {
		all[i] = i
	}
	at := t.placesOf(all)
	t.learnExits(at)
	for i := range t.Places {
		p := &t.Places[i]
		if p.Lag = t.waitLag(p, at); t.isForAll(p) {
			p.Lag = allBefore
		}
	}
	t.learnRare()
}

// learnRare sets what the ranks of places wait for that are too rare to show it: the call before, where ranks wait for that one wherever else
// it is followed by a call that repeats, or where it is a barrier, and no rank precedes it.
func (t *Waits) learnRare() {
	if t.Blocks != nil {
		return
	}
	waited := make(map[int32]bool) // calls, by whether the next waits for them
	for i := range t.Places {
		if p := &t.Places[i]; t.IsRepeated(p) && !p.Mixed {
			was, known := waited[p.Before]
			waited[p.Before] = p.Lag == 1 && (was || !known)
		}
	}
	for i := range t.Places {
		p := &t.Places[i]
		if p.Lag != 0 || p.Mixed || len(p.Cohorts) >= minCohortsTogether {
			continue
		}
		holds, known := waited[p.Before]
		if !known {
			holds = t.Kinds[p.Before].Op == nccl.Barrier
		}
		if sample := t.Sample(p.Cohorts); holds && t.isSameCall(sample, 1) && !t.precedesRelease(sample, 1) {
			p.Lag = 1
		}
	}
}

// waitLag returns the lag of a place: how many calls back its ranks wait; 0: they do not wait. Where members leave the stage of
// that call before the last has entered it, nobody waits in it; a wait for it later in the step must then make work more even among the
// ranks. From step to step all take equally long, whatever they wait for.
func (t *Waits) waitLag(p *Place, at []int32) int8 {
	lag, sample := t.likelyLag(p, at), t.Sample(p.Cohorts)
	if lag > 0 && t.isInStep(sample, lag) && t.leavesFirst(sample, lag) && t.workDifferences(sample, lag) > t.workDifferences(sample, 0) {
		return 0
	}
	return lag
}

// likelyLag returns the lag of a place by entries and the ends of stages.
//
// The lag that leaves the least scatter of work is chosen. Where no lag lowers the scatter, as where a rank is equally
// late in every step, it is the last call that no rank precedes. Evidence that this call holds ranks is then required:
// hosts wait for calls of the group, ranks leave its stage together, ranks stay together, or the wait explains how work
// varies. Ranks that come together have waited for another call. at holds the place of each point.
func (t *Waits) likelyLag(p *Place, at []int32) int8 {
	sample := t.Sample(p.Cohorts)
	gathers := t.gathersRanks(sample)
	level := func(d distances) int64 { return d.within }
	trend := func(d distances) int64 { return d.aboutTrend }
	if lag := t.minScatterLag(sample, gathers, level); lag > 0 || gathers {
		return lag
	}
	if lag := t.minScatterLag(sample, gathers, trend); lag > 0 {
		return lag
	}
	lag := t.lastUnpreceded(sample)
	switch {
	case lag == 0:
	case t.isSameCall(sample, lag): // what a rank spends since then is its own: no other group can have held it up
		if t.isHostWait(sample) || t.leavesTogether(sample, lag) || t.isSynchronised(p.Cohorts) && t.isAsEven(sample, lag) || t.explainsVariation(sample, lag) {
			return lag
		}
	case t.Blocks == nil && t.bindsGroups(sample, lag, at):
		return lag
	}
	return 0
}

// isForAll reports whether the ranks of a place wait for all of their calls before, rather than for the call found. Such
// places are entered from calls of several groups. Work then varies less; or as little, where ranks are synchronised and
// no single call explains it.
func (t *Waits) isForAll(p *Place) bool {
	if t.lastReleased == nil || t.Blocks != nil {
		return false
	}
	sample := t.Sample(p.Cohorts)
	if t.isSameCall(sample, 1) && t.isSameRelease(sample) || t.precedesRelease(sample, allBefore) {
		return false
	}
	found, all := t.variation(sample, p.Lag), t.variation(sample, allBefore)
	switch {
	case all < found-found/20:
		return true
	case all > found+found/20:
		return false
	case p.Lag == 0 && t.isSynchronised(p.Cohorts):
		return true
	}
	differ, without := t.workDifferences(sample, allBefore), t.workDifferences(sample, p.Lag)
	return differ < without-without/20
}

// workDifferences returns how much work differs between the members of cohorts if they waited for the call lag back, ns
// in sum. Constant differences of clocks count too, where these suit the waits as they are.
func (t *Waits) workDifferences(sample []Cohort, lag int8) int64 {
	d := t.distances(sample, func(e Entry) int64 { return t.WorkSince(e, lag) })
	if t.Agree {
		return d.asRead
	}
	return d.all
}

// isSameRelease reports whether, for the members of each cohort, the call before is released last of all their calls so
// far.
func (t *Waits) isSameRelease(sample []Cohort) bool {
	for _, c := range sample {
		for _, e := range c {
			if e.Call > 0 && t.lastReleased[e.Process][e.Call-1] != e.Call-1 {
				return false
			}
		}
	}
	return true
}

// minScatterLag returns the lag that leaves the least scatter of work within the ranks, 0 if none leaves less than no
// wait does. Calls that some rank precedes are excluded; of lags with about equal scatter the largest is taken. Constant
// differences between ranks do not distinguish lags, since a rank that is late before each call is late by varying
// amounts. They count against no wait where ranks come together.
func (t *Waits) minScatterLag(sample []Cohort, gathers bool, of func(distances) int64) int8 {
	const none = math.MaxInt64
	var all, within [maxLag + 1]int64
	best := int64(none)
	for lag := range within {
		if lag > 0 && t.precedesRelease(sample, int8(lag)) {
			all[lag], within[lag] = none, none
			continue
		}
		d := t.distances(sample, func(e Entry) int64 { return t.WorkSince(e, int8(lag)) })
		if all[lag], within[lag] = d.all, of(d); lag > 0 {
			best = min(best, within[lag])
		}
	}
	if best == none {
		return 0
	}
	lag := slices.IndexFunc(within[1:], func(s int64) bool { return s-s/10 <= best }) + 1
	leaves, without := within[lag], within[0]
	if gathers {
		leaves, without = all[lag], all[0]
	}
	least := without - within[0]/20
	if len(sample) < 3 {
		least = without / 4
	}
	if leaves >= least {
		return 0
	}
	return int8(lag)
}

// lastUnpreceded returns the lag of the last call before the cohorts that no rank precedes; 0 if every call is preceded.
func (t *Waits) lastUnpreceded(sample []Cohort) int8 {
	for lag := int8(1); lag <= maxLag; lag++ {
		if !t.precedesRelease(sample, lag) {
			return lag
		}
	}
	return 0
}

// explainsVariation reports whether waits for a call explain most of the variation of work, between ranks and between
// cohorts. If one rank is late from some step on and the waits of the others are not seen, their work looks longer in
// each of those steps. A rank that is late by a constant adds no variation, on one clock or on several.
func (t *Waits) explainsVariation(sample []Cohort, lag int8) bool {
	if len(sample) < minCohortsTogether {
		return false
	}
	return 2*t.variation(sample, lag) <= t.variation(sample, 0)
}

// variation returns how much the work since the cohorts' calls varies if they waited for the call lag back: within
// ranks, and between cohorts on all ranks alike. A growing delay, or a delay from some step on, counts as little as a
// constant delay.
func (t *Waits) variation(sample []Cohort, lag int8) int64 {
	d := t.distances(sample, func(e Entry) int64 { return t.WorkSince(e, lag) })
	return d.aboutTrend + t.commonVariation(sample, lag)
}

// bindsGroups reports whether a call holds members that come to the cohorts from different groups. Their work is the
// same with and without a wait. So ranks of that call must stay together, and work must stay as even when waits are
// taken off. at holds the place of each point. Of several places that members come from, the most frequent counts, since
// calls before the first step differ.
func (t *Waits) bindsGroups(sample []Cohort, lag int8, at []int32) bool {
	votes, of := make([]int, len(t.Places)), -1
	for _, c := range sample {
		for _, e := range c {
			if i := at[t.Of[e.Process][e.Call-int32(lag)]]; i >= 0 {
				if votes[i]++; of < 0 || votes[i] > votes[of] {
					of = int(i)
				}
			}
		}
	}
	if of < 0 || !t.isSynchronised(t.Places[of].Cohorts) {
		return false
	}
	before, _ := t.scatter(sample, 0)
	after, _ := t.scatter(sample, lag)
	return after <= before+before/20
}

// dropLoose drops waits without evidence on the final clocks: waits that leave no rank less work.
func (t *Waits) dropLoose() {
	for i := range t.Places {
		p := &t.Places[i]
		if sample := t.Sample(p.Cohorts); p.Lag > 1 && !t.isHostWait(sample) && !t.binds(sample, p.Lag) {
			p.Lag = 0
		}
	}
}

// binds reports whether waits for a call shorten the work of more than one entry in a hundred. Where ranks enter all
// later calls after its release anyway, waits for it cannot be shown.
func (t *Waits) binds(sample []Cohort, lag int8) bool {
	n, bound := 0, 0
	for _, c := range sample {
		for _, e := range c {
			n++
			if w, ok := t.Awaited(e, lag); ok && t.ReleaseFor(w) > t.Time(Previous(e, 1)) {
				bound++
			}
		}
	}
	return bound*100 > n
}

// isAsEven reports whether work varies about as little with waits for a call as without. Waits that did not happen would
// subtract a different amount in each cohort: by how much ranks were early before the call.
func (t *Waits) isAsEven(sample []Cohort, lag int8) bool {
	without := t.variation(sample, 0)
	return t.variation(sample, lag) <= without+without/10
}

// placesOf returns the place of each point, of some places; −1: none of these.
func (t *Waits) placesOf(places []int) []int32 {
	at := slices.Repeat([]int32{-1}, len(t.Points))
	for _, i := range places {
		for _, c := range t.Places[i].Cohorts {
			at[t.Of[c[0].Process][c[0].Call]] = int32(i)
		}
	}
	return at
}

// isHostWait reports whether members wait on their hosts for all calls of the groups of some cohorts.
func (t *Waits) isHostWait(sample []Cohort) bool {
	return !slices.ContainsFunc(sample, func(c Cohort) bool { return !t.Groups[t.Call(c[0]).Group].OnHost })
}

// minCohortsTogether is the number of cohorts that show whether ranks drift apart.
const minCohortsTogether = 20

// driftRatio, times the square root of the number of cohorts, compares two deviations of ranks that wait for nobody:
// about their median distance, and from one cohort to the next. In 98 of 100 random walks the ratio is larger.
const driftRatio = 0.18

// isSynchronised reports whether ranks are synchronised between the cohorts of a place. Distances between ranks then
// vary about a level, by less than from one cohort to the next. Ranks that wait for nobody drift apart, as random walks
// do.
func (t *Waits) isSynchronised(cohorts []Cohort) bool {
	return len(cohorts) >= minCohortsTogether && t.StayClose(cohorts)
}

// StayClose reports the same of any number of cohorts; of few, ranks that wait for nobody may look so.
func (t *Waits) StayClose(cohorts []Cohort) bool {
	ranks, _ := t.Deviations(cohorts, t.Time)
	about, change := int64(0), int64(0)
	for _, x := range ranks {
		for k := 1; k < len(x); k++ {
			change += abs(x[k] - x[k-1])
		}
		mid := median(x)
		for _, v := range x {
			about += abs(v - mid)
		}
	}
	return float64(about) < max(1, driftRatio*math.Sqrt(float64(len(cohorts))))*float64(change)
}

// maxLeftShare is the largest span at which ranks that waited for a call leave its stage, as a share of the span at
// which they entered the call.
const maxLeftShare = 0.5

// leavesTogether reports whether the members of the call lag back, who entered it apart, leave its stage together, by
// recorded stages.
func (t *Waits) leavesTogether(sample []Cohort, lag int8) bool {
	if t.StaysFor == nil {
		return false
	}
	var enter, leave []int64
	for _, c := range sample {
		known := true
		left := func(e Entry) int64 {
			before := Previous(e, int32(lag))
			stay, ok := t.StaysFor(before)
			known = known && ok
			return t.Time(before) + stay
		}
		if span := Span(c, left); known {
			enter, leave = append(enter, Span(c, func(e Entry) int64 { return t.Time(Previous(e, int32(lag))) })), append(leave, span)
		}
	}
	if 2*len(enter) <= len(sample) {
		return false
	}
	apart := median(enter)
	return apart > LeastDelay && float64(median(leave)) <= maxLeftShare*float64(apart)
}

// leavesFirst reports whether a member of the call lag back leaves its stage before the last enters the call, in most cohorts, by recorded stages.
func (t *Waits) leavesFirst(sample []Cohort, lag int8) bool {
	if t.StaysFor == nil {
		return false
	}
	first := 0
	for _, c := range sample {
		if slices.ContainsFunc(c, func(e Entry) bool {
			before := Previous(e, int32(lag))
			stay, ok := t.StaysFor(before)
			return ok && t.Time(before)+stay+LeastDelay < t.ReleaseFor(before)
		}) {
			first++
		}
	}
	return 2*first > len(sample)
}

// isInStep reports whether the call lag back is of the same step, in most cohorts.
func (t *Waits) isInStep(sample []Cohort, lag int8) bool {
	in := 0
	for _, c := range sample {
		same := true
		for back := range int32(lag) {
			call := t.Call(Previous(c[0], back))
			same = same && !call.First && call.Nth > 0 // the first call of a step has one of another before it
		}
		if same {
			in++
		}
	}
	return 2*in > len(sample)
}

// isSameCall reports whether the members of each cohort share the call lag back.
func (t *Waits) isSameCall(sample []Cohort, lag int8) bool {
	for _, c := range sample {
		for _, e := range c {
			if t.Of[e.Process][e.Call-int32(lag)] != t.Of[c[0].Process][c[0].Call-int32(lag)] {
				return false
			}
		}
	}
	return true
}

// precedesRelease reports whether more than one entry in a hundred precedes the release of the call lag back. Then no
// rank waited for it.
func (t *Waits) precedesRelease(sample []Cohort, lag int8) bool {
	n, before := 0, 0
	for _, c := range sample {
		for _, e := range c {
			w, ok := t.Awaited(e, lag)
			if !ok {
				return true
			}
			n++
			if t.Time(e) < t.ReleaseFor(w) {
				before++
			}
		}
	}
	return before*100 > n
}

// lags returns the lag of each call, [rank][call]. Calls of groups with unrecorded members are in no place; they take
// the lag of calls of the same kind after the same call.
func (t *Waits) lags() [][]int8 {
	usual := map[site]int8{}
	for i := range t.Places {
		p := &t.Places[i]
		usual[site{p.Kind, p.Before}] = p.Lag
	}
	lag := make([][]int8, len(t.Ranks))
	for r := range t.Ranks {
		calls := t.Ranks[r].Calls
		lag[r] = make([]int8, len(calls))
		for i := 1; i < len(calls); i++ {
			lag[r][i] = usual[site{t.site[calls[i].Kind], t.site[calls[i-1].Kind]}]
		}
	}
	for i := range t.Places {
		for _, c := range t.Places[i].Cohorts {
			for _, e := range c {
				lag[e.Process][e.Call] = t.LagOf(e, t.Places[i].Lag)
			}
		}
	}
	return lag
}

// Carries reports whether ranks enter the calls of a place without a wait since the call before. Then a rank is as late
// here as there, on any clock. After a wait, the variation there and the variation here add up.
func (t *Waits) Carries(p *Place) bool {
	if len(p.Cohorts) < Enough {
		return false
	}
	sample := t.Sample(p.Cohorts)
	work := t.distances(sample, func(e Entry) int64 { return t.Time(e) - t.Time(Previous(e, 1)) })
	return work.within < t.distances(sample, t.Time).within
}
