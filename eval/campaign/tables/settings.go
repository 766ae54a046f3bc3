package tables

import (
	"cmp"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace"
)

// unchanged is what the analysis without a setting is called.
const unchanged = "default"

// settingScore is how the runs were answered under a setting.
type settingScore struct {
	name string
	*Score
}

// rescore returns a scorer of the same runs that analyses under a setting.
func (s *Scorer) rescore(x *campaign.Setting) (*Scorer, error) {
	out := newScorer(s.cases, &s.gates)
	out.gates.Tau = cmp.Or(x.Tau, out.gates.Tau)
	out.o.MinGain, out.steps = x.MinGain, x.Steps
	o, given, err := x.Frontier()
	if err != nil {
		return nil, err
	}
	if given {
		o.Gates = &out.gates
		out.o.Frontier, out.routing = o, &o
	}
	return out, nil
}

// routingOptions returns those of the account that routes: the paper's, or those of a setting.
func (s *Scorer) routingOptions() frontier.Options {
	if s.routing != nil {
		return *s.routing
	}
	return frontier.Options{Cut: frontier.CutStep, ModelFit: frontier.FitNone, Gates: &s.gates}
}

// splitWindow returns a window in parts of so many steps at most, numbered on from part to part; 0: as it is. What is left
// over is a part of its own.
func splitWindow(w *trace.Window, steps int) []*trace.Window {
	if steps == 0 || w.Steps() <= steps {
		return []*trace.Window{w}
	}
	var out []*trace.Window
	for from := 0; from < w.Steps(); from += steps {
		first := w.FirstStep + int64(from)
		last := min(first+int64(steps), w.FirstStep+int64(w.Steps())) - 1
		part := trace.Selection{Steps: &trace.StepRange{First: first, Last: last}}
		next := *part.Window(w)
		next.Index = w.Index*int64((w.Steps()+steps-1)/steps) + int64(len(out))
		out = append(out, &next)
	}
	return out
}

// settingTable returns what is found under each setting, by family, in the same recordings.
func settingTable(all []settingScore) *table.Table {
	var rows []row
	for _, s := range all {
		for _, g := range s.groupBy(byFamily) {
			rows = append(rows, row{names: []string{s.name, g.value(byFamily)}, Score: g})
		}
		if healthy := s.selectRuns(func(r *scoredRun) bool { return r.healthy() }); len(healthy.Runs) > 0 {
			rows = append(rows, row{names: []string{s.name, "healthy"}, Score: healthy})
		}
	}
	faulty := func(r *row) bool { return !r.example().healthy() }
	found := func(f finding) measure {
		return runShare(f.String(), func(r *scoredRun) bool { return r.hasFinding(f) }).limitTo(faulty)
	}
	columns := []measure{runs, windows.limitTo(faulty), top1, top2, hit, size}
	for _, f := range []finding{foundStage, foundRank, foundBoth, misrouted, foundOutliers, foundBlame, foundKS, foundHybrid} {
		columns = append(columns, found(f))
	}
	alarms := runShare("innocent called", func(r *scoredRun) bool { return r.Verdict.Innocent > 0 })
	return tabulate("What is found under each setting, in the same recordings", []string{"setting", "family"}, rows, append(columns, alarms)...)
}

// settingArtifact returns the table of settings, where the campaign has some.
func (e *Evaluation) settingArtifact() []Artifact {
	if len(e.settings) == 0 {
		return nil
	}
	all := append([]settingScore{{unchanged, e.score}}, e.settings...)
	return []Artifact{{Name: "settings", Table: settingTable(all), Inputs: e.rows}}
}

// settingScorers returns scorers of a campaign, by its settings.
func settingScorers(base *Scorer, list []campaign.Setting) ([]*Scorer, error) {
	var out []*Scorer
	for i := range list {
		s, err := base.rescore(&list[i])
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// addTo gives a recording of a run to all scorers.
func addTo(all []*Scorer, run string, x trace.Recording) error {
	for _, s := range all {
		if err := s.Add(run, x); err != nil {
			return err
		}
	}
	return nil
}

// scoresOf closes scorers whose runs stand in the order of tasks.
func scoresOf(all []*Scorer, tasks []campaign.Task) []*Score {
	var out []*Score
	for _, s := range all {
		score := s.Score()
		for i := range tasks {
			score.Runs[i].task = &tasks[i]
		}
		out = append(out, score)
	}
	return out
}
