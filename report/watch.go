package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/evidence"
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
	m := w.Main
	for i := range m.Culprits {
		c := &m.Culprits[i]
		if c.Gain < v.MinGain {
			continue
		}
		host := ""
		for _, r := range m.Members {
			if r.ID == c.Rank {
				host = r.Host
			}
		}
		return fmt.Sprintf("%s late in %s: %s of the time", rankAndHost(c.Rank, host), stageWord(m.Stages[c.Stage].Name), table.Percent(c.Gain))
	}
	if f := lateThen(v, w); f != nil {
		return fmt.Sprintf("%s late in %s by arrivals: %s a step", rankAndHost(*f.Rank, f.Host), stageWord(f.Stage), length(float64(f.Excess)))
	}
	return "no rank late by " + table.Percent(v.MinGain) + " or more"
}

// lateThen is the first finding on a rank that strikes all the time in steps of a window,
// whose own stage times do not show it: other records of the run do, such as arrivals. Nil
// where there is none.
func lateThen(v *diagnose.RunVerdict, w *diagnose.Window) *diagnose.Finding {
	m := w.Main
	for i := range v.Findings {
		f := &v.Findings[i]
		if _, arrived := evidence.EntersLast(f.Evidence, evidence.FromArrivals); !arrived || f.Rank == nil || !f.Flagged() || f.Struck.Pattern == diagnose.PatternIntermittent || f.Struck.Pattern == diagnose.PatternPeriodic {
			continue
		}
		if f.Struck.First < m.FirstStep+int64(m.Steps) && f.Struck.Last >= m.FirstStep {
			return f
		}
	}
	return nil
}

// Screen writes the answer to one run, with where its step goes.
func (o Output) Screen(v *diagnose.RunVerdict) error {
	return o.show(slices.DeleteFunc(append(answerBlocks(v), runBlocks(v, o.Style)...), func(b block) bool { _, ok := b.(hint); return ok }))
}
