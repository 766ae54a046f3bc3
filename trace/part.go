package trace

import (
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
	"slices"
)

// Part is one rank's share of a window: what a recorder writes as one packet.
// S stages, T steps.
type Part struct {
	Pos          input.Pos // where it was read
	Run          string
	Index        int64 // number of the window
	WorldSize    int
	FirstStep    int64
	Accumulation int
	DataWait     DataWait
	GatherOK     bool
	Rank         Rank
	Schema       Schema

	Durations []int64 // nanoseconds, [step][stage], stage fastest
	Wall      []int64 // nanoseconds, [step]; nil when not recorded
	Side      []SideChannel

	Epoch    int64         // of the first step's begin, nanoseconds since 1970 UTC; 0: not recorded
	Arrivals *comms.Record // when the rank entered its collectives; nil: not recorded

	Notes []string // what the recorder says that it lost or left out, as sentences
}

// Steps returns T, the number of steps of the part.
func (p *Part) Steps() int {
	if len(p.Schema.Stages) == 0 {
		return 0
	}
	return len(p.Durations) / len(p.Schema.Stages)
}

// Validate refuses a part that cannot be joined into a window: bad schema,
// rank outside the world, ragged or negative durations, sums that overflow.
// Samples of side channels carry Rank 0 in a part.
func (p *Part) Validate() error {
	w := Window{Run: p.Run, Index: p.Index, FirstStep: p.FirstStep, WorldSize: p.WorldSize,
		Accumulation: p.Accumulation, Schema: p.Schema, Ranks: []Rank{p.Rank},
		Durations: p.Durations, Wall: p.Wall, Side: p.Side}
	return w.Validate()
}

// Part returns the share of column r: the inverse of Join.
func (w *Window) Part(r int) *Part {
	S, R, T := len(w.Schema.Stages), len(w.Ranks), w.Steps()
	p := &Part{Run: w.Run, Index: w.Index, WorldSize: w.WorldSize, FirstStep: w.FirstStep, Accumulation: w.Accumulation,
		DataWait: w.DataWait, GatherOK: !slices.Contains(w.GatherFailed, w.Ranks[r].ID), Rank: w.Ranks[r], Schema: w.Schema,
		Durations: make([]int64, T*S)}
	for t := range T {
		step := w.Step(t)
		for s := range S {
			p.Durations[t*S+s] = step[s*R+r]
		}
	}
	if w.Wall != nil {
		p.Wall = make([]int64, T)
		for t := range T {
			p.Wall[t] = w.Wall[t*R+r]
		}
	}
	for _, c := range w.Side {
		mine := SideChannel{Name: c.Name}
		for _, s := range c.Samples {
			if s.Rank == r {
				s.Rank = 0
				mine.Samples = append(mine.Samples, s)
			}
		}
		if len(mine.Samples) > 0 {
			p.Side = append(p.Side, mine)
		}
	}
	p.Epoch, p.Arrivals = w.EpochOf(r), w.ArrivalsOf(r)
	if r == 0 { // they say which rank they are about
		p.Notes = w.recorderTexts()
	}
	return p
}

func (w *Window) recorderTexts() []string {
	var texts []string
	for _, n := range w.Notes {
		if n.Kind == input.NoteRecorder {
			texts = append(texts, n.Text)
		}
	}
	return texts
}

// EpochOf returns when the first step began on column r, 0 where it was not recorded.
func (w *Window) EpochOf(r int) int64 {
	if w.Epochs == nil {
		return 0
	}
	return w.Epochs[r]
}

// ArrivalsOf returns the collectives that the rank of column r recorded, nil without.
func (w *Window) ArrivalsOf(r int) *comms.Record {
	for _, c := range w.Arrivals {
		if c.Processes[0].Rank == w.Ranks[r].ID {
			return c
		}
	}
	return nil
}
