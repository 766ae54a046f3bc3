package report

import (
	"github.com/sfstat/sfstat/diagnose/evidence"
)

// evidenceWords words one observation: a sentence without a full stop.
func evidenceWords(e evidence.Observation) string {
	if l, ok := e.(evidence.Lack); ok {
		return "against more certainty: " + lackWords(l)
	}
	for _, words := range []func(evidence.Observation) string{windowEvidence, launchedEvidence, operatorEvidence, communicationEvidence, arrivalEvidence, monitoringEvidence} {
		if text := words(e); text != "" {
			return text
		}
	}
	return ""
}
