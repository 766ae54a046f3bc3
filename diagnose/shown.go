package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
)

// MainWindow returns the window that stands for a run: the one with the evidence for the first finding, else the longest; nil
// without windows.
func (v *RunVerdict) MainWindow() *Window {
	if len(v.Windows) == 0 {
		return nil
	}
	if f := v.first(); f != nil && f.Detail >= 0 && f.Detail < len(v.Windows) {
		return &v.Windows[f.Detail]
	}
	best := 0
	for i, w := range v.Windows {
		if w.Main.Steps > v.Windows[best].Main.Steps {
			best = i
		}
	}
	return &v.Windows[best]
}

// Account returns the account of a window that shows the first finding of its run: of all ranks, or of the role group that the
// finding is in.
func (v *RunVerdict) Account(w *Window) *frontier.Result {
	if f := v.first(); f != nil && f.Group != "" {
		if i := slices.IndexFunc(w.Groups, func(r *frontier.Result) bool { return r.Group == f.Group }); i >= 0 {
			return w.Groups[i]
		}
	}
	return w.Main
}

// StageFindings returns the findings in the row of a stage, of an account of the run, and by how much its steps would be shorter
// without the largest, ns.
func (v *RunVerdict) StageFindings(stage string, w *frontier.Result) (list []*Finding, recoverable float64) {
	for i := range v.Findings {
		f := &v.Findings[i]
		small := f.BelowMinGain && !f.Jointly && (i > 0 || f.Confidence < evidence.Supported)
		elsewhere := f.Stage != stage || f.Windows != nil && !slices.Contains(f.Windows, w.Window)
		if elsewhere || small || f.waitsWithOthers() || f.Cause == CauseOperator || f.Confidence < evidence.Ambiguous {
			continue
		}
		list = append(list, f)
		recoverable = max(recoverable, f.accountTime(w))
	}
	return list, recoverable
}

// accountTime returns the time that a finding adds to a step of an account, ns: to struck steps, or, of an intermittent one, on
// average to all, and at most its stage's time there.
func (f *Finding) accountTime(w *frontier.Result) float64 {
	if p := f.Struck.Pattern; p != PatternIntermittent && p != PatternPeriodic {
		return float64(f.Excess)
	}
	steps := float64(max(1, w.Steps))
	out := float64(f.Excess) * f.Struck.rate()
	for i := range w.Culprits {
		if c := &w.Culprits[i]; f.Rank != nil && c.Rank() == *f.Rank && w.Stages[c.Parts[0].Stage].Name == f.Stage {
			out = float64(c.Charged()) / steps
			break
		}
	}
	for _, s := range w.Stages {
		if s.Name == f.Stage {
			out = min(out, float64(s.Advance)/steps)
		}
	}
	return out
}

// Lateness is who was late in a window.
type Lateness struct {
	Rank   int
	Host   string
	Stage  string
	Excess int64 // by which it delays a step, ns: of the window, or where entries of calls show it, of the run
}

// LateIn returns the ranks that were late in a window of the run by enough to act on. Where its own stage times do not show
// any, it returns the ranks that enter calls late in its steps, all the time.
func (v *RunVerdict) LateIn(w *Window) (l Lateness, ok bool) {
	m := w.Main
	for i := range m.Culprits {
		c := &m.Culprits[i]
		if c.Saves.Alone < v.MinGain {
			continue
		}
		l = Lateness{Rank: c.Rank(), Stage: m.Stages[c.Parts[0].Stage].Name, Excess: c.Charged() / int64(max(1, m.Steps))}
		for _, r := range m.Members {
			if r.ID == c.Rank() {
				l.Host = r.Host
			}
		}
		return l, true
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		_, arrived := evidence.EntersLast(f.Evidence, evidence.FromArrivals)
		then := f.Struck.First < m.StepAt(m.Steps) && f.Struck.Last >= m.FirstStep
		now := f.Struck.Pattern == PatternIntermittent || f.Struck.Pattern == PatternPeriodic
		if arrived && then && !now && f.Rank != nil && f.IsFlagged() {
			return Lateness{Rank: *f.Rank, Host: f.Host, Stage: f.Stage, Excess: f.Excess}, true
		}
	}
	return l, false
}
