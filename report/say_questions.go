package report

import (
	"fmt"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/internal/table"
)

// questionWords returns a sentence about the question that the data leave open, and the recording that would answer it.
func questionWords(u answer.Undecided) string {
	text := sayQuestion(&u)
	if u.Needs == "" {
		return text
	}
	return text + ". " + upper(turnOn(u.Needs))
}

func sayQuestion(u *answer.Undecided) string {
	switch u.Question {
	case answer.RankHidden:
		return sayHiddenRank(u)
	case answer.TransferHidden:
		return sayHiddenTransfer(u)
	case answer.RanksNotRecorded:
		return sayUnrecordedRanks(u)
	case answer.ClockOrDelay:
		return sayClockOrDelay(u)
	case answer.SyncPointUnknown:
		return fmt.Sprintf("Where the ranks synchronise: %s do not show it for sure", table.Counted(u.N, "step"))
	case answer.FewSteps:
		return fmt.Sprintf("Whether it is chance: %s too few. Record 5 or more", countIs(u.N, "step"))
	case answer.RankOfWorker:
		return fmt.Sprintf("Which of the %d tensor-parallel ranks of a worker: the trace has one line for all of them. Record each", u.N)
	case answer.WhichOfFew:
		return sayWhichOfFew(u)
	case answer.LinkNotCompared:
		return fmt.Sprintf("Whether %s slow: nothing comparable of equal size was recorded, or the clocks are too coarse", sayWhichAre(u))
	case answer.MessageSpeed:
		were := "messages were"
		if u.N == 1 {
			were = "message was"
		}
		return fmt.Sprintf("How fast %d %s: they share a kernel, which ends with the slowest, or their other side is not in the logs", u.N, were)
	case answer.RolesMixed:
		if u.Hides > 0 {
			return "Which rank is slow: ranks send to each other and share no collective, so that none does the work of another"
		}
		return "Ranks of different roles do different work: read the role groups"
	case answer.MessagesNotRecorded:
		return "Who waits for whom: ranks send and receive, and that is not recorded"
	case answer.UnrecordedTime:
		return "Time between stages and steps: no wall time was recorded"
	case answer.MicrostepOrder:
		return "The order of accumulation microsteps: they are summed in the stages"
	case answer.DeviceOrHost:
		return "Whether forward is slow on the device or on the host: too few device events were ready"
	}
	return string(u.Question)
}

func sayWhichAre(u *answer.Undecided) string {
	if u.N > len(u.About) {
		return fmt.Sprintf("%d communicators and pairs of ranks are", u.N)
	}
	return orList(each(u.About, linkName)) + " is"
}

func sayHiddenRank(u *answer.Undecided) string {
	if u.Unlikely {
		return fmt.Sprintf("Whether a rank is late inside %s, in which ranks synchronise: of a %s step it takes %s, which is no more than it needs (backward: twice forward), so that is unlikely, not excluded",
			stageWord(u.Stage), length(u.Step), length(u.Time))
	}
	return fmt.Sprintf("Who is late inside %s, where up to %s of a %s step may be one rank's delay: ranks synchronise in it, so all record the same time", stageWord(u.Stage), length(u.Hides), length(u.Step))
}

func sayHiddenTransfer(u *answer.Undecided) string {
	switch {
	case u.Share > 0:
		return fmt.Sprintf("Whether the network is slow for everyone: %s of the step goes when transfers take no time, and there is nothing to compare that with. Give sizes, or NCCL logs", fraction(u.Share))
	case u.Hides == 0:
		return "Whether links are slow: entries show who is late, and not how long transfers take"
	}
	return fmt.Sprintf("Whether a link is slow in %s, where up to %s of a %s step may be its delay: nobody enters late, and how long transfers have to take is not known",
		stageWord(u.Stage), length(u.Hides), length(u.Step))
}

func sayUnrecordedRanks(u *answer.Undecided) string {
	switch {
	case u.Hides > 0:
		return fmt.Sprintf("Whether %s without a record is late: none of the others is, and all would wait for it alike", sayOneOf(u.N))
	case u.Name != "":
		return fmt.Sprintf("How the ranks without a recording affect the others: %s. Record all ranks", u.Name)
	case u.N > 0:
		return fmt.Sprintf("What %s did that left no log or no export: a collective that a rank is missing from is not measured", table.Counted(u.N, "rank"))
	}
	return "Anything across ranks: one rank reported"
}

func sayOneOf(ranks int) string {
	if ranks == 1 {
		return "the rank"
	}
	return fmt.Sprintf("one of the %d ranks", ranks)
}

func sayClockOrDelay(u *answer.Undecided) string {
	if u.N > 0 {
		return fmt.Sprintf("The timing between hosts: the clocks of %s cannot be aligned with the first, with fewer than 8 collectives in common. Record a stretch that all ranks take part in", table.Counted(u.N, "export"))
	}
	who := "a rank is late in every step, or its clock is off"
	switch len(u.Ranks) {
	case 0:
	case 1:
		who = ranksWord(u.Ranks) + " is late in every step, or its clock is off"
	default:
		who = ranksWord(u.Ranks) + " are late in every step, or their clocks are off"
	}
	return fmt.Sprintf("Whether %s: up to %s may be either", who, length(u.Hides))
}

func sayWhichOfFew(u *answer.Undecided) string {
	switch {
	case len(u.About) > 0:
		return fmt.Sprintf("Which of two links is slow: %s reaches %s of the bandwidth of the only other like it", linkName(u.About[0]), fraction(u.Share))
	case u.N == 1:
		return "Which rank is slow: with one replica no rank has a peer that does the same work. Stages are compared, and a heavy stage looks like a slow rank"
	}
	return fmt.Sprintf("Which of %d replicas is unusual: only which one is slower is known", u.N)
}
