package report

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/internal/glyph"
)

// Window writes one window of a run in one line: its steps, how long one takes,
// and who was late in it.
func (o Output) Window(v *diagnose.RunVerdict, w *diagnose.Window) error {
	var late *diagnose.Lateness
	if l, ok := v.LateIn(w); ok {
		late = &l
	}
	_, err := fmt.Fprintln(o.W, glyph.Visible(sayWatched(w.Main, late, v.MinGain)))
	return err
}

// Screen writes the answer to one run, with where its step goes.
func (o Output) Screen(v *diagnose.RunVerdict) error {
	return o.show(slices.DeleteFunc(append(answerBlocks(v), runBlocks(v, o.Style)...), func(b block) bool { _, ok := b.(hint); return ok }))
}
