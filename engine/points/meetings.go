package points

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/internal/robust"
)

// Meetings say that all ranks synchronise in a stage in every n-th step and run freely in the steps between: local SGD, DiLoCo,
// gradients reduced in every n-th step.
type Meetings struct {
	Point Point
	Every int // the period, steps; 0: no such stage
}

const (
	// mostEvery is the longest period that is tried, steps.
	mostEvery = 32
	// mostApart is the largest ratio of the spread of exits to the spread of arrivals at a meeting. Some hundred periods and phases are tried: in
	// five recordings of jobs that synchronise in every step, on noisy hosts, the smallest ratios were 0.24 to 0.30.
	mostApart = 0.15
	// mostOftener is the ratio below which ranks may synchronise in other steps as well; it is about 1 where they run freely.
	mostOftener = 0.5
	// ranksOfSlope is the number of ranks from which on a single step shows whether ranks wait. mostWaiting is the part of the steps that show it
	// where ranks synchronise in each; with a period of two or more steps it is a half at most.
	ranksOfSlope, mostWaiting = 5, 0.7
	// apartAtOnce is the number of meetings after which a phase is dropped if none has a small ratio.
	apartAtOnce = 3
)

// meetings returns the stage and the shortest period in which all ranks synchronise, by the longest stretch; Every is 0 where there is none, or
// where ranks may synchronise more often. O(mostEvery · steps · stages · ranks), nearly all of it on the first few meetings.
func (s *Steps) meetings(g Gates) Meetings {
	at := s.longestStretch()
	ends := make([]*exitTimes, len(s.Stages))
	for k := range ends {
		ends[k] = s.exitTimesOf(k, at)
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
				apart := ends[k].spreadRatio(phase, every, least)
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
		case ends[best.Point.Stage].mayMeetOftener(phaseOfBest, every), !ends[best.Point.Stage].runFreely(phaseOfBest, every, g):
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

// meetInEach reports whether ranks synchronise at one of some points in every step: by the ratio of the spreads, or, with enough ranks, by the
// slopes of most single steps. A slope over all steps does not tell: the few steps with the widest arrivals can show it alone.
func (s *Steps) meetInEach(list []Point, g Gates) bool {
	return slices.ContainsFunc(list, func(p Point) bool {
		if p.Evidence < Shown {
			return false
		}
		left := s.exitTimesOf(p.Stage, s.longestStretch())
		return left.spreadRatio(0, 1, mostOftener) < mostOftener || s.Ranks >= ranksOfSlope && left.waitingPart(g) >= mostWaiting
	})
}

// waitingPart returns the part of the steps in which a later arrival means a shorter stay.
func (l *exitTimes) waitingPart(g Gates) float64 {
	arrive, leave, own := make([]float64, l.ranks), make([]float64, l.ranks), make([]int64, l.ranks)
	waiting := 0
	for t := 1; t < l.steps; t++ {
		l.deviations(t, 1, arrive, leave, own)
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

// exitTimes are the exits of ranks from a stage and the time spent in it, over consecutive steps.
type exitTimes struct {
	ranks, steps int
	spent        []int64 // [step][rank], ns
	left         []int64 // [step][rank], ns since the first step began
}

// exitTimesOf computes the exits from a stage over a stretch, [from, to).
func (s *Steps) exitTimesOf(k int, at [2]int) *exitTimes {
	R, T := s.Ranks, at[1]-at[0]
	out := &exitTimes{R, T, make([]int64, 0, T*R), make([]int64, T*R)}
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

// deviations writes the arrivals at a meeting and the exits from it, ns since each rank's exit from the meeting before, less their mean. own is
// scratch space for a value of each rank.
func (l *exitTimes) deviations(step, every int, arrive, leave []float64, own []int64) {
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

// spreadRatio returns the spread of exits divided by the spread of arrivals, the median over the meetings of a phase, so that a few late arrivals
// do not decide. It stops and returns 1 where the first meetings, or most of them, have larger ratios than most.
func (l *exitTimes) spreadRatio(phase, every int, most float64) float64 {
	arrive, leave, own := make([]float64, l.ranks), make([]float64, l.ranks), make([]int64, l.ranks)
	of := make([]float64, 0, (l.steps-phase)/every)
	further, first := 0, math.Inf(1)
	for t := phase + every; t < l.steps; t += every {
		l.deviations(t, every, arrive, leave, own)
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

// mayMeetOftener reports whether ranks may synchronise in another phase too, or with a shorter period, if less clearly.
func (l *exitTimes) mayMeetOftener(phase, every int) bool {
	for other := range every {
		if other != phase && l.spreadRatio(other, every, mostOftener) < mostOftener {
			return true
		}
	}
	for n := 1; n < every; n++ {
		if every%n == 0 && l.spreadRatio(phase%n, n, mostOftener) < mostOftener {
			return true
		}
	}
	return false
}

// runFreely reports whether the slope of time in the stage on arrival, over the steps between meetings, excludes −1. Where arrivals differ too
// little for that, ranks may as well synchronise in every step.
func (l *exitTimes) runFreely(phase, every int, g Gates) bool {
	between := l.slope(0, g, func(step int) (since int, counts bool) { return step - 1, step%every != phase })
	return between.Low > -1
}

// meetingsOf returns a function that tells whether a step is a meeting of a phase, and the meeting before it.
func meetingsOf(phase, every int) func(step int) (since int, counts bool) {
	return func(step int) (int, bool) { return step - every, step%every == phase }
}

// slope returns the slope of the time in stage k on arrival, with its interval, over the steps that count; arrivals begin at the exit in step since.
func (l *exitTimes) slope(k int, g Gates, of func(step int) (since int, counts bool)) Point {
	R := l.ranks
	var x, y []float64
	arrive, leave, own := make([]float64, R), make([]float64, R), make([]int64, R)
	for t := range l.steps {
		since, counts := of(t)
		if !counts || since < 0 {
			continue
		}
		l.deviations(t, t-since, arrive, leave, own)
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

// phaseOf returns the phase with the smallest ratio of spreads, 0 to every − 1.
func (l *exitTimes) phaseOf(every int) (phase int) {
	least := 1.0
	for i := range every {
		if apart := l.spreadRatio(i, every, least); apart < least {
			phase, least = i, apart
		}
	}
	return phase
}

// missingInIntervals returns which ranks did not record half of the steps of an interval or more, marked at its last step, [step · ranks + rank]; nil
// where all recorded all steps.
func missingInIntervals(s *Steps, heads []int, every int) []bool {
	if s.Missing == nil {
		return nil
	}
	out := make([]bool, len(s.Missing))
	for _, head := range heads {
		for r := range s.Ranks {
			lacks := 0
			for t := head - every + 1; t <= head; t++ {
				if s.Missing[t*s.Ranks+r] {
					lacks++
				}
			}
			out[head*s.Ranks+r] = 2*lacks >= every
		}
	}
	return out
}

// divideMeetings divides steps at the meetings of their ranks. An interval runs from one meeting to the next; its times are means per step.
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
		phase := closed.exitTimesOf(K, [2]int{0, at[1] - at[0]}).phaseOf(m.Every)
		for t := at[0] + phase + m.Every; t < at[1]; t += m.Every {
			d.Head, d.Tail = append(d.Head, t), append(d.Tail, t-m.Every)
		}
	}
	d.Intervals, d.Missing = len(d.Head), missingInIntervals(s, d.Head, m.Every)
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
	spent := s.stageRows(K, d.Head)
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
