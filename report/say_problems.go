package report

import (
	"cmp"
	"fmt"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/internal/table"
)

// problemWords returns a sentence about lost, skipped or refused input.
func problemWords(p answer.Problem) string {
	return cmp.Or(sayProblem(&p), p.Text, string(p.Problem)+sayWindowOf(&p))
}

// sayProblem states what was lost; "" of what a reader words by itself.
func sayProblem(p *answer.Problem) string {
	switch p.Problem {
	case answer.RanksMissing:
		return fmt.Sprintf("%d of %s missing in %s%s: %s", p.N, table.Counted(p.Of, "rank"), sayStepsOf(p), sayWindowOf(p), rankSetList(p.Ranks))
	case answer.DumpsMissing:
		return fmt.Sprintf("no Flight Recorder dump of %s, of %d", rankSetWord(p.Ranks), p.Of)
	case answer.StepsTwice:
		return fmt.Sprintf("%s%s were recorded twice, in another window too: they count twice", sayStepsOf(p), sayWindowOf(p))
	case answer.StepsDropped:
		return sayStepsLeftOut(p)
	case answer.StagesChange:
		return sayChangeAt("the stage list", p)
	case answer.WorldChanges:
		return sayChangeAt("the world size", p)
	case answer.AccumulationChanges:
		return sayChangeAt("the accumulation factor", p)
	case answer.CallsWithoutKernels:
		return fmt.Sprintf("%s of NCCL: %s without kernels, so they do not tell who is late or what is slow; exports of Nsight Systems beside them would",
			table.Counted(p.N, "debug log"), table.Counted(p.Of, "call"))
	case answer.RecordingError:
		return fmt.Sprintf("%s of %s takes %s longer in %s than in the others, and nobody waited for it: a clock that was set? Left out",
			stageWord(p.Stage), rankSetWord(p.Ranks), length(p.Size), sayStepsOf(p))
	case answer.BaselineTooShort:
		return fmt.Sprintf("nothing was compared with the baseline: %d steps are recorded of the one or the other, %d are needed", p.N, p.Of)
	case answer.MonitoringHost:
		return fmt.Sprintf("%s of monitoring %s of no host of the run, the first %s: name each, or its folder, by the host that it is of",
			table.Counted(p.N, "file"), isAre(p.N), glyph.Visible(p.Path))
	case answer.MonitoringTime:
		return sayOutsideRun(p)
	case answer.MonitoringZone:
		if p.Times != nil {
			return sayOutsideRun(p) + "; some name no time zone: --time-zone"
		}
	}
	return ""
}

// sayStepsLeftOut states which steps a cut left out.
func sayStepsLeftOut(p *answer.Problem) string {
	end, their := "they end", "their"
	if p.N == 1 {
		end, their = "it ends", "its"
	}
	return fmt.Sprintf("%s left out%s: %s after the last synchronisation point of %s window", table.Counted(p.N, "step"), sayWindowOf(p), end, their)
}

// sayChangeAt states at which step something changes from one window to the next.
func sayChangeAt(what string, p *answer.Problem) string {
	step := int64(0)
	if p.Steps != nil {
		step = p.Steps[1]
	}
	return fmt.Sprintf("%s changes at step %d%s", what, step, sayWindowOf(p))
}

func sayOutsideRun(p *answer.Problem) string {
	if p.Times == nil {
		return ""
	}
	return fmt.Sprintf("no reading of monitoring is of the time of the run: %s to %s, the run %s to %s (UTC)", instant(p.Times[0]), instant(p.Times[1]), instant(p.Times[2]), instant(p.Times[3]))
}

func sayStepsOf(p *answer.Problem) string {
	if p.Steps == nil {
		return ""
	}
	return stepsWord(p.Steps[0], p.Steps[1])
}

func sayWindowOf(p *answer.Problem) string {
	if p.Window == nil {
		return ""
	}
	return fmt.Sprintf(" (window %d)", *p.Window)
}
