package report

import (
	"fmt"
	"strings"

	"github.com/sfstat/sfstat/diagnose/answer"
)

// questionWords word what the data leave open, with what would answer it.
func questionWords(u answer.Undecided) string {
	text := openQuestion(u)
	if u.Needs == "" {
		return text
	}
	return text + ". " + upper(turnOn(u.Needs))
}

// openQuestion is the question alone.
func openQuestion(u answer.Undecided) string {
	stage, hides, step := stageWord(u.Stage), length(float64(u.Hides)), length(float64(u.Step))
	switch u.Question {
	case answer.RankHidden:
		if u.Unlikely {
			return fmt.Sprintf("Whether a rank is late inside %s, in which ranks synchronise: of a %s step it takes %s, which is no more than it needs (backward: twice forward), "+
				"so that is unlikely, not excluded", stage, step, length(float64(u.Time)))
		}
		return fmt.Sprintf("Who is late inside %s, where up to %s of a %s step may be one rank's delay: ranks synchronise in it, so all record the same time", stage, hides, step)
	case answer.TransferHidden:
		return transferQuestion(u)
	case answer.RanksNotRecorded:
		return ranksQuestion(u)
	case answer.MessagesNotRecorded:
		return "Who waits for whom: ranks send and receive, and that is not recorded"
	case answer.ClockOrDelay:
		if u.N > 0 {
			return fmt.Sprintf("The timing between hosts: the clocks of %s cannot be aligned with the first, with fewer than 8 collectives in common. "+
				"Record a stretch that all ranks take part in", counted(u.N, "export"))
		}
		return fmt.Sprintf("Whether %s: up to %s may be either", lateOrOff(u.Ranks), hides)
	case answer.SyncPointUnknown:
		return fmt.Sprintf("Where the ranks synchronise: %s do not show it for sure", counted(u.N, "step"))
	case answer.UnrecordedTime:
		return "Time between stages and steps: no wall time was recorded"
	case answer.RolesMixed:
		if u.Hides > 0 {
			return "Which rank is slow: ranks send to each other and meet in no collective, so that none does the work of another"
		}
		return "Ranks of different roles do different work: read the role groups"
	case answer.MicrostepOrder:
		return "The order of accumulation microsteps: they are summed in the stages"
	case answer.DeviceOrHost:
		return "Whether forward is slow on the device or on the host: too few device events were ready"
	case answer.FewSteps:
		return fmt.Sprintf("Whether it is chance: %s too few. Record 5 or more", countedAre(u.N, "step"))
	case answer.RankOfWorker:
		return fmt.Sprintf("Which of the %d tensor-parallel ranks of a worker: the trace has one line for all of them. Record each", u.N)
	case answer.WhichOfFew:
		return fewQuestion(u)
	case answer.LinkNotCompared:
		return fmt.Sprintf("Whether %s slow: nothing comparable of equal size was recorded, or the clocks are too coarse", subjectsAre(u))
	case answer.MessageSpeed:
		return fmt.Sprintf("How fast %s: they share a kernel, which ends with the slowest, or their other side is not in the logs", wereSent(u.N))
	}
	return string(u.Question)
}

// transferQuestion asks whether transfers are slow.
func transferQuestion(u answer.Undecided) string {
	switch {
	case u.Share > 0:
		return fmt.Sprintf("Whether the network is slow for everyone: %s of the step goes when transfers take no time, and there is nothing to compare that with. "+
			"Give sizes, or NCCL logs", about(u.Share))
	case u.Hides == 0:
		return "Whether links are slow: entries show who is late, and not how long transfers take"
	}
	return fmt.Sprintf("Whether a link is slow in %s, where up to %s of a %s step may be its delay: nobody enters late, and how long transfers have to take is not known",
		stageWord(u.Stage), length(float64(u.Hides)), length(float64(u.Step)))
}

// ranksQuestion asks what ranks without a record did.
func ranksQuestion(u answer.Undecided) string {
	switch {
	case u.Hides > 0:
		return fmt.Sprintf("Whether %s without a record is late: none of the others is, and all would wait for it alike", oneOf(u.N))
	case u.Name != "":
		return fmt.Sprintf("How the ranks without a recording affect the others: %s. Record all ranks", u.Name)
	case u.N > 0:
		return fmt.Sprintf("What %s did that left no log or no export: a collective that a rank is missing from is not measured", counted(u.N, "rank"))
	}
	return "Anything across ranks: one rank reported"
}

// fewQuestion asks which of few is unusual.
func fewQuestion(u answer.Undecided) string {
	switch {
	case len(u.About) > 0:
		return fmt.Sprintf("Which of two links is slow: %s reaches %s of the bandwidth of the only other like it", linkName(u.About[0]), about(u.Share))
	case u.N == 1:
		return "Which rank is slow: with one replica no rank has a peer that does the same work. Stages are compared, and a heavy stage looks like a slow rank"
	}
	return fmt.Sprintf("Which of %d replicas is unusual: only which one is slower is known", u.N)
}

// wereSent is "3 messages were".
func wereSent(n int) string {
	if n == 1 {
		return "1 message was"
	}
	return fmt.Sprintf("%d messages were", n)
}

// oneOf is one of several ranks, or the one that there is.
func oneOf(n int) string {
	if n == 1 {
		return "the rank"
	}
	return fmt.Sprintf("one of the %d ranks", n)
}

// lateOrOff is what ranks, or any rank, may be alike.
func lateOrOff(ranks []int) string {
	switch len(ranks) {
	case 0:
		return "a rank is late in every step, or its clock is off"
	case 1:
		return ranksWord(ranks) + " is late in every step, or its clock is off"
	}
	return ranksWord(ranks) + " are late in every step, or their clocks are off"
}

// subjectsAre names what a question is about, or counts them, with the verb.
func subjectsAre(u answer.Undecided) string {
	if u.N > len(u.About) {
		return fmt.Sprintf("%d communicators and pairs of ranks are", u.N)
	}
	names := each(u.About, linkName)
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "") + " is"
	}
	return strings.Join(names[:last], ", ") + " or " + names[last] + " is"
}
