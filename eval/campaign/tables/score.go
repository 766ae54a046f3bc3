package tables

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
)

// Scorer takes recordings one at a time, those of a run in order, and keeps the scores of runs that are closed only.
type Scorer struct {
	cases map[string]*runCase
	gates gates.Gates
	o     diagnose.Options
	runs  []*scoredRun
	// Of a setting: steps of a window at most, 0: all; the account that routes, nil: the paper's.
	steps   int
	routing *frontier.Options
}

// New prepares to score against a truth table by gates, nil: the defaults.
func New(truth []simulate.TruthRow, by *gates.Gates) *Scorer { return newScorer(cases(truth), by) }

func newScorer(of map[string]*runCase, by *gates.Gates) *Scorer {
	s := &Scorer{cases: of, gates: by.OrDefault()}
	s.o.Frontier = frontier.Options{Gates: &s.gates}
	return s
}

// Add scores one recording of a run; windows are validated, and have routing and methods besides. One of a run that the
// truth table does not have is an error. O(T·S·R) of a window.
func (s *Scorer) Add(run string, x trace.Recording) error {
	r, err := s.findRun(run)
	if err != nil {
		return err
	}
	if r.open == nil {
		r.open = &unscored{session: diagnose.New(s.o)}
	}
	switch x := x.(type) {
	case *trace.Window:
		r.Ranks = cmp.Or(r.Ranks, len(x.Ranks))
		for _, part := range splitWindow(x, s.steps) {
			if err := s.addWindow(r, part); err != nil {
				return err
			}
		}
		r.open.recorded++
		return nil
	case *operator.Trace:
		r.Ranks = cmp.Or(r.Ranks, len(x.Ranks))
		r.open.stages.trace(x)
	}
	return r.open.session.Add(x)
}

// addWindow scores a window, or a part of one.
func (s *Scorer) addWindow(r *scoredRun, w *trace.Window) error {
	paper, err := frontier.Analyze(w, s.routingOptions())
	if err != nil {
		return err
	}
	window := scorePaper(&r.runCase, paper.Main, r.faulty(r.open.recorded))
	window.pace, window.telemetry = paceOf(&r.runCase, w), telemetryOf(w)
	r.Windows = append(r.Windows, window)
	r.open.windows = append(r.open.windows, w)
	return r.open.session.Add(w)
}

// findRun returns the scores of a run.
func (s *Scorer) findRun(run string) (*scoredRun, error) {
	for i := len(s.runs) - 1; i >= 0; i-- { // the last is nearly always the one
		if s.runs[i].Run == run {
			return s.runs[i], nil
		}
	}
	c := s.cases[run]
	if c == nil {
		return nil, input.Bad(input.ErrMissing, "a window of run %q, which the truth table does not have", run)
	}
	s.runs = append(s.runs, &scoredRun{runCase: *c})
	return s.runs[len(s.runs)-1], nil
}

// unscored is what of a run is kept until all of it was added.
type unscored struct {
	session  *diagnose.Session
	windows  []*trace.Window
	recorded int // windows, of which those may be parts
	stages   stagewise
}

// close scores the verdict of a run, of which nothing more comes, and returns the names under which it was recorded.
func (r *scoredRun) close() (names []string) {
	if r.open == nil {
		return nil
	}
	all := r.open.session.Verdict().Runs
	for i := range all {
		names = append(names, all[i].Run)
	}
	v := diagnose.RunVerdict{}
	if len(all) > 0 {
		v = all[0]
	}
	r.open.stages.windows(r.open.windows)
	r.Verdict, r.Second = rate(&r.runCase, &v), rateSecond(&r.runCase, v.Latent, &r.open.stages)
	for i := range min(len(r.Windows), len(v.Windows)) {
		r.Windows[i].Automatic = scoreAutomatic(&r.runCase, v.Windows[i].Main)
	}
	r.open = nil
	return names
}

// close scores a run, of which nothing more comes, and returns what its recordings call it.
func (s *Scorer) close(run string) []string {
	i := slices.IndexFunc(s.runs, func(r *scoredRun) bool { return r.Run == run })
	if i < 0 {
		return nil
	}
	return s.runs[i].close()
}

// Score returns the added runs, in order of arrival.
func (s *Scorer) Score() *Score {
	out := &Score{Tau: s.gates.Tau, gates: s.gates, Runs: []*scoredRun{}}
	for _, r := range s.runs {
		r.close()
		out.Runs = append(out.Runs, r)
	}
	return out
}

// Score is how the runs of an evaluation were answered.
type Score struct {
	Tau   float64
	Runs  []*scoredRun
	gates gates.Gates // of the scoring
}

// selectRuns returns the score of some of the runs.
func (s *Score) selectRuns(keep func(*scoredRun) bool) *Score {
	part := *s
	part.Runs = slices.DeleteFunc(slices.Clone(s.Runs), func(r *scoredRun) bool { return !keep(r) })
	return &part
}

// scoredRun is one case and how it was answered.
type scoredRun struct {
	runCase
	Verdict verdict
	Second  secondStage
	Windows []scoredWindow // none: it was recorded otherwise

	open *unscored      // nil: it is closed
	task *campaign.Task // of a campaign
}

// tableWindows returns the windows as tables have them: of a run without any, one of which nothing is known.
func (r *scoredRun) tableWindows() []scoredWindow {
	if len(r.Windows) == 0 {
		return []scoredWindow{{Fault: !r.healthy(), Methods: make([]routing, len(methodNames())-1)}}
	}
	return r.Windows
}
