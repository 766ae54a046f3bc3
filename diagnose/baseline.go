package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/compare"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/stagename"
)

// checkBaseline reports a window with other stages than the baseline, if there is one.
func (r *run) checkBaseline(baseline *frontier.Sample, w *trace.Window) error {
	if baseline == nil {
		return nil
	}
	if ours, theirs := frontier.StagesOf(w), baseline.Stages(); !slices.Equal(ours, theirs) {
		return input.Bad(input.ErrFormat, "the stages are %v, the baseline has %v: give a baseline of the same program", ours, theirs)
	}
	if r.sample == nil {
		r.healthy, r.sample = baseline, new(frontier.Sample)
	}
	return nil
}

// sampleFrom adds a window to what is compared with the baseline, if there is one.
func (r *run) sampleFrom(w *trace.Window, m *frontier.Result) {
	if r.sample == nil {
		return
	}
	to := []*frontier.Sample{r.sample}
	if r.steps.recent > 0 {
		to = append(to, &r.later.sample)
	}
	for _, s := range to {
		if err := s.Add(w, m.SyncPoint.Stages()); err != nil {
			panic(err) // its stages are those of the baseline
		}
	}
}

// slower names the stages that take longer on all ranks than in the baseline.
func (j *judge) slower() {
	if j.sample == nil || len(j.windows) == 0 {
		return
	}
	if n := min(j.healthy.Steps(), j.sample.Steps()); n < frontier.LeastSample {
		j.noted = append(j.noted, answer.Problem{Problem: answer.BaselineTooShort, N: n, Of: frontier.LeastSample})
		return
	}
	all, err := compare.Compare(batches(j.healthy, j.sample), compare.Options{})
	if err != nil {
		panic("diagnose: " + err.Error()) // all rows are of the same steps
	}
	stages := j.healthy.Stages()
	step := all[len(stages)].New
	j.differences = map[string]compare.Difference{}
	for i, stage := range stages {
		d := all[i]
		j.differences[stage] = d
		if share := d.Change / max(1, step); d.Verdict == compare.Regression && share >= j.minGain && stage != stagename.Residual {
			j.addStageFinding(stage, d, share)
		}
	}
}

// batches returns the rows of a comparison: every stage, and last the whole step.
func batches(healthy, now *frontier.Sample) []compare.Row {
	of := func(steps []float64) []float64 {
		var b compare.Batches
		for _, v := range steps {
			b.Add(v)
		}
		return b.Means()
	}
	rows := make([]compare.Row, len(healthy.Times()))
	for i := range rows {
		rows[i] = compare.Row{Base: of(healthy.Times()[i]), New: of(now.Times()[i])}
	}
	return rows
}

// addStageFinding adds the finding of one stage, over all windows of the run.
func (j *judge) addStageFinding(stage string, d compare.Difference, share float64) {
	for _, w := range j.windows {
		m := w.Main
		if m.Steps == 0 || !slices.ContainsFunc(m.Stages, func(s frontier.Stage) bool { return s.Name == stage }) {
			continue
		}
		j.add(m, Finding{Kind: KindStage, Cause: CauseRegression, Place: Place{Stage: stage},
			Cost:       Cost{Explained: int64(d.Change) * int64(m.Steps), Gain: share},
			Confidence: evidence.Supported, Evidence: []evidence.Observation{
				evidence.Slower{Stage: stage, Steps: extentOf(m), Time: int64(d.New), Baseline: true, BaseTime: int64(d.Base), BaseN: j.healthy.Steps(), Low: int64(d.Low), High: int64(d.High)},
				evidence.Lack{Reason: evidence.SeveralCauses, AtMost: evidence.Supported}}})
	}
}

// extentOf returns the first and the last step of an account.
func extentOf(m *frontier.Result) [2]int64 {
	return [2]int64{m.FirstStep, m.LastStep()}
}
