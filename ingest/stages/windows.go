package stages

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/engine/clock"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
	"github.com/sfstat/sfstat/trace/profile"
	"github.com/sfstat/sfstat/trace/recorded"
	"github.com/sfstat/sfstat/trace/stagename"
)

// Timeline is what the stages of windows are measured on.
type Timeline uint8

const (
	// Auto: the device's where more than half of the ranks have device work in
	// most of their steps, else the host's.
	Auto Timeline = iota
	OnHost
	OnDevice
)

// Options of Divide. The zero value is usable.
type Options struct {
	Run      string
	Timeline Timeline
	// Operators is the timeline by whose names of stages the operators behind them go; Auto: that of the windows.
	Operators Timeline
	// Each has the operators one by one too.
	Each bool
}

// The beginnings of the stages into which exposed communication goes on the
// device: what would not be exposed had all members come when the rank did, and
// what would.
const (
	waitStem     = stagename.WaitStem
	transferStem = "comm."
)

// RankWait is the stage of all the time for which a rank waits for others,
// where it does so in several groups: a tensor-parallel rank in every layer, a
// stage of a pipeline between passes. Who waits in one group arrives late to the
// next, and passes run at different times on different ranks, so that waits
// divided by stages would make victims look like culprits.
const RankWait = waitStem + "ranks"

// hostSuffix ends the names of host stages, and deviceSuffix those of the same
// stages on the device.
const (
	hostSuffix   = "_cpu_wall"
	deviceSuffix = stagename.DeviceSuffix
	eventSuffix  = "_cuda_event_ms"
)

// unmappedStage is the only stage of ranks of which no annotation is mapped, and
// unmappedDevice the one, on the device, of what lies before the communication
// of a step and in no stage: who loses time there makes others wait in the same
// step, while what is left over in a step counts as its end.
const (
	unmappedStage  = "step.unmapped_cpu_wall"
	unmappedDevice = "step.unmapped" + deviceSuffix
)

// Divide returns the job that the profiles of one run, one for each rank, come to: windows, what ran in their stages,
// how devices spent the steps, when hosts entered collectives, and where that is asked for each operator, all of one
// division. Steps that are cut off on some rank, and those that not all ranks have, are left out with a note.
// Positions in Rank.Steps are the parts' own; errors carry the rank's source. Usually there is one window.
//
// The error says why there are no windows; or, beside them, why there are no operators where some rank has
// too many. Operators without windows have a note that says why.
func Divide(ranks []*profile.Rank, o Options) (recorded.Job, error) {
	c, err := prepare(ranks, o)
	if err != nil {
		return recorded.Job{}, err
	}
	device := c.deviceTimes(ranks)
	c.compare()
	c.unawaited = unawaitedEnds(c.ranks, c.matched, c.clocks)
	c.settlePeers()
	var each *operator.Trace
	var none error
	if o.Each {
		each, none = c.trace(ranks, o)
	}
	windows, err := c.windows()
	switch {
	case err != nil && each == nil:
		return recorded.Job{}, err
	case err != nil:
		each.Notes = append(each.Notes, input.Note{Kind: input.NoteRecorder, Text: "there are no times of stages: " + err.Error()})
	case errors.Is(none, input.ErrTooLarge):
		err = none
	}
	return recorded.Job{Windows: windows, Operators: each, Launched: c.operators(ranks), Devices: device, Calls: enteredCollectives(ranks, o.Run)}, err
}

// windows returns the steps as windows, divided into stages.
func (c *converter) windows() ([]*trace.Window, error) {
	c.chooseMicrosteps()
	c.chooseStages()
	var parts []*trace.Part
	for r := range c.ranks {
		parts = append(parts, c.parts(r)...)
	}
	if len(parts) == 0 {
		return nil, input.At(input.Pos{File: c.ranks[0].Source}, input.Bad(input.ErrEmpty,
			"no complete step was recorded: let the profiler run for more steps"))
	}
	windows, err := trace.Join(parts)
	if err != nil {
		return nil, err
	}
	for i, w := range windows {
		w.Index = int64(i)
		w.Notes = append(w.Notes, c.notes...)
	}
	return windows, nil
}

// prepareTimeline returns what was prepared of the ranks for another timeline. What does not depend on it is taken over.
func (c *converter) prepareTimeline(ranks []*profile.Rank, t Timeline) (*converter, error) {
	other, err := prepare(ranks, Options{Run: c.o.Run, Timeline: t})
	if err != nil {
		return nil, err
	}
	if slices.Equal(other.ranks, c.ranks) && slices.EqualFunc(other.steps, c.steps, slices.Equal[[]int]) {
		other.matched, other.clocks, other.unawaited, other.roles = c.matched, c.clocks, c.unawaited, c.roles
		other.notes = append(other.notes, c.merged...)
		return other, nil
	}
	other.compare()
	other.unawaited = unawaitedEnds(other.ranks, other.matched, other.clocks)
	other.settlePeers()
	return other, nil
}

// prepare settles which ranks and steps of a run are used, and on what timeline.
func prepare(ranks []*profile.Rank, o Options) (*converter, error) {
	if len(ranks) == 0 {
		return nil, input.Bad(input.ErrEmpty, "no profiles")
	}
	c := &converter{o: o, ranks: ranksByID(ranks), world: worldOf(ranks)}
	c.chooseTimeline()
	c.syncSteps()
	c.dropLost()
	return c, nil
}

// compare matches the calls of the ranks and brings their clocks together.
func (c *converter) compare() {
	c.matched = match(c.ranks)
	c.clocks = clocks(c.ranks, c.matched)
}

// ranksByID returns a copy of the profiles, sorted by rank.
func ranksByID(ranks []*profile.Rank) []*profile.Rank {
	ranks = slices.Clone(ranks)
	slices.SortStableFunc(ranks, func(a, b *profile.Rank) int { return a.ID - b.ID })
	return ranks
}

func worldOf(ranks []*profile.Rank) int {
	world := 1
	for _, r := range ranks {
		world = max(world, r.World, r.ID+1)
	}
	return min(world, trace.MaxRanks)
}

// converter makes parts of ranks.
type converter struct {
	o       Options
	ranks   []*profile.Rank
	world   int
	steps   [][]int // [rank] those that are used: positions in Rank.Steps
	matched *matching
	clocks  []clock.Placed
	// unawaited are, by rank and collective, when it would have ended had nobody
	// been waited for.
	unawaited [][]int64
	roles     []trace.Role // that ranks are compared by
	micro     microstepping
	stages    []column
	names     []string
	// severalGroups: ranks wait for each other in more than one group.
	severalGroups bool
	notes         []input.Note
	merged        []input.Note // of these, what says which ranks count as replicas
}

// column is a stage of the windows: what of which stage of the ranks.
type column struct {
	part
	what portion
}

type portion uint8

const (
	hostTime portion = iota
	deviceTime
	waitTime
	transferTime
	wholeWait    // of whole steps, in all groups
	stepTime     // all of it: no stage is mapped
	unmappedTime // of no stage, before the last communication
)

// chooseTimeline settles what is measured, and leaves out the ranks that did
// not record it: those without device work among others with it, as they are
// where a recording was cut before the profiler wrote that down.
func (c *converter) chooseTimeline() {
	var with, without []*profile.Rank
	for _, r := range c.ranks {
		if mostlyOnDevice(r) {
			with = append(with, r)
		} else {
			without = append(without, r)
		}
	}
	if c.o.Timeline == Auto && 2*len(with) <= len(c.ranks) && len(without) > 0 {
		c.o.Timeline = OnHost
	}
	if c.o.Timeline == OnHost || len(with) == 0 || len(without) == 0 {
		if c.o.Timeline == Auto {
			c.o.Timeline = OnDevice
		}
		return
	}
	c.o.Timeline, c.ranks = OnDevice, with
	for _, r := range without {
		c.note(input.NoteRecorder, "rank %d recorded no device work in most of its steps, as the others did: it is left out", r.ID)
		for _, n := range r.Notes {
			c.note(n.Kind, "rank %d: %s", r.ID, n.Text)
		}
	}
}

// mostlyOnDevice reports whether a rank has device work in half of its steps
// or more.
func mostlyOnDevice(r *profile.Rank) bool {
	with := 0
	for i := range r.Steps {
		if r.Steps[i].Device != nil {
			with++
		}
	}
	return with > 0 && 2*with >= len(r.Steps)
}

// parts returns the runs of consecutive steps of a rank.
func (c *converter) parts(r int) []*trace.Part {
	rank, steps := c.ranks[r], c.steps[r]
	var out []*trace.Part
	for n, at := range steps {
		s := &rank.Steps[at]
		if n == 0 || s.Index != rank.Steps[steps[n-1]].Index+1 {
			out = append(out, &trace.Part{Pos: input.Pos{File: rank.Source}, Run: c.o.Run, WorldSize: c.world, FirstStep: s.Index, Accumulation: c.micro.n, GatherOK: !isTruncated(rank),
				Rank:   trace.Rank{ID: rank.ID, Host: rank.Host, LocalRank: rank.LocalRank, Role: c.roles[r]},
				Schema: trace.Schema{Stages: c.names}})
			if rank.Base != 0 && c.o.Timeline != OnDevice {
				out[len(out)-1].Epoch = s.Start
			}
			if n == 0 {
				c.tell(rank, out[0])
			}
		}
		p := out[len(out)-1]
		row := make([]int64, len(c.stages))
		c.fill(row, r, s)
		p.Durations = append(p.Durations, row...)
		p.Wall = append(p.Wall, c.wall(s))
		c.sample(p, s)
	}
	return out
}

// dropLost leaves out the steps that have device work on some rank and none on
// another: a recording that was cut has lost it.
func (c *converter) dropLost() {
	if c.o.Timeline != OnDevice {
		return
	}
	with, lost := make(map[int64]bool), make(map[int64]bool)
	for r, rank := range c.ranks {
		for _, at := range c.steps[r] {
			s := &rank.Steps[at]
			with[s.Index] = with[s.Index] || s.Device != nil
			lost[s.Index] = lost[s.Index] || s.Device == nil
		}
	}
	var dropped []int64
	for index := range lost {
		if lost[index] && with[index] {
			dropped = append(dropped, index)
		}
	}
	if len(dropped) == 0 || len(dropped) == len(with) {
		return
	}
	for r, rank := range c.ranks {
		c.steps[r] = slices.DeleteFunc(c.steps[r], func(at int) bool { return slices.Contains(dropped, rank.Steps[at].Index) })
	}
	c.note(input.NoteRecorder, "steps %s are left out: some rank recorded no device work in them", listSteps(dropped))
}

// isTruncated reports whether the recording of a rank was cut off.
func isTruncated(r *profile.Rank) bool {
	return slices.ContainsFunc(r.Notes, func(n input.Note) bool { return n.Kind == input.NoteTruncated })
}

// tell puts the rank's notes on the part, or on the windows where the kind
// matters.
func (c *converter) tell(rank *profile.Rank, p *trace.Part) {
	for _, n := range rank.Notes {
		text := fmt.Sprintf("rank %d: %s", rank.ID, n.Text)
		if n.Kind == input.NoteRecorder {
			p.Notes = append(p.Notes, text)
		} else {
			c.notes = append(c.notes, input.Note{Kind: n.Kind, Text: text})
		}
	}
}

func (c *converter) wall(s *profile.Step) int64 {
	if c.o.Timeline == OnDevice && s.Device != nil {
		return s.Device.End - s.Device.Start
	}
	return s.End - s.Start
}

// sample adds the busy time of the device to a window of host stages, as CUDA
// events would have measured it.
func (c *converter) sample(p *trace.Part, s *profile.Step) {
	if c.o.Timeline == OnDevice || s.Device == nil {
		return
	}
	stages := c.ranks[0].Stages
	for stage, name := range stages {
		stem, ok := strings.CutSuffix(name, hostSuffix)
		busy := part{stage, wholeStep}.sum(s.Device.Busy, len(stages))
		if !ok || busy == 0 || !slices.ContainsFunc(c.stages, func(col column) bool { return col.stage == stage && col.what == hostTime }) {
			continue
		}
		at := slices.IndexFunc(p.Side, func(x trace.SideChannel) bool { return x.Name == stem+eventSuffix })
		if at < 0 {
			at = len(p.Side)
			p.Side = append(p.Side, trace.SideChannel{Name: stem + eventSuffix})
		}
		p.Side[at].Samples = append(p.Side[at].Samples, trace.Sample{Step: s.Index, Value: float64(busy) / 1e6, Ready: true})
	}
}
