package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/internal/table"
)

// Window writes one window of a run in one line: its steps, how long one takes,
// and who was late in it.
func (o Output) Window(v *diagnose.RunVerdict, w *diagnose.Window) error {
	m := w.Main
	parts := []string{fmt.Sprintf("%s window %d", m.Run, m.Window), itsSteps(m)}
	if n := len(m.Quality.Missing); n > 0 {
		parts = append(parts, counted(n, "rank")+" missing")
	}
	step := "step"
	if m.Steps > 0 {
		step = length(float64(m.Makespan)/float64(m.Steps)) + " step"
	}
	if l, late := v.LateIn(w); late {
		parts = append(parts, fmt.Sprintf("%s in %s: %s of every %s", rankAt(l.Rank, l.Host, nil), stageWord(l.Stage), length(float64(l.Excess)), step))
	} else {
		parts = append(parts, fmt.Sprintf("no rank delays the %s by %s or more", step, table.Percent(v.MinGain)))
	}
	_, err := fmt.Fprintln(o.W, glyph.Visible(strings.Join(parts, ", ")))
	return err
}

// Screen writes the answer to one run, with where its step goes.
func (o Output) Screen(v *diagnose.RunVerdict) error {
	return o.show(slices.DeleteFunc(append(answerBlocks(v), runBlocks(v, o.Style)...), func(b block) bool { _, ok := b.(hint); return ok }))
}
