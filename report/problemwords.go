package report

import (
	"fmt"

	"github.com/sfstat/sfstat/diagnose/answer"
)

// problemSentences word what was lost or skipped; what stands in braces is filled in.
var problemSentences = map[answer.ProblemKind]string{
	answer.RanksMissing:        "{n} of {all ranks} missing in {steps}{window}: {list}",
	answer.DumpsMissing:        "no Flight Recorder dump of {ranks}, of {of}",
	answer.StepsTwice:          "{steps}{window} were recorded twice, in another window too: they count twice",
	answer.StepsDropped:        "{some steps} left out{window}: they begin or end outside the recorded synchronisation points",
	answer.StagesChange:        "the stage list changes at step {step}{window}",
	answer.WorldChanges:        "the world size changes at step {step}{window}",
	answer.AccumulationChanges: "the accumulation factor changes at step {step}{window}",
	answer.CallsWithoutKernels: "{logs} of NCCL: {calls} without kernels, so they do not tell who is late or what is slow; exports of Nsight Systems beside them would",
	answer.RecordingError:      "{stage} of {ranks} takes {size} longer in {steps} than in the others, and nobody waited for it: a clock that was set? Left out",
	answer.BaselineTooShort:    "nothing was compared with the baseline: {n} steps are recorded of the one or the other, {of} are needed",
}

// problemWords word what was lost, skipped or refused.
func problemWords(p answer.Problem) string {
	steps, in, last := "", "", int64(0)
	if p.Steps != nil {
		steps, last = stepsWord(p.Steps[0], p.Steps[1]), p.Steps[1]
	}
	if p.Window != nil {
		in = fmt.Sprintf(" (window %d)", *p.Window)
	}
	if sentence, ok := problemSentences[p.Problem]; ok {
		return filled(sentence, "n", p.N, "of", p.Of, "all ranks", counted(p.Of, "rank"), "some steps", counted(p.N, "step"), "logs", counted(p.N, "debug log"),
			"calls", counted(p.Of, "call"), "steps", steps, "step", last, "window", in, "list", rankList(p.Ranks), "ranks", ranksWord(p.Ranks), "stage", stageWord(p.Stage), "size", length(float64(p.Size)))
	}
	if text := monitoringProblem(p); text != "" {
		return text
	}
	if p.Text != "" {
		return p.Text
	}
	return string(p.Problem) + in
}
