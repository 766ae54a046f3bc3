package report

import (
	"github.com/sfstat/sfstat/diagnose/evidence"
)

// Evidence words one observation: a sentence without a full stop.
func Evidence(e evidence.Observation) string {
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

// evidenceWords words a list.
func evidenceWords(list []evidence.Observation) bullets {
	var out bullets
	for _, e := range list {
		out = append(out, Evidence(e))
	}
	return out
}
