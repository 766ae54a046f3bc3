package arrivals

import (
	"math"
	"slices"
)

// timed is a matched job on one clock, with its places and the blocking call of
// each.
type timed struct {
	*matching
	places  []place
	offset  []int64   // [rank] added to its clock
	times   [][]int64 // [rank][call] of entries on the common clock: looked up more than anything else
	release []int64   // [point] its last entry
	domain  []int     // [rank] whose clock it reads
	clocks  []Clock
	agree   bool // the clocks suit the waits as they are
	// blocks says which kinds of calls are waited for by the next; nil: the job
	// has no messages, and places tell.
	blocks []bool
	held   map[way]bool        // whose senders wait for the receiver
	roots  map[rooted]rootWait // how members of rooted operations wait that do not wait for all
	most   int                 // cohorts of the place that has most
	waits  [][]int8            // as lags has it, where members of points come to them from different calls; else nil
}

// enough is the number of cohorts that a place needs to be looked at.
const enough = 3

// leastLimit is the own delay, ns, that no clock resolves.
const leastLimit = 1000

// maxLag is how many calls back the blocking call may be: prefetching frameworks
// enqueue two or three ahead.
const maxLag = 6

// at is an entry on the common clock.
func (t *timed) at(e entry) int64 { return t.times[e.Process][e.Call] }

// shift sets the offset of a rank.
func (t *timed) shift(rank int, offset int64) {
	t.offset[rank] = offset
	for i := range t.times[rank] {
		t.times[rank][i] = t.ranks[rank].calls[i].enter + offset
	}
}

// work is the time of a rank since its previous call, without its wait for the call
// lag back.
func (t *timed) work(e entry, lag int8) int64 {
	from := t.at(back(e, 1))
	end := t.at(e)
	if lag > 0 && int(lag) <= int(e.Call) {
		if l := t.releaseFor(back(e, int32(lag))); l > from {
			from = min(l, end)
		}
	}
	if t.blocks == nil || t.isReceive(e) {
		return end - from
	}
	// A batch of sends and receives is waited for as a whole.
	before := back(e, 1)
	for before.Call > 0 && t.isReceive(before) {
		before.Call--
	}
	if t.isMessage(t.call(before)) {
		from = max(from, min(t.releaseFor(before), end))
	}
	return end - from
}

// since is the work of a rank since the collective before an entry. Messages in
// between divide it differently on every rank of a chain.
func (t *timed) since(e entry, lag int8) int64 {
	sum := t.work(e, t.lagOf(e, lag))
	if t.blocks == nil || t.isMessage(t.call(e)) {
		return sum
	}
	for e.Call--; e.Call > 0 && t.isMessage(t.call(e)); e.Call-- {
		sum += t.work(e, t.lagOf(e, 0))
	}
	return sum
}

// lagOf is how many calls back an entry waits for one, where its place does so
// for the one lag back.
func (t *timed) lagOf(e entry, lag int8) int8 {
	if t.blocks == nil || e.Call == 0 {
		return lag
	}
	before := t.call(back(e, 1))
	switch {
	case t.blocks[before.kind], t.isSend(back(e, 1)) && t.held[t.wayOf(back(e, 1))]:
		return 1
	case t.isMessage(before):
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
func (t *timed) learnKinds() {
	count, early := make([]int, len(t.kinds)), make([]int, len(t.kinds))
	type held struct {
		count       int
		wait, early int64 // from send to receipt; of that, after the sender's next call
	}
	sends := make(map[way]*held)
	messages := false
	for r := range t.ranks {
		for i := 1; i < len(t.ranks[r].calls); i++ {
			before := nth(r, i-1)
			at, p := t.at(nth(r, i)), t.of[r][i-1]
			k := t.call(before).kind
			messages = messages || t.isMessage(t.call(before))
			if len(t.points[p].Entries) < 2 {
				continue
			}
			if t.points[p].Message && t.isSend(before) {
				if wait := t.release[p] - t.at(before); wait > 0 {
					w := t.wayOf(before)
					if sends[w] == nil {
						sends[w] = new(held)
					}
					sends[w].count++
					sends[w].wait += wait
					sends[w].early += max(0, t.release[p]-max(t.free(r, i), t.at(before)))
				}
				continue
			}
			if count[k]++; at < t.releaseFor(before) {
				early[k]++
			}
		}
	}
	if !messages {
		return
	}
	t.blocks = make([]bool, len(t.kinds))
	for k := range t.blocks {
		t.blocks[k] = count[k] > 0 && early[k]*100 <= count[k]
	}
	t.held = make(map[way]bool)
	for w, n := range sends {
		t.held[w] = n.count >= leastHeld && n.early*20 <= n.wait
	}
}

// free is when a rank enters call i, or the first after it that is no receive: until then
// it waits.
func (t *timed) free(r, i int) int64 {
	for ; i+1 < len(t.ranks[r].calls) && t.isReceive(nth(r, i)); i++ {
	}
	return t.at(nth(r, i))
}

func (t *timed) isReceive(e entry) bool { return t.isMessage(t.call(e)) && !t.isSend(e) }

// wayOf is the way of a message.
func (t *timed) wayOf(e entry) way {
	from, to := t.ends(int(e.Process), *t.call(e))
	return way{t.call(e).group, from, to}
}

// releaseFor is when the host of a blocking entry may continue: when the last member
// has entered; for a message, when it was sent, unless its sender is held; for a rooted operation,
// when the members that it waits for have entered.
func (t *timed) releaseFor(e entry) int64 {
	p := t.of[e.Process][e.Call]
	if t.points[p].Message && t.isSend(e) && !t.held[t.wayOf(e)] {
		return t.at(e)
	}
	if w, ok := t.rootWaitAt(p); ok {
		return t.releaseOf(w, p, e.Process)
	}
	return t.release[p]
}

// releases computes when every point had its last entry.
func (t *timed) releases() {
	t.release = t.release[:0]
	for i := range t.points {
		t.release = append(t.release, t.lastOf(t.points[i].Entries))
	}
}

// lastOf is when the last of some entries was.
func (t *timed) lastOf(entries []entry) int64 {
	last := int64(math.MinInt64)
	for _, e := range entries {
		last = max(last, t.at(e))
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
func (t *timed) learn() {
	t.releases()
	t.findRoots()
	t.learnKinds()
	for i := range t.places {
		p := &t.places[i]
		sample := t.sample(p.cohorts)
		gathers := t.gathers(sample)
		p.lag = t.lagByScatter(sample, gathers)
		if p.lag == 0 && !gathers && (t.onHost(sample) || t.together(p.cohorts)) {
			p.lag = t.shared(sample)
		}
		if p.lag == 0 && !gathers {
			p.lag = t.evened(sample)
		}
	}
	t.learnAcross()
}

// lagByScatter returns how many calls back the one is that ranks wait for before the cohorts: of those that no rank
// precedes, the last that leaves about as little scatter within the ranks as any, if it leaves less than no wait
// does; else 0. What ranks always differ by does not tell one call from another, since a rank that is late before
// each of them is so by different amounts; it counts against no wait where ranks come together.
func (t *timed) lagByScatter(sample []cohort, gathers bool) int8 {
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
func (t *timed) evened(sample []cohort) int8 {
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
func (t *timed) learnAcross() {
	if t.blocks != nil {
		return
	}
	all := make([]int, len(t.places))
	for i := range all {
		all[i] = i
	}
	at := t.placesOf(all)
	for i := range t.places {
		p := &t.places[i]
		sample := t.sample(p.cohorts)
		if p.lag == 0 && !t.gathers(sample) {
			p.lag = t.across(sample, at)
		}
	}
}

// placesOf are the places, of some, of all points; −1: none of these.
func (t *timed) placesOf(places []int) []int32 {
	at := slices.Repeat([]int32{-1}, len(t.points))
	for _, i := range places {
		for _, c := range t.places[i].cohorts {
			at[t.of[c[0].Process][c[0].Call]] = int32(i)
		}
	}
	return at
}

// across is the last call before the cohorts that no rank precedes, if its ranks stay
// together and waits for it leave the work of the members as even as it is; 0: none. at are the places
// of points.
func (t *timed) across(sample []cohort, at []int32) int8 {
	lag := int8(1)
	for lag <= maxLag && t.early(sample, lag) {
		lag++
	}
	if lag > maxLag || t.sameBefore(sample, lag) {
		return 0
	}
	e := sample[0][0]
	of := at[t.of[e.Process][e.Call-int32(lag)]]
	if of < 0 || !t.together(t.places[of].cohorts) {
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
func (t *timed) onHost(sample []cohort) bool {
	return !slices.ContainsFunc(sample, func(c cohort) bool { return !t.groups[t.call(c[0]).group].onHost })
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
func (t *timed) together(cohorts []cohort) bool {
	return len(cohorts) >= leastTogether && t.staysClose(cohorts)
}

// staysClose reports likewise of any number of cohorts; of few, ranks that wait for nobody may look so.
func (t *timed) staysClose(cohorts []cohort) bool {
	ranks, _ := t.apart(cohorts, t.at)
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
func (t *timed) shared(sample []cohort) int8 {
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
func (t *timed) sameBefore(sample []cohort, lag int8) bool {
	for _, c := range sample {
		for _, e := range c {
			if t.of[e.Process][e.Call-int32(lag)] != t.of[c[0].Process][c[0].Call-int32(lag)] {
				return false
			}
		}
	}
	return true
}

// sample is up to about learned cohorts: those with the widest spread, which carry the
// information, and a regular sample of the rest.
func (t *timed) sample(all []cohort) []cohort {
	if len(all) <= learned {
		return all
	}
	spread := make([]int64, len(all))
	for i, c := range all {
		spread[i] = spanOf(c, func(e entry) int64 { return t.at(back(e, 1)) })
	}
	limit := slices.Clone(spread)
	wide := quantile(limit, len(all)-learned/2, len(all))
	var out []cohort
	every := max(1, len(all)/(learned/2))
	for i, c := range all {
		if spread[i] > wide || i%every == 0 {
			out = append(out, c)
		}
	}
	return out
}

// spanOf is the largest of what f says of entries, less the least.
func spanOf(c cohort, f func(entry) int64) int64 {
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	for _, e := range c {
		low, high = min(low, f(e)), max(high, f(e))
	}
	return high - low
}

// early reports whether more than one entry in a hundred precedes the release of the
// call lag back. Then no rank waited for it.
func (t *timed) early(sample []cohort, lag int8) bool {
	n, before := 0, 0
	for _, c := range sample {
		for _, e := range c {
			if int32(lag) > e.Call {
				return true
			}
			n++
			if t.at(e) < t.releaseFor(back(e, int32(lag))) {
				before++
			}
		}
	}
	return before*100 > n
}

// gathers reports whether ranks that are always late at the call before are no
// longer late here.
func (t *timed) gathers(sample []cohort) bool {
	before := t.distances(sample, func(e entry) int64 { return t.at(back(e, 1)) })
	return t.distances(sample, t.at).constant*2 < before.constant
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
func (t *timed) apart(sample []cohort, of func(entry) int64) (ranks, clocks [][]int64) {
	ranks, clocks = make([][]int64, len(t.ranks)), make([][]int64, len(t.clocks))
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
			if d := t.domain[e.Process]; len(t.clocks) > 1 {
				clocks[d] = append(clocks[d], x[i]-mid)
			}
		}
	}
	return ranks, clocks
}

// common is how much the work of whole cohorts varies. If all ranks wait for one that
// is late from some step on, their work as it looks without the wait is longer from
// that step on, on all of them.
func (t *timed) common(sample []cohort, lag int8) (sum int64) {
	var mids []int64
	for _, c := range sample {
		mids = append(mids, middleOf(c, func(e entry) int64 { return t.since(e, lag) }))
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

func (t *timed) distances(sample []cohort, of func(entry) int64) (d distances) {
	ranks, clocks := t.apart(sample, of)
	level := medians(clocks)
	for r, x := range ranks {
		own, clock := int64(0), int64(0)
		if len(x) >= 3 {
			own, clock = median(x), level[t.domain[r]]
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
func (t *timed) scatter(sample []cohort, lag int8) (all, within int64) {
	d := t.distances(sample, func(e entry) int64 { return t.since(e, lag) })
	return d.all, d.within
}

// lags are how many calls back each call waits for one, [rank][call]. Calls of groups
// without records of their other members are in no place, and wait as those of the
// same kind do after the same call.
func (t *timed) lags() [][]int8 {
	type site struct{ kind, before int32 }
	usual := map[site]int8{}
	for i := range t.places {
		p := &t.places[i]
		usual[site{p.kind, p.before}] = p.lag
	}
	lag := make([][]int8, len(t.ranks))
	for r := range t.ranks {
		calls := t.ranks[r].calls
		lag[r] = make([]int8, len(calls))
		for i := 1; i < len(calls); i++ {
			lag[r][i] = usual[site{t.site[calls[i].kind], t.site[calls[i-1].kind]}]
		}
	}
	for i := range t.places {
		for _, c := range t.places[i].cohorts {
			for _, e := range c {
				lag[e.Process][e.Call] = t.places[i].lag
			}
		}
	}
	return lag
}

// carries reports whether the ranks enter the calls of a place without having waited
// since the call before: what a rank was late by there it still is here, whatever the
// clocks. Where they have waited, what varies there and what varies here add up.
func (t *timed) carries(p *place) bool {
	if len(p.cohorts) < enough {
		return false
	}
	sample := t.sample(p.cohorts)
	work := t.distances(sample, func(e entry) int64 { return t.at(e) - t.at(back(e, 1)) })
	return work.within < t.distances(sample, t.at).within
}
