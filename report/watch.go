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
// and what was late in it.
func (o Output) Window(v *diagnose.RunVerdict, w *diagnose.Window) error {
	m := w.Main
	parts := []string{fmt.Sprintf("%s window %d", m.Run, m.Window), stepsWord(m.FirstStep, m.FirstStep+int64(max(1, m.Steps))-1)}
	if m.Steps > 0 {
		parts = append(parts, length(float64(m.Makespan)/float64(m.Steps))+" a step")
	}
	if n := len(m.Quality.Missing); n > 0 {
		parts = append(parts, counted(n, "rank")+" missing")
	}
	parts = append(parts, lateIn(v, w))
	_, err := fmt.Fprintln(o.W, glyph.Visible(strings.Join(parts, ", ")))
	return err
}

// lateIn is who was late in a window.
func lateIn(v *diagnose.RunVerdict, w *diagnose.Window) string {
	l, ok := v.LateIn(w)
	switch {
	case !ok:
		return "no rank late by " + table.Percent(v.MinGain) + " or more"
	case l.Excess > 0:
		return fmt.Sprintf("%s late in %s by arrivals: %s a step", rankAt(l.Rank, l.Host, nil), stageWord(l.Stage), length(float64(l.Excess)))
	}
	return fmt.Sprintf("%s late in %s: %s of the time", rankAt(l.Rank, l.Host, nil), stageWord(l.Stage), table.Percent(l.Share))
}

// Screen writes the answer to one run, with where its step goes.
func (o Output) Screen(v *diagnose.RunVerdict) error {
	return o.show(slices.DeleteFunc(append(answerBlocks(v), runBlocks(v, o.Style)...), func(b block) bool { _, ok := b.(hint); return ok }))
}
