package points

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/internal/robust"
)

// Meetings are the steps in which all ranks wait for the last of them in a stage, where they run on by themselves in those between:
// local SGD, DiLoCo, gradients that are reduced in every n-th step.
type Meetings struct {
	Point Point
	Every int // they meet in one step of so many; 0: none were looked for, or found
}

const (
	// mostEvery is how many steps ranks may run on for.
	mostEvery = 32
	// mostApart is how far ranks leave a meeting apart, as a part of how far apart they arrive at it, where they run on for some steps in between. Of
	// the steps of jobs that meet in each, on noisy hosts, a choice of some hundreds has one of 0.24.
	mostApart = 0.15
	// mostOftener is how far apart ranks leave steps, at most, in which they perhaps meet as well; where they run on it is about 1.
	mostOftener = 0.5
	// ranksOfSlope show in a single step whether they wait; mostWaiting is in how many steps they do where they meet in each, and half of which are
	// the most where they meet in one of several.
	ranksOfSlope, mostWaiting = 5, 0.7
	// apartAtOnce is how many meetings show that ranks do not leave them together.
	apartAtOnce = 3
)

// meetings finds a stage in which all ranks meet in one step of several, in the longest stretch. The fewest steps in between in which they do
// are taken; where they perhaps meet more often that is for others to find.
// O(mostEvery · steps · stages · ranks), nearly all of it on the first few meetings.
func (s *Steps) meetings(g Gates) Meetings {
	at := s.longestStretch()
	ends := make([]*lefts, len(s.Stages))
	for k := range ends {
		ends[k] = s.leftAt(k, at)
	}
	for every := 2; every <= min(mostEvery, (at[1]-at[0])/2); every++ {
		var best Meetings
		phaseOfBest := 0
		least := mostApart
		for k, stage := range s.Stages {
			if stage.Role == Rest { // what no stage covers shows no meeting by itself
				continue
			}
			for phase := range every {
				apart := ends[k].apart(phase, every, least)
				if apart >= least {
					continue
				}
				if p := ends[k].slope(k, g, meetingsOf(phase, every)); p.Evidence == Shown && !s.coarse(k) {
					best, phaseOfBest, least = Meetings{p, every}, phase, apart
				}
			}
		}
		switch {
		case best.Every == 0:
		case ends[best.Point.Stage].oftener(phaseOfBest, every), !ends[best.Point.Stage].runsOn(phaseOfBest, every, g):
			return Meetings{}
		default:
			return best
		}
	}
	return Meetings{}
}

// longestStretch returns the longest run of steps that follow one another, [from, to).
func (s *Steps) longestStretch() (at [2]int) {
	for _, one := range s.stretches() {
		if one[1]-one[0] > at[1]-at[0] {
			at = one
		}
	}
	return at
}

// meetInEach reports whether ranks leave one of some points together in every step, as far as they leave it together in any; or most steps show by
// themselves that they wait there, of ranks enough for one to show it. A slope over all steps is shown as well by those alone in which they arrive
// furthest apart.
func (s *Steps) meetInEach(list []Point, g Gates) bool {
	return slices.ContainsFunc(list, func(p Point) bool {
		if p.Evidence < Shown {
			return false
		}
		left := s.leftAt(p.Stage, s.longestStretch())
		return left.apart(0, 1, mostOftener) < mostOftener || s.Ranks >= ranksOfSlope && left.waiting(g) >= mostWaiting
	})
}

// waiting returns the part of the steps in which a rank that arrives later stays for less.
func (l *lefts) waiting(g Gates) float64 {
	arrive, leave, own := make([]float64, l.ranks), make([]float64, l.ranks), make([]int64, l.ranks)
	waiting := 0
	for t := 1; t < l.steps; t++ {
		l.at(t, 1, arrive, leave, own)
		xx, xy := 0.0, 0.0
		for r, x := range arrive {
			xx, xy = xx+x*x, xy+x*(leave[r]-x)
		}
		if xy < g.Slope*xx {
			waiting++
		}
	}
	return float64(waiting) / float64(max(1, l.steps-1))
}

// lefts are when ranks leave a stage, and how long they were in it, in steps that follow one another.
type lefts struct {
	ranks, steps int
	spent        []int64 // [step][rank], ns
	left         []int64 // [step][rank], ns since the first step began
}

// leftAt computes them for a stage of the steps of a stretch.
func (s *Steps) leftAt(k int, at [2]int) *lefts {
	R, T := s.Ranks, at[1]-at[0]
	out := &lefts{R, T, make([]int64, 0, T*R), make([]int64, T*R)}
	begun := make([]int64, R)
	for t := range T {
		left := out.left[t*R : (t+1)*R]
		out.spent = append(out.spent, s.At(at[0]+t, k)...)
		copy(left, begun)
		for j := range s.Stages {
			for r, d := range s.At(at[0]+t, j) {
				begun[r] += d
				if j <= k {
					left[r] += d
				}
			}
		}
	}
	return out
}

// at writes when the ranks arrive at a meeting, since they left the one before, and when they leave it, as deviations from the mean.
func (l *lefts) at(step, every int, arrive, leave []float64, own []int64) {
	R := l.ranks
	for r := range R {
		own[r] = l.left[step*R+r] - l.left[(step-every)*R+r]
	}
	center(leave, own)
	for r := range R {
		own[r] -= l.spent[step*R+r]
	}
	center(arrive, own)
}

// apart returns how far ranks leave the meetings of a phase apart, as a part of how far apart they arrive at them, in the median of the
// meetings: a few late arrivals say nothing of the others. 1 where they leave the first ones, or most of them, further apart than is asked for.
func (l *lefts) apart(phase, every int, most float64) float64 {
	arrive, leave, own := make([]float64, l.ranks), make([]float64, l.ranks), make([]int64, l.ranks)
	of := make([]float64, 0, (l.steps-phase)/every)
	further, first := 0, math.Inf(1)
	for t := phase + every; t < l.steps; t += every {
		l.at(t, every, arrive, leave, own)
		before, after := 0.0, 0.0
		for r, x := range arrive {
			before, after = before+x*x, after+leave[r]*leave[r]
		}
		ratio := math.Inf(1)
		if before > float64(l.ranks) { // a nanosecond of each
			ratio = math.Sqrt(after / before)
		}
		if ratio >= most {
			further++
		}
		if len(of) < apartAtOnce {
			first = min(first, ratio)
		}
		if of = append(of, ratio); len(of) == apartAtOnce && first >= 2*most || 2*further > cap(of) {
			return 1
		}
	}
	if len(of) == 0 {
		return 1
	}
	return robust.Median(of)
}

// oftener reports whether ranks perhaps meet in other steps as well, if not so clearly: in all those of another phase, or in one of fewer steps.
func (l *lefts) oftener(phase, every int) bool {
	for other := range every {
		if other != phase && l.apart(other, every, mostOftener) < mostOftener {
			return true
		}
	}
	for n := 1; n < every; n++ {
		if every%n == 0 && l.apart(phase%n, n, mostOftener) < mostOftener {
			return true
		}
	}
	return false
}

// runsOn reports whether ranks do not wait in a stage in the steps between the meetings of a phase: who arrives later there stays as long as the others. Where
// ranks arrive too close together for that to show, they may as well meet in every step.
func (l *lefts) runsOn(phase, every int, g Gates) bool {
	between := l.slope(0, g, func(step int) (since int, counts bool) { return step - 1, step%every != phase })
	return between.Low > -1
}

// meetingsOf returns which steps are the meetings of a phase, and with which their arrivals begin.
func meetingsOf(phase, every int) func(step int) (since int, counts bool) {
	return func(step int) (int, bool) { return step - every, step%every == phase }
}

// slope returns the slope of the time in a stage on the arrival over the steps that count, since another step each.
func (l *lefts) slope(k int, g Gates, of func(step int) (since int, counts bool)) Point {
	R := l.ranks
	var x, y []float64
	arrive, leave, own := make([]float64, R), make([]float64, R), make([]int64, R)
	for t := range l.steps {
		since, counts := of(t)
		if !counts || since < 0 {
			continue
		}
		l.at(t, t-since, arrive, leave, own)
		x = append(x, arrive...)
		for r := range R {
			y = append(y, leave[r]-arrive[r])
		}
	}
	detrend(x, R)
	detrend(y, R)
	p := unknownPoint(k)
	slopes, _ := blockSlopes(x, y, R, R-1)
	p.judge(slopes, g)
	return p
}

// phaseOf returns which step of every so many of a stretch its ranks meet in, by how little they leave apart.
func (l *lefts) phaseOf(every int) (phase int) {
	least := 1.0
	for i := range every {
		if apart := l.apart(i, every, least); apart < least {
			phase, least = i, apart
		}
	}
	return phase
}

// divideMeetings lays out steps of which the ranks meet in one of several. An interval is what lies between two meetings, and its
// times are those of its mean step.
func divideMeetings(s *Steps, m Meetings) *Division {
	R, K := s.Ranks, m.Point.Stage
	d := &Division{Stages: s.closedStages(), Points: []Point{m.Point}, Every: m.Every, Ranks: R, Memory: s.Memory, steps: s.Len()}
	for k := range d.Stages {
		d.Pieces = append(d.Pieces, Piece{Stage: k})
	}
	for k := K + 1; k < len(d.Stages); k++ {
		d.Pieces = append(d.Pieces, Piece{Stage: k, Tail: true})
	}
	closed := &Steps{Stages: d.Stages, Ranks: R}
	row := make([]int64, R)
	for _, at := range s.stretches() {
		if at[1]-at[0] < 2*m.Every {
			continue
		}
		closed.Durations = closed.Durations[:0]
		for t := at[0]; t < at[1]; t++ {
			for k := range d.Stages {
				s.copyAt(row, t, k)
				closed.Durations = append(closed.Durations, row...)
			}
		}
		phase := closed.leftAt(K, [2]int{0, at[1] - at[0]}).phaseOf(m.Every)
		for t := at[0] + phase + m.Every; t < at[1]; t += m.Every {
			d.Head, d.Tail = append(d.Head, t), append(d.Tail, t-m.Every)
		}
	}
	d.Intervals = len(d.Head)
	mean := func(sum []int64) {
		for i := range sum {
			sum[i] /= int64(m.Every)
		}
	}
	for _, p := range d.Pieces {
		work := d.Memory.Take(d.Intervals * R)
		clear(work)
		for n, head := range d.Head {
			sum := work[n*R : (n+1)*R]
			from, to := head-m.Every+1, head+1 // steps of which it has the stage
			switch {
			case p.Tail:
				from, to = head-m.Every, head-m.Every+1
			case p.Stage >= K:
				to = head
			}
			for t := from; t < to; t++ {
				s.copyAt(row, t, p.Stage)
				add(sum, row)
			}
		}
		mean(work)
		d.Work = append(d.Work, work)
	}
	spent := s.taken(K, d.Head)
	mean(spent)
	d.Spent = [][]int64{spent}
	d.Arrive()
	d.settle()
	if d.waits() {
		d.takeWaits()
		d.Arrive()
	}
	return d
}
