package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/baseline"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/stagename"
)

// sampleFor adds a window to what is compared with the baseline.
func (r *run) sampleFor(o Options, w *trace.Window, m *frontier.Result) error {
	if o.Baseline == nil {
		return nil
	}
	if r.sample == nil {
		r.healthy, r.sample = o.Baseline, new(baseline.Sample)
	}
	to := []*baseline.Sample{r.sample}
	if o.Recent > 0 {
		to = append(to, &r.recent.sample)
	}
	for _, s := range to {
		if err := s.Add(w, m.SyncPoint.Stages()); err != nil {
			return err
		}
	}
	if ours, theirs := r.sample.Stages(), o.Baseline.Stages(); !slices.Equal(ours, theirs) {
		return input.Bad(input.ErrFormat, "the stages are %v, the baseline has %v: give a baseline of the same program", ours, theirs)
	}
	return nil
}

// slower names the stages that take longer on all ranks than in the baseline.
func (j *judge) slower() {
	if j.sample == nil || len(j.windows) == 0 {
		return
	}
	differences, err := baseline.Compare(j.healthy, j.sample)
	if err != nil { // too few steps: the stages are the same
		j.lost = append(j.lost, answer.Problem{Problem: answer.BaselineTooShort, N: min(j.healthy.Steps(), j.sample.Steps()), Of: baseline.LeastSteps})
		return
	}
	j.differences = differences
	step := differences[len(differences)-1].Now
	for _, d := range differences[:len(differences)-1] {
		share := (d.Now - d.Before) / max(1, step)
		if !d.Slower() || share < j.minGain || d.Stage == stagename.Residual {
			continue
		}
		j.overAll(d, share)
	}
}

// overAll adds the finding of one stage, over all windows of the run.
func (j *judge) overAll(d baseline.Difference, share float64) {
	for _, w := range j.windows {
		m := w.Main
		if m.Steps == 0 || !slices.ContainsFunc(m.Stages, func(s frontier.Stage) bool { return s.Name == d.Stage }) {
			continue
		}
		j.add(m, sight{Finding: Finding{Kind: KindStage, Cause: CauseGrowth, Place: Place{Stage: d.Stage},
			Cost:       Cost{Explained: int64(d.Now-d.Before) * int64(m.Steps), Gain: share},
			Confidence: evidence.Supported, Evidence: []evidence.Observation{
				evidence.Slower{Stage: d.Stage, Steps: extentOf(m), Time: int64(d.Now), Baseline: true, BaseTime: int64(d.Before), BaseN: j.healthy.Steps(), Low: int64(d.Low), High: int64(d.High)},
				evidence.Lack{Reason: evidence.SeveralCauses, AtMost: evidence.Supported}}}})
	}
}
