package stages

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/profile"
)

// member is a collective of one rank.
type member struct{ rank, collective int }

// matching says which collectives of different ranks are one.
type matching struct {
	sets        [][]member // each of two ranks or more, by rank: first those of collectives
	collectives int        // how many sets are
	of          [][]int32  // [rank][collective] position in sets, −1: none
	messages    []message
	partners    map[member][]member // that messages go to and come from
	between     map[pair][]int      // messages of two ranks
}

// callKey is what the calls of one collective agree on: the group, and its
// sequence number there, or else the step, the operation and the ordinal in it.
type callKey struct {
	group   string
	seq     int64 // −1: the rest counts
	step    int64
	op      profile.Operation
	ordinal int
}

// match finds the collectives that are one on several ranks, and the sends and
// receives that are one message. Where ranks
// differ in how often they call in a step, that step's calls of the group are
// not matched: which belongs to which cannot be told. O(n) and a sort.
func match(ranks []*profile.Rank) *matching {
	m := &matching{of: make([][]int32, len(ranks))}
	found := make(map[callKey][]member)
	var keys []callKey // in order of appearance
	counts := make(map[callKey][]int)
	for r, rank := range ranks {
		m.of[r] = slices.Repeat([]int32{-1}, len(rank.Collectives))
		if len(ranks) == 1 {
			return m
		}
		ordinals := make(map[callKey]int)
		groups := make(map[*int]string) // by the list of members, which calls share
		for _, i := range byStart(rank.Collectives) {
			c := &rank.Collectives[i]
			if c.Step < 0 || c.Op.PointToPoint() {
				continue
			}
			k := callKey{group: groupKey(c, groups), seq: -1, step: rank.Steps[c.Step].Index, op: c.Op}
			if c.Seq >= 0 {
				k = callKey{group: k.group, seq: c.Seq}
			} else {
				kind := k
				k.ordinal = ordinals[kind]
				ordinals[kind]++
			}
			if found[k] == nil {
				keys = append(keys, k)
			}
			found[k] = append(found[k], member{r, i})
		}
		for kind, n := range ordinals {
			counts[kind] = append(counts[kind], n)
		}
	}
	for _, k := range keys {
		kind := k
		kind.ordinal = 0
		if set := found[k]; len(set) > 1 && distinct(set) && (k.seq >= 0 || same(counts[kind])) {
			for _, each := range set {
				m.of[each.rank][each.collective] = int32(len(m.sets))
			}
			m.sets = append(m.sets, set)
		}
	}
	m.collectives = len(m.sets)
	m.matchMessages(ranks)
	return m
}

// groupKey tells groups apart: by their members where these are known. known
// keeps what long lists come to.
func groupKey(c *profile.Collective, known map[*int]string) string {
	if len(c.Ranks) > 0 && (c.Size == 0 || len(c.Ranks) == c.Size) {
		key, ok := known[&c.Ranks[0]]
		if !ok {
			key = trace.RankList(c.Ranks)
			known[&c.Ranks[0]] = key
		}
		return key
	}
	return fmt.Sprintf("%s/%d", c.Group, c.Size)
}

func byStart(all []profile.Collective) []int {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(all[a].Start, all[b].Start) })
	return order
}

func distinct(set []member) bool {
	for i := 1; i < len(set); i++ {
		if set[i].rank == set[i-1].rank {
			return false
		}
	}
	return true
}

func same(n []int) bool {
	return !slices.ContainsFunc(n, func(x int) bool { return x != n[0] })
}

// Clock leads from a rank's own time to the common one of its run:
// t − Offset − Drift·(t − At).
type Clock struct {
	Offset   int64   // ns ahead of the common time, at At
	Drift    float64 // ns per ns
	At       int64
	Matches  int   // collectives that tell
	Messages int   // that tell, where no collective does; with neither, the clock is taken as it is
	Residual int64 // ns: median of how far the ends of collectives are still apart, or how far off messages let it be
}

// Common is the common time of a moment on the clock.
func (c Clock) Common(t int64) int64 {
	return t - c.Offset - int64(math.Round(c.Drift*float64(t-c.At)))
}

// Clocks brings the clocks of ranks together: a collective on the device ends
// on all its members at once, give or take microseconds. Each rank is compared
// with one that has been placed before, the one with which it has most
// collectives in common; offset and drift are the median and the Theil–Sen
// slope (Sen 1968, JASA 63:1379–1389) of the differences of ends, the drift
// only where it halves what is left. A rank that shares no collective with any
// is placed by its messages, which are not received before they are sent. O(n),
// and quadratic in at most 256 points
// for each rank.
func Clocks(ranks []*profile.Rank) []Clock { return clocks(ranks, match(ranks)) }

func clocks(ranks []*profile.Rank, m *matching) []Clock {
	out := make([]Clock, len(ranks))
	p := placing{ranks: ranks, m: m, placed: make([]bool, len(ranks)), used: make([]bool, len(m.sets)), shared: make(map[pair]int)}
	for range ranks {
		rank, reference := p.next()
		if reference >= 0 {
			at := pair{rank, reference}
			if out[rank] = compare(ranks, m, at, out[reference]); out[rank].Matches == 0 {
				oneHost := ranks[rank].Host != "" && ranks[rank].Host == ranks[reference].Host
				out[rank] = m.boundsOf(ranks, at, out[reference]).clock(out[reference], oneHost)
			}
		}
		p.place(rank)
	}
	return out
}

type pair struct{ rank, reference int }

// sorted is the pair without regard to who is the reference.
func (p pair) sorted() pair {
	return pair{min(p.rank, p.reference), max(p.rank, p.reference)}
}

// placing is which clocks have been placed, and what those that have not share
// with them: of each collective, with the member that was placed first.
type placing struct {
	ranks  []*profile.Rank
	m      *matching
	placed []bool
	used   []bool // sets with a member that is placed
	shared map[pair]int
}

// place counts what the others share with a rank. O(n) over all ranks.
func (p *placing) place(rank int) {
	p.placed[rank] = true
	for _, set := range p.m.of[rank] {
		if set < 0 || p.used[set] || !p.m.collective(set) {
			continue
		}
		p.used[set] = true
		for _, each := range p.m.sets[set] {
			if !p.placed[each.rank] && p.ranks[each.rank].Collectives[each.collective].OnDevice {
				p.shared[pair{each.rank, rank}]++
			}
		}
	}
	for k := range p.shared {
		if k.rank == rank {
			delete(p.shared, k)
		}
	}
}

// next is the rank to place next, and the placed one that shares most
// collectives with it, −1: none does.
func (p *placing) next() (rank, reference int) {
	rank, reference = p.byMessages()
	most := 0
	for k, n := range p.shared {
		if n > most || n == most && (k.rank < rank || k.rank == rank && k.reference < reference) {
			rank, reference, most = k.rank, k.reference, n
		}
	}
	return rank, reference
}

// byMessages is a rank that exchanges messages with one that is placed, the one
// with most of them; else the first that is not placed, with no reference.
func (p *placing) byMessages() (rank, reference int) {
	rank, reference = slices.Index(p.placed, false), -1
	most := 0
	for of, messages := range p.m.between {
		if p.placed[of.rank] == p.placed[of.reference] {
			continue
		}
		if p.placed[of.rank] {
			of.rank, of.reference = of.reference, of.rank
		}
		if n := len(messages); n > most || n == most && (of.rank < rank || of.rank == rank && of.reference < reference) {
			rank, reference, most = of.rank, of.reference, n
		}
	}
	return rank, reference
}

// compare places the clock of a rank by one that is placed.
func compare(ranks []*profile.Rank, m *matching, p pair, by Clock) Clock {
	points := endsOf(ranks, m, p, by)
	if len(points) == 0 {
		return Clock{}
	}
	steady := points.clock(0)
	const enough = 8
	if len(points) < enough {
		return steady
	}
	if drifting := points.clock(points.slope()); 2*drifting.Residual < steady.Residual {
		return drifting
	}
	return steady
}

// points are the ends of collectives: when, on the clock to be placed, and how
// far it is ahead then.
type points []point

type point struct{ at, apart int64 }

// endsOf are the collectives that a rank has in common with one that is placed,
// by time.
func endsOf(ranks []*profile.Rank, m *matching, p pair, by Clock) points {
	var out points
	for i, set := range m.of[p.rank] {
		if set < 0 || !m.collective(set) {
			continue
		}
		at, ok := slices.BinarySearchFunc(m.sets[set], p.reference, func(x member, rank int) int { return x.rank - rank })
		if ok {
			own := ranks[p.rank].Collectives[i].End
			out = append(out, point{own, own - by.Common(ranks[p.reference].Collectives[m.sets[set][at].collective].End)})
		}
	}
	slices.SortFunc(out, func(a, b point) int { return cmp.Compare(a.at, b.at) })
	return out
}

// clock is the clock with the given drift.
func (p points) clock(drift float64) Clock {
	c := Clock{Drift: drift, At: p[0].at, Matches: len(p)}
	left := make([]int64, len(p))
	for i, q := range p {
		left[i] = q.apart - int64(math.Round(drift*float64(q.at-c.At)))
	}
	c.Offset = median(left)
	for i := range left {
		left[i] = max(left[i]-c.Offset, c.Offset-left[i])
	}
	c.Residual = median(left)
	return c
}

// slope is the median of the slopes between any two of at most 256 points, 0
// when they are of one time.
func (p points) slope() float64 {
	const most = 256
	thin := p
	if len(p) > most {
		thin = nil
		for i := range most {
			thin = append(thin, p[i*len(p)/most])
		}
	}
	var slopes []float64
	for i := range thin {
		for j := i + 1; j < len(thin); j++ {
			if dt := thin[j].at - thin[i].at; dt > 0 {
				slopes = append(slopes, float64(thin[j].apart-thin[i].apart)/float64(dt))
			}
		}
	}
	if len(slopes) == 0 {
		return 0
	}
	slices.Sort(slopes)
	return slopes[len(slopes)/2]
}

// median is the lower median of a copy.
func median(x []int64) int64 {
	x = slices.Sorted(slices.Values(x))
	return x[(len(x)-1)/2]
}
