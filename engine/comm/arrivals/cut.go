package arrivals

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/sync"
)

// Cuts says how long each rank waits in the stages of the steps, and, where all ranks wait for each other in one, how long
// it works there before it does so for the last time.
type Cuts struct {
	Ranks  []int   // as in Own and Wait
	Steps  []int64 // as recorded
	Stages []string
	Points []bool  // [stage] all ranks wait for each other in it, in most steps
	Own    []int64 // [step][stage][rank], ns; −1: they do not wait for each other, or it is not known
	Wait   []int64 // [step][stage][rank], ns; the last stage is the time that no other covers
	// Clocked: the clocks are known well enough to tell waits from work. Else Own ends where ranks wait for the first time,
	// which each knows by its own clock.
	Clocked bool
}

// WaitIn returns how long each rank waits in a stage of the step of an index, ns; their number: in the time that none covers.
func (c *Cuts) WaitIn(step, stage int) []int64 {
	R, at := len(c.Ranks), step*(len(c.Stages)+1)+stage
	return c.Wait[at*R : (at+1)*R]
}

// OwnIn returns how long each works there before they wait for each other; −1 as in Own.
func (c *Cuts) OwnIn(step, stage int) []int64 {
	R, at := len(c.Ranks), step*len(c.Stages)+stage
	return c.Own[at*R : (at+1)*R]
}

const (
	// mostOfSteps is the part of the steps in which a stage holds all ranks for them to synchronise in it.
	mostOfSteps = 0.9
	// fewOfSteps is the part of the steps in which ranks may wait in other stages. Where they do in more of them, steps differ
	// in who waits where.
	fewOfSteps = 0.02
	// mostOff is the part of a step that clocks may be off for waits to be told from work by them.
	mostOff = 0.02
)

// block is when a rank begins to wait, and how long it does.
type block struct {
	from, wait int64
	all        bool // for all other ranks
}

// cuts returns how the stages of the steps divide where ranks wait; nil where recorders do not say when their steps began,
// all ranks wait for each other in no stage, or some wait elsewhere in more than few steps. O(calls · log calls + steps · stages · ranks).
func (s *strikes) cuts(d *sync.Division) *Cuts {
	lines := make([]*fitted, len(s.Ranks))
	for r := range s.Ranks {
		f := s.lineOf(r)
		if f == nil || !f.exact || f.summed || r > 0 && !slices.Equal(f.stages, lines[0].stages) {
			return nil
		}
		s.layOut(f, r)
		lines[r] = f
	}
	R, S := len(lines), len(lines[0].stages)
	off := s.halfWidth()
	out := &Cuts{Clocked: off >= 0 && float64(off) <= mostOff*float64(sync.Period(lines[0].begin)), Stages: lines[0].stages, Steps: lines[0].steps, Points: make([]bool, S)}
	for r := range s.Ranks {
		out.Ranks = append(out.Ranks, s.Ranks[r].ID)
	}
	out.Own, out.Wait = slices.Repeat([]int64{-1}, len(out.Steps)*S*R), make([]int64, len(out.Steps)*(S+1)*R)
	for r, blocks := range s.blocksOf(d) {
		f := lines[r]
		for _, b := range blocks {
			t := f.step(b.from)
			if t < 0 {
				continue
			}
			step, ok := slices.BinarySearch(out.Steps, f.steps[t])
			if !ok {
				continue
			}
			at := b.from // by its own clock
			if out.Clocked {
				at += b.wait / 2
			}
			k := f.stageAt(t, at)
			wait := &out.Wait[(step*(S+1)+k)*R+r]
			if b.all && k < S {
				own := &out.Own[(step*S+k)*R+r]
				if since := max(0, b.from-f.from[t*S+k]); out.Clocked {
					*own = max(0, since-*wait)
				} else if *own < 0 {
					*own = since
				}
			}
			*wait += b.wait
		}
	}
	if !out.place() {
		return nil
	}
	return out
}

// place finds the stages in which all ranks wait for each other, and reports whether ranks wait in these alone.
func (c *Cuts) place() bool {
	R, S := len(c.Ranks), len(c.Stages)
	for k := range S + 1 {
		all, some := 0, 0 // steps in which all ranks wait for each other, and in which some wait
		for t := range c.Steps {
			if k < S && !slices.Contains(c.Own[(t*S+k)*R:(t*S+k+1)*R], -1) {
				all++
			}
			if slices.Max(c.Wait[(t*(S+1)+k)*R:(t*(S+1)+k+1)*R]) > 0 {
				some++
			}
		}
		if float64(all) >= mostOfSteps*float64(len(c.Steps)) {
			c.Points[k] = true
		} else if float64(some) > fewOfSteps*float64(len(c.Steps)) {
			return false
		}
	}
	return slices.Contains(c.Points, true)
}

// stageAt returns the stage of a step that a time is in; their number: it is in none.
func (f *fitted) stageAt(t int, at int64) int {
	S := len(f.stages)
	for k := range S {
		if from := f.from[t*S+k]; at >= from && at <= from+f.durations[t*S+k] {
			return k
		}
	}
	return S
}

// blocksOf returns when each rank waits, in the order of time.
func (s *strikes) blocksOf(d *sync.Division) [][]block {
	holds := make(map[int32]bool) // calls of a line for which all ranks wait
	for _, i := range d.At {
		if c := s.Places[i].Cohorts[0]; len(c) == len(s.Ranks) {
			holds[s.SiteOf(c[0])] = true
		}
	}
	held := func(e sync.Entry) bool {
		return holds[s.SiteOf(e)] && len(s.Points[s.Of[e.Process][e.Call]].Entries) == len(s.Ranks)
	}
	out := make([][]block, len(s.Ranks))
	for i := range s.Places {
		p := &s.Places[i]
		for _, c := range p.Cohorts {
			for _, e := range c {
				lag := s.LagOf(e, p.Lag)
				awaited, ok := s.Awaited(e, lag)
				if !ok {
					continue
				}
				from := s.Time(sync.Previous(e, 1))
				out[e.Process] = append(out[e.Process], block{from, s.Time(e) - from - s.Work(e, lag), held(awaited)})
			}
		}
	}
	for _, blocks := range out {
		slices.SortFunc(blocks, func(a, b block) int { return cmp.Compare(a.from, b.from) })
	}
	return out
}
