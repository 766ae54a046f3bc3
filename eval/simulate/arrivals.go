package simulate

import (
	"strconv"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/nccl"
)

// maxArrivals bounds the calls of one window: as many as a packet holds, times
// four.
const maxArrivals = 1 << 22

// firstEpoch is the time at which every run begins: 2026-01-01 UTC.
const firstEpoch = 1_767_225_600 * int64(1e9)

// allReduce is the operation of every synchronisation point.
const allReduce = "gloo:all_reduce"

// arrivals is when every rank enters every collective, on the wall clock of its
// host.
type arrivals struct {
	clocks []Dial          // [host]
	comms  []*comms.Record // [rank] of the window that is made; nil between windows
	step   int64           // whose row is measured
	stage  string
}

// newArrivals returns the recorders of arrivals, nil unless the spec asks for them.
func (g *Generator) newArrivals() *arrivals {
	s := g.spec
	if !s.Arrivals {
		return nil
	}
	a := &arrivals{clocks: make([]Dial, (s.Ranks-1)/s.RanksPerHost+1)}
	for h := range a.clocks {
		a.clocks[h] = s.Clock.Draw(g.rng.Restart(s.Seed, forWallClock, uint64(h), 0).Rand, 0)
	}
	return a
}

// epoch returns the reading of the clock of a rank's host at a true time.
func (g *Generator) epoch(rank int, now int64) int64 {
	return firstEpoch + g.arrivals.clocks[rank/g.spec.RanksPerHost].Read(now)
}

// openWindow begins the records of a window, whose first step begins now.
func (g *Generator) openWindow(w *trace.Window) {
	a := g.arrivals
	if a == nil {
		return
	}
	for r, now := range g.time.now {
		w.Epochs = append(w.Epochs, g.epoch(r, now))
		id := &g.ranks[r]
		a.comms = append(a.comms, &comms.Record{Run: w.Run, Sources: []comms.Source{{Name: "simulator", Kind: comms.SourcePacket}},
			Processes: []comms.Process{{Rank: r, Host: id.Host, LocalRank: id.LocalRank, Device: -1}}})
	}
	for _, of := range g.program.groups {
		list := of.comms(g.spec.Ranks)
		for r, c := range a.comms {
			own := list[of.of[r]]
			own.Rank = of.place[r]
			c.Groups = append(c.Groups, own)
		}
	}
	w.Arrivals = a.comms
}

func (g *Generator) closeWindow() {
	if g.arrivals != nil {
		g.arrivals.comms = nil
	}
}

// comms returns the process groups. The world is group "0".
func (g *groups) comms(ranks int) []comms.Group {
	out := make([]comms.Group, len(g.sizes))
	for i, size := range g.sizes {
		out[i] = comms.Group{Name: strconv.Itoa(g.name + i), Size: size, Enqueued: -1, Completed: -1}
	}
	if g.name == 0 {
		out[0].Desc = "default_pg"
	}
	for r := range ranks {
		of := &out[g.of[r]]
		of.Members = append(of.Members, r)
	}
	return out
}

// arrive records that the ranks enter the collectives of a synchronisation
// point: now, and before the end of their work those of the part that runs
// ahead. Of several in one stage only the first has such a part, as ranks do no
// work between them.
func (g *Generator) arrive(at, number int) {
	if g.arrivals == nil {
		return
	}
	o := &g.program.ops[at]
	m := &o.points[number]
	if number == 0 && m.overlap > 0 {
		g.enter(m.groups, func(r int) int64 { return g.time.now[r] - int64(m.overlap*float64(o.workNs[r])) })
	}
	g.enter(m.groups, func(r int) int64 { return g.time.now[r] })
}

// enter records one collective of every group that has more than one member.
func (g *Generator) enter(of *groups, when func(rank int) int64) {
	a := g.arrivals
	of.calls++ // recorded or not
	for r, c := range a.comms {
		if of.sizes[of.of[r]] == 1 {
			continue
		}
		x := comms.UnknownCall(0)
		x.Group, x.Op, x.Name, x.Seq = of.index, nccl.AllReduce, allReduce, of.calls
		x.Enter, x.HasEnter, x.Step, x.Stage = g.epoch(r, when(r)), true, a.step, a.stage
		c.Calls = append(c.Calls, x)
	}
}

// validateArrivals refuses more calls in a window than memory and packets hold.
func (s *Spec) validateArrivals() error {
	calls := 0
	for i := range s.Stages {
		st := &s.Stages[i]
		n := len(st.SyncPoints)
		if n > 0 && st.SyncPoints[0].Overlap > 0 {
			n++
		}
		if st.PerMicrostep {
			n *= s.microsteps()
		}
		calls += n
	}
	if most := maxArrivals / max(4, s.Ranks); s.Arrivals && calls > 0 && s.Schedule.Steps > most/calls {
		return input.Bad(input.ErrTooLarge, "arrivals of a window of %d steps × %d collectives × %d ranks, at most %d of each rank: take shorter windows",
			s.Schedule.Steps, calls, s.Ranks, most)
	}
	return nil
}
