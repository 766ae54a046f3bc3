package trace

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/enum"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/stagename"
)

// MaxTotal bounds the sum of everything in a window times its stages, in
// nanoseconds (146 years of rank time, divided by the stages): with it no sum
// over rows that an engine takes can overflow int64.
const MaxTotal = math.MaxInt64 / 2

// Window is a run of consecutive steps with one schema, world size and
// accumulation factor. S stages, R ranks, T steps.
type Window struct {
	Run          string
	Index        int64 // the recorder's number of the window
	FirstStep    int64 // step index of the first row
	Every        int64 // by how much the indices of successive rows differ, where not every step is recorded; 0: 1
	WorldSize    int   // ranks that the job has; len(Ranks) have reported
	Expected     []int // IDs of the ranks that should report, ascending; nil: the whole world
	Accumulation int   // microsteps per optimizer step; 0 and 1 both mean none
	DataWait     DataWait
	Schema       Schema
	Ranks        []Rank // ascending by ID; position r is column r below

	// Durations in nanoseconds, [step][stage][rank], rank fastest:
	// duration of stage s on rank r in step t is Durations[(t*S+s)*R+r].
	Durations []int64
	// Wall time of the step in nanoseconds, [step][rank]; nil when it was not
	// recorded, and then there is no residual stage.
	Wall []int64

	GatherFailed []int // IDs of the ranks whose recorder could not gather the window, ascending
	Side         []SideChannel
	Epochs       []int64         // when the first step began on each rank, [rank], nanoseconds since 1970 UTC; nil, or 0: not recorded
	Arrivals     []*comms.Record // what ranks recorded of their collectives until then, one process each, ascending by rank; steps may be of earlier windows
	Notes        []input.Note    // what is incomplete, in order of discovery
}

// Steps returns T, the number of steps.
func (w *Window) Steps() int {
	per := len(w.Schema.Stages) * len(w.Ranks)
	if per == 0 {
		return 0
	}
	return len(w.Durations) / per
}

// StepAt returns the index of the step of row t.
func (w *Window) StepAt(t int) int64 { return w.FirstStep + int64(t)*max(1, w.Every) }

// Consecutive returns the window as formats store it that number every step: step 3 is the third that was recorded,
// which a note says.
func (w *Window) Consecutive() *Window {
	if w.Every < 2 {
		return w
	}
	out := *w
	out.FirstStep, out.Every = w.FirstStep/w.Every, 0
	out.Side = slices.Clone(w.Side)
	for i := range out.Side {
		out.Side[i].Samples = slices.Clone(w.Side[i].Samples)
		for k := range out.Side[i].Samples {
			out.Side[i].Samples[k].Step = out.FirstStep + int64(w.RowOf(w.Side[i].Samples[k].Step))
		}
	}
	out.Notes = append(slices.Clip(w.Notes), input.Note{Kind: input.NoteRecorder,
		Text: fmt.Sprintf("one step in %d is recorded: step %d here is step %d", w.Every, out.FirstStep, w.FirstStep)})
	return &out
}

// RowOf returns the row of a step, by its index.
func (w *Window) RowOf(step int64) int { return int((step - w.FirstStep) / max(1, w.Every)) }

// Step returns the matrix of one step, [stage][rank], aliasing the window.
func (w *Window) Step(t int) []int64 {
	per := len(w.Schema.Stages) * len(w.Ranks)
	return w.Durations[t*per : (t+1)*per]
}

// WallOf returns the wall time of one step, [rank], aliasing the window; nil when wall time was not recorded.
func (w *Window) WallOf(t int) []int64 {
	if w.Wall == nil {
		return nil
	}
	return w.Wall[t*len(w.Ranks) : (t+1)*len(w.Ranks)]
}

// Missing returns the ranks that should have reported and did not: of
// 0 … WorldSize−1, or of Expected. O(R), however large the world claims to be.
func (w *Window) Missing() RankSet {
	if w.Expected != nil {
		var missing []int
		for _, id := range w.Expected {
			if !slices.ContainsFunc(w.Ranks, func(r Rank) bool { return r.ID == id }) {
				missing = append(missing, id)
			}
		}
		return RankSetOf(missing)
	}
	var missing RankSet
	next := 0
	for _, r := range w.Ranks {
		if next < r.ID {
			missing = append(missing, [2]int{next, r.ID - 1})
		}
		next = r.ID + 1
	}
	if next < w.WorldSize {
		missing = append(missing, [2]int{next, w.WorldSize - 1})
	}
	return missing
}

// Has reports whether a note of this kind is on the window.
func (w *Window) Has(kind input.NoteKind) bool {
	return slices.ContainsFunc(w.Notes, func(n input.Note) bool { return n.Kind == kind })
}

// DataWait says to which step a recorded data wait belongs.
type DataWait uint8

const (
	// DataWaitConsuming: the wait stands in the step that consumes the batch.
	// The recorder does this by itself.
	DataWaitConsuming DataWait = iota
	// DataWaitPreceding: the wait for the next batch stands at the end of the
	// step before the one that consumes it, as a prefetching loop times it.
	DataWaitPreceding
	// DataWaitUnknown: the recorder could not tell, so nothing that rests on
	// the data stage may be claimed strongly.
	DataWaitUnknown
)

var dataWaitNames = [...]string{"consuming", "preceding", "unknown"}

func (d DataWait) String() string { return enum.Name(dataWaitNames[:], d) }

// ParseDataWait returns the meaning of a name, the inverse of String; "" is DataWaitConsuming.
func ParseDataWait(s string) (DataWait, error) {
	if s == "" {
		return DataWaitConsuming, nil
	}
	if i := slices.Index(dataWaitNames[:], s); i >= 0 {
		return DataWait(i), nil
	}
	return DataWaitUnknown, input.Bad(input.ErrType, "data_wait is %q, expected one of %s", s, strings.Join(dataWaitNames[:], ", "))
}

// SideChannel is sampled evidence beside the stage matrix, such as the device
// time of the forward pass from CUDA events. Samples are sorted by step, then
// by rank column.
type SideChannel struct {
	Name    string // e.g. "model.fwd_loss_cuda_event_ms"
	Samples []Sample
}

// Sample is one reading of a side channel.
type Sample struct {
	Step  int64   // absolute step index
	Rank  int     // column in the window
	Value float64 // unit by the channel's name; for "…_ms" milliseconds
	Ready bool    // false: the event had not completed when it was read, Value means nothing
}

// sideSuffix ends the names of channels that time a stage on the device.
const sideSuffix = "_cuda_event_ms"

// ProbeSuffix ends the names of channels that time a part of a stage on the host.
const ProbeSuffix = "_probe_ms"

// wallSuffix ends the names of stages that are host wall time.
const wallSuffix = "_cpu_wall"

// Times lists the stages whose device work the channel measures: a channel
// "X_cuda_event_ms" belongs to the stage "X_cpu_wall" (each of its
// accumulation-indexed parts). Empty when the channel measures no stage.
func (c SideChannel) Times(s Schema) []int {
	stem, ok := strings.CutSuffix(c.Name, sideSuffix)
	if !ok {
		return nil
	}
	var stages []int
	for i, name := range s.Stages {
		if base, _ := stagename.Split(name); base == stem+wallSuffix || base == stem {
			stages = append(stages, i)
		}
	}
	return stages
}

// mostApart bounds by how much the indices of successive steps differ.
const mostApart = 1 << 30

// Validate checks every invariant of a window: shapes agree, ranks ascend and
// lie in the world, durations are not negative, and nothing that an engine
// sums can overflow. O(T·S·R). The position of an offending value is named in
// the error by step, stage and rank.
func (w *Window) Validate() error {
	if err := w.Schema.Validate(); err != nil {
		return err
	}
	if err := w.validateRanks(); err != nil {
		return err
	}
	S, R := len(w.Schema.Stages), len(w.Ranks)
	if len(w.Durations) == 0 {
		return input.Bad(input.ErrEmpty, "window %d of run %q has no steps", w.Index, w.Run)
	}
	if len(w.Durations)%(S*R) != 0 {
		return input.Bad(input.ErrRagged, "%d durations do not fill steps of %d stages × %d ranks", len(w.Durations), S, R)
	}
	T := w.Steps()
	if w.Wall != nil && len(w.Wall) != T*R {
		return input.Bad(input.ErrRagged, "%d wall times for %d steps × %d ranks", len(w.Wall), T, R)
	}
	if w.FirstStep < 0 || w.Every < 0 || w.Every > mostApart || w.FirstStep > math.MaxInt64-int64(T)*max(1, w.Every) {
		return input.Bad(input.ErrOverflow, "first step %d, every %d", w.FirstStep, w.Every)
	}
	if w.Accumulation < 0 || w.Accumulation > MaxStages {
		return input.Bad(input.ErrTooLarge, "accumulation factor %d, expected 1 to %d", w.Accumulation, MaxStages)
	}
	if err := w.validateTimes(); err != nil {
		return err
	}
	return w.validateSide(T)
}

func (w *Window) validateRanks() error {
	if len(w.Ranks) == 0 {
		return input.Bad(input.ErrEmpty, "window %d of run %q has no ranks", w.Index, w.Run)
	}
	if w.WorldSize < 1 || w.WorldSize > MaxRanks {
		return input.Bad(input.ErrTooLarge, "world size %d, expected 1 to %d", w.WorldSize, MaxRanks)
	}
	last := -1
	for _, r := range w.Ranks {
		switch {
		case r.ID == last:
			return input.Bad(input.ErrDuplicate, "rank %d is in the window twice", r.ID)
		case r.ID < last || r.ID < 0:
			return input.Bad(input.ErrFormat, "rank %d after rank %d: ranks must ascend from 0", r.ID, last)
		case r.ID >= w.WorldSize:
			return input.Bad(input.ErrTooLarge, "rank %d in a world of %d", r.ID, w.WorldSize)
		}
		last = r.ID
	}
	return nil
}

func (w *Window) validateTimes() error {
	S, R := len(w.Schema.Stages), len(w.Ranks)
	limit := int64(MaxTotal / (S + 1))
	if timesInLimits(w.Durations, limit) && timesInLimits(w.Wall, limit) {
		return nil
	}
	var sum int64
	for i, d := range w.Durations {
		if d < 0 {
			return input.Bad(input.ErrNegative, "%d ns in step %d, stage %q, rank %d",
				d, w.StepAt(i/(S*R)), w.Schema.Stages[i/R%S], w.Ranks[i%R].ID)
		}
		if sum += d; sum < 0 || sum > limit {
			return w.tooLong(i / (S * R))
		}
	}
	sum = 0
	for i, d := range w.Wall {
		if d < 0 {
			return input.Bad(input.ErrNegative, "wall time of %d ns in step %d, rank %d", d, w.StepAt(i/R), w.Ranks[i%R].ID)
		}
		if sum += d; sum < 0 || sum > limit {
			return w.tooLong(i / R)
		}
	}
	return nil
}

// timesInLimits reports whether no time is negative, or longer than 200 days, and their sum is at
// most limit: so it is of all real windows, at a fraction of what it takes to find the
// time that is wrong.
func timesInLimits(times []int64, limit int64) bool {
	const few, long = 256, 1 << 54 // of which the product does not overflow beside a limit
	var sum int64
	for len(times) > 0 {
		block := times[:min(few, len(times))]
		times = times[len(block):]
		var bits, part int64
		for ; len(block) >= 4; block = block[4:] {
			d := (*[4]int64)(block)
			bits |= d[0] | d[1] | d[2] | d[3]
			part += d[0] + d[1] + (d[2] + d[3])
		}
		for _, d := range block {
			bits |= d
			part += d
		}
		if sum += part; uint64(bits) >= long || sum > limit {
			return false
		}
	}
	return true
}

func (w *Window) tooLong(t int) error {
	return input.Bad(input.ErrOverflow, "durations up to step %d sum past %d ns, no real window is that long",
		w.StepAt(t), int64(MaxTotal/(len(w.Schema.Stages)+1)))
}

// maxSample bounds a reading of a side channel: milliseconds of 30 years.
const maxSample = 1e12

func (w *Window) validateSide(steps int) error {
	for _, c := range w.Side {
		if c.Name == "" || len(c.Name) > MaxStageName {
			return input.Bad(input.ErrEmpty, "a side channel has a name of %d bytes, expected 1 to %d", len(c.Name), MaxStageName)
		}
		for _, s := range c.Samples {
			switch {
			case s.Rank < 0 || s.Rank >= len(w.Ranks):
				return input.Bad(input.ErrRagged, "channel %q has a sample of rank column %d, the window has %d", c.Name, s.Rank, len(w.Ranks))
			case s.Step < w.FirstStep || s.Step >= w.StepAt(steps):
				return input.Bad(input.ErrRagged, "channel %q has a sample of step %d, the window has %d to %d", c.Name, s.Step, w.FirstStep, w.StepAt(steps-1))
			case s.Ready && (math.IsNaN(s.Value) || math.IsInf(s.Value, 0)):
				return input.Bad(input.ErrNotFinite, "channel %q is %v in step %d, rank %d", c.Name, s.Value, s.Step, w.Ranks[s.Rank].ID)
			case s.Ready && s.Value > maxSample:
				return input.Bad(input.ErrOverflow, "channel %q is %v in step %d, rank %d", c.Name, s.Value, s.Step, w.Ranks[s.Rank].ID)
			case s.Ready && s.Value < 0:
				return input.Bad(input.ErrNegative, "channel %q is %v in step %d, rank %d", c.Name, s.Value, s.Step, w.Ranks[s.Rank].ID)
			}
		}
	}
	return nil
}

// Select returns a copy of the window with only the given columns, ascending. The world size stays: a selection is a part of
// the world, not a smaller one.
func (w *Window) Select(columns []int) *Window {
	S, R, T, n := len(w.Schema.Stages), len(w.Ranks), w.Steps(), len(columns)
	out := *w
	out.Ranks = make([]Rank, n)
	out.Durations = make([]int64, T*S*n)
	at := make(map[int]int, n)
	for i, r := range columns {
		out.Ranks[i] = w.Ranks[r]
		at[r] = i
	}
	gather := func(dst, src []int64) {
		for row := range len(src) / R {
			for i, r := range columns {
				dst[row*n+i] = src[row*R+r]
			}
		}
	}
	gather(out.Durations, w.Durations)
	if w.Wall != nil {
		out.Wall = make([]int64, T*n)
		gather(out.Wall, w.Wall)
	}
	if w.Epochs != nil {
		out.Epochs = make([]int64, n)
		gather(out.Epochs, w.Epochs)
	}
	out.Arrivals = nil
	for _, a := range w.Arrivals {
		if slices.ContainsFunc(out.Ranks, func(r Rank) bool { return len(a.Processes) > 0 && a.Processes[0].Rank == r.ID }) {
			out.Arrivals = append(out.Arrivals, a)
		}
	}
	out.Side = make([]SideChannel, 0, len(w.Side))
	for _, c := range w.Side {
		kept := SideChannel{Name: c.Name}
		for _, s := range c.Samples {
			if i, ok := at[s.Rank]; ok {
				s.Rank = i
				kept.Samples = append(kept.Samples, s)
			}
		}
		out.Side = append(out.Side, kept)
	}
	return &out
}
