package report

import (
	"fmt"
	"reflect"

	"github.com/sfstat/sfstat/diagnose/evidence"
)

// evidenceSentences word each kind of evidence: a sentence without a full stop. They
// are also the list of all kinds, for the JSON Schema.
var evidenceSentences = []sentence{
	says("evidence against: a condition of a higher confidence that is not met", func(e evidence.Lack) string { return "against more certainty: " + lackWords(e) }),
	says("what another recording of the same run says of the finding", witness),
	// Of windows.
	says("the group waited for a rank at synchronisation points", lastToArrive),
	says("the steps with ranks brought to their peers' median, or with a stage at its own median in all steps", replay),
	says("several ranks are late for the same reason, and what fixing all of them saves", lateTogether),
	says("where the ranks synchronise, and how that is known", syncPoint),
	says("device events of one stage next to the host's time: of a rank and its peers, or of all ranks alike", deviceTime),
	says("the time that the ranks of a role group do not wait, a step", groupWork),
	says("a stage takes longer on all ranks than in another window of the run, or in a healthy run", slower),
	says("how long ranks spend between steps, and the one that spends longest there", betweenSteps),
	says("all ranks wait for data most of each step", func(e evidence.InputBound) string {
		return fmt.Sprintf("%s takes %s of each step on all ranks: input-bound?", stageWord(e.Stage), about(e.Share))
	}),
	says("steps that are longer on all ranks alike, in several stages", slowSteps),
	says("ranks are late because of a stage, none more than chance allows", lateIntermittently),
	says("the same delay on another rank in each stretch of the run", rankToRank),
	says("late ranks of several stretches or runs are all on one host", recurringHost),
	says("how the device of the only rank spends its steps: fractions of whole steps; kinds of work overlap", deviceShares),
	says("what was looked for and not found", nobodyLate),
	// Of the operators behind their stages.
	says("what a rank launched in a stage next to its peers, or what the ranks of a role group launch as often as all other groups", launchedOperators),
	says("one operator on a rank next to its peers", operatorDifference),
	says("the long collectives of the peers are wait for the rank", collectiveWait),
	says("the line of the program in which a rank spends what it is late by", spentIn),
	// Of operator traces.
	says("what a step would take in the replay without what the finding is about", replayWords),
	says("the operators in which a worker is slow, the costliest first; none where it is slow in some steps only", operatorTimesWords),
	says("forward and backward compute, of a worker next to its peers or of a pipeline stage next to the others", passTimes),
	says("how many operators are significantly longer than on the peers, by sfstat zscore", outliers),
	says("a rank whose completion-time distribution departs from its peers', by sfstat ks", completionWords),
	says("the walks back from late operators that end at a rank, by sfstat blame", blameWords),
	says("the exposed time that the frontier over a rank's peers charges it with", frontierCharge),
	says("transfers between two ranks next to those of the only other replica, or the communication of a stage next to the other stages, without waiting", transferTimes),
	says("by how much operators start later behind what they wait for than those of the peers", launchDelay),
	says("how the forward and backward compute of a microbatch varies together; p is of permutation tests", microbatches),
	// Of calls, kernels and entries of collectives.
	says("a rank enters collectives last because of its own work; delays that it inherits from other synchronisation points are left out", lastToEnter),
	says("the work in which a link or communicator is slowest next to its peers, from the start of the last rank on", slowLink),
	says("one comparison of equal work over links of one kind", bandwidthWords),
	says("a rank is missing from a call in which others wait", neverEntered),
	says("the ranks of a group disagree on a call", enteredDifferently),
	says("ranks are late together, behind sends and receives that are counted and not recorded", lateBehindMessages),
	// Of monitoring.
	says("a quantity in which a GPU or a host differed from the others at the time of a finding; or quantities in which it did not", monitored),
	says("what the kernel of a host reported at the time of a finding, or what another tool concludes of a rank", reported),
	says("a probe inside the stages, in which a late rank takes longer than the others", probeTime),
}

// sentence words one kind of evidence.
type sentence struct {
	of    evidence.Observation // the zero value of the kind
	doc   string               // what the kind is, in the schema
	words func(evidence.Observation) string
}

func says[E evidence.Observation](doc string, words func(E) string) sentence {
	var of E
	return sentence{of, doc, func(e evidence.Observation) string { return words(e.(E)) }}
}

var sentenceOf = func() map[reflect.Type]sentence {
	all := make(map[reflect.Type]sentence, len(evidenceSentences))
	for _, s := range evidenceSentences {
		all[reflect.TypeOf(s.of)] = s
	}
	return all
}()

// evidenceWords words one observation.
func evidenceWords(e evidence.Observation) string {
	s, ok := sentenceOf[reflect.TypeOf(e)]
	if !ok {
		return string(e.Kind())
	}
	return s.words(e)
}
