package sync

import (
	"math"
	"slices"
)

// timed is a matched job on one clock, with its places and the blocking call of
// each.
type Waits struct {
	*Matching
	Places  []Place
	Offset  []int64   // [rank] added to its clock
	times   [][]int64 // [rank][call] of entries on the common clock: looked up more than anything else
	Release []int64   // [point] its last entry
	Domain  []int     // [rank] whose clock it reads
	Clocks  []Clock
	Agree   bool // the clocks suit the waits as they are
	// blocks says which kinds of calls are waited for by the next; nil: the job
	// has no messages, and places tell.
	Blocks []bool
	held   map[way]bool        // whose senders wait for the receiver
	roots  map[rooted]rootWait // how members of rooted operations wait that do not wait for all
	most   int                 // cohorts of the place that has most
	waits  [][]int8            // as lags has it, where members of points come to them from different calls; else nil
}

// enough is the number of cohorts that a place needs to be looked at.
const Enough = 3

// leastLimit is the own delay, ns, that no clock resolves.
const LeastDelay = 1000

// maxLag is how many calls back the blocking call may be: prefetching frameworks
// enqueue two or three ahead.
const maxLag = 6

// at is an entry on the common clock.
func (t *Waits) At(e Entry) int64 { return t.times[e.Process][e.Call] }

// shift sets the offset of a rank.
func (t *Waits) shift(rank int, offset int64) {
	t.Offset[rank] = offset
	for i := range t.times[rank] {
		t.times[rank][i] = t.Ranks[rank].Calls[i].Enter + offset
	}
}

// work is the time of a rank since its previous call, without its wait for the call
// lag back.
func (t *Waits) Work(e Entry, lag int8) int64 {
	from := t.At(Back(e, 1))
	end := t.At(e)
	if lag > 0 && int(lag) <= int(e.Call) {
		if l := t.ReleaseFor(Back(e, int32(lag))); l > from {
			from = min(l, end)
		}
	}
	if t.Blocks == nil || t.IsReceive(e) {
		return end - from
	}
	// A batch of sends and receives is waited for as a whole.
	before := Back(e, 1)
	for before.Call > 0 && t.IsReceive(before) {
		before.Call--
	}
	if t.IsMessage(t.Call(before)) {
		from = max(from, min(t.ReleaseFor(before), end))
	}
	return end - from
}

// since is the work of a rank since the collective before an entry. Messages in
// between divide it differently on every rank of a chain.
func (t *Waits) Since(e Entry, lag int8) int64 {
	sum := t.Work(e, t.LagOf(e, lag))
	if t.Blocks == nil || t.IsMessage(t.Call(e)) {
		return sum
	}
	for e.Call--; e.Call > 0 && t.IsMessage(t.Call(e)); e.Call-- {
		sum += t.Work(e, t.LagOf(e, 0))
	}
	return sum
}

// lagOf is how many calls back an entry waits for one, where its place does so
// for the one lag back.
func (t *Waits) LagOf(e Entry, lag int8) int8 {
	if t.Blocks == nil || e.Call == 0 {
		return lag
	}
	before := t.Call(Back(e, 1))
	switch {
	case t.Blocks[before.Kind], t.isSend(Back(e, 1)) && t.held[t.wayOf(Back(e, 1))]:
		return 1
	case t.IsMessage(before):
		return 0
	}
	return lag
}

// way is the messages of one rank to another.
type way struct {
	group    int32
	from, to int32
}

// leastHeld is how many messages, received after they were sent, show whether their sender
// waited for that.
const leastHeld = 10

// learnKinds finds which kinds of call block, in a job with messages: no rank
// continues before the last entry of a blocking call. A send gives and does not wait by
// nature; one over Gloo, or of more than a buffer holds, waits for its receiver.
func (t *Waits) learnKinds() {
	count, early := make([]int, len(t.Kinds)), make([]int, len(t.Kinds))
	type held struct {
		count       int
		wait, early int64 // from send to receipt; of that, after the sender's next call
	}
	sends := make(map[way]*held)
	messages := false
	for r := range t.Ranks {
		for i := 1; i < len(t.Ranks[r].Calls); i++ {
			before := Nth(r, i-1)
			at, p := t.At(Nth(r, i)), t.Of[r][i-1]
			k := t.Call(before).Kind
			messages = messages || t.IsMessage(t.Call(before))
			if len(t.Points[p].Entries) < 2 {
				continue
			}
			if t.Points[p].Message && t.isSend(before) {
				if wait := t.Release[p] - t.At(before); wait > 0 {
					w := t.wayOf(before)
					if sends[w] == nil {
						sends[w] = new(held)
					}
					sends[w].count++
					sends[w].wait += wait
					sends[w].early += max(0, t.Release[p]-max(t.free(r, i), t.At(before)))
				}
				continue
			}
			if count[k]++; at < t.ReleaseFor(before) {
				early[k]++
			}
		}
	}
	if !messages {
		return
	}
	t.Blocks = make([]bool, len(t.Kinds))
	for k := range t.Blocks {
		t.Blocks[k] = count[k] > 0 && early[k]*100 <= count[k]
	}
	t.held = make(map[way]bool)
	for w, n := range sends {
		t.held[w] = n.count >= leastHeld && n.early*20 <= n.wait
	}
}

// free is when a rank enters call i, or the first after it that is no receive: until then
// it waits.
func (t *Waits) free(r, i int) int64 {
	for ; i+1 < len(t.Ranks[r].Calls) && t.IsReceive(Nth(r, i)); i++ {
	}
	return t.At(Nth(r, i))
}

func (t *Waits) IsReceive(e Entry) bool { return t.IsMessage(t.Call(e)) && !t.isSend(e) }

// wayOf is the way of a message.
func (t *Waits) wayOf(e Entry) way {
	from, to := t.ends(int(e.Process), *t.Call(e))
	return way{t.Call(e).Group, from, to}
}

// releaseFor is when the host of a blocking entry may continue: when the last member
// has entered; for a message, when it was sent, unless its sender is held; for a rooted operation,
// when the members that it waits for have entered.
func (t *Waits) ReleaseFor(e Entry) int64 {
	p := t.Of[e.Process][e.Call]
	if t.Points[p].Message && t.isSend(e) && !t.held[t.wayOf(e)] {
		return t.At(e)
	}
	if w, ok := t.rootWaitAt(p); ok {
		return t.releaseOf(w, p, e.Process)
	}
	return t.Release[p]
}

// releases computes when every point had its last entry.
func (t *Waits) releases() {
	t.Release = t.Release[:0]
	for i := range t.Points {
		t.Release = append(t.Release, t.lastOf(t.Points[i].Entries))
	}
}

// lastOf is when the last of some entries was.
func (t *Waits) lastOf(entries []Entry) int64 {
	last := int64(math.MinInt64)
	for _, e := range entries {
		last = max(last, t.At(e))
	}
	return last
}

// learned is how many cohorts of a place are used to decide which call blocks there.
const learned = 64

// learn finds the blocking call of every place: the earlier call that leaves the
// least scatter between ranks, and before whose last entry no rank continues. A
// constant difference between ranks counts only if they are closer together than at
// the call before, because a rank that is always late stays late whether or not the
// others wait for it. Where hosts wait for every call, they do for the last one that
// no rank precedes.
func (t *Waits) learn() {
	t.releases()
	t.findRoots()
	t.learnKinds()
	for i := range t.Places {
		p := &t.Places[i]
		sample := t.Sample(p.Cohorts)
		gathers := t.gathers(sample)
		p.Lag = t.lagByScatter(sample, gathers)
		if p.Lag == 0 && !gathers && (t.onHost(sample) || t.together(p.Cohorts)) {
			p.Lag = t.shared(sample)
		}
		if p.Lag == 0 && !gathers {
			p.Lag = t.evened(sample)
		}
	}
	t.learnAcross()
}

// lagByScatter returns how many calls back the one is that ranks wait for before the cohorts: of those that no rank
// precedes, the last that leaves about as little scatter within the ranks as any, if it leaves less than no wait
// does; else 0. What ranks always differ by does not tell one call from another, since a rank that is late before
// each of them is so by different amounts; it counts against no wait where ranks come together.
func (t *Waits) lagByScatter(sample []Cohort, gathers bool) int8 {
	const none = math.MaxInt64
	var all, within [maxLag + 1]int64
	best := int64(none)
	for lag := range within {
		if lag > 0 && t.early(sample, int8(lag)) {
			all[lag], within[lag] = none, none
			continue
		}
		if all[lag], within[lag] = t.scatter(sample, int8(lag)); lag > 0 {
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

// evened is the call that all members of the cohorts entered together and that no rank
// precedes, if waits for it explain most of how the work varies, between ranks and from
// cohort to cohort; 0: none. Once a rank is late in every step, the work of the others
// looks longer in every step if their wait for it is not seen; that it is late by as much
// in every step is no work that varies, on one clock as on several.
func (t *Waits) evened(sample []Cohort) int8 {
	lag := t.shared(sample)
	if lag == 0 || len(sample) < leastTogether {
		return 0
	}
	_, without := t.scatter(sample, 0)
	_, with := t.scatter(sample, lag)
	if 2*(with+t.common(sample, lag)) > without+t.common(sample, 0) {
		return 0
	}
	return lag
}

// learnAcross finds the blocking call of places whose members come to them from
// different groups. Within a place their work is the same whether they waited or not;
// but where the ranks of those other groups stay together, something holds them, and
// that is the last call that no rank precedes.
func (t *Waits) learnAcross() {
	if t.Blocks != nil {
		return
	}
	all := make([]int, len(t.Places))
	for i := range all {
		all[i] = i
	}
	at := t.placesOf(all)
	for i := range t.Places {
		p := &t.Places[i]
		sample := t.Sample(p.Cohorts)
		if p.Lag == 0 && !t.gathers(sample) {
			p.Lag = t.across(sample, at)
		}
	}
}

// placesOf are the places, of some, of all points; −1: none of these.
func (t *Waits) placesOf(places []int) []int32 {
	at := slices.Repeat([]int32{-1}, len(t.Points))
	for _, i := range places {
		for _, c := range t.Places[i].Cohorts {
			at[t.Of[c[0].Process][c[0].Call]] = int32(i)
		}
	}
	return at
}

// across is the last call before the cohorts that no rank precedes, if its ranks stay
// together and waits for it leave the work of the members as even as it is; 0: none. at are the places
// of points.
func (t *Waits) across(sample []Cohort, at []int32) int8 {
	lag := int8(1)
	for lag <= maxLag && t.early(sample, lag) {
		lag++
	}
	if lag > maxLag || t.sameBefore(sample, lag) {
		return 0
	}
	e := sample[0][0]
	of := at[t.Of[e.Process][e.Call-int32(lag)]]
	if of < 0 || !t.together(t.Places[of].Cohorts) {
		return 0
	}
	before, _ := t.scatter(sample, 0)
	if after, _ := t.scatter(sample, lag); after > before+before/20 {
		return 0
	}
	return lag
}

// onHost reports whether members wait on their hosts for all calls of the groups
// whose cohorts these are.
func (t *Waits) onHost(sample []Cohort) bool {
	return !slices.ContainsFunc(sample, func(c Cohort) bool { return !t.Groups[t.Call(c[0]).Group].OnHost })
}

// leastTogether is how many cohorts show whether ranks drift apart.
const leastTogether = 20

// drift, times the square root of the number of cohorts, is how much further two
// ranks that wait for nobody vary about their median distance than they move from one
// cohort to the next, in 98 of 100 random walks.
const drift = 0.18

// together reports whether something synchronises the ranks from one cohort of a
// place to the next: how far they are apart then varies about a level, by less than
// it changes from cohort to cohort. Ranks that wait for nobody drift apart, as
// random walks do.
func (t *Waits) together(cohorts []Cohort) bool {
	return len(cohorts) >= leastTogether && t.StayClose(cohorts)
}

// staysClose reports likewise of any number of cohorts; of few, ranks that wait for nobody may look so.
func (t *Waits) StayClose(cohorts []Cohort) bool {
	ranks, _ := t.Apart(cohorts, t.At)
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
	return float64(about) < max(1, drift*math.Sqrt(float64(len(cohorts))))*float64(change)
}

// shared is the last call that all members of the cohorts entered together and that
// no rank precedes; 0 where there is none. What a rank spends since then is its own,
// since no other group can have held it up.
func (t *Waits) shared(sample []Cohort) int8 {
	for lag := int8(1); lag <= maxLag; lag++ {
		if !t.early(sample, lag) {
			if t.sameBefore(sample, lag) {
				return lag
			}
			return 0
		}
	}
	return 0
}

// sameBefore reports whether the call so many back is the same for all members of
// each cohort.
func (t *Waits) sameBefore(sample []Cohort, lag int8) bool {
	for _, c := range sample {
		for _, e := range c {
			if t.Of[e.Process][e.Call-int32(lag)] != t.Of[c[0].Process][c[0].Call-int32(lag)] {
				return false
			}
		}
	}
	return true
}

// sample is up to about learned cohorts: those with the widest spread, which carry the
// information, and a regular sample of the rest.
func (t *Waits) Sample(all []Cohort) []Cohort {
	if len(all) <= learned {
		return all
	}
	spread := make([]int64, len(all))
	for i, c := range all {
		spread[i] = Span(c, func(e Entry) int64 { return t.At(Back(e, 1)) })
	}
	limit := slices.Clone(spread)
	wide := quantile(limit, len(all)-learned/2, len(all))
	var out []Cohort
	every := max(1, len(all)/(learned/2))
	for i, c := range all {
		if spread[i] > wide || i%every == 0 {
			out = append(out, c)
		}
	}
	return out
}

// spanOf is the largest of what f says of entries, less the least.
func Span(c Cohort, f func(Entry) int64) int64 {
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	for _, e := range c {
		low, high = min(low, f(e)), max(high, f(e))
	}
	return high - low
}

// early reports whether more than one entry in a hundred precedes the release of the
// call lag back. Then no rank waited for it.
func (t *Waits) early(sample []Cohort, lag int8) bool {
	n, before := 0, 0
	for _, c := range sample {
		for _, e := range c {
			if int32(lag) > e.Call {
				return true
			}
			n++
			if t.At(e) < t.ReleaseFor(Back(e, int32(lag))) {
				before++
			}
		}
	}
	return before*100 > n
}

// gathers reports whether ranks that are always late at the call before are no
// longer late here.
func (t *Waits) gathers(sample []Cohort) bool {
	before := t.distances(sample, func(e Entry) int64 { return t.At(Back(e, 1)) })
	return t.distances(sample, t.At).constant*2 < before.constant
}

// medians are those of sets, which it reorders.
func medians(of [][]int64) []int64 {
	out := make([]int64, len(of))
	for i, x := range of {
		out[i] = median(x)
	}
	return out
}

// apart is how far what f says of entries is from the median of their cohorts,
// [rank], and, where there are several, [clock].
func (t *Waits) Apart(sample []Cohort, of func(Entry) int64) (ranks, clocks [][]int64) {
	ranks, clocks = make([][]int64, len(t.Ranks)), make([][]int64, len(t.Clocks))
	var x, sorted []int64
	for _, c := range sample {
		x = x[:0]
		for _, e := range c {
			x = append(x, of(e))
		}
		sorted = append(sorted[:0], x...)
		mid := median(sorted)
		for i, e := range c {
			if ranks[e.Process] == nil {
				ranks[e.Process] = make([]int64, 0, len(sample))
			}
			ranks[e.Process] = append(ranks[e.Process], x[i]-mid)
			if d := t.Domain[e.Process]; len(t.Clocks) > 1 {
				clocks[d] = append(clocks[d], x[i]-mid)
			}
		}
	}
	return ranks, clocks
}

// common is how much the work of whole cohorts varies. If all ranks wait for one that
// is late from some step on, their work as it looks without the wait is longer from
// that step on, on all of them.
func (t *Waits) common(sample []Cohort, lag int8) (sum int64) {
	var mids []int64
	for _, c := range sample {
		mids = append(mids, middleOf(c, func(e Entry) int64 { return t.Since(e, lag) }))
	}
	level := median(slices.Clone(mids))
	for i, mid := range mids {
		sum += int64(len(sample[i])) * abs(mid-level)
	}
	return sum
}

// distances are sums over the entries of cohorts, of what is said of them: how far it is from the middle of
// the cohort and what a clock always differs by, which may be its offset; how far from what the rank always
// differs by; and how far ranks always differ from their clocks. Of fewer than three entries nothing is always so.
// asRead are those from the middle alone.
type distances struct{ all, within, constant, asRead int64 }

func (t *Waits) distances(sample []Cohort, of func(Entry) int64) (d distances) {
	ranks, clocks := t.Apart(sample, of)
	level := medians(clocks)
	for r, x := range ranks {
		own, clock := int64(0), int64(0)
		if len(x) >= 3 {
			own, clock = median(x), level[t.Domain[r]]
		}
		d.constant += abs(own - clock)
		for _, v := range x {
			d.asRead += abs(v)
			d.all += abs(v - clock)
			d.within += abs(v - own)
		}
	}
	return d
}

// scatter is how much work differs between the members of cohorts, and how much of that is within the ranks.
func (t *Waits) scatter(sample []Cohort, lag int8) (all, within int64) {
	d := t.distances(sample, func(e Entry) int64 { return t.Since(e, lag) })
	return d.all, d.within
}

// lags are how many calls back each call waits for one, [rank][call]. Calls of groups
// without records of their other members are in no place, and wait as those of the
// same kind do after the same call.
func (t *Waits) lags() [][]int8 {
	type site struct{ kind, before int32 }
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
				lag[e.Process][e.Call] = t.Places[i].Lag
			}
		}
	}
	return lag
}

// carries reports whether the ranks enter the calls of a place without having waited
// since the call before: what a rank was late by there it still is here, whatever the
// clocks. Where they have waited, what varies there and what varies here add up.
func (t *Waits) Carries(p *Place) bool {
	if len(p.Cohorts) < Enough {
		return false
	}
	sample := t.Sample(p.Cohorts)
	work := t.distances(sample, func(e Entry) int64 { return t.At(e) - t.At(Back(e, 1)) })
	return work.within < t.distances(sample, t.At).within
}
