package points

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace/enum"
)

// What no stage covers is measured by wall time, and not where in a step it lies: before the stages that a rank waits in, or
// behind them. A late rank's wait is shorter by as much as its time in no stage is longer, which looks as if
// ranks waited in no stage.

// Outside is where the time in no stage lies.
type Outside uint8

const (
	Behind  Outside = iota // behind the stages of a step; or nowhere, where wall time was not recorded
	Before                 // before them
	Lacking                // it is what ranks lack beside the most from one exit to the next, where wall time was not recorded
)

var outsideNames = [...]string{"behind", "before", "lacking"}

func (o Outside) String() string { return enum.Name(outsideNames[:], o) }

// Names returns all places.
func (Outside) Names() []string { return outsideNames[:] }

// restOf returns the position of what no stage covers; −1: wall time was not recorded.
func restOf(c *Steps) int {
	return slices.IndexFunc(c.Stages, func(s Stage) bool { return s.Role == Rest })
}

// refute takes the evidence of stages back in which ranks do not wait for the last of them, whatever the slopes say.
func (f *Found) refute(c *Steps, g Gates) {
	rest := restOf(c)
	for i := range f.Slopes {
		p := &f.Slopes[i]
		if p.Evidence != Shown {
			continue
		}
		switch moves := exitOf(c, p.Stage, nil); {
		case moves == paced:
			p.Evidence = None
			f.paced = append(f.paced, p.Stage)
		case moves == unknownExit && c.Stages[p.Stage].Role == Data: // more often waits for a source than for a rank
			p.Evidence = None
		}
	}
	if rest >= 0 && f.Slopes[rest].Evidence == Shown && !f.waitsOutside(c, rest, g) {
		f.Slopes[rest].Evidence, f.noRest = None, true
	}
}

// waitsOutside reports whether ranks wait for one another in no stage. Beside another point that shows by who comes late after the
// last of these. Without one the slope must be there whichever stage is left out of the arrivals: left without the stage in which ranks
// do wait, the others say nothing of the time in no stage.
func (f *Found) waitsOutside(c *Steps, rest int, g Gates) bool {
	before := -1 // last other point in front of it, in the order of time
	for k := range c.Stages {
		at := (rest + len(c.Stages) - 1 - k) % len(c.Stages)
		if at != rest && f.Slopes[at].Evidence == Shown {
			before = at
			break
		}
	}
	if before >= 0 {
		var between []int
		for k := (before + 1) % len(c.Stages); k != rest; k = (k + 1) % len(c.Stages) {
			between = append(between, k)
		}
		return slopeOn(c, rest, between, g).Evidence == Shown
	}
	for left := range c.Stages {
		if left == rest {
			continue
		}
		var others []int
		for k := range c.Stages {
			if k != rest && k != left {
				others = append(others, k)
			}
		}
		if p := slopeOn(c, rest, others, g); p.Evidence != Shown {
			return false
		}
	}
	return true
}

// slopeOn returns the slope of a stage on the sum of some others since the last end of it.
func slopeOn(c *Steps, stage int, others []int, g Gates) Point {
	R := c.Ranks
	p := Point{Stage: stage, Slope: math.NaN(), Low: math.NaN(), High: math.NaN()}
	var slopes []float64
	for _, at := range c.stretches() {
		T := at[1] - at[0] - 1
		if T < 2 {
			continue
		}
		x, y, sum := make([]float64, T*R), make([]float64, T*R), make([]int64, R)
		for t := range T {
			clear(sum)
			for _, k := range others {
				step := at[0] + t + 1
				if k > stage {
					step--
				}
				add(sum, c.At(step, k))
			}
			center(x[t*R:(t+1)*R], sum)
			center(y[t*R:(t+1)*R], c.At(at[0]+t+1, stage))
		}
		detrend(x, R)
		detrend(y, R)
		v, _ := blockSlopes(x, y, R, R-1)
		slopes = append(slopes, v...)
	}
	p.judge(slopes, g)
	return p
}

// leastRest is the part of how differently ranks go from one exit to the next, from which on that is worth knowing of the time in no stage
// where it lies.
const leastRest = 0.1

// placeRest finds out whether the time in no stage lies before the stages of a step. It does where from one exit of the last stage that ranks
// wait in to the next they take more alike so, by more than chance.
func placeRest(c *Steps, last Found, g Gates) Found {
	rest := restOf(c)
	if len(last.Points) > 0 && last.Points[len(last.Points)-1].Stage == rest || len(last.Within) > 0 && len(last.Points) == 0 {
		return last
	}
	own, freedom := residualSquares(c, func(t int, out []int64) { copy(out, c.At(t, rest)) })
	if own == 0 {
		return last
	}
	if len(last.Points) > 0 {
		if spread, _ := c.loose(last.Points[len(last.Points)-1].Stage); own < leastRest*spread {
			return last
		}
	}
	moved := c.restFirst()
	first := findIn(moved, false, -1, g)
	if len(first.Points) == 0 || first.Points[0].Stage == 0 {
		return last
	}
	at := first.Points[len(first.Points)-1]
	if len(last.Points) > 0 && (last.Points[len(last.Points)-1].Evidence >= at.Evidence) {
		before, _ := c.loose(at.Stage - 1)
		after, _ := moved.loose(at.Stage)
		if after*(1+deviations/math.Sqrt(freedom)) > before {
			return last
		}
	}
	return first.restLast(rest)
}

// restFirst returns the steps with what no stage covers before the stages.
func (s *Steps) restFirst() *Steps {
	rest := len(s.Stages) - 1
	out := &Steps{Stages: slices.Concat(s.Stages[rest:], s.Stages[:rest]), Ranks: s.Ranks, Breaks: s.Breaks, Splits: s.Splits}
	out.Durations = make([]int64, len(s.Durations))
	for t := range s.Len() {
		copy(out.At(t, 0), s.At(t, rest))
		for k := range rest {
			copy(out.At(t, k+1), s.At(t, k))
		}
	}
	return out
}

// restLast returns what was found in steps of restFirst with the numbers of stages that they had before.
func (f Found) restLast(rest int) Found {
	stage := func(k int) int { return (k + rest) % (rest + 1) }
	points := func(list []Point) (out []Point) {
		for _, p := range list {
			p.Stage = stage(p.Stage)
			out = append(out, p)
		}
		slices.SortFunc(out, func(a, b Point) int { return a.Stage - b.Stage })
		return out
	}
	f.Points, f.Slopes, f.Outside = points(f.Points), points(f.Slopes), Before
	f.Within = slices.Clone(f.Within)
	for i := range f.Within {
		f.Within[i].Stage = stage(f.Within[i].Stage)
	}
	f.Perhaps, f.paced = slices.Clone(f.Perhaps), slices.Clone(f.paced)
	for i, k := range f.Perhaps {
		f.Perhaps[i] = stage(k)
	}
	for i, k := range f.paced {
		f.paced[i] = stage(k)
	}
	slices.Sort(f.Perhaps)
	return f
}

// loose returns by how much ranks differ from one exit of a stage to the next, Σ over steps and ranks, and in how many degrees of freedom.
func (s *Steps) loose(k int) (spread, freedom float64) {
	return residualSquares(s, func(t int, out []int64) {
		s.exitToArrival(t, k, out)
		add(out, s.At(t, k))
	})
}

// residualSquares returns Σ of the squares of what ranks take in the steps after the first, less the step's mean and each rank's line, with its degrees of
// freedom.
func residualSquares(c *Steps, take func(t int, out []int64)) (squares, freedom float64) {
	R := c.Ranks
	for _, at := range c.stretches() {
		T := at[1] - at[0] - 1
		if T < 2 {
			continue
		}
		z, row := make([]float64, T*R), make([]int64, R)
		for t := range T {
			take(at[0]+t+1, row)
			center(z[t*R:(t+1)*R], row)
		}
		detrend(z, R)
		for _, x := range z {
			squares += x * x
		}
		freedom += float64(T * (R - 1))
	}
	return squares, max(1, freedom)
}

// leastUnclosed is the part of the time from exit to exit that one rank must lack, on average, for what it lacks to be a piece of its work.
const leastUnclosed = 0.01

// addUnclosed makes a piece of the time in no stage where wall time was not recorded: from one exit of the only point to the next all
// ranks take as long, so that what a rank's stages lack beside the most is what it spent in none. What all spend there stays unknown.
// known: it was found in steps before these whether a rank lacks so much.
func (d *Division) addUnclosed(walled, known bool) {
	if walled || known && d.Outside != Lacking || len(d.Points) != 1 || d.Stages[d.Points[0].Stage].Role == Wait || slices.ContainsFunc(d.Stages, func(s Stage) bool { return s.Role == Wait }) {
		return
	}
	R := d.Ranks
	tails := slices.ContainsFunc(d.Pieces, func(p Piece) bool { return p.Tail })
	work, sums := d.Memory.Take(d.Intervals*R), make([]int64, R)
	whole := int64(0)
	for n, t := range d.Head {
		row := work[n*R : (n+1)*R]
		clear(row)
		if t < 0 || tails && d.Tail[n] < 0 {
			continue
		}
		copy(row, d.Arrivals[0][n*R:(n+1)*R])
		add(row, d.Spent[0][n*R:(n+1)*R])
		most := slices.Max(row)
		whole += most
		for r, x := range row {
			row[r] = most - x
			sums[r] += most - x
		}
	}
	if !known && float64(slices.Max(sums)-robust.MedianTime(slices.Clone(sums))) < leastUnclosed*float64(whole) {
		return
	}
	d.Outside = Lacking
	d.Stages = append(slices.Clip(d.Stages), Stage{Name: "rest", Role: Rest})
	d.Pieces, d.Work = append(d.Pieces, Piece{Stage: len(d.Stages) - 1}), append(d.Work, work)
	d.exits = nil
	d.Arrive()
}
