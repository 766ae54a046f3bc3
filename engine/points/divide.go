package points

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/internal/robust"
)

// Division is steps divided where the ranks synchronise. Between two synchronisation
// points every rank works alone: its pieces are the stages in between, which lie in one
// step or end in the next. At a point all wait for the last, and go on together.
//
//	length of the run = Σ over intervals and points: the last rank's pieces + what follows its arrival
//
// The arrivals at one point after another make an interval: it begins after the last point of
// a step and ends at the last of the next. In front of the first point of a stretch and
// behind its last one an interval holds the pieces that were recorded, and the others are 0
// for all ranks.
type Division struct {
	Stages []Stage // those of the steps; what no stage covers is the last, where wall time was recorded
	Found          // no points where ranks run freely: then an interval is a step. What ranks wait Within a step is taken off their work
	Pieces []Piece
	Ranks  int
	// Intervals is their number.
	Intervals int
	// Work of each piece, [interval][rank]; of recording errors the usual.
	Work [][]int64
	// Arrivals at each point (one, where ranks run freely), [interval][rank]: the sums of the pieces that
	// lead to it.
	Arrivals [][]int64
	// Spent is, of each point, how long the ranks were in the stage, waits included,
	// [interval][rank]; 0 where the interval does not reach it.
	Spent [][]int64
	// After is, of each point, how long all ranks stay after the last arrived, [interval].
	After [][]int64
	// Head and Tail are the steps in which an interval ends and begins; −1: none.
	Head, Tail []int
	// Absent are, of each piece, the intervals in which nothing of it was recorded. nil: there are none
	// but those without a head or a tail.
	Absent [][]bool
	Errors []Error
}

// Piece is a stage in which ranks work alone.
type Piece struct {
	Stage int
	Point int  // that it leads to; 0 where ranks run freely
	Tail  bool // recorded in the step before that of the point
	// Ranks are those whose work it is a part of; nil: all. The others have the median of these.
	Ranks []int
}

// Error is a value that is none: a rank cannot enter a synchronisation point after
// others have left it.
type Error struct {
	Step, Rank, Stage int
	Size              int64 // by which the value exceeds the rank's usual one, ns
}

// Free reports whether ranks wait for each other nowhere.
func (d *Division) Free() bool { return len(d.Points) == 0 }

// Step of an interval in which a piece was recorded; −1: none.
func (d *Division) Step(interval, piece int) int {
	if d.Absent != nil && d.Absent[piece][interval] {
		return -1
	}
	if d.Pieces[piece].Tail {
		return d.Tail[interval]
	}
	return d.Head[interval]
}

// Steps is the number of steps.
func (d *Division) Steps() int { return 1 + max(-1, slices.Max(append([]int{-1}, d.Head...))) }

// Divide finds where the ranks synchronise and divides the steps there. Values that
// cannot be, at points that are shown, are set aside. A point at which a rank has more of
// them than one in a hundred is none.
func Divide(s *Steps, g Gates) *Division {
	found := find(s, g.orDefault())
	if len(found.Points) == 0 && len(found.Within) > 0 {
		// No stage holds all: the ranks of a set wait for one another, and for no others.
		last := len(found.Within) - 1
		at := found.Within[last]
		found.Points, found.Peers = []Point{{Stage: at.Stage, Evidence: Shown, Slope: -1, Low: -1, High: -1}}, at.Sets
		found.Within = found.Within[:last]
	}
	for {
		d := divide(s, found)
		at, ok := d.settle()
		if !ok {
			found.Points = slices.Delete(slices.Clone(found.Points), at, at+1)
			continue
		}
		if d.waits() {
			d.takeWaits()
			d.Arrive()
		}
		return d
	}
}

// divide lays out the pieces.
func divide(c *Steps, found Found) *Division {
	d := &Division{Stages: c.closedStages(), Found: found, Ranks: c.Ranks}
	point := func(k int) (at int, tail, is bool) {
		for i, p := range d.Points {
			if k == p.Stage {
				return i, false, true
			}
			if k < p.Stage {
				return i, false, false
			}
		}
		return 0, !d.Free(), false
	}
	for k := range d.Stages {
		if at, tail, is := point(k); !is {
			d.Pieces = append(d.Pieces, Piece{Stage: k, Point: at, Tail: tail})
		}
	}
	tails := slices.ContainsFunc(d.Pieces, func(p Piece) bool { return p.Tail })
	for _, at := range c.stretches() {
		for t := at[0]; t < at[1]; t++ {
			d.Head = append(d.Head, t)
			if t == at[0] || !tails {
				d.Tail = append(d.Tail, -1)
			} else {
				d.Tail = append(d.Tail, t-1)
			}
		}
		if tails {
			d.Head, d.Tail = append(d.Head, -1), append(d.Tail, at[1]-1)
		}
	}
	d.Intervals = len(d.Head)
	for _, p := range d.Pieces {
		steps := d.Head
		if p.Tail {
			steps = d.Tail
		}
		d.Work = append(d.Work, c.taken(p.Stage, steps))
	}
	for _, p := range d.Points {
		d.Spent = append(d.Spent, c.taken(p.Stage, d.Head))
	}
	d.Arrive()
	return d
}

// taken is a stage of some steps, [step][rank]; zeros of step −1.
func (s *Steps) taken(stage int, steps []int) []int64 {
	R := s.Ranks
	out := make([]int64, len(steps)*R)
	for n, t := range steps {
		if t >= 0 {
			s.copyAt(out[n*R:(n+1)*R], t, stage)
		}
	}
	return out
}

// Arrive sums the pieces that lead to each point.
func (d *Division) Arrive() {
	for p := range max(1, len(d.Points)) {
		if p == len(d.Arrivals) {
			d.Arrivals = append(d.Arrivals, make([]int64, d.Intervals*d.Ranks))
		}
		d.arrive(p)
	}
}

func (d *Division) arrive(point int) {
	out := d.Arrivals[point]
	var work [][]int64
	for i, p := range d.Pieces {
		if p.Point == point {
			work = append(work, d.Work[i])
		}
	}
	if len(work) == 0 {
		clear(out)
		return
	}
	// A few rows at a time stay in the fastest memory.
	for from := 0; from < len(out); from += atOnce {
		sum := out[from:min(from+atOnce, len(out))]
		copy(sum, work[0][from:])
		for _, w := range work[1:] {
			add(sum, w[from:from+len(sum)])
		}
	}
}

// atOnce is how many values are worked on at a time, where several passes take the same.
const atOnce = 2048

func add(to, v []int64) {
	to = to[:len(v)]
	for i, x := range v {
		to[i] += x
	}
}

// exit is what the arrivals at a point and the exits from it say of an interval: when the first and the
// median rank leave, who arrives last, and when, and when the one before it.
type exit struct {
	first, median, upper int64
	last, second         int64
	who                  int
}

// exits are those of a point, [interval]; 0 where an interval does not reach it.
func (d *Division) exits(p int) []exit {
	R, out, ends, scratch := d.Ranks, make([]exit, d.Intervals), make([]int64, d.Ranks), make([]int64, d.Ranks)
	for n, t := range d.Head {
		if t < 0 {
			continue
		}
		e := exit{first: math.MaxInt64, last: math.MinInt64, second: math.MinInt64}
		spent := d.Spent[p][n*R : (n+1)*R]
		for r, x := range d.Arrivals[p][n*R : (n+1)*R] {
			ends[r] = x + spent[r]
			e.first, e.second = min(e.first, ends[r]), max(e.second, min(e.last, x))
			if x > e.last {
				e.last, e.who = x, r
			}
		}
		m := robust.MiddleOf(ends, scratch)
		e.median, e.upper = m.Median(), m.Upper()
		out[n] = e
	}
	return out
}

const (
	// leftBehind is how long after another left a rank must enter, as a part of the
	// median time between two points, to be a recording error: ranks leave a collective
	// some microseconds apart, and a host may run ahead of its device.
	leftBehind = 0.05
	// mostErrors is the part of a rank's values that may be errors.
	mostErrors = 0.01
	// rounds is how often errors are looked for: one may hide another.
	rounds = 8
)

// settle replaces recording errors by the rank's usual value of the stage, and computes what follows the
// last arrival at each point: until the median rank leaves. ok is false where a point has so many errors
// that it is none.
func (d *Division) settle() (point int, ok bool) {
	most := max(1, int(mostErrors*float64(d.Intervals*(len(d.Pieces)+len(d.Points)))))
	for p := range d.Points {
		exits, count := d.exits(p), make([]int, d.Ranks)
		for range rounds {
			found := d.impossible(p, exits)
			if len(found) == 0 {
				break
			}
			for _, n := range found {
				who := exits[n].who
				// Where the point is not shown, what may be an error may as well be a rank that nobody waits for.
				if count[who]++; count[who] > most || d.Points[p].Evidence < Shown {
					return p, false
				}
			}
			for _, n := range found {
				d.Errors = append(d.Errors, d.replace(p, n, exits[n].who))
			}
			exits = d.exits(p)
		}
		after := make([]int64, d.Intervals)
		for n, e := range exits {
			after[n] = max(0, e.upper-e.last)
		}
		d.After = append(d.After, after)
	}
	return 0, true
}

// impossible are the intervals in which a rank entered a point after another had left, one rank alone,
// without the others catching up afterwards. Sets of ranks leave one after another.
func (d *Division) impossible(p int, exits []exit) (out []int) {
	if d.Peers != nil {
		return nil
	}
	took := make([]int64, 0, d.Intervals)
	for n, t := range d.Head {
		if t >= 0 {
			took = append(took, exits[n].median)
		}
	}
	slack := int64(leftBehind * float64(robust.MedianTime(took)))
	for n, e := range exits {
		if latest := e.first + slack; e.last > latest && e.second <= latest && d.Head[n] >= 0 && !d.madeUp(p, n, e.who) {
			out = append(out, n)
		}
	}
	return out
}

// madeUp reports whether the others waited after all, in the intervals around: a device
// that runs behind its host makes the host wait later.
func (d *Division) madeUp(p, n, r int) bool {
	const around = 2
	R := d.Ranks
	row := make([]int64, R)
	ahead := func(u int) int64 {
		for q := range R {
			row[q] = d.Arrivals[p][u*R+q] + d.Spent[p][u*R+q]
		}
		x := row[r]
		return x - robust.MiddleOf(row, make([]int64, R)).Without(x)
	}
	by := ahead(n)
	left := by
	for u := max(0, n-around); u < min(d.Intervals, n+around+1); u++ {
		if u != n {
			left += min(0, ahead(u))
		}
	}
	return left < by/2
}

// replace sets aside the largest deviation of a rank's pieces that lead to a point in an
// interval from what it usually takes.
func (d *Division) replace(p, n, r int) Error {
	R := d.Ranks
	worst, size, usual := -1, int64(0), int64(0)
	values := make([]int64, 0, d.Intervals)
	for i, piece := range d.Pieces {
		if piece.Point != p {
			continue
		}
		values = values[:0]
		for u := range d.Intervals {
			if d.Step(u, i) >= 0 {
				values = append(values, d.Work[i][u*R+r])
			}
		}
		m := robust.MedianTime(values)
		if x := d.Work[i][n*R+r] - m; worst < 0 || x > size {
			worst, size, usual = i, x, m
		}
	}
	d.Arrivals[p][n*R+r] -= d.Work[worst][n*R+r] - usual
	d.Work[worst][n*R+r] = usual
	return Error{Step: d.Step(n, worst), Rank: r, Stage: d.Pieces[worst].Stage, Size: size}
}
