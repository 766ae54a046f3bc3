package report

import (
	"fmt"
	"strings"

	"github.com/sfstat/sfstat/diagnose/answer"
)

// questionSentences word what the data leave open; what stands in braces is filled in.
var questionSentences = map[answer.Question]string{
	// Of windows and entries.
	answer.RankHidden: "Who is late inside {stage}, where up to {hides} of a {step} step may be one rank's delay: ranks synchronise in it, so all record the same time",
	answer.RankHiddenUsual: "Whether a rank is late inside {stage}, in which ranks synchronise: it takes {time} of a {step} step, " +
		"no longer than backward passes usually do (twice forward), so that is unlikely, not excluded",
	answer.LateUnrecorded: "Whether {one of them} without a record is late: none of the others is, and all would wait for it alike",
	answer.BehindMessages: "Who is late: ranks wait for each other in sends and receives, which are counted and not recorded",
	answer.TransferHidden: "Whether a link is slow in {stage}, where up to {hides} of a {step} step may be its delay: " +
		"nobody enters late, and how long transfers have to take is not known",
	answer.RolesMixed:       "Ranks of different roles do different work: read the role groups",
	answer.MicrostepOrder:   "The order of accumulation microsteps: they are summed in the stages",
	answer.DeviceOrHost:     "Whether forward is slow on the device or on the host: too few device events were ready",
	answer.AcrossRanks:      "Anything across ranks: one rank reported",
	answer.SyncPointUnknown: "Where the ranks synchronise: {steps} do not show it for sure",
	answer.UnrecordedTime:   "Time between stages and steps: no wall time was recorded",
	answer.ClockOrDelay:     "Whether {late or off}: up to {hides} may be either",
	// Of operator traces.
	answer.WhichRankOfOne: "Which rank is slow: with one replica no rank has a peer that does the same work. " +
		"Stages are compared, and a heavy stage looks like a slow rank.",
	answer.WhichOfTwoReplicas: "Which of two replicas is unusual: with two, only which one is slower is known.",
	answer.WhatMissingRanksDo: "How the ranks without a recording affect the others: {name}. Record all ranks.",
	answer.WhichStageHoldsUp:  "Which stage holds up which: the trace has no sends and receives between the pipeline stages. Record them.",
	answer.WhatIsChance:       "What is chance: {steps} are too few. Record 5 or more.",
	answer.WhichTensorRank:    "Which of the {n} tensor-parallel ranks of a worker: the trace has one line for all of them. Record each.",
	answer.WhetherNetworkSlow: "Whether the network is slow for everyone: {share} of the step goes when transfers take no time, " +
		"and there is nothing to compare that with. Give sizes, or NCCL logs.",
	// Of calls and kernels of NCCL.
	answer.WhetherSlowUnmatched: "Whether {subjects} slow: nothing of equal size does the same over the same kind of link. " +
		"Compare with another job, or with nccl-tests.",
	answer.WhetherSlowFewCalls: "Whether {subjects} slow beside others: there are too few calls of equal size. Record more steps.",
	answer.WhetherSlowBlurred:  "Whether {subjects} slow beside others: the calls are shorter than what the clocks of the exports resolve.",
	answer.WhichOfTwoIsSlow:    "Which of two links is slow: {subject} reaches {share} of the bandwidth of the only other like it.",
	answer.WhatAbsentRanksDid: "What {ranks} did: {they are} of communicators in the logs and left no log, or no export. " +
		"A collective that a rank is missing from is not measured.",
	answer.WhatUnalignedDid: "The timing between hosts: the clocks of {exports} cannot be aligned with the first, with fewer than 8 collectives in common. " +
		"Record a stretch that all ranks take part in.",
	answer.HowFastShared: "How fast the single messages of kernels that serve several peers are ({messages}): such a kernel ends with the slowest.",
	answer.HowFastLonely: "How fast {sends and receives}: the other side is not in the logs, or has another number of them.",
}

// questionWords word what the data leave open, with what would tell.
func questionWords(u answer.Undecided) string {
	sentence, ok := questionSentences[u.Question]
	switch {
	case !ok:
		sentence = string(u.Question)
	case u.Question == answer.TransferHidden && u.Hides == 0:
		return "Whether links are slow: entries show who is late, and not how long transfers take"
	}
	theyAre, sends := "they are", fmt.Sprintf("%d sends and receives were", u.N)
	if u.N == 1 {
		theyAre, sends = "it is", "1 send or receive was"
	}
	subject := ""
	if len(u.About) > 0 {
		subject = linkName(u.About[0])
	}
	text := filled(sentence, "stage", stageWord(u.Stage), "hides", length(float64(u.Hides)), "time", length(float64(u.Time)), "step", length(float64(u.Step)),
		"n", u.N, "name", u.Name, "share", about(u.Share), "steps", counted(u.N, "step"), "ranks", counted(u.N, "rank"), "exports", counted(u.N, "export"),
		"messages", counted(u.N, "message"), "one of them", oneOf(u.N), "late or off", lateOrOff(u.Ranks), "they are", theyAre, "sends and receives", sends,
		"subject", subject, "subjects", subjectsAre(u))
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
