package frontier

import (
	"slices"

	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace/stagename"
)

// course is a view with wait split from productive time: where ranks synchronise, each waits until the last
// of its set has come.
type course struct {
	wait  []int64   // [row] Σ_t Σ_r of the time waited
	spent [][]int64 // [row][rank] Σ_t of productive time; 0 in stages that are measured waiting
	usual []int64   // [row] median over steps of the median rank's productive time, where ranks synchronise
}

// follow walks a view once. Expected O(T·S·R) time, O(S·(R + T)) memory.
func follow(v *view) *course {
	S, R := len(v.order), v.ranks()
	c := &course{wait: make([]int64, S), spent: make([][]int64, S), usual: make([]int64, S)}
	for i := range c.spent {
		c.spent[i] = make([]int64, R)
	}
	busy, scratch, medians := make([]int64, R), make([]int64, R), make([][]int64, S)
	v.walk(func(i int, x, d []int64) {
		if v.syncs[i] != nil {
			c.wait[i] += pass(v.syncs[i], x, d, busy)
			medians[i] = append(medians[i], robust.MedianTimeOf(busy, scratch))
			d = busy
		} else {
			addTo(x, d)
		}
		if !stagename.IsWait(v.name(i)) {
			addTo(c.spent[i], d)
		}
	}, nil)
	for i, m := range medians {
		c.usual[i] = robust.MedianTime(m)
	}
	return c
}

// walk shows the rows of a view in the order of time: x is when the ranks arrive, which row makes
// when they leave, d how long they take; end is shown when they are done with a stretch in which
// prefixes are not reset.
func (v *view) walk(row func(i int, x, d []int64), end func(x []int64)) {
	x := make([]int64, v.ranks())
	copy(x, v.start)
	for t := range v.steps {
		if v.cut != CutCarried {
			clear(x)
		}
		for i := range v.order {
			row(i, x, v.row(t, i))
		}
		if end != nil && v.endsStretch(t) {
			end(x)
		}
	}
}

// pass takes ranks that arrive at x and spend d in the row through a
// synchronisation point: busy becomes what each rank spends in it after the last of its
// set has come, x when it leaves. It returns Σ over ranks of the time waited.
func pass(sets [][]int, x, d, busy []int64) (waited int64) {
	for _, set := range sets {
		last := x[set[0]]
		for _, r := range set {
			last = max(last, x[r])
		}
		for _, r := range set {
			busy[r] = max(0, d[r]-(last-x[r]))
			x[r] = last + busy[r]
			waited += d[r] - busy[r]
		}
	}
	return waited
}

// savings finds, for every group of rows, how much shorter a view would be with
// the group clipped to its baseline (StageFrontier, section 4: G = (ΣF − ΣF′) ÷ ΣF,
// here the numerator).
//
// A clipped rank arrives earlier. Where ranks synchronise, only the last arrival
// counts: all that is saved is what the last arrival is earlier by, and from
// there on every rank is earlier by that.
type savings struct {
	early [][]int64 // [group][rank]: how much earlier than recorded the rank is
	even  []bool    // [group]: early is the same for all ranks
	saved []int64   // [group]
}

// staticSavings returns what clipping each group to a base, [row][rank], saves where every later wait stays in
// place: the paper's gain, [group]. O(T·S·R).
func (v *view) staticSavings(base [][]int64) []int64 {
	s := newSavings(v)
	v.walk(func(i int, x, d []int64) {
		s.clip(v.group[i], d, base[i])
		addTo(x, d)
	}, s.end)
	return s.saved
}

// inducedSavings returns the same with the waits that a stage induces. O(G·T·S·R) where every row is one in which ranks
// synchronise.
func (v *view) inducedSavings(base [][]int64) []int64 {
	s, busy := newSavings(v), make([]int64, v.ranks())
	v.walk(func(i int, x, d []int64) {
		if v.syncs[i] == nil {
			s.clip(v.group[i], d, base[i])
			addTo(x, d)
			return
		}
		s.sync(x, v.syncs[i])
		pass(v.syncs[i], x, d, busy)
		s.clip(v.group[i], busy, base[i])
	}, s.end)
	return s.saved
}

func newSavings(v *view) *savings {
	G := len(v.groups)
	s := &savings{early: make([][]int64, G), even: slices.Repeat([]bool{true}, G), saved: make([]int64, G)}
	for g := range s.early {
		s.early[g] = make([]int64, v.ranks())
	}
	return s
}

func (s *savings) clip(group int, d, base []int64) {
	early, any := s.early[group], int64(0)
	early, base = early[:len(d)], base[:len(d)]
	for r, x := range d {
		over := max(0, x-base[r])
		early[r] += over
		any |= over
	}
	s.even[group] = s.even[group] && any == 0
}

// sync advances to a synchronisation point of sets at which the ranks arrive at x.
func (s *savings) sync(x []int64, sets [][]int) {
	for g, early := range s.early {
		if s.even[g] {
			continue
		}
		for _, set := range sets {
			last, without := x[set[0]], x[set[0]]-early[set[0]]
			for _, r := range set {
				last, without = max(last, x[r]), max(without, x[r]-early[r])
			}
			for _, r := range set {
				early[r] = last - without
			}
		}
		s.even[g] = isOneSet(sets)
	}
}

// end advances to the end of a stretch: the ranks have reached x.
func (s *savings) end(x []int64) {
	last := slices.Max(x)
	for g, early := range s.early {
		without := x[0] - early[0]
		for r, reached := range x {
			without = max(without, reached-early[r])
		}
		s.saved[g] += last - without
		clear(early)
		s.even[g] = true
	}
}

// tile is how many ranks are taken at once when medians over steps are taken: wide
// enough that each cache line read is used whole.
const tile = 64

// rankMedians returns the median over the window's steps of every rank's duration in every stage, [stage][rank]: StageFrontier,
// section 4, "rank median". Expected O(T·S·R) time.
func (m *rows) rankMedians() [][]int64 {
	T, R := m.w.Steps(), len(m.w.Ranks)
	out, block := make([][]int64, len(m.names)), make([]int64, min(tile, R)*T)
	for s := range out {
		out[s] = make([]int64, R)
		for from := 0; from < R; from += tile {
			to := min(from+tile, R)
			for t := range T {
				for r, x := range m.durations(t, s)[from:to] {
					block[r*T+t] = x
				}
			}
			for r := from; r < to; r++ {
				out[s][r] = robust.MedianTime(block[(r-from)*T:][:T])
			}
		}
	}
	return out
}
