package trainlog

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/stagename"
)

// Window is what the logs come down to: the steps that all ranks logged.
func (b *Builder) Window(run string) (*trace.Window, error) {
	if len(b.timers) > 0 {
		b.rows = b.timers
	}
	ranks := ranksOf(b.rows)
	if len(ranks) == 0 {
		if name, least, most := b.widest(); name != "" {
			return nil, input.Bad(input.ErrMissing, "Megatron's timers without ranks: their largest spread is that of %s, %.1f to %.1f ms on average, and who is slow is not in the log: log with --timing-log-level 2 --timing-log-option all", name, least, most)
		}
		return nil, input.Bad(input.ErrEmpty, "no steps")
	}
	steps, left := b.common(ranks)
	if len(steps) == 0 {
		return nil, input.Bad(input.ErrMissing, "no step is in the logs of all %d ranks: are they of one run?", len(ranks))
	}
	w := &window{&trace.Window{Run: run, WorldSize: ranks[len(ranks)-1] + 1, Accumulation: 1}}
	for _, id := range ranks {
		w.Ranks = append(w.Ranks, trace.Rank{ID: id, Host: b.hosts[id], LocalRank: -1})
	}
	if err := b.fill(w, steps); err != nil {
		return nil, err
	}
	b.number(w, steps)
	if left > 0 {
		w.note(input.NoteStepGap, "steps that not all ranks logged are left out: %d", left)
	}
	if b.again > 0 {
		w.note(input.NoteStepsRepeated, "steps of ranks that were logged twice, as after a restart, of which the later counts: %d", b.again)
	}
	if b.assumed {
		w.note(input.NoteUnits, "times without a unit are read as seconds")
	}
	return w.Window, w.Validate()
}

// window is one that is made.
type window struct{ *trace.Window }

func (w *window) note(kind input.NoteKind, format string, args ...any) {
	w.Notes = append(w.Notes, input.Note{Kind: kind, Text: fmt.Sprintf(format, args...)})
}

// common are the steps that all ranks logged, ascending, and how many others there are.
func (b *Builder) common(ranks []int) (steps []int64, left int) {
	logged := map[int64]int{}
	for k := range b.rows {
		logged[k.step]++
	}
	for step, n := range logged {
		if n == len(ranks) {
			steps = append(steps, step)
		}
	}
	slices.Sort(steps)
	return steps, len(logged) - len(steps)
}

// number numbers the steps. Logs of every k-th step have steps that follow each other all the same.
func (b *Builder) number(w *window, steps []int64) {
	w.FirstStep = steps[0]
	every := int64(1)
	if len(steps) > 1 {
		every = steps[1] - steps[0]
	}
	for i := range steps {
		if steps[i] != steps[0]+int64(i)*every {
			every = 0
			break
		}
	}
	switch {
	case every == 0:
		w.FirstStep = 0
		w.note(input.NoteStepGap, "steps are not logged evenly, and are counted here from 0: %d to %d", steps[0], steps[len(steps)-1])
	case every > 1:
		w.FirstStep = steps[0] / every
		w.note(input.NoteRecorder, "one step in %d is logged: step %d here is step %d", every, w.FirstStep, steps[0])
	}
}

// fill takes the times of the stages that every step of every rank has.
func (b *Builder) fill(w *window, steps []int64) error {
	timed, some, wholes := [stages]bool{}, [stages]bool{}, true
	for s := range timed {
		timed[s] = true
	}
	for _, step := range steps {
		for _, rank := range w.Ranks {
			r := b.rows[rankKey{step, rank.ID}]
			for s, t := range r.stage {
				timed[s], some[s] = timed[s] && t >= 0, some[s] || t > 0
			}
			wholes = wholes && r.whole >= 0
		}
	}
	var of []Stage
	for s := range stages {
		if timed[s] && some[s] {
			of = append(of, s)
		}
	}
	switch {
	case len(of) == 0 && !wholes:
		return input.Bad(input.ErrMissing, "no time is in the logs of all ranks in all steps")
	case wholes:
		b.rest(w, steps, of)
		of = append(of, Rest)
	}
	for _, s := range of {
		w.Schema.Stages = append(w.Schema.Stages, stageNames[s])
	}
	for _, step := range steps {
		for _, s := range of {
			for _, rank := range w.Ranks {
				w.Durations = append(w.Durations, b.rows[rankKey{step, rank.ID}].stage[s])
			}
		}
	}
	if len(of) == 1 && of[0] == Rest {
		w.Schema.Stages[0] = stagename.Whole
		w.Notes = append(w.Notes, ingest.WholeSteps(w.Window))
	}
	return nil
}

// rest times what stages leave of the whole steps. Whether a whole contains the stages is told by which of the
// two sums is more alike on the ranks.
func (b *Builder) rest(w *window, steps []int64, of []Stage) {
	var without, with, short int64
	for _, step := range steps {
		var whole, sum []int64
		for _, rank := range w.Ranks {
			r := b.rows[rankKey{step, rank.ID}]
			parts := r.of(of)
			if r.whole < parts {
				short++
			}
			whole, sum = append(whole, r.whole), append(sum, r.whole+parts)
		}
		without, with = without+slices.Max(whole)-slices.Min(whole), with+slices.Max(sum)-slices.Min(sum)
	}
	contains := len(of) > 0 && without <= with && 100*short <= int64(len(steps)*len(w.Ranks))
	for _, step := range steps {
		for _, rank := range w.Ranks {
			k := rankKey{step, rank.ID}
			r := b.rows[k]
			if r.stage[Rest] = r.whole; contains {
				r.stage[Rest] = max(0, r.whole-r.of(of))
			}
			b.rows[k] = r
		}
	}
	if !contains && len(of) > 0 {
		w.note(input.NoteRecorder, "the logged time of a step does not contain that of its parts: with them, steps are more alike on the ranks")
	}
}

// of is the sum of stages.
func (r *row) of(list []Stage) (sum int64) {
	for _, s := range list {
		sum += r.stage[s]
	}
	return sum
}
