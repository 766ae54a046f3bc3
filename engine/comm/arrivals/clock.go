package arrivals

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/clock"
)

// Clock is one clock of the job.
type Clock struct {
	Host      string // host of the clock; "" where each process is taken to have its own
	Ranks     []int  // ranks that read the clock
	Offset    int64  // what is added to the clock to align it with the first
	HalfWidth int64  // half of the interval that the entries leave for the offset; negative: they do not bound it; 0: there is one clock
}

// rounds of fitting offsets and learning the blocking calls, which depend on each
// other.
const rounds = 5

// align aligns the clocks and learns the blocking calls.
func (m *matching) align() *timed {
	t := m.aligned()
	if slices.ContainsFunc(t.places, func(p place) bool { return p.mixed }) && t.blocks == nil {
		t.waits = t.lags()
	}
	return t
}

func (m *matching) aligned() *timed {
	t := &timed{matching: m, offset: make([]int64, len(m.ranks)), times: make([][]int64, len(m.ranks)), domain: make([]int, len(m.ranks))}
	for r := range m.ranks {
		t.times[r] = make([]int64, len(m.ranks[r].calls))
		t.shift(r, 0)
	}
	t.places = m.places()
	for i := range t.places {
		t.most = max(t.most, len(t.places[i].cohorts))
	}
	t.divide(m.hostOf)
	if t.apartWithinHosts() {
		t.divide(t.machineOf)
		if t.begin(); t.agree {
			t.divide(m.hostOf)
		}
	}
	if len(t.clocks) > 1 {
		t.begin()
	}
	for range rounds {
		t.learn()
		if len(t.clocks) < 2 {
			return t
		}
		before := slices.Clone(t.offset)
		if t.refine(); slices.Equal(before, t.offset) { // further rounds find the same
			return t
		}
	}
	t.learn()
	return t
}

func (m *matching) hostOf(r int) string { return cmp.Or(m.ranks[r].host, m.hosts[m.ranks[r].id]) }

// machineOf returns the host of a rank whose recorder numbered all its ranks apart, else "": containers that have
// their name from one image number theirs alike.
func (m *matching) machineOf(r int) string {
	host := m.hosts[m.ranks[r].id]
	if host == "" {
		return ""
	}
	if m.machines == nil {
		m.machines = m.numbered()
	}
	if !m.machines[host] {
		return ""
	}
	return host
}

// numbered returns the hosts on which every rank has a number of its own.
func (j *Program) numbered() map[string]bool {
	type place struct {
		host  string
		local int
	}
	out, taken := map[string]bool{}, map[place]bool{}
	for id, host := range j.hosts {
		if _, ok := out[host]; !ok {
			out[host] = true
		}
		at := place{host, j.locals[id]}
		if at.local < 0 || taken[at] {
			out[host] = false
		}
		taken[at] = true
	}
	return out
}

// divide gives every domain a clock: ranks of one have one, and a rank of domain "" has
// its own.
func (t *timed) divide(domain func(r int) string) {
	t.clocks = nil
	known := map[string]int{}
	for r := range t.ranks {
		of := domain(r)
		d, ok := known[of]
		if !ok || of == "" {
			d = len(t.clocks)
			known[of] = d
			t.clocks = append(t.clocks, Clock{Host: t.hostOf(r)})
		}
		t.domain[r] = d
		t.clocks[d].Ranks = append(t.clocks[d].Ranks, t.ranks[r].id)
	}
}

// leastApart is from which part of the time between two visits of a place on ranks are
// further apart than those of one clock are by a delay that matters.
const leastApart = 20

// apartWithinHosts reports whether a rank is that far before or behind the others of
// its host wherever they go: what clocks do that are not one, as of containers that
// have their name from one image, and what a late rank does where nothing shows that
// the others wait for it.
func (t *timed) apartWithinHosts() bool {
	if len(t.clocks) == len(t.ranks) {
		return false
	}
	least, every := slices.Repeat([]int64{math.MaxInt64}, len(t.ranks)), int64(0)
	for i := range t.places {
		all := t.places[i].cohorts
		if len(all) < max(enough, len(t.places[0].cohorts)/20) {
			continue
		}
		var ends []int64
		of := make([][]int64, len(t.ranks))
		for k := 0; k < len(all); k += max(1, len(all)/learned) {
			ends = append(ends, t.at(all[k][0]))
			t.apartOnHost(all[k], of)
		}
		every = max(every, period(ends)/int64(max(1, len(all)/learned)))
		for r, x := range of {
			if len(x) > 0 {
				least[r] = towardsZero(least[r], median(x))
			}
		}
	}
	return slices.ContainsFunc(least, func(x int64) bool { return x != math.MaxInt64 && abs(x)*leastApart > every && abs(x) > leastLimit })
}

// towardsZero is the one of two differences that is nearer to 0, which is 0 where they have
// not one sign; [math.MaxInt64] is none.
func towardsZero(x, y int64) int64 {
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

// apartOnHost appends how far the members of a cohort are from the median of those of
// their host, where there are several.
func (t *timed) apartOnHost(c cohort, of [][]int64) {
	on := make([][]int64, len(t.clocks))
	for _, e := range c {
		d := t.domain[e.Process]
		on[d] = append(on[d], t.at(e))
	}
	mid := medians(on)
	for _, e := range c {
		if d := t.domain[e.Process]; len(on[d]) > 1 && t.machineOf(int(e.Process)) == "" {
			of[e.Process] = append(of[e.Process], t.at(e)-mid[d])
		}
	}
}

// begin takes the clocks as they are, where the waits show as well as with every
// clock in the middle: hosts keep their clocks together, and what a job does
// once at its beginning then bounds the offsets.
func (t *timed) begin() {
	t.roughly()
	t.agree = false
	for i := range t.places {
		t.places[i].carried = t.carries(&t.places[i])
	}
	inTheMiddle := t.waiting()
	middle := slices.Clone(t.clocks)
	for d := range t.clocks {
		t.set(d, 0)
	}
	t.agree = true // for what of it shows
	shown, all := 0, 0
	for i, asTheyAre := range t.waiting() {
		n := len(t.places[i].cohorts) * len(t.places[i].cohorts[0])
		if inTheMiddle[i] >= 0 {
			all += n
		}
		if asTheyAre >= 0 && (inTheMiddle[i] < 0 || asTheyAre <= 2*inTheMiddle[i]) {
			shown += n
		}
	}
	if t.agree = shown*10 >= all*9; !t.agree {
		for d := range t.clocks {
			t.set(d, middle[d].Offset)
		}
	}
}

// waiting is by how much the work of ranks varies at the places that are entered after
// a wait; −1 at the others.
func (t *timed) waiting() []int64 {
	t.learn()
	out := slices.Repeat([]int64{-1}, len(t.places))
	for i := range t.places {
		if p := &t.places[i]; t.lagOf(p.cohorts[0][0], p.lag) > 0 && !p.carried {
			_, out[i] = t.scatter(t.sample(p.cohorts), p.lag)
		}
	}
	return out
}

// roughly aligns the clocks as if all members of a cohort had entered it at once.
func (t *timed) roughly() {
	var e clock.Events
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	for _, p := range t.places {
		for _, c := range p.cohorts {
			entered := make([]clock.Reading, len(c))
			for i, one := range c {
				entered[i] = clock.Reading{Clock: t.domain[one.Process], At: t.enter(one)}
				low, high = min(low, entered[i].At), max(high, entered[i].At)
			}
			e.Ends = append(e.Ends, entered)
		}
	}
	for d, c := range clock.Align(len(t.clocks), e) {
		t.set(d, -c.AheadAt(low+(high-low)/2))
	}
}

// nearest is the value between the quantiles 0.4 and 0.6 of x that is nearest to
// zero once at is added: if two values fit equally well, clocks are more likely to
// agree than to differ.
func nearest(x []int64, at int64) int64 {
	low, high := quantile(x, 2, 5), quantile(x, 3, 5)
	return min(max(low, -at), high)
}

func (t *timed) set(d int, offset int64) {
	t.clocks[d].Offset = offset
	for _, id := range t.clocks[d].Ranks {
		if r := t.byRank[id]; t.offset[r] != offset {
			t.shift(r, offset)
		}
	}
}

// refine shifts every clock, within the bounds of the entries, to minimise own delay
// over all places at which its ranks waited for others.
func (t *timed) refine() {
	by := make([][]int64, len(t.clocks))
	for i := range t.places {
		if p := &t.places[i]; p.lag > 0 && !p.carried {
			t.eachWork(p, func(e entry, _, own int64) { by[t.domain[e.Process]] = append(by[t.domain[e.Process]], own) })
		}
	}
	rooms := clock.Rooms(len(by), t.syncs())
	for d := range by {
		c := &t.clocks[d]
		// Delays are late by x: the offset that takes them away is lower by x, of
		// which the other clocks take their part.
		offset := c.Offset - t.usual(by[d], c.Offset)*int64(len(by)-1)/int64(len(by))
		c.HalfWidth = -1
		if r := rooms[d]; r.Bounded() {
			offset = min(max(offset, c.Offset+r.Low), c.Offset+r.High)
			c.HalfWidth = (r.High - r.Low) / 2
		}
		t.set(d, offset)
	}
	t.center()
}

// usual is the delay that is the clock's: in the middle of all, and of two as likely
// the one that keeps the clocks together; where they are apart anyway, the lower: a
// rank is late at some places rather than early at the others.
func (t *timed) usual(delays []int64, offset int64) int64 {
	if !t.agree {
		return quantile(delays, 2, 5)
	}
	return nearest(delays, -offset)
}

// center subtracts the median offset, because the absolute offset is unknown.
func (t *timed) center() {
	var all []int64
	for _, c := range t.clocks {
		all = append(all, c.Offset)
	}
	mid := median(all)
	for d := range t.clocks {
		t.set(d, t.clocks[d].Offset-mid)
	}
}

// syncs returns the points at which ranks wait for all others, which are those of no message and no root. A rank
// has left one where it enters the call before which it waits for it.
func (t *timed) syncs() iter.Seq[[]clock.Entry] {
	lags := make([][]int8, len(t.ranks)) // of each call, to the one before it that is waited for
	for r := range lags {
		lags[r] = make([]int8, len(t.ranks[r].calls))
	}
	for i := range t.places {
		if p := &t.places[i]; !p.carried {
			for _, c := range p.cohorts {
				for _, e := range c {
					lags[e.Process][e.Call] = p.lag
				}
			}
		}
	}
	left := func(e entry) int64 {
		for lag, after := range lags[e.Process][e.Call+1 : min(int(e.Call)+1+maxLag, len(lags[e.Process]))] {
			if int(after) == lag+1 {
				return t.at(entry{Process: e.Process, Call: e.Call + 1 + int32(lag)})
			}
		}
		return clock.Unknown
	}
	return func(yield func([]clock.Entry) bool) {
		var sync []clock.Entry
		for i := range t.points {
			if _, few := t.rootWaitAt(int32(i)); few || t.points[i].Message {
				continue
			}
			sync = sync[:0]
			for _, e := range t.points[i].Entries {
				sync = append(sync, clock.Entry{Clock: t.domain[e.Process], Enter: t.at(e), Left: left(e)})
			}
			if !yield(sync) {
				return
			}
		}
	}
}
