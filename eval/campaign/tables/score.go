package tables

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// Scorer takes windows one at a time, a run's windows in order, and keeps
// their scores only.
type Scorer struct {
	cases   map[string]*runCase
	gates   gates.Gates
	session *diagnose.Session
	runs    []*scoredRun
	pending []*trace.Window // of the last run, whose stages are not yet judged
}

// New prepares to score against a truth table by gates, nil: the defaults.
func New(truth []simulate.TruthRow, by *gates.Gates) *Scorer {
	s := &Scorer{cases: cases(truth), gates: by.OrDefault()}
	s.session = diagnose.New(diagnose.Options{Frontier: frontier.Options{Gates: &s.gates}})
	return s
}

// Add scores one validated window. One of a run that the truth table does not have is an error. O(T·S·R).
func (s *Scorer) Add(w *trace.Window) error {
	c := s.cases[w.Run]
	if c == nil {
		return input.Bad(input.ErrMissing, "a window of run %q, which the truth table does not have", w.Run)
	}
	paper, err := frontier.Analyze(w, frontier.Options{Cut: frontier.CutStep, ModelFit: frontier.FitNone, Gates: &s.gates})
	if err != nil {
		return err
	}
	if err := s.session.Add(w); err != nil {
		return err
	}
	i := slices.IndexFunc(s.runs, func(r *scoredRun) bool { return r.Run == w.Run })
	if i < 0 {
		i = len(s.runs)
		s.runs = append(s.runs, &scoredRun{runCase: *c})
	}
	r := s.runs[i]
	if len(s.pending) > 0 && s.pending[0].Run != w.Run {
		s.settle()
	}
	s.pending = append(s.pending, w)
	window := ofPaper(c, paper.Main, c.faulty(len(r.Windows)))
	window.pace, window.telemetry = paceOf(c, w), telemetryOf(w)
	r.Windows = append(r.Windows, window)
	return nil
}

// settle judges the stages of the windows of the last run.
func (s *Scorer) settle() {
	for _, r := range s.runs {
		if len(s.pending) > 0 && r.Run == s.pending[0].Run {
			r.stages.windows(s.pending)
			s.pending = nil
		}
	}
}

// Score is what was added, in order of arrival.
func (s *Scorer) Score() *Score {
	s.settle()
	out := &Score{Tau: s.gates.Tau, gates: s.gates, Runs: []*scoredRun{}}
	verdicts := make(map[string]diagnose.RunVerdict)
	for _, v := range s.session.Verdict().Runs {
		verdicts[v.Run] = v
	}
	for _, r := range s.runs {
		v := verdicts[r.Run]
		r.Verdict, r.Second = rate(&r.runCase, &v), rateSecond(&r.runCase, v.Latent, &r.stages)
		for i := range r.Windows {
			r.Windows[i].Automatic = ofAutomatic(&r.runCase, v.Windows[i].Main)
		}
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

// only is the score of some of the runs.
func (s *Score) only(keep func(*scoredRun) bool) *Score {
	part := *s
	part.Runs = slices.DeleteFunc(slices.Clone(s.Runs), func(r *scoredRun) bool { return !keep(r) })
	return &part
}

// scoredRun is one case and how it was answered.
type scoredRun struct {
	runCase
	Verdict verdict
	Second  secondStage
	Windows []scoredWindow

	stages stagewise
	task   *campaign.Task // of a campaign
}
