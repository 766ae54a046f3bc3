package arrivals

import (
	"cmp"
	"math"
	"slices"
)

// Clock is one clock of the job.
type Clock struct {
	Host   string // "" where a process's host is not known: then it has a clock of its own
	Ranks  []int
	Offset int64 // nanoseconds added to it
	// HalfWidth is half the interval in which the entries leave the offset;
	// −1 where they do not bound it. 0 where there is one clock only.
	HalfWidth int64
}

// rounds of fitting offsets and learning the blocking calls, which depend on each
// other.
const rounds = 5

// align aligns the clocks and learns the blocking calls.
func (m *matching) align() *timed {
	t := &timed{matching: m, offset: make([]int64, len(m.ranks)), times: make([][]int64, len(m.ranks)), domain: make([]int, len(m.ranks))}
	for r := range m.ranks {
		t.times[r] = make([]int64, len(m.ranks[r].calls))
		t.shift(r, 0)
	}
	hosts := map[string]int{}
	for r := range m.ranks {
		host := cmp.Or(m.ranks[r].host, m.hosts[m.ranks[r].id])
		d, ok := hosts[host]
		if !ok || host == "" {
			d = len(t.clocks)
			hosts[host] = d
			t.clocks = append(t.clocks, Clock{Host: host})
		}
		t.domain[r] = d
		t.clocks[d].Ranks = append(t.clocks[d].Ranks, m.ranks[r].id)
	}
	t.places = m.places()
	if len(t.clocks) < 2 {
		t.releases()
		t.learn()
		return t
	}
	t.begin()
	for range rounds {
		t.releases()
		t.learn()
		t.refine()
	}
	t.releases()
	t.learn()
	return t
}

// begin takes the clocks as they are, where the waits show as well as with every
// clock in the middle: hosts keep their clocks together, and what a job does
// once at its beginning then bounds the offsets.
func (t *timed) begin() {
	count := func() (n int) {
		t.releases()
		t.learn()
		t.eachWait(func(entry, int32) { n++ })
		return n
	}
	asTheyAre := count()
	t.roughly()
	if asTheyAre*10 >= count()*9 {
		for d := range t.clocks {
			t.set(d, 0)
		}
	}
}

// roughly sets offsets so that every clock's entries are in the middle of
// their cohorts.
func (t *timed) roughly() {
	by := make([][]int64, len(t.clocks))
	var times []int64
	for _, p := range t.places {
		for _, c := range p.cohorts {
			times = times[:0]
			for _, e := range c {
				times = append(times, t.enter(e))
			}
			mid := median(times)
			for _, e := range c {
				by[t.domain[e.rank]] = append(by[t.domain[e.rank]], t.enter(e)-mid)
			}
		}
	}
	for d := range by {
		t.set(d, -nearest(by[d], 0))
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
	for r := range t.domain {
		if t.domain[r] == d {
			t.shift(r, offset)
		}
	}
}

// refine shifts every clock, within the bounds of the entries, to minimise own delay
// over all places at which its ranks waited for others.
func (t *timed) refine() {
	by := make([][]int64, len(t.clocks))
	t.eachDelay(func(p *place, _ int, e entry, x int64) {
		if p.lag > 0 {
			by[t.domain[e.rank]] = append(by[t.domain[e.rank]], x)
		}
	})
	low, high := t.bounds()
	for d := range by {
		c := &t.clocks[d]
		// Delays are late by x: the offset that takes them away is lower by x, of
		// which the other clocks take their part.
		offset := c.Offset - nearest(by[d], -c.Offset)*int64(len(by)-1)/int64(len(by))
		c.HalfWidth = -1
		if low[d] > math.MinInt64 && high[d] < math.MaxInt64 && low[d] <= high[d] {
			offset = min(max(offset, low[d]), high[d])
			c.HalfWidth = (high[d] - low[d]) / 2
		}
		t.set(d, offset)
	}
	t.center()
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

// extremes are the furthest value of any clock, and the furthest of any other.
type extremes struct {
	first, second int64
	domain        int
}

func (x *extremes) add(v int64, domain int) {
	switch {
	case v > x.first && domain == x.domain:
		x.first = v
	case v > x.first:
		x.first, x.second, x.domain = v, x.first, domain
	case v > x.second && domain != x.domain:
		x.second = v
	}
}

func (x *extremes) but(domain int) int64 {
	if domain == x.domain {
		return x.second
	}
	return x.first
}

// bounds are the limits of each offset, given the others: no rank that waited for a
// point continues before its last entry.
func (t *timed) bounds() (low, high []int64) {
	none := extremes{math.MinInt64, math.MinInt64, -1}
	last, next := make([]extremes, len(t.points)), make([]extremes, len(t.points))
	for i := range last {
		last[i], next[i] = none, none
		for _, e := range t.points[i].entries {
			last[i].add(t.at(e), t.domain[e.rank])
		}
	}
	low, high = make([]int64, len(t.clocks)), make([]int64, len(t.clocks))
	for d := range low {
		low[d], high[d] = math.MinInt64, math.MaxInt64
	}
	t.eachWait(func(e entry, p int32) {
		d := t.domain[e.rank]
		next[p].add(-t.at(e), d)
		if l := last[p].but(d); l > math.MinInt64 {
			low[d] = max(low[d], l-t.enter(e))
		}
	})
	for i := range t.points {
		for _, e := range t.points[i].entries {
			d := t.domain[e.rank]
			if n := next[i].but(d); n > math.MinInt64 {
				high[d] = min(high[d], -n-t.enter(e))
			}
		}
	}
	return low, high
}

// eachWait calls f for every entry before which its rank waited for a whole
// point that is no message and no tree.
func (t *timed) eachWait(f func(e entry, waited int32)) {
	for i := range t.places {
		p := &t.places[i]
		if p.lag == 0 {
			continue
		}
		for _, c := range p.cohorts {
			for _, e := range c {
				if int32(p.lag) > e.call {
					continue
				}
				if w := t.of[e.rank][e.call-int32(p.lag)]; !t.message(&t.points[w]) && !t.inTree(w) {
					f(e, w)
				}
			}
		}
	}
}

// eachDelay calls f with the own delay of every entry: its work less the lower
// median of the others in its cohort.
func (t *timed) eachDelay(f func(p *place, cohort int, e entry, x int64)) {
	var w, sorted []int64
	for i := range t.places {
		p := &t.places[i]
		for k, c := range p.cohorts {
			w = w[:0]
			for _, e := range c {
				w = append(w, t.since(e, p.lag))
			}
			sorted = append(sorted[:0], w...)
			slices.Sort(sorted)
			for j, e := range c {
				f(p, k, e, w[j]-ofOthers(sorted, w[j]))
			}
		}
	}
}

// ofOthers is the lower median of sorted without one value x of it.
func ofOthers(sorted []int64, x int64) int64 {
	h := (len(sorted) - 2) / 2
	if x <= sorted[h] {
		return sorted[h+1]
	}
	return sorted[h]
}
