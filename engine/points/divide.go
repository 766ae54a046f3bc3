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
	Stages []Stage // those of the steps; what no stage covers is the last, where wall time was recorded or what is missing of some ranks' shows it
	Points []Point // none where ranks run freely: then an interval is a step
	Pieces []Piece
	Ranks  int
	// Every is the number of steps of an interval where ranks synchronise in every n-th step alone; its times are then means per step. 0: one step.
	Every int
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
	// Missing are the steps that a rank did not record, [step · Ranks + rank]; nil: all recorded all.
	Missing []bool
	Errors  []Error
	// Perhaps are the stages in which ranks may synchronise as well: what their times do not exclude.
	Perhaps []int
	// Within are the stages in which sets of ranks synchronise on the way; what they wait there is
	// taken off their work.
	Within []Within
	// Peers are the sets of ranks that synchronise, where not all do; nil: all do.
	Peers [][]int
	// Classes are the sets of ranks of like work, where no work is that of most ranks; one set of all: none has its like; nil: all are peers. What a rank may
	// have waited for another is then taken off its work.
	Classes [][]int
	Outside Outside // where the time in no stage lies
	Found   Found   // what the times show, by which the steps are divided
	// Memory is where it lies; nil: in memory of its own.
	Memory *Memory

	replaced []replacement
	exits    []*exits // [point]; nil: not computed
	timed    bool     // each rank's wait was recorded
	steps    int      // that were divided; 0: those with heads
}

// replacement is a value of a piece that was set aside.
type replacement struct {
	piece, at int
	recorded  int64
}

// putBack undoes what was set aside, in steps that are divided again.
func (d *Division) putBack() {
	for _, x := range slices.Backward(d.replaced) {
		d.Work[x.piece][x.at] = x.recorded
	}
}

// Piece is a stage in which ranks work alone.
type Piece struct {
	Stage int
	Point int  // that it leads to; 0 where ranks run freely
	Tail  bool // recorded in the step before that of the point
	// Ranks are those whose work it is a part of; nil: all. The others have the median of these, and do not arrive later by it.
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

// Step returns the step of an interval in which a piece was recorded; −1: none.
func (d *Division) Step(interval, piece int) int {
	if d.Absent != nil && d.Absent[piece][interval] {
		return -1
	}
	if d.Pieces[piece].Tail {
		return d.Tail[interval]
	}
	return d.Head[interval]
}

// HasPiece reports whether a rank recorded a piece in an interval.
func (d *Division) HasPiece(interval, piece, rank int) bool {
	t := d.Step(interval, piece)
	return t >= 0 && (d.Missing == nil || !d.Missing[t*d.Ranks+rank])
}

// Lacks reports whether a rank did not record the step of an interval's head.
func (d *Division) Lacks(interval, rank int) bool {
	t := d.Head[interval]
	return t >= 0 && d.Missing != nil && d.Missing[t*d.Ranks+rank]
}

// IsComplete reports whether all ranks recorded the step of an interval's head.
func (d *Division) IsComplete(interval int) bool {
	for r := range d.Ranks {
		if d.Lacks(interval, r) {
			return false
		}
	}
	return true
}

// Steps returns the number of steps.
func (d *Division) Steps() int {
	return max(d.steps, 1+max(-1, slices.Max(append([]int{-1}, d.Head...))))
}

// Divide finds where the ranks synchronise and divides the steps there. Values that
// cannot be, at points that are shown, are set aside. A point at which a rank has more of
// them than one in a hundred is none. Steps made by [NewSteps] become the division's: they are
// not to be read any more.
func Divide(s *Steps, g Gates) *Division {
	found := find(s, g.fillDefaults())
	if found.Meetings.Every > 0 {
		if d := divideMeetings(s, found.Meetings); d.Intervals > 0 {
			d.Found = found
			return d
		}
	}
	shown, points, peers := found, found.Points, s.KnownPeers
	if len(points) == 0 && len(found.Within) > 0 {
		// No stage holds all: the ranks of a set wait for one another, and for no others.
		last := found.Within[len(found.Within)-1]
		points, peers = []Point{{Stage: last.Stage, Evidence: Shown, Slope: -1, Low: -1, High: -1}}, last.Sets
		found.Within = found.Within[:len(found.Within)-1]
	}
	for {
		d := divide(s, points, found.Outside)
		at, ok := 0, peers != nil // sets leave one after another
		if !ok {
			at, ok = d.setAside()
		}
		if ok {
			if peers == nil {
				d.addUnclosed(s.hasWall(), s.Known != nil)
			}
			d.settle()
			d.Found, d.Perhaps, d.Within, d.Peers = shown, found.Perhaps, found.Within, peers
			if d.waits() {
				d.takeWaits()
				d.Arrive()
			}
			if found.Classes != nil {
				d.Classes = found.Classes
				d.takePossibleWaits(d.Classes)
			}
			return d
		}
		d.putBack()
		points = slices.Delete(slices.Clone(points), at, at+1)
	}
}

// divide lays out the pieces.
func divide(c *Steps, points []Point, outside Outside) *Division {
	d := &Division{Stages: c.closedStages(), Points: points, Ranks: c.Ranks, Missing: c.Missing, Memory: c.Memory, Outside: outside, timed: c.Timed}
	before := outside == Before && c.hasWall()
	last := -1
	if len(points) > 0 {
		last = points[len(points)-1].Stage
	}
	point := func(k int) (at int, tail, is bool) {
		for i, p := range points {
			if k == p.Stage {
				return i, false, true
			}
			if k < p.Stage {
				return i, false, false
			}
		}
		return 0, last >= 0, false
	}
	if before {
		d.Pieces = append(d.Pieces, Piece{Stage: len(d.Stages) - 1})
	}
	for k := range d.Stages {
		if before && k == len(d.Stages)-1 {
			break
		}
		if at, tail, is := point(k); !is {
			d.Pieces = append(d.Pieces, Piece{Stage: k, Point: at, Tail: tail})
		}
	}
	tails := slices.ContainsFunc(d.Pieces, func(p Piece) bool { return p.Tail })
	for _, at := range c.chains() {
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
	whole := len(c.chains()) == 1
	take := func(stage int, steps []int, tail bool) []int64 {
		if c.columns != nil && whole {
			return c.columns.intervalStage(stage, tail, d.Intervals, d.Ranks)
		}
		return c.stageRows(stage, steps)
	}
	for _, p := range d.Pieces {
		steps := d.Head
		if p.Tail {
			steps = d.Tail
		}
		d.Work = append(d.Work, take(p.Stage, steps, p.Tail))
	}
	for _, p := range points {
		d.Spent = append(d.Spent, take(p.Stage, d.Head, false))
	}
	d.Arrive()
	return d
}

// stageRows returns a stage of some steps, [step][rank]; zeros of step −1.
func (s *Steps) stageRows(stage int, steps []int) []int64 {
	R := s.Ranks
	out := s.Memory.Take(len(steps) * R)
	for n, t := range steps {
		if row := out[n*R : (n+1)*R]; t >= 0 {
			s.copyAt(row, t, stage)
		} else {
			clear(row)
		}
	}
	return out
}

// Arrive sums the pieces that lead to each point.
func (d *Division) Arrive() {
	for p := range max(1, len(d.Points)) {
		if p == len(d.Arrivals) {
			d.Arrivals = append(d.Arrivals, d.Memory.Take(d.Intervals*d.Ranks))
		}
		d.arrive(p)
	}
}

func (d *Division) arrive(point int) {
	out := d.Arrivals[point]
	var work [][]int64
	for i, p := range d.Pieces {
		if p.Point == point && p.Ranks == nil {
			work = append(work, d.Work[i])
		}
	}
	defer d.arriveSome(point)
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

// arriveSome adds the pieces that are work of some ranks: that of others is none of theirs.
func (d *Division) arriveSome(point int) {
	out := d.Arrivals[point]
	for i, p := range d.Pieces {
		if p.Point != point {
			continue
		}
		for _, r := range p.Ranks {
			for n := r; n < len(out); n += d.Ranks {
				out[n] += d.Work[i][n]
			}
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

// exits are what the arrivals at a point and the exits from it say, [interval]: when the first and the
// median rank leave, who arrives last, and when, and when the one before it.
type exits struct {
	first, median, upper []int64
	last, second         []int64
	who                  []int32
}

// exitsOf returns the exits of a point, computed once, and again where a value is replaced.
func (d *Division) exitsOf(p int) *exits {
	for len(d.exits) <= p {
		d.exits = append(d.exits, nil)
	}
	if d.exits[p] == nil {
		n := d.Intervals
		all := make([]int64, 5*n)
		e := &exits{all[:n], all[n : 2*n], all[2*n : 3*n], all[3*n : 4*n], all[4*n:], make([]int32, n)}
		d.exits[p] = e
		left := make([]int64, 2*d.Ranks)
		for n, t := range d.Head {
			if t >= 0 {
				d.exit(e, p, n, left)
			}
		}
	}
	return d.exits[p]
}

// exit computes those of an interval; left has room for two of each rank.
func (d *Division) exit(e *exits, p, n int, left []int64) {
	R := d.Ranks
	arrive, spent, ends := d.Arrivals[p][n*R:(n+1)*R], d.Spent[p][n*R:(n+1)*R], left[:R]
	first, last, second, who := int64(math.MaxInt64), int64(math.MinInt64), int64(math.MinInt64), 0
	for r, x := range arrive {
		end := x + spent[r]
		ends[r], first = end, min(first, end)
		second = max(second, min(last, x))
		if x > last {
			last, who = x, r
		}
	}
	m := robust.MiddleOf(ends, left[R:])
	e.first[n], e.median[n], e.upper[n] = first, m.Median(), m.Upper()
	e.last[n], e.second[n], e.who[n] = last, second, int32(who)
}

// settle computes what follows the last arrival: until the median rank leaves.
func (d *Division) settle() {
	for p := range d.Points {
		e, after := d.exitsOf(p), make([]int64, d.Intervals)
		for n, t := range d.Head {
			if t >= 0 {
				after[n] = max(0, e.upper[n]-e.last[n])
			}
		}
		d.After = append(d.After, after)
	}
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

// setAside replaces recording errors by the rank's usual value of the stage. ok is false
// where a point has so many that it is none.
func (d *Division) setAside() (point int, ok bool) {
	for p := range d.Points {
		if !d.setAsideAt(p) {
			return p, false
		}
	}
	return 0, true
}

func (d *Division) setAsideAt(p int) bool {
	R := d.Ranks
	most := max(1, int(mostErrors*float64(d.Intervals*(len(d.Pieces)+len(d.Points)))))
	count := make([]int, R)
	for range rounds {
		found := d.impossible(p)
		for _, e := range found {
			if count[e[1]]++; count[e[1]] > most {
				return false
			}
		}
		if len(found) == 0 {
			return true
		}
		if d.Points[p].Evidence < Shown {
			// What may be an error may as well be a rank that nobody waits for.
			return false
		}
		for _, e := range found {
			d.Errors = append(d.Errors, d.replace(p, e[0], e[1]))
		}
	}
	return true
}

// impossible returns the intervals and ranks that entered a point after another had left, one rank alone, without the others
// catching up afterwards.
func (d *Division) impossible(p int) (out [][2]int) {
	e := d.exitsOf(p)
	took := make([]int64, 0, d.Intervals)
	for n, t := range d.Head {
		if t >= 0 {
			took = append(took, e.median[n])
		}
	}
	slack := int64(leftBehind * float64(robust.MedianTime(took)))
	if d.timed { // what a rank does elsewhere, as between steps, may not have been recorded
		slack = robust.MedianTime(took)
	}
	for n, t := range d.Head {
		if t < 0 {
			continue
		}
		latest := e.first[n] + slack
		if e.last[n] > latest && e.second[n] <= latest && !d.isMadeUpFor(d.Arrivals[p], p, n, int(e.who[n])) {
			out = append(out, [2]int{n, int(e.who[n])})
		}
	}
	return out
}

// isMadeUpFor reports whether the others waited after all, in the intervals around: a device
// that runs behind its host makes the host wait later.
func (d *Division) isMadeUpFor(arrive []int64, p, n, r int) bool {
	const around = 2
	R := d.Ranks
	row := make([]int64, R)
	ahead := func(u int) int64 {
		for q := range R {
			row[q] = arrive[u*R+q] + d.Spent[p][u*R+q]
		}
		x := row[r]
		return x - robust.MiddleOf(row, make([]int64, R)).MedianWithout(x)
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
		if piece.Point != p || d.Step(n, i) < 0 {
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
	d.replaced = append(d.replaced, replacement{worst, n*R + r, d.Work[worst][n*R+r]})
	d.Arrivals[p][n*R+r] -= d.Work[worst][n*R+r] - usual
	d.Work[worst][n*R+r] = usual
	d.exit(d.exitsOf(p), p, n, make([]int64, 2*R))
	return Error{Step: d.Step(n, worst), Rank: r, Stage: d.Pieces[worst].Stage, Size: size}
}
