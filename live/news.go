package live

import (
	"fmt"
	"maps"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/evidence"
)

// Told is what was said of each run. Make one with Told{}.
type Told map[string]*toldRun

type toldRun struct {
	windows map[[2]int64]bool // by number and first step
	verdict string            // what the last screen was about
}

// forget drops windows that are not among those of a verdict any more.
func (of *toldRun) forget(r *diagnose.RunVerdict) {
	if r.Earlier == nil || len(r.Windows) == 0 || len(of.windows) <= 2*len(r.Windows) {
		return
	}
	first := r.Windows[0].Main.Window
	maps.DeleteFunc(of.windows, func(key [2]int64, _ bool) bool { return key[0] < first })
}

// News is what is new of a run.
type News struct {
	Run     *diagnose.RunVerdict
	Windows []int // in Run.Windows
	Changed bool  // the verdict is another
}

// News returns the runs with news: complete windows, windows followed by another, and verdicts with another status, suspect or
// certainty.
func (t Told) News(v *diagnose.Verdict) []News {
	var out []News
	for i := range v.Runs {
		r := &v.Runs[i]
		of := t[r.Run]
		if of == nil {
			of = &toldRun{windows: map[[2]int64]bool{}}
			t[r.Run] = of
		}
		of.forget(r)
		n := News{Run: r}
		for k := range r.Windows {
			m := r.Windows[k].Main
			key := [2]int64{m.Window, m.FirstStep}
			if of.windows[key] || len(m.Quality.Missing) > 0 && k == len(r.Windows)-1 {
				continue
			}
			of.windows[key] = true
			n.Windows = append(n.Windows, k)
		}
		if now := gist(r); now != of.verdict {
			of.verdict, n.Changed = now, true
		}
		if n.Changed || len(n.Windows) > 0 {
			out = append(out, n)
		}
	}
	return out
}

// gist returns the part of a verdict whose change is worth a new screen.
func gist(r *diagnose.RunVerdict) string {
	a := r.Answer()
	if a.Certainty == evidence.Insufficient {
		return r.Status.String()
	}
	s := a.First
	rank := -1
	if s.Rank != nil {
		rank = *s.Rank
	}
	line := evidence.SourceLine{}
	if e, ok := evidence.Find[evidence.SpentIn](s.Evidence); ok {
		line = e.Source
	}
	return fmt.Sprintln(r.Status, s.Kind, s.Cause, rank, s.Host, s.Stage, s.Op, s.Group, s.Confidence, line)
}
