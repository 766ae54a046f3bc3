// Package trainlog reads what training programs print of their steps, and makes windows of the logs of all ranks.
//
// How a program prints them is a dialect, which is data: dialects.yaml has those that are known, with a line of each.
// The last of them reads own loops, "step 12 … data_time: 0.003 time: 0.381". Megatron's timers of all ranks
// (--timing-log-option all) are blocks of lines, and have a reader of their own:
//
//	times across ranks (ms):
//	  forward-compute:
//	     rank  0: 812.40
//
// The rank stands in the line ("[RANK 12]", "rank=12", the prefixes of torchrun, srun -l and mpirun) or in the name of the
// file. One log without any is that of the job.
//
// Parts of a step that are timed are stages; what is left of the whole step is step.rest. MMEngine's time of a step
// includes the wait for data, xtuner's does not: which one a log has is told by which sum is more alike on the ranks,
// since steps of a synchronous job end together. A number that only grows is a clock, and steps are its differences.
//
// Whole steps alone are as long on a late rank as on those that wait for it: they are one stage, in which
// ranks synchronise.
//
// Cost: O(bytes); memory grows with the steps and ranks, not with the text.
//
// Sources of the forms: the programs that dialects.yaml names; xtuner/v1/train/trainer.py of xtuner,
// mmengine/hooks/iter_timer_hook.py, megatron/training/training.py and megatron/core/timers.py of Megatron-LM 0.8 to 0.16.
package trainlog

import (
	"errors"
	"io"
	"regexp"
	"slices"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/stagename"
)

// stageNames are the stages of what dialects call times, in the order of a step.
var stageNames = []struct{ word, stage string }{
	{"data", "data.next_wait"}, {"forward", "model.fwd_loss_cpu_wall"}, {"backward", "model.backward_cpu_wall"},
	{"forward_backward", "model.forward_backward"}, {"pipeline", "pipeline.wait"}, {"gradients", "gradients.reduce"},
	{"optimizer", "optim.step_cpu_wall"},
}

// orderOf returns where a stage of dialects stands in a step; −1: it is of a program's own.
func orderOf(word string) int {
	return slices.IndexFunc(stageNames, func(s struct{ word, stage string }) bool { return s.word == word })
}

const (
	maxSteps   = 1 << 24 // of a rank
	maxColumns = 64      // stages of a log
)

// notTimed is the time of what a line does not have.
const notTimed = -1

// track is what was logged of the steps of a rank, in the order of the file.
type track struct {
	rank       int // −1: nothing tells it
	validation bool
	smooth     bool // times are averages that run on
	file, host string
	line       int64 // of the file, where it begins
	columns    []int32
	rows
	counted    bool  // some steps have no number in the log
	mean       bool  // lines are means of the steps since the line before them
	sum        bool  // lines are sums of these, until they are divided
	assumed    bool  // a time had no unit
	resolution int64 // of stamps that steps are timed by
	clocked    bool  // a number that grows was taken for a clock

	raw, offset, epoch, longest int64 // of numbers that begin again in every epoch
	zero                        bool  // they count from 0
}

// timeAt returns the time of a row in a column of the builder.
func (t *track) timeAt(i int, column int32) int64 {
	if c := slices.Index(t.columns, column); c >= 0 {
		return t.row(i)[c]
	}
	return notTimed
}

// Builder takes the logs of a job, one after the other. Its zero value is ready.
type Builder struct {
	Limits   ingest.Limits
	Dialects *Dialects        // of the user, before those that are known; nil: none
	Columns  *Columns         // of a log of numbers alone; nil: it has words
	Rank     *regexp.Regexp   // its first group is the rank in a line; nil: as is usual
	Also     []Listener       // are given every line
	Stepped  func(step int64) // is given the number of the step of every line that has one, −1: not told; may be nil

	EndsInBar bool      // the last line that was read is a progress bar, which ends none
	Refused   []Refusal // known once windows are made

	dialects *Dialects // all of them, with the words of listeners
	columns  []column
	tracks   []*track
	timers   []*track // of Megatron's timers, which count where there are any
	byKey    map[trackKey]*track
	spreads  map[string]spread // of timers without ranks, by timer
	rows     int
	held     int64 // bytes of rows
	blocks   int64 // of timers, so far
	summed   int64 // batches that the table of a profiler sums
}

// Refusal is a log that is left out.
type Refusal struct {
	File string
	Err  error
}

// Listener reads something else in the same lines, for which these are not searched again.
type Listener struct {
	Words []string                                  // of which one is in every line that counts
	Line  func(line []byte, number int64, has bool) // is given a line, and whether it has one of the words
}

// column is what times are of.
type column struct {
	of     string
	weak   bool   // of microsteps, which stand for steps where these are not logged
	sparse bool   // a step without it has none, rather than none that was logged
	in     string // the one that contains it
}

// Read reads a log, whose rank and host the name of its file told; −1 and "" where it did not.
func (b *Builder) Read(src io.Reader, name string, rank int, host string) error {
	if b.spreads == nil {
		b.spreads = map[string]spread{}
	}
	if b.dialects == nil {
		b.dialects = b.Dialects.joinBuiltin(b.Also...)
	}
	before := b.rows + len(b.spreads)
	l := lineReader{b: b, file: name, rank: rank, host: host, dialects: b.dialects}
	if b.usesForms() {
		l.forms = newForms()
	}
	lines := ingest.NewTerminalLines(src, name, b.Limits)
	for {
		line, _, err := lines.NextCut()
		if err == io.EOF {
			break
		}
		if err == nil {
			l.at = lines.Pos().Line
			err = l.line(line)
		}
		if err != nil {
			return input.At(lines.Pos(), err)
		}
	}
	b.EndsInBar = l.bar == l.at && l.at > 0
	if err := errors.Join(l.endTimers(), l.endProfiler()); err != nil {
		return input.At(lines.Pos(), err)
	}
	if b.rows+len(b.spreads) == before {
		return input.At(lines.Pos(), input.Bad(input.ErrEmpty, "no line up to here has the number of a step and a time, as in \"step 12 data_time: 0.003 time: 0.381\""))
	}
	return nil
}

// maxLogRanks is how many ranks, and files of them, the logs of a job have: none are known of more, and each takes
// some hundred bytes.
const maxLogRanks = 100_000

// trackOf returns the track of what lines are of (their rank, validation or not, averages or not) in a list, which is made where there is none.
func (b *Builder) trackOf(list *[]*track, l *lineReader, of track) (*track, error) {
	key := trackKey{list, of.rank, of.validation, of.smooth, l.file}
	if t := b.byKey[key]; t != nil {
		return t, nil
	}
	if of.rank >= maxLogRanks || len(*list) >= maxLogRanks {
		return nil, input.Bad(input.ErrTooLarge, "rank %d: logs tell the times of %d ranks and files at most", of.rank, maxLogRanks)
	}
	t := &track{rank: of.rank, validation: of.validation, smooth: of.smooth, file: l.file, host: l.host, line: l.at, epoch: -1, raw: -1}
	*list = append(*list, t)
	if b.byKey == nil {
		b.byKey = map[trackKey]*track{}
	}
	b.byKey[key] = t
	return t, nil
}

// trackKey is the list that a track is in, and what its lines are of.
type trackKey struct {
	list               *[]*track
	rank               int
	validation, smooth bool
	file               string
}

// columnOf returns the number of a column.
func (b *Builder) columnOf(d *dialect, of string) (int32, error) {
	if i := slices.IndexFunc(b.columns, func(c column) bool { return c.of == of }); i >= 0 {
		return int32(i), nil
	}
	if len(b.columns) >= maxColumns {
		return 0, input.Bad(input.ErrTooLarge, "times of more than %d names: say in a dialect which are stages (--dialect)", maxColumns)
	}
	c := column{of: of, sparse: of != ofStep && of != ofClock && orderOf(of) < 0}
	if d != nil {
		c.in = d.In[of]
	}
	b.columns = append(b.columns, c)
	return int32(len(b.columns) - 1), nil
}

// add keeps a row of times, or adds them to the last row where they are of its step. Step is −1 where the line does not
// tell it.
func (b *Builder) add(t *track, d *dialect, step int64, times []measurement) error {
	fits, n := t.n > 0, t.n-1
	if fits && step >= 0 && step != t.step(n) {
		fits = false
	}
	var at [maxColumns]int // where the times stand in a row
	for i, m := range times {
		c, err := b.columnOf(d, m.of)
		if err != nil {
			return err
		}
		at[i] = b.place(t, c)
		fits = fits && (t.row(n)[at[i]] == notTimed || d != nil && d.Smooth) // a bar is drawn again
	}
	if !fits {
		if t.n >= maxSteps {
			return input.Bad(input.ErrTooLarge, "more than %d steps of a rank: give a part of the log", maxSteps)
		}
		b.rows++
		t.counted = t.counted || step < 0
		t.append(step)
		b.held += 8 * int64(1+t.width)
		n = t.n - 1
	}
	if most := b.Limits.OrDefault().Pending; b.held > most {
		return input.Bad(input.ErrTooLarge, "steps of ranks of more than %d MiB: give fewer files", most>>20)
	}
	row := t.change(n)
	for i, m := range times {
		row[at[i]] = m.ns
	}
	return nil
}

// place returns where a column stands in the rows of a track, which is given it where it has none.
func (b *Builder) place(t *track, c int32) int {
	if at := slices.Index(t.columns, c); at >= 0 {
		return at
	}
	t.columns = append(t.columns, c)
	t.widen()
	b.held += 8 * int64(t.n)
	return t.width - 1
}

// continuedStep returns a step number counted through epochs that restart their numbers: by the epoch in the line, or by
// a counter that restarts after its end.
func (t *track) continuedStep(x *reading) int64 {
	step := x.number()
	switch {
	case x.epoch < 0 && x.steps > 0:
		if x.steps == t.longest && step < t.raw && 10*t.raw >= 9*t.longest {
			t.offset += t.longest
		}
		t.raw, t.longest = step, x.steps
		return step + t.offset
	case x.epoch < 0 || x.steps > 0:
		return step
	}
	t.zero = t.zero || step == 0
	if t.epoch >= 0 && x.epoch > t.epoch && step <= t.raw {
		t.offset += t.longest
		if t.longest = 0; t.zero { // the first of an epoch is a step too
			t.offset++
		}
	}
	t.epoch, t.raw, t.longest = x.epoch, step, max(t.longest, step)
	return step + t.offset
}

// stage returns the stage of a column.
func (c *column) stage() string {
	switch i := orderOf(c.of); {
	case i >= 0:
		return stageNames[i].stage
	case c.of == ofStep:
		return stagename.Remainder
	}
	return c.of
}
