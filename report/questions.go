package report

import (
	"fmt"
	"strings"

	"github.com/sfstat/sfstat/diagnose/answer"
)

// operatorQuestion words what an operator trace leaves open, "" for all else.
func operatorQuestion(u answer.Undecided) string {
	switch u.Question {
	case answer.WhichRankOfOne:
		return "Which rank is slow: with one replica no rank has a peer that does the same work. Stages are compared, and a heavy stage looks like a slow rank."
	case answer.WhichOfTwoReplicas:
		return "Which of two replicas is unusual: with two, only which one is slower is known."
	case answer.WhatMissingRanksDo:
		return "How the ranks without a recording affect the others: " + u.Name + ". Record all ranks."
	case answer.WhichStageHoldsUp:
		return "Which stage holds up which: the trace has no sends and receives between the pipeline stages. Record them."
	case answer.WhatIsChance:
		return fmt.Sprintf("What is chance: %s are too few. Record 5 or more.", counted(u.N, "step"))
	case answer.WhichTensorRank:
		return fmt.Sprintf("Which of the %d tensor-parallel ranks of a worker: the trace has one line for all of them. Record each.", u.N)
	case answer.WhetherNetworkSlow:
		return fmt.Sprintf("Whether the network is slow for everyone: %s of the step goes when transfers take no time, and there is nothing to compare that with. Give sizes, or NCCL logs.", about(u.Share))
	}
	return ""
}

// communicationQuestion words what calls and kernels of NCCL leave open, "" for
// all else.
func communicationQuestion(u answer.Undecided) string {
	switch u.Question {
	case answer.WhetherSlowUnmatched:
		return fmt.Sprintf("Whether %s slow: nothing of equal size does the same over the same kind of link. Compare with another job, or with nccl-tests.", subjectsAre(u))
	case answer.WhetherSlowFewCalls:
		return fmt.Sprintf("Whether %s slow beside others: there are too few calls of equal size. Record more steps.", subjectsAre(u))
	case answer.WhetherSlowBlurred:
		return fmt.Sprintf("Whether %s slow beside others: the calls are shorter than what the clocks of the exports resolve.", subjectsAre(u))
	case answer.WhichOfTwoIsSlow:
		return fmt.Sprintf("Which of two links is slow: %s reaches %s of the bandwidth of the only other like it.", linkName(u.About[0]), about(u.Share))
	case answer.WhatAbsentRanksDid:
		are := "they are"
		if u.N == 1 {
			are = "it is"
		}
		return fmt.Sprintf("What %s did: %s of communicators in the logs and left no log, or no export. A collective that a rank is missing from is not measured.", counted(u.N, "rank"), are)
	case answer.WhatUnalignedDid:
		return fmt.Sprintf("The timing between hosts: the clocks of %s cannot be aligned with the first, with fewer than 8 collectives in common. Record a stretch that all ranks take part in.", counted(u.N, "export"))
	case answer.HowFastShared:
		return fmt.Sprintf("How fast the single messages of kernels that serve several peers are (%s): such a kernel ends with the slowest.", counted(u.N, "message"))
	case answer.HowFastLonely:
		messages := fmt.Sprintf("%d sends and receives were", u.N)
		if u.N == 1 {
			messages = "1 send or receive was"
		}
		return fmt.Sprintf("How fast %s: the other side is not in the logs, or has another number of them.", messages)
	}
	return ""
}

// subjectsAre names what a question is about, or counts them, with the verb.
func subjectsAre(u answer.Undecided) string {
	if u.N > len(u.About) {
		return fmt.Sprintf("%d communicators and pairs of ranks are", u.N)
	}
	var names []string
	for _, s := range u.About {
		names = append(names, linkName(s))
	}
	last := len(names) - 1
	if last == 0 {
		return names[0] + " is"
	}
	return strings.Join(names[:last], ", ") + " or " + names[last] + " is"
}
