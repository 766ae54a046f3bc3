package report

import "github.com/sfstat/sfstat/diagnose/evidence"

// lackSentences say what a higher confidence lacks; what stands in braces is filled in.
var lackSentences = map[evidence.Reason]string{
	// Of windows.
	evidence.ReasonChance:           "too few occurrences to exclude chance",
	evidence.ReasonProfileDisagrees: "the profiler's traces find rank {n} instead",
	evidence.ReasonEverywhere:       "it is slow in all stages, which points at its host or device rather than at a stage",
	evidence.ReasonNotLatest:        "over all steps it is not clearly among the latest at the end of that stage",
	evidence.ReasonSyncUnknown:      "no synchronisation point is shown, so the wait is inferred from the end of the step",
	evidence.ReasonSyncLikely:       "where the ranks synchronise is likely, not shown: too few steps or ranks, or too little noise",
	evidence.ReasonNoWall:           "no wall time was recorded, so gaps between stages and steps are unknown",
	evidence.ReasonUndeclaredRoles:  "several ranks are late together and their roles are not declared: they may do other work by design",
	evidence.ReasonTelemetry:        "the recording of these steps is incomplete, or its stages do not add up",
	evidence.ReasonMixedRoles:       "ranks of different roles are compared with each other",
	evidence.ReasonWithinRole:       "it is compared with the ranks of its role only",
	evidence.ReasonAccumulation:     "accumulation microsteps are summed, so their order is lost",
	evidence.ReasonSamplesOnly:      "device samples are one kind of evidence, which stage times cannot confirm",
	evidence.ReasonByDesign:         "roles may differ by design: times cannot tell a fault from how the model is divided",
	evidence.ReasonRankHidden:       "all ranks look alike in it, so stage times cannot tell which one causes it",
	evidence.ReasonManyCauses:       "input sizes, sequence lengths, a shared resource and plain noise look the same in stage times",
	evidence.ReasonOtherSteps:       "in other steps it is shorter than on the peers: its work varies",
	evidence.ReasonNoWaitShown:      "no synchronisation point is shown, so it is open whether others wait for it",
	// Of the operators behind the stages of windows.
	evidence.InputsUnknown: "the inputs of its operators may be larger, which their names do not tell",
	// Of operator traces.
	evidence.FewReplicas:          "{replicas}: who of so few is unusual cannot be told, only who is slower",
	evidence.HeavyOrSlowRanks:     "{replicas}: a heavy stage and slow ranks on it look the same",
	evidence.EnginesDisagree:      "K-S, outliers or blame find rank {n} instead",
	evidence.OperatorsDisagree:    "the operator trace finds rank {n} instead",
	evidence.FewSteps:             "{steps} are too few to exclude chance",
	evidence.Untested:             "no test separates it from chance and uneven microbatches",
	evidence.FewWorkers:           "with so few workers, how much healthy ones differ is unknown",
	evidence.SmallerPart:          "significantly long operators explain less than half of it",
	evidence.Unconfirmed:          "neither K-S nor blame nor the frontier confirms it",
	evidence.TransfersUnconfirmed: "blame does not end at these transfers",
	evidence.SizesUnknown:         "stages may transfer different amounts by design: sizes are not in the trace",
	evidence.LaunchUnconfirmed:    "neither blame nor an outlier test confirms it",
	evidence.WaitUnknown:          "what an operator waits for need not be in the trace",
	evidence.IdleUnknown:          "whether the host, data loading or work that was not recorded is behind it cannot be told",
	evidence.DifferentPasses:      "stages run different passes, so that they were not tested",
	evidence.HeavyUnproven:        "the test does not tell it from how workers differ",
	evidence.OneStage:             "one pipeline stage: whether other stages see the same microbatches as long cannot be told",
	evidence.WeakCorrelation:      "forward and backward of a microbatch are related only weakly",
	evidence.LooksLikeNoise:       "noise, shared hosts and data that only one direction depends on look the same",
	evidence.StageTimesDisagree:   "the stage times of the same run do not find it",
	evidence.RotatingUnconfirmed:  "no outlier test speaks against two workers or more",
	// Of calls and kernels of communication.
	evidence.WhichOfTwoLinks: "only one other does the same work over the same kind of link, so which of the two is slow is open",
	evidence.TwoLinksByLimit: "only one other does the same; this one reaches less than half of its limit, the other more",
	evidence.ChanceAbove:     "p is above {p}",
	evidence.LimitUnknown:    "the logs do not say what the link carries (NCCL_DEBUG_SUBSYS=GRAPH)",
	evidence.TwoPeers:        "there are only two others to compare with",
	// Of entries of collectives.
	evidence.ReasonFewPoints: "it is late at {points} only",
	evidence.ReasonClock:     "its clock may be off by as much",
	evidence.ReasonInherited: "it adds no delay of its own before any call: it waits for another rank",
	evidence.ReasonMessages:  "it may have waited for another in sends and receives, which are counted and not recorded",
	evidence.ReasonNoDump:    "its process may have failed, or only its dump is lost",
	evidence.ReasonDumpTime:  "dumps do not say when they were written, so the job may have gone on",
}

// lackWords says what a higher confidence lacks.
func lackWords(l evidence.Lack) string {
	return filled(lackSentences[l.Reason], "n", l.N, "p", probability(l.P), "replicas", counted(l.N, "replica"), "steps", counted(l.N, "step"),
		"points", counted(l.N, "synchronisation point"))
}
