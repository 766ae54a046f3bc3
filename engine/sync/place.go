package sync

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Place is a call site of the program: the kind of call, the kind of the call before it, and, if a loop makes several
// calls of one kind in a row, the index of the call.
type Place struct {
	Kind, Before int32
	phase        int32
	Cohorts      []Cohort
	Lag          int8 // the call before it that is waited for, counted back from it; allBefore: all are; 0: none
	Mixed        bool // members come to it from different calls, as those of several groups do
	// Carried: a rank enters it as late as the call before, without a wait in between. Known only with several clocks.
	Carried bool
	leaves  bool // cohorts are the entries with which ranks leave the call before
}

// CallsBack returns how many calls back ranks wait, the nearest of several; 0: they do not wait.
func (p *Place) CallsBack() int {
	if p.Lag == allBefore {
		return 1
	}
	return int(p.Lag)
}

// Cohort is a set of comparable entries: the members of one synchronisation point, or the ranks that made the same
// step of a chain of messages.
type Cohort []Entry

// maxPeriod is how many calls a step may have for its loop to be found.
const maxPeriod = 64

// places sorts the entries that have a call before them by place.
func (m *Matching) places() []Place {
	type key struct{ kind, before, phase int32 }
	var found ordered.List[key, Place]
	put := func(k key, c Cohort) *Place {
		at, first := found.Of(k)
		if first {
			at.Kind, at.Before, at.phase = k.kind, k.before, k.phase
		}
		at.Cohorts = append(at.Cohorts, c)
		return at
	}
	phase := m.phases()
	type ofStep struct {
		key
		number int64 // of the message among those of its rank at this place
	}
	messages := map[ofStep]Cohort{}
	for i := range m.Points {
		p := &m.Points[i]
		if p.Message {
			for _, e := range p.Entries {
				if e.Call > 0 {
					k := ofStep{key{m.SiteOf(e), m.siteBefore(e), 0}, p.Number}
					messages[k] = append(messages[k], e)
				}
			}
			continue
		}
		e := p.Entries[0]
		first := func(e Entry) bool { return e.Call == 0 }
		if len(p.Entries) < 2 || len(p.Entries) < len(m.Members[p.Group]) || slices.ContainsFunc(p.Entries, first) {
			continue
		}
		before := m.siteBefore(e)
		at := put(key{m.SiteOf(e), before, phase[i]}, p.Entries)
		at.Mixed = at.Mixed || slices.ContainsFunc(p.Entries, func(e Entry) bool { return m.siteBefore(e) != before })
	}
	for k, c := range messages {
		if len(c) > 1 {
			put(k.key, c)
		}
	}
	out := found.All
	for i := range out {
		slices.SortFunc(out[i].Cohorts, func(a, b Cohort) int { return cmp.Compare(m.Enter(a[0]), m.Enter(b[0])) })
	}
	slices.SortFunc(out, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Before, b.Before), cmp.Compare(a.phase, b.phase))
	})
	return out
}

// siteBefore returns the site of the call before an entry.
func (m *Matching) siteBefore(e Entry) int32 { return m.SiteOf(Previous(e, 1)) }

// phases numbers points within the recorded step, or within the period of their group. Only groups whose kinds alone do
// not show a period are numbered. Groups that make calls of one kind, as replicas of a mesh do, are numbered by steps
// together, because their calls belong to one place.
func (m *Matching) phases() []int32 {
	out := make([]int32, len(m.Points))
	by, periods, asks := m.completePoints(), make([]int, len(m.Groups)), make([]bool, len(m.Groups)) // asks is of the first of each set
	for g, points := range by {
		periods[g] = m.period(points)
	}
	alike := m.groupSets(by)
	m.sharePeriods(by, periods, alike)
	for g := range by {
		asks[alike.First(g)] = asks[alike.First(g)] || periods[g] > 1 || m.Groups[g].OnHost
	}
	for g, points := range by {
		byStep := asks[alike.First(g)] && m.isStepwise(points)
		for i, p := range points {
			switch {
			case byStep:
				out[p] = int32(m.Call(m.Points[p].Entries[0]).Nth)
			case periods[g] > 1:
				out[p] = int32(i % periods[g])
			}
		}
	}
	return out
}

// countTolerance is the share by which the numbers of points of two groups may differ if they make as many calls in a
// step.
const countTolerance = 0.05

// sharePeriods gives groups without a period of their own the most frequent period of groups with the same kinds and
// about as many calls. Replicas of a mesh run one program, and the times of a replica with a late rank do not repeat.
func (m *Matching) sharePeriods(by [][]int32, periods []int, alike Sets) {
	for g, points := range by {
		if periods[g] > 1 {
			continue
		}
		votes, best := map[int]int{}, 0
		for h := range by {
			if n := float64(len(by[h])); periods[h] > 1 && alike.First(h) == alike.First(g) && math.Abs(n-float64(len(points))) <= countTolerance*n {
				if votes[periods[h]]++; votes[periods[h]] > votes[best] || votes[periods[h]] == votes[best] && periods[h] < best {
					best = periods[h]
				}
			}
		}
		if best > 1 && m.kindsRepeat(points, best) {
			periods[g] = best
		}
	}
}

// kindsRepeat reports whether nearly all calls of a group are of the kind that the call a period before was of.
func (m *Matching) kindsRepeat(points []int32, period int) bool {
	wrong := 0
	for i := period; i < len(points); i++ {
		if m.SiteOf(m.Points[points[i]].Entries[0]) != m.SiteOf(m.Points[points[i-period]].Entries[0]) {
			wrong++
		}
	}
	return wrong*20 <= len(points)
}

// groupSets returns the sets of groups that make calls of one kind, of points by group.
func (m *Matching) groupSets(by [][]int32) Sets {
	alike, first := NewSets(len(by)), map[int32]int{}
	for g, points := range by {
		for _, p := range points {
			kind := m.SiteOf(m.Points[p].Entries[0])
			if _, ok := first[kind]; !ok {
				first[kind] = g
			}
			alike.Join(first[kind], g)
		}
	}
	return alike
}

// completePoints returns, for each group, the points of collectives that all its members entered, in their order, without
// those before the first recorded step and behind the last.
func (m *Matching) completePoints() [][]int32 {
	by := make([][]int32, len(m.Groups))
	for i := range m.Points {
		if p := &m.Points[i]; !p.Message && len(p.Entries) == len(m.Members[p.Group]) && p.Age == 0 && m.isAmongSteps(p.Entries[0]) {
			by[p.Group] = append(by[p.Group], int32(i))
		}
	}
	for _, points := range by {
		slices.SortFunc(points, func(a, b int32) int {
			x, y := &m.Points[a], &m.Points[b]
			return cmp.Or(cmp.Compare(x.Number, y.Number), cmp.Compare(x.Part, y.Part))
		})
	}
	return by
}

// maxOutsideShare is the share of a group's calls that may lie outside recorded steps, or in steps with an unusual
// number of calls, for steps to number them.
const maxOutsideShare = 0.1

// isAmongSteps reports whether an entry lies between the first and the last recorded step of its rank; true for a rank
// without recorded steps.
func (m *Matching) isAmongSteps(e Entry) bool {
	in := m.recorded[e.Process]
	return in == [2]int32{} || e.Call >= in[0] && e.Call < in[1]
}

// isStepwise reports whether nearly all points are the same call of a recorded step on all members, and steps have
// equally many of them, and few.
func (m *Matching) isStepwise(points []int32) bool {
	count := make([]int, maxPeriod+1) // of calls by their number in a step; 0: in none
	for _, p := range points {
		entries := m.Points[p].Entries
		nth := m.Call(entries[0]).Nth
		if nth > maxPeriod {
			return false
		}
		if slices.ContainsFunc(entries, func(e Entry) bool { return m.Call(e).Nth != nth }) {
			nth = 0
		}
		count[nth]++
	}
	odd := count[0]
	for _, n := range count[1:] {
		odd += min(n, count[1]-n)
	}
	return float64(odd) <= maxOutsideShare*float64(len(points))
}

// period returns after how many points the calls of a group repeat, by their kinds and the time before each; 0 if
// kinds alone show as much. Calls made once at the beginning of the job do not count.
func (m *Matching) period(points []int32) int {
	gaps, kinds := m.gaps(points)
	n := len(gaps)
	if n < 12 {
		return 0
	}
	alone := spreadBy(gaps, kinds)
	phase := make([]int64, n)
	score := make([]float64, min(maxPeriod, n/4)+1)
	least := float64(alone) / 2
	for p := 2; p < len(score); p++ {
		score[p] = math.Inf(1)
		wrong := 0
		for i := range phase {
			phase[i] = int64(i % p)
			if i >= p && kinds[i] != kinds[i-p] {
				wrong++
			}
		}
		if wrong*20 <= n {
			score[p] = float64(spreadBy(gaps, phase)) * float64(n) / float64(n-p) // a median fits what it is taken of
			least = min(least, score[p])
		}
	}
	for p := 2; p < len(score); p++ {
		if score[p] <= least*1.25 && score[p] < float64(alone)/2 {
			return p
		}
	}
	return 0
}

// gaps returns the least time that any rank takes to each point, ns, and a number for the kinds of its call and the call
// before. The least time leaves out waits for a rank that is late now and then. Calls at the beginning of the job are
// left out.
func (m *Matching) gaps(points []int32) (gaps, kinds []int64) {
	count := map[int64]int{}
	var times []int64
	for _, p := range points {
		times = times[:0]
		for _, e := range m.Points[p].Entries {
			if e.Call > 0 {
				times = append(times, m.Enter(e)-m.Enter(Previous(e, 1)))
			}
		}
		e, before := m.Points[p].Entries[0], int32(-1)
		if e.Call > 0 {
			before = m.siteBefore(e)
		}
		gaps, kinds = append(gaps, quantile(times, 0, 1)), append(kinds, int64(m.SiteOf(e))<<32|int64(uint32(before)))
		count[kinds[len(kinds)-1]]++
	}
	from := 0
	for from < len(kinds) && count[kinds[from]] < max(3, len(kinds)/20) {
		from++
	}
	return gaps[from:], kinds[from:]
}

// spreadBy returns the sum of distances from the medians of classes.
func spreadBy(x, class []int64) int64 {
	by := map[int64][]int64{}
	for i, v := range x {
		by[class[i]] = append(by[class[i]], v)
	}
	sum := int64(0)
	for _, v := range by {
		mid := median(v)
		for _, w := range v {
			sum += abs(w - mid)
		}
	}
	return sum
}

// median returns the median of x, the lower one of two; 0 of none. It reorders x.
func median(x []int64) int64 { return quantile(x, 1, 2) }

// quantile returns the value below which a/b of x lie. It reorders x.
func quantile(x []int64, a, b int) int64 {
	if len(x) == 0 {
		return 0
	}
	return robust.Select(x, (len(x)-1)*a/b)
}

func abs(x int64) int64 {
	if x < 0 {
		return -x
	}
	return x
}

// isSend reports whether an entry gives and does not wait for others by nature.
func (m *Matching) isSend(e Entry) bool { return m.KindOf(e).Op == nccl.Send }

// Repeats reports whether a place is part of what the job repeats, and not of its beginning or end: of what is called
// before the first recorded step, or behind the last.
func (t *Waits) Repeats(at int) bool { return t.IsRepeated(&t.Places[at]) }

// IsRepeated reports whether the job repeats a place, or a collection of exits.
func (t *Waits) IsRepeated(p *Place) bool {
	n, least := len(p.Cohorts), max(Enough, t.maxCohorts/20)
	if p.leaves {
		least = min(least, maxExits/2)
	}
	if n < least {
		return false
	}
	for _, c := range p.Cohorts {
		if !t.isAmongSteps(c[0]) {
			n--
		}
	}
	return n >= least
}

// IsMessageAt reports whether a place is a send or receive. Its two ends are different parts of the program: the work
// before them counts at the collective after it, if there is one.
func (t *Waits) IsMessageAt(at int) bool {
	return t.Blocks != nil && t.IsMessage(t.Call(t.Places[at].Cohorts[0][0]))
}
