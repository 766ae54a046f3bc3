package simulate

import (
	"errors"
	"io"
	"slices"

	"github.com/sfstat/sfstat/eval/simulate/internal/streams"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// Generator yields the windows of one run, one at a time. Its memory is one
// window and O(stages · ranks) of state. It is for one goroutine.
type Generator struct {
	spec    *Spec // resolved
	program *program
	other   Law
	ranks   []trace.Rank

	rng      *streams.Stream
	factors  []factor  // [stage][rank]
	drift    []float64 // [rank or host]; nil: none
	otherNs  []int64   // [rank] of the step that runs, outside of stages
	striking []bool    // [fault] in the step that runs now
	hits     [][]hit   // [fault]
	time     *timeline
	arrivals *arrivals // nil: not asked for

	window int   // next window
	step   int64 // next step, absolute
}

// New checks the spec and prepares its run.
func New(s Spec) (*Generator, error) {
	spec, err := s.resolve()
	if err != nil {
		return nil, err
	}
	g := &Generator{spec: spec, program: spec.compile(), other: spec.Other.law(1), rng: streams.New(), time: newTimeline(spec.Ranks),
		otherNs: make([]int64, spec.Ranks)}
	if g.ranks, err = spec.ranks(); err != nil {
		return nil, err
	}
	g.makeFactors()
	if d := spec.Noise.Drift; d.SD > 0 {
		n := spec.Ranks
		if d.PerHost {
			n = (n + spec.RanksPerHost - 1) / spec.RanksPerHost
		}
		g.drift = make([]float64, n)
	}
	g.striking = make([]bool, len(spec.Faults))
	for i := range spec.Faults {
		g.hits = append(g.hits, g.hitsOf(i))
	}
	g.arrivals = g.newArrivals()
	g.start()
	return g, nil
}

// start sets every rank and its clock going.
func (g *Generator) start() {
	s, t := g.spec, g.time
	for r := range t.now {
		d := s.Clock.Draw(g.rng.Restart(s.Seed, forClock, uint64(r), 0).Rand, Ahead)
		t.now[r], t.clocks[r].Rate = d.Offset, d.Rate
	}
	for i := range g.program.ops {
		if l := g.program.ops[i].loader; l != nil {
			copy(l.ready, t.now)
			for _, taken := range l.taken {
				copy(taken, t.now)
			}
		}
	}
	t.mark(nil)
}

// Truth returns the truth of the run.
func (g *Generator) Truth() Truth { return g.spec.truth() }

// Next generates the next window, which the caller owns; after the last the
// error is io.EOF.
func (g *Generator) Next() (*trace.Window, error) {
	s := g.spec
	if g.window == s.Schedule.Windows {
		return nil, io.EOF
	}
	first := s.Schedule.firstStep(g.window)
	for g.step < first {
		g.runStep(row{})
	}
	S, R, T := len(g.program.ops), s.Ranks, s.Schedule.Steps
	w := &trace.Window{Run: s.Run, Index: int64(g.window), FirstStep: first, WorldSize: R, Accumulation: s.microsteps(),
		Schema: trace.Schema{Stages: slices.Clone(g.program.stage)}, Ranks: slices.Clone(g.ranks),
		Durations: make([]int64, T*S*R), Wall: make([]int64, T*R), Side: g.channels()}
	g.openWindow(w)
	defer g.closeWindow()
	begin := slices.Min(g.time.now)
	for t := range T {
		out := row{durations: w.Step(t), wall: w.WallOf(t)}
		if every := s.Side.Every; every > 0 && t%every == 0 {
			out.side = w.Side
		}
		g.runStep(out)
		if long := slices.Max(g.time.now); long > trace.MaxTotal || long-begin > trace.MaxTotal/int64(R) {
			return nil, input.Bad(input.ErrOverflow, "window %d has lasted %d s of simulated time by step %d: make work or delays shorter", w.Index, (long-begin)/1e9, g.step-1)
		}
	}
	g.window++
	return w, nil
}

// Each generates the windows that are left and gives each to keep, whose error ends it.
func (g *Generator) Each(keep func(*trace.Window) error) error {
	for {
		w, err := g.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = keep(w)
		}
		if err != nil {
			return err
		}
	}
}

// Scale makes all times of a window so many times as long, to whole nanoseconds.
func Scale(w *trace.Window, factor float64) {
	for _, times := range [][]int64{w.Durations, w.Wall} {
		for i := range times {
			times[i] = int64(factor * float64(times[i]))
		}
	}
}

// channels returns the empty side channels of a window.
func (g *Generator) channels() []trace.SideChannel {
	if g.spec.Side.Every == 0 {
		return nil
	}
	n := (g.spec.Schedule.Steps-1)/g.spec.Side.Every + 1
	var side []trace.SideChannel
	for _, name := range g.program.chans {
		side = append(side, trace.SideChannel{Name: name, Samples: make([]trace.Sample, 0, n*g.spec.Ranks)})
	}
	return side
}

// row is where the measurements of one step go; empty outside of windows.
type row struct {
	durations []int64 // [stage][rank]
	wall      []int64 // [rank]
	side      []trace.SideChannel
}

// runStep runs one step, and measures it.
func (g *Generator) runStep(out row) {
	p, t, R := g.program, g.time, g.spec.Ranks
	copy(t.begin, t.reading)
	g.drawStep(g.step)
	for at, stage := range p.stage {
		if a := g.arrivals; a != nil {
			a.step, a.stage = g.step, stage
		}
		g.runOp(at, g.step)
		if out.durations != nil {
			t.mark(out.durations[at*R : (at+1)*R])
		}
	}
	for r, d := range g.otherNs {
		t.now[r] += d
	}
	g.sample(out.side)
	g.step++
	t.mark(nil)
	for r := range out.wall {
		out.wall[r] = t.reading[r] - t.begin[r]
	}
}

// sample adds a reading of every rank's device times to the side channels.
func (g *Generator) sample(side []trace.SideChannel) {
	for c := range side {
		for r := range g.spec.Ranks {
			var device int64
			for i := range g.program.ops {
				if o := &g.program.ops[i]; o.channel == c {
					device += o.deviceNs[r]
				}
			}
			s := trace.Sample{Step: g.step, Rank: r, Ready: g.time.device[r] <= g.time.now[r]}
			if p := g.spec.Side.Unready; p > 0 && g.rng.Restart(g.spec.Seed, forSide, uint64(r), g.step).Float64() < p {
				s.Ready = false
			}
			if s.Ready {
				s.Value = float64(device) / NsPerMilli
			}
			side[c].Samples = append(side[c].Samples, s)
		}
	}
}
