package sync

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/clock"
)

// Clock is one clock of the job.
type Clock struct {
	Host      string // host of the clock; "" where each process is taken to have its own
	Ranks     []int  // ranks that read the clock
	Offset    int64  // what is added to the clock to align it with the first
	HalfWidth int64  // by how much the entries leave the offset to be wrong, either way, while the others stay; negative: they do not bound it; 0: there is one clock
}

// rounds of fitting offsets and learning the blocking calls, which depend on each
// other.
const rounds = 5

// Align aligns the clocks and finds which calls ranks wait for.
func (m *Matching) Align() *Waits {
	t := m.alignClocks()
	t.setHalfWidths()
	t.dropLoose()
	if slices.ContainsFunc(t.Places, func(p Place) bool { return p.Mixed }) && t.Blocks == nil {
		t.waits = t.lags()
	}
	return t
}

func (m *Matching) alignClocks() *Waits {
	t := &Waits{Matching: m, Offset: make([]int64, len(m.Ranks)), times: make([][]int64, len(m.Ranks)), Domain: make([]int, len(m.Ranks))}
	for r := range m.Ranks {
		t.times[r] = make([]int64, len(m.Ranks[r].Calls))
		t.shift(r, 0)
	}
	t.Places = m.places()
	for i := range t.Places {
		t.maxCohorts = max(t.maxCohorts, len(t.Places[i].Cohorts))
	}
	t.shareClocks(m.HostOf)
	t.findExits()
	asTheyAre := make([]int64, len(t.Ranks))
	if t.hasSeveralClocks() {
		ofHosts := asTheyAre
		if len(t.Clocks) > 1 {
			t.startClocks(asTheyAre)
			ofHosts = slices.Clone(t.Offset)
		}
		t.shareClocks(t.machineOf)
		if t.startClocks(ofHosts); t.Agree {
			t.shareClocks(m.HostOf)
		}
	}
	if len(t.Clocks) > 1 {
		t.startClocks(asTheyAre)
	}
	for range rounds {
		t.learnWaits()
		if len(t.Clocks) < 2 {
			return t
		}
		before := slices.Clone(t.Offset)
		if t.refine(); slices.Equal(before, t.Offset) { // further rounds find the same
			return t
		}
	}
	t.learnWaits()
	return t
}

// HostOf returns the host of a rank; "" where it is not known.
func (m *Matching) HostOf(r int) string { return cmp.Or(m.Ranks[r].Host, m.Hosts[m.Ranks[r].ID]) }

// machineOf returns the host of a rank whose recorder numbered all its ranks apart, else "": containers that have
// their name from one image number theirs alike.
func (m *Matching) machineOf(r int) string {
	host := m.Hosts[m.Ranks[r].ID]
	if host == "" {
		return ""
	}
	if m.machines == nil {
		m.machines = m.numberedHosts()
	}
	if !m.machines[host] {
		return ""
	}
	return host
}

// numberedHosts returns the hosts on which every rank has a number of its own.
func (j *Program) numberedHosts() map[string]bool {
	type place struct {
		host  string
		local int
	}
	out, taken := map[string]bool{}, map[place]bool{}
	for id, host := range j.Hosts {
		if _, ok := out[host]; !ok {
			out[host] = true
		}
		at := place{host, j.Locals[id]}
		if at.local < 0 || taken[at] {
			out[host] = false
		}
		taken[at] = true
	}
	return out
}

// shareClocks gives every domain a clock: ranks of one domain share it, and a rank of domain "" has its own.
func (t *Waits) shareClocks(domain func(r int) string) {
	t.Clocks = nil
	known := map[string]int{}
	for r := range t.Ranks {
		of := domain(r)
		d, ok := known[of]
		if !ok || of == "" {
			d = len(t.Clocks)
			known[of] = d
			t.Clocks = append(t.Clocks, Clock{Host: t.HostOf(r)})
		}
		t.Domain[r] = d
		t.Clocks[d].Ranks = append(t.Clocks[d].Ranks, t.Ranks[r].ID)
	}
}

// apartFraction is the part of the time between two visits of a place, 1/20, beyond which ranks of one host are too far
// apart for one clock.
const apartFraction = 20

// hasSeveralClocks reports whether ranks of one host have different clocks, as containers with the name of one image do.
// Such ranks are before or behind the others of their host at every place. A late rank looks alike where waits for it
// cannot be shown, so a minority of ranks counts only if one is apart by more than a step.
func (t *Waits) hasSeveralClocks() bool {
	if len(t.Clocks) == len(t.Ranks) {
		return false
	}
	least, every := slices.Repeat([]int64{math.MaxInt64}, len(t.Ranks)), int64(0)
	for i := range t.Places {
		all := t.Places[i].Cohorts
		if len(all) < max(Enough, len(t.Places[0].Cohorts)/20) {
			continue
		}
		var ends []int64
		of := make([][]int64, len(t.Ranks))
		for k := 0; k < len(all); k += max(1, len(all)/learnedCohorts) {
			ends = append(ends, t.Time(all[k][0]))
			t.appendHostOffsets(all[k], of)
		}
		every = max(every, Period(ends)/int64(max(1, len(all)/learnedCohorts)))
		for r, x := range of {
			if len(x) > 0 {
				least[r] = minmod(least[r], median(x))
			}
		}
	}
	apart, of, beyond := 0, 0, false
	for _, x := range least {
		if x != math.MaxInt64 {
			of++
			if abs(x)*apartFraction > every && abs(x) > LeastDelay {
				apart++
			}
			beyond = beyond || abs(x) > every // nobody is late by more than a step in every step
		}
	}
	return beyond || 4*apart > of
}

// minmod returns the difference that is nearer to 0, and 0 where signs differ. [math.MaxInt64] stands for no difference.
func minmod(x, y int64) int64 {
	switch {
	case x == math.MaxInt64:
		return y
	case x > 0 && y > 0:
		return min(x, y)
	case x < 0 && y < 0:
		return max(x, y)
	}
	return 0
}

// appendHostOffsets appends how far the members of a cohort are from the median of their host, for hosts with several
// members.
func (t *Waits) appendHostOffsets(c Cohort, of [][]int64) {
	on := make([][]int64, len(t.Clocks))
	for _, e := range c {
		d := t.Domain[e.Process]
		on[d] = append(on[d], t.Time(e))
	}
	mid := medians(on)
	for _, e := range c {
		if d := t.Domain[e.Process]; len(on[d]) > 1 && t.machineOf(int(e.Process)) == "" {
			of[e.Process] = append(of[e.Process], t.Time(e)-mid[d])
		}
	}
}

// startClocks sets clocks to the given offsets, by rank, if these show waits as well as clocks aligned by all entries
// do. Hosts keep their clocks together, and calls made once at the beginning of a job then bound the offsets.
func (t *Waits) startClocks(as []int64) {
	t.alignRoughly()
	t.Agree = false
	for i := range t.Places {
		t.Places[i].Carried = t.Carries(&t.Places[i])
	}
	inTheMiddle := t.scatterOfClockPlaces()
	if middle := slices.Clone(t.Clocks); t.alignTightPlaces() {
		if together := t.scatterOfClockPlaces(); entriesOf(together) > entriesOf(inTheMiddle) {
			inTheMiddle = together
		} else {
			t.setAll(middle)
		}
	}
	middle := slices.Clone(t.Clocks)
	for d := range t.Clocks {
		t.setOffset(d, as[t.ByRank[t.Clocks[d].Ranks[0]]])
	}
	t.Agree = true // for what of it shows
	asTheyAre, shown, all := t.scatterOfClockPlaces(), 0, 0
	inHosts := slices.ContainsFunc(slices.Collect(maps.Values(inTheMiddle)), func(m placeScatter) bool { return m.oneHost })
	for place, m := range inTheMiddle {
		if inHosts && !m.oneHost {
			delete(asTheyAre, place) // of the hosts, which are placed by less
			continue
		}
		all += m.entries
		if as, also := asTheyAre[place]; also && as.scatter > 2*m.scatter {
			delete(asTheyAre, place)
		}
	}
	for _, m := range asTheyAre {
		shown += m.entries
	}
	if t.Agree = shown*10 >= all*9; !t.Agree {
		t.setAll(middle)
	}
}

// setAll restores the offsets of clocks.
func (t *Waits) setAll(clocks []Clock) {
	for d := range clocks {
		t.setOffset(d, clocks[d].Offset)
	}
}

// isOfOneHost reports whether entries are of ranks of one host.
func (t *Waits) isOfOneHost(c Cohort) bool {
	host := t.HostOf(int(c[0].Process))
	return host != "" && !slices.ContainsFunc(c, func(e Entry) bool { return t.HostOf(int(e.Process)) != host })
}

// entriesOf returns the number of entries of places.
func entriesOf(places map[[4]int32]placeScatter) (sum int) {
	for _, m := range places {
		sum += m.entries
	}
	return sum
}

// placeScatter is how much the work of ranks varies at a place that is entered after a wait, ns in sum.
type placeScatter struct {
	scatter int64
	entries int
	oneHost bool // they are of one host for each call
}

// scatterOfClockPlaces returns the scatter of the places that show offsets between clocks. Its key is kind, kind before,
// phase, and 1 for exits.
func (t *Waits) scatterOfClockPlaces() map[[4]int32]placeScatter {
	t.learnWaits()
	out := make(map[[4]int32]placeScatter)
	for _, p := range t.ClockPlaces() {
		key := [4]int32{p.Kind, p.Before, p.phase, 0}
		if p.leaves {
			key[3] = 1
		}
		_, within := t.scatter(t.Sample(p.Cohorts), p.Lag)
		out[key] = placeScatter{within, len(p.Cohorts) * len(p.Cohorts[0]), t.isOfOneHost(p.Cohorts[0])}
	}
	return out
}

// maxRoughCohorts is the number of cohorts for the first alignment; more do not improve it.
const maxRoughCohorts = 256

// alignRoughly aligns the clocks as if the members of each cohort had entered it at once.
func (t *Waits) alignRoughly() {
	cohorts, sample := 0, []Cohort(nil)
	for i := range t.Places {
		cohorts += len(t.Places[i].Cohorts)
	}
	for i := range t.Places {
		all := t.Places[i].Cohorts
		sample = append(sample, sampleCohorts(all, max(minSample, len(all)*maxRoughCohorts/cohorts))...)
	}
	t.alignEntries(sample)
}

// alignEntries aligns the clocks as if the members of each cohort had entered it at once, and reports whether the
// cohorts connect all clocks.
func (t *Waits) alignEntries(sample []Cohort) bool {
	var e clock.Events
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	for _, c := range sample {
		entered := make([]clock.Reading, len(c))
		for i, one := range c {
			entered[i] = clock.Reading{Clock: t.Domain[one.Process], At: t.Enter(one)}
			low, high = min(low, entered[i].At), max(high, entered[i].At)
		}
		e.Ends = append(e.Ends, entered)
	}
	apart := 0
	for d, c := range clock.Align(len(t.Clocks), e) {
		t.setOffset(d, -c.AheadAt(low+(high-low)/2))
		if !c.HasReference() {
			apart++
		}
	}
	return apart == 1
}

// alignTightPlaces aligns the clocks by the places across clocks where each rank's lateness varies least, and reports
// whether these connect all clocks.
func (t *Waits) alignTightPlaces() bool {
	type tight struct {
		sample []Cohort
		apart  float64 // what an entry varies by within its rank, mean
	}
	var found []tight
	least := math.Inf(1)
	for _, places := range [][]Place{t.Places, t.exitPlaces} {
		for i := range places {
			sample := sampleCohorts(places[i].Cohorts, learnedCohorts)
			if len(sample) < minCohortsTogether || !t.hasClocks(sample[0]) {
				continue
			}
			n := 0
			for _, c := range sample {
				n += len(c)
			}
			one := tight{sample, float64(t.distances(sample, t.Time).within) / float64(n)}
			found, least = append(found, one), min(least, one.apart)
		}
	}
	var all []Cohort
	for _, one := range found {
		if one.apart <= 2*least {
			all = append(all, one.sample...)
		}
	}
	return len(all) > 0 && t.alignEntries(all)
}

// hasClocks reports whether entries are of several clocks.
func (t *Waits) hasClocks(of []Entry) bool {
	return slices.ContainsFunc(of, func(e Entry) bool { return t.Domain[e.Process] != t.Domain[of[0].Process] })
}

// nearestToZero returns the value between the quantiles 0.4 and 0.6 of x for which the sum with at is nearest to zero.
// Of equally good offsets, agreement of clocks is likelier.
func nearestToZero(x []int64, at int64) int64 {
	low, high := quantile(x, 2, 5), quantile(x, 3, 5)
	return min(max(low, -at), high)
}

func (t *Waits) setOffset(d int, offset int64) {
	t.Clocks[d].Offset = offset
	for _, id := range t.Clocks[d].Ranks {
		if r := t.ByRank[id]; t.Offset[r] != offset {
			t.shift(r, offset)
		}
	}
}

// refine shifts every clock, within the bounds of the entries, to minimise own delay
// over all places at which its ranks waited for others.
func (t *Waits) refine() {
	by := make([][]int64, len(t.Clocks))
	for _, p := range t.ClockPlaces() {
		t.VisitWork(p, func(e Entry, _, own int64) { by[t.Domain[e.Process]] = append(by[t.Domain[e.Process]], own) })
	}
	rooms := clock.Rooms(len(by), t.syncPoints())
	for d := range by {
		// Delays are late by x: the offset that takes them away is lower by x, of
		// which the other clocks take their part.
		part := func(x int64) int64 { return x * int64(len(by)-1) / int64(len(by)) }
		c := &t.Clocks[d]
		shift := part(-t.usualDelay(by[d], c.Offset))
		switch r := rooms[d]; {
		case !r.IsBounded():
		case r.Low <= 0 && r.High >= 0: // the others may take as much
			shift = min(max(shift, r.Low/2), r.High/2)
		default:
			shift = part(min(max(shift, r.Low), r.High))
		}
		t.setOffset(d, c.Offset+shift)
	}
	t.center()
}

// setHalfWidths computes how far each clock may be off.
func (t *Waits) setHalfWidths() {
	if len(t.Clocks) < 2 {
		return
	}
	for d, r := range clock.Rooms(len(t.Clocks), t.syncPoints()) {
		if t.Clocks[d].HalfWidth = -1; r.IsBounded() {
			t.Clocks[d].HalfWidth = max(r.High, -r.Low)
		}
	}
}

// usualDelay returns the clock's part of delays: their middle, or of two equally likely values the one that keeps clocks
// together. Where clocks disagree anyway it is the lower value, since a rank is late at some places rather than early at
// the others.
func (t *Waits) usualDelay(delays []int64, offset int64) int64 {
	if !t.Agree {
		return quantile(delays, 2, 5)
	}
	return nearestToZero(delays, -offset)
}

// center subtracts the median offset, because the absolute offset is unknown.
func (t *Waits) center() {
	var all []int64
	for _, c := range t.Clocks {
		all = append(all, c.Offset)
	}
	mid := median(all)
	for d := range t.Clocks {
		t.setOffset(d, t.Clocks[d].Offset-mid)
	}
}

// syncPoints returns the points at which ranks wait for all others: no messages, and no rooted operations. Where clocks
// do not suit the waits as they are, kinds that may have a root are left out too, since clocks may hide it. A rank
// leaves a point when it enters the call that waits for it.
func (t *Waits) syncPoints() iter.Seq[[]clock.Entry] {
	lags := make([][]int8, len(t.Ranks)) // of each call, to the one before it that is waited for
	for r := range lags {
		lags[r] = make([]int8, len(t.Ranks[r].Calls))
	}
	for i := range t.Places {
		p := &t.Places[i]
		for _, e := range slices.Concat(p.Cohorts...) {
			if _, known := t.lagAfter[t.siteAt(e)]; known || !p.Carried {
				lags[e.Process][e.Call] = t.LagOf(e, p.Lag)
			}
		}
	}
	left := func(e Entry) int64 {
		for lag, after := range lags[e.Process][e.Call+1 : min(int(e.Call)+1+maxLag, len(lags[e.Process]))] {
			if int(after) == lag+1 || after == allBefore {
				return t.Time(Entry{Process: e.Process, Call: e.Call + 1 + int32(lag)})
			}
		}
		return clock.Unknown
	}
	return func(yield func([]clock.Entry) bool) {
		var sync []clock.Entry
		for i := range t.Points {
			if _, few := t.rootWaitAt(int32(i)); few || t.Points[i].Message || !t.Agree && shapesOf(t.KindOf(t.Points[i].Entries[0]).Op) != nil {
				continue
			}
			sync = sync[:0]
			for _, e := range t.Points[i].Entries {
				sync = append(sync, clock.Entry{Clock: t.Domain[e.Process], Enter: t.Time(e), Left: left(e)})
			}
			if !yield(sync) {
				return
			}
		}
	}
}
