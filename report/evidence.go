package report

import (
	"reflect"

	"github.com/sfstat/sfstat/diagnose/evidence"
)

// evidenceSentences word each kind of evidence: a sentence without a full stop. They
// are also the list of all kinds, for the JSON Schema.
var evidenceSentences = []sentence{
	says(func(e evidence.Lack) string { return "against more certainty: " + lackWords(e) }),
	says(witness),
	// Of windows.
	says(lastToArrive), says(replay), says(lateTogether), says(syncPoint), says(deviceTime), says(groupWork), says(latestInStage),
	says(slower), says(slowSteps), says(lateIntermittently), says(rankToRank), says(recurringHost), says(deviceShares), says(nobodyLate),
	// Of the operators behind their stages.
	says(launchedOperators), says(operatorDifference), says(collectiveWait), says(spentIn),
	// Of operator traces.
	says(replayWords), says(operatorTimesWords), says(passTimes), says(outliers), says(completionWords), says(blameWords), says(frontierCharge),
	says(transferTimes), says(launchDelay), says(microbatches),
	// Of calls, kernels and entries of collectives.
	says(lastToEnter), says(slowLink), says(bandwidthWords), says(neverEntered), says(enteredDifferently), says(lateBehindMessages),
	// Of monitoring.
	says(monitored), says(reported), says(probeTime),
}

// sentence words one kind of evidence.
type sentence struct {
	of    evidence.Observation // the zero value of the kind
	words func(evidence.Observation) string
}

func says[E evidence.Observation](words func(E) string) sentence {
	var of E
	return sentence{of, func(e evidence.Observation) string { return words(e.(E)) }}
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
