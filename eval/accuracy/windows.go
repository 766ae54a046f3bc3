package main

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/ingest/packet"
	"github.com/sfstat/sfstat/trace"
)

// Simulated windows have one slow rank: a stall in one step of every window, or a rank
// that is a fifth slower in all steps. What that costs is known from the same job without.

// cell is a kind of job and of fault.
type cell struct {
	ranks, windows, steps int
	step                  float64 // ms, about
	wall                  bool    // recorded
	gap                   float64 // part of a step that no stage covers
	family                simulate.Family
	delay                 float64 // of one strike, in steps
	at                    int     // step of every window that is struck; −1: all
}

// hostFamilies are those that the hosts' clocks show.
var hostFamilies = slices.DeleteFunc(slices.Clone(families), func(f simulate.Family) bool { return f == simulate.ForwardDevice })

// everyStep is cell.at of a fault in all steps.
const everyStep = -1

// usualStep is the step of the simulator's default job, in ms.
const usualStep = 195

// families are the faults outside the stage where ranks synchronise, and the one
// that only samples of device times tell from a slow backward. Those in the stage
// look alike on all ranks, and no verdict from stage times names them.
var families = []simulate.Family{simulate.Data, simulate.ForwardHost, simulate.ForwardDevice, simulate.CallbackHost, simulate.OptimizerHost}

// nameOf returns the name of the stage of a fault, with where it is slow.
func nameOf(f simulate.Family) string {
	if f == simulate.ForwardDevice {
		return f.Stage() + ", on the device"
	}
	return f.Stage()
}

// borderCells returns the cells with a stall of a quarter of the window in one step of every window.
func borderCells() []cell {
	var out []cell
	for _, steps := range []int{20, 50, 100} {
		for _, family := range families {
			for _, at := range []int{0, steps / 2, steps - 1} {
				out = append(out, cell{ranks: 8, windows: 8, steps: steps, step: usualStep, wall: true, family: family, delay: float64(steps) / 4, at: at})
			}
		}
	}
	return out
}

// strikeCells returns the cells with stalls in the last step of every window, in jobs of other sizes and paces, and without
// wall time.
func strikeCells() []cell {
	var out []cell
	for i, ranks := range []int{2, 4, 32} {
		for k, r := range recordings {
			for _, steps := range lengths[:2] {
				out = append(out, cell{ranks: ranks, windows: 8, steps: steps, step: paces[(i+k)%len(paces)], wall: r.wall, gap: r.gap,
					family: hostFamilies[(i+k)%len(hostFamilies)], delay: float64(steps) / 4, at: steps - 1})
			}
		}
	}
	return out
}

// lengths are those of the windows of timingCells, shortest first.
var lengths = []int{20, 60, 200}

// recordings are with wall time, and without it, in jobs that spend a part of
// their steps where no stage is.
var recordings = []struct {
	wall bool
	gap  float64
}{{true, 0}, {true, 0.25}, {false, 0}, {false, 0.02}, {false, 0.1}, {false, 0.25}}

// paces are the lengths of a step in ms.
var paces = []float64{2, 5, 20, 200}

// timingCells returns the cells with a rank that is a fifth slower in every step, in jobs of all sizes and paces. Cells that
// differ in the number of steps alone are adjacent.
func timingCells() []cell {
	var out []cell
	for p, step := range paces {
		for i, ranks := range []int{2, 4, 8, 32} {
			for k, r := range recordings {
				for _, steps := range lengths {
					out = append(out, cell{ranks: ranks, windows: 1, steps: steps, step: step, wall: r.wall, gap: r.gap,
						family: families[(p+2*i+k)%len(families)], delay: 0.2, at: everyStep})
				}
			}
		}
	}
	return out
}

// healthy returns the cell of the same jobs without the fault.
func (c cell) healthy() cell {
	c.family, c.delay, c.at = simulate.NoFault, 0, everyStep
	return c
}

// String names the cell among those of its family.
func (c cell) String() string {
	wall, at := "wall", ""
	if !c.wall {
		wall = "no-wall"
	}
	if c.at != everyStep {
		at = fmt.Sprintf("-at%d", c.at)
	}
	return fmt.Sprintf("r%d-w%dx%d-%gms-%s-other%g%s", c.ranks, c.windows, c.steps, c.step, wall, 100*c.gap, at)
}

// job returns the packets of a job, the length of its steps, and the slow rank. Jobs of one seed that differ in the fault alone
// share their noise.
func (c cell) job(seed uint64) (packets []byte, ns int64, slow int, err error) {
	s := simulate.DefaultSpec()
	key := fnv.New64a()
	fmt.Fprintf(key, "%+v %d", c.healthy(), seed)
	s.Seed, s.Ranks, s.RanksPerHost = key.Sum64(), c.ranks, min(8, c.ranks)
	s.Schedule.Windows, s.Schedule.Steps = c.windows, c.steps
	mean := simulate.Millis(usualStep * c.gap / (1 - c.gap))
	s.Other = simulate.Dist{Mean: mean, SD: 0.3 * mean, Shape: simulate.Normal}
	slow = int(seed) % c.ranks
	if c.family != simulate.NoFault {
		f := simulate.Fault{Family: c.family, Ranks: []int{slow}, Delay: simulate.Millis(c.delay * usualStep / (1 - c.gap))}
		if c.at != everyStep {
			f.From, f.Every = int64(c.at), int64(c.steps)
		}
		s.Faults = []simulate.Fault{f}
	}
	packets, err = simulatedPackets(s, func(w *trace.Window) {
		c.pace(w)
		ns += length(w)
		if !c.wall {
			w.Wall = nil
		}
	})
	if err != nil {
		err = fmt.Errorf("cell %+v: %w", c, err)
	}
	return packets, ns, slow, err
}

// simulatedPackets returns the packets of a run whose windows are changed before they are written.
func simulatedPackets(s simulate.Spec, change func(*trace.Window)) ([]byte, error) {
	g, err := simulate.New(s)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	out := packet.NewWriter(&text)
	err = g.Each(func(w *trace.Window) error {
		change(w)
		return out.Write(w)
	})
	return text.Bytes(), err
}

// pace puts a window in the pace of the cell.
func (c cell) pace(w *trace.Window) {
	factor := c.step / usualStep
	for _, channel := range w.Side {
		for i := range channel.Samples {
			channel.Samples[i].Value *= factor
		}
	}
	simulate.Scale(w, factor)
}

// length returns the duration of a window with wall time, by its slowest rank.
func length(w *trace.Window) int64 {
	sums := make([]int64, len(w.Ranks))
	for t := range w.Steps() {
		for r, ns := range w.WallOf(t) {
			sums[r] += ns
		}
	}
	return slices.Max(sums)
}

// simulatedJobs returns so many jobs of each cell, and each of them without its fault.
func simulatedJobs(seeds int) []task {
	var out []task
	for _, of := range []struct {
		family string
		cells  []cell
	}{{"border", borderCells()}, {"stall", strikeCells()}, {"slow", timingCells()}} {
		var last cell // whose healthy twin is scored
		for _, c := range of.cells {
			first := c.healthy() != last
			last = c.healthy()
			for seed := range seeds {
				out = append(out, func(p program) ([]row, error) { return c.score(p, of.family, uint64(seed), first) })
			}
		}
	}
	return out
}

// score scores a job, and the healthy one where none did before.
func (c cell) score(p program, family string, seed uint64, healthyToo bool) ([]row, error) {
	without, usual, _, err := c.healthy().job(seed)
	if err != nil {
		return nil, err
	}
	with, ns, slow, err := c.job(seed)
	if err != nil {
		return nil, err
	}
	name := func(c cell) string { return fmt.Sprintf("%v-s%d", c, seed) }
	as := row{Source: "windows", Family: family + ", " + nameOf(c.family), Job: name(c)}
	rows := []row{p.score(job{as: as, truth: c.truth(slow, 1-float64(usual)/float64(ns)), packets: with})}
	if healthyToo {
		as.Family, as.Job = family+", healthy", name(c.healthy())
		rows = append(rows, p.score(job{as: as, truth: c.healthyTruth(), packets: without}))
	}
	return rows, nil
}

// healthyTruth returns the truth of the job without its fault. Where a quarter of a step is in no stage and varies by 30 %, the
// last of many ranks is late by more than a tenth of the step: a finding of uneven work is right.
func (c cell) healthyTruth() truth {
	if c.gap >= 0.25 {
		return truth{kind: uneven}
	}
	return truth{kind: healthy}
}

// truth returns the truth of the job. A stall on the device shows in backward on all ranks alike, since few of its steps have
// device times. Without wall time the length of a step is not recorded, and no saving is asked for.
func (c cell) truth(slow int, saves float64) truth {
	f := fault{ranks: []int{slow}, stages: []string{c.family.Stage()}, saves: &saves, due: saves >= leastDue, from: -1}
	if !c.wall {
		f.saves = nil
	}
	if c.family == simulate.ForwardDevice && c.at != everyStep {
		f.stages = append(f.stages, simulate.StageBackward)
		return truth{everyone, []fault{f}}
	}
	return truth{late, []fault{f}}
}
