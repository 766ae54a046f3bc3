package report

import (
	"fmt"

	"github.com/sfstat/sfstat/diagnose/answer"
)

// questionWords word what the data leave open, with what would tell.
func questionWords(u answer.Undecided) string {
	text := ""
	switch u.Question {
	case answer.RankHidden:
		text = fmt.Sprintf("Who is late inside %s, where up to %s of a %s step may be one rank's delay: ranks synchronise in it, so all record the same time",
			stageWord(u.Stage), length(float64(u.Hides)), length(float64(u.Step)))
	case answer.RankHiddenUsual:
		text = fmt.Sprintf("Whether a rank is late inside %s, in which ranks synchronise: it takes %s of a %s step, no longer than backward passes usually do (twice forward), so that is unlikely, not excluded",
			stageWord(u.Stage), length(float64(u.Time)), length(float64(u.Step)))
	case answer.LateUnrecorded:
		text = fmt.Sprintf("Whether %s without a record is late: none of the others is, and all would wait for it alike", oneOf(u.N))
	case answer.BehindMessages:
		text = "Who is late: ranks wait for each other in sends and receives, which are counted and not recorded"
	case answer.TransferHidden:
		if u.Hides == 0 {
			return "Whether links are slow: entries show who is late, and not how long transfers take"
		}
		text = fmt.Sprintf("Whether a link is slow in %s, where up to %s of a %s step may be its delay: nobody enters late, and how long transfers have to take is not known",
			stageWord(u.Stage), length(float64(u.Hides)), length(float64(u.Step)))
	case answer.RolesMixed:
		text = "Ranks of different roles do different work: read the role groups"
	case answer.MicrostepOrder:
		text = "The order of accumulation microsteps: they are summed in the stages"
	case answer.DeviceOrHost:
		text = "Whether forward is slow on the device or on the host: too few device events were ready"
	case answer.AcrossRanks:
		text = "Anything across ranks: one rank reported"
	case answer.SyncPointUnknown:
		text = fmt.Sprintf("Where the ranks synchronise: %s do not show it for sure", counted(u.N, "step"))
	case answer.UnrecordedTime:
		text = "Time between stages and steps: no wall time was recorded"
	case answer.ClockOrDelay:
		text = clockQuestion(u)
	default:
		for _, words := range []func(answer.Undecided) string{operatorQuestion, communicationQuestion} {
			if text := words(u); text != "" {
				return text
			}
		}
		text = string(u.Question)
	}
	if u.Needs == "" {
		return text
	}
	return text + ". " + upper(turnOn(u.Needs))
}

// oneOf is one of several ranks, or the one that there is.
func oneOf(n int) string {
	if n == 1 {
		return "the rank"
	}
	return fmt.Sprintf("one of the %d ranks", n)
}

// problemWords word what was lost, skipped or refused.
func problemWords(p answer.Problem) string {
	steps, in := "", ""
	if p.Steps != nil {
		steps = stepsWord(p.Steps[0], p.Steps[1])
	}
	if p.Window != nil {
		in = fmt.Sprintf(" (window %d)", *p.Window)
	}
	switch p.Problem {
	case answer.RanksMissing:
		return fmt.Sprintf("%d of %s missing in %s%s: %s", p.N, counted(p.Of, "rank"), steps, in, rankList(p.Ranks))
	case answer.DumpsMissing:
		return fmt.Sprintf("no Flight Recorder dump of %s, of %d", ranksWord(p.Ranks), p.Of)
	case answer.StepsTwice:
		return fmt.Sprintf("%s%s were recorded twice, in another window too: they count twice", steps, in)
	case answer.StepsDropped:
		return fmt.Sprintf("%s left out%s: they begin or end outside the recorded synchronisation points", counted(p.N, "step"), in)
	case answer.StagesChange:
		return fmt.Sprintf("the stage list changes at step %d%s", p.Steps[1], in)
	case answer.WorldChanges:
		return fmt.Sprintf("the world size changes at step %d%s", p.Steps[1], in)
	case answer.AccumulationChanges:
		return fmt.Sprintf("the accumulation factor changes at step %d%s", p.Steps[1], in)
	case answer.CallsWithoutKernels:
		return fmt.Sprintf("%s of NCCL: %s without kernels, so they do not tell who is late or what is slow; exports of Nsight Systems beside them would",
			counted(p.N, "debug log"), counted(p.Of, "call"))
	case answer.BaselineTooShort:
		return fmt.Sprintf("nothing was compared with the baseline: %d steps are recorded of the one or the other, %d are needed", p.N, p.Of)
	}
	if text := monitoringProblem(p); text != "" {
		return text
	}
	if p.Text != "" {
		return p.Text
	}
	return string(p.Problem) + in
}

func clockQuestion(u answer.Undecided) string {
	may := length(float64(u.Hides))
	switch len(u.Ranks) {
	case 0:
		return fmt.Sprintf("Whether a rank is late in every step, or its clock is off: up to %s may be either", may)
	case 1:
		return fmt.Sprintf("Whether %s is late in every step, or its clock is off: up to %s may be either", ranksWord(u.Ranks), may)
	}
	return fmt.Sprintf("Whether %s are late in every step, or their clocks are off: up to %s may be either", ranksWord(u.Ranks), may)
}

func clockIs(ranks []int) string {
	if len(ranks) == 1 {
		return "its clock is"
	}
	return "their clocks are"
}
