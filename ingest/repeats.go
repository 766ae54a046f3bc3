package ingest

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// Once gives the windows of a reader with every step counted once. Of a window
// that begins within an earlier one of its run and goes on beyond it, the steps
// that both have are left out; so are steps that an earlier window has with the
// same times. A window that has the steps of an earlier one with other times,
// as of a second launch, stays. All of it is noted.
type Once struct {
	in   WindowReader
	runs map[string]*recorded // that were read lately, a generation at most
	old  map[string]*recorded // the generation before
	held *trace.Window        // the next that is given, to be noted on
	err  error
}

// recorded is what is known of a run: its latest windows, and its steps.
type recorded struct {
	latest []stretch
	steps  map[int64]*hashes // by step ÷ 64
}

// hashes are those of the times of 64 steps.
type hashes struct {
	known uint64 // bit k: step k is
	of    []uint64
}

// grow makes room for so many.
func (h *hashes) grow(n int) {
	if n > len(h.of) {
		h.of = append(h.of, make([]uint64, n-len(h.of))...)
	}
}

// stretch is the steps and ranks of a window.
type stretch struct {
	first, end int64
	ranks      []int
}

// How many windows of a run are remembered, and steps of all, where they follow each other; and how many runs are a
// generation, of which two are.
const (
	maxStretches = 64
	maxSteps     = 1 << 20
	generation   = 1 << 15
)

// NewOnce reads from in.
func NewOnce(in WindowReader) *Once { return &Once{in: in, runs: make(map[string]*recorded)} }

// Close closes the reader.
func (o *Once) Close() error { return o.in.Close() }

// Next gives the next window. It reads one ahead, on which it notes what of the
// windows after it is left out.
func (o *Once) Next() (*trace.Window, error) {
	for o.err == nil {
		w, err := o.in.Next()
		if err != nil {
			o.err = err
			break
		}
		if w = o.dropRepeated(w); w == nil {
			continue
		}
		given := o.held
		if o.held = w; given != nil {
			return given, nil
		}
	}
	if w := o.held; w != nil {
		o.held = nil
		return w, nil
	}
	return nil, o.err
}

var _ WindowReader = (*Once)(nil)

// dropRepeated returns the part of a window that is no repetition, nil when all is.
func (o *Once) dropRepeated(w *trace.Window) *trace.Window {
	run := o.run(w.Run)
	end := w.FirstStep + int64(w.Steps())
	known := stretch{first: w.FirstStep, end: end}
	for _, r := range w.Ranks {
		known.ranks = append(known.ranks, r.ID)
	}
	i := slices.IndexFunc(run.latest, func(s stretch) bool {
		return s.first < end && w.FirstStep < s.end && slices.ContainsFunc(known.ranks, func(id int) bool { return slices.Contains(s.ranks, id) })
	})
	same := i >= 0 && run.has(w)
	switch {
	case same:
		o.note(o.held, "steps %d to %d of window %d were recorded in an earlier window too and count once", w.FirstStep, end-1, w.Index)
		return nil
	case i >= 0 && w.FirstStep > run.latest[i].first && end > run.latest[i].end:
		from := run.latest[i].end
		repeated := w.FirstStep
		w = (&trace.Selection{Steps: &trace.StepRange{First: from, Last: end - 1}}).Window(w)
		o.note(w, "steps %d to %d of window %d were recorded in an earlier window too and count once", repeated, from-1, w.Index)
	case i >= 0:
		o.note(w, "steps %d to %d are in an earlier window too, with other times, and count in both: a second launch?",
			max(w.FirstStep, run.latest[i].first), min(end, run.latest[i].end)-1)
	}
	run.add(w, known)
	return w
}

// run returns what is known of a run.
func (o *Once) run(name string) *recorded {
	if known := o.runs[name]; known != nil {
		return known
	}
	known := o.old[name]
	if known == nil {
		known = &recorded{steps: make(map[int64]*hashes)}
	}
	if len(o.runs) == generation {
		o.old, o.runs = o.runs, make(map[string]*recorded)
	}
	o.runs[name] = known
	return known
}

func (o *Once) note(w *trace.Window, format string, args ...any) {
	if w != nil {
		w.Notes = append(w.Notes, input.Note{Kind: input.NoteStepsRepeated, Text: fmt.Sprintf(format, args...)})
	}
}

// sum returns a hash of the times of a step: FNV-1a by words, in four lanes that do not wait for each other.
func sum(w *trace.Window, t int) uint64 {
	const prime = 1099511628211
	h := [4]uint64{14695981039346656037, 1, 2, 3}
	for _, v := range [][]int64{w.Step(t), w.WallOf(t)} {
		for ; len(v) >= 4; v = v[4:] {
			h[0] = (h[0] ^ uint64(v[0])) * prime
			h[1] = (h[1] ^ uint64(v[1])) * prime
			h[2] = (h[2] ^ uint64(v[2])) * prime
			h[3] = (h[3] ^ uint64(v[3])) * prime
		}
		for _, x := range v {
			h[0] = (h[0] ^ uint64(x)) * prime
		}
	}
	return ((h[0]*prime^h[1])*prime^h[2])*prime ^ h[3]
}

// has reports whether the run has all steps of the window, with its times.
func (r *recorded) has(w *trace.Window) bool {
	for t := range w.Steps() {
		step := w.FirstStep + int64(t)
		if h := r.steps[step>>6]; h == nil || h.known>>(step&63)&1 == 0 || h.of[step&63] != sum(w, t) {
			return false
		}
	}
	return true
}

func (r *recorded) add(w *trace.Window, s stretch) {
	if len(r.latest) == maxStretches {
		r.latest = slices.Delete(r.latest, 0, 1)
	}
	r.latest = append(r.latest, s)
	if len(r.steps)+w.Steps()/64 > maxSteps/64 {
		clear(r.steps)
	}
	var h *hashes
	for t := range w.Steps() {
		step := w.FirstStep + int64(t)
		if h == nil || step&63 == 0 {
			if h = r.steps[step>>6]; h == nil {
				h = new(hashes)
				r.steps[step>>6] = h
			}
			h.grow(int(min(step|63, w.FirstStep+int64(w.Steps())-1)&63) + 1)
		}
		h.known |= 1 << (step & 63)
		h.of[step&63] = sum(w, t)
	}
}
