package report

import "github.com/sfstat/sfstat/diagnose"

// Evidence words one observation: a sentence without a full stop.
func Evidence(e diagnose.Evidence) string {
	switch e := e.(type) {
	case diagnose.Lack:
		return lackWords(e)
	}
	for _, words := range []func(diagnose.Evidence) string{windowEvidence, launchedEvidence, operatorEvidence, communicationEvidence, arrivalEvidence} {
		if text := words(e); text != "" {
			return text
		}
	}
	return ""
}

// lackWords says what a higher confidence lacks.
func lackWords(l diagnose.Lack) string {
	if text := bareLack(l); text != "" {
		return "against more certainty: " + text
	}
	return ""
}

func bareLack(l diagnose.Lack) string {
	for _, words := range []func(diagnose.Lack) string{windowLack, launchedLack, operatorLack, communicationLack, arrivalLack} {
		if text := words(l); text != "" {
			return text
		}
	}
	return ""
}

// evidenceWords words a list.
func evidenceWords(list []diagnose.Evidence) bullets {
	var out bullets
	for _, e := range list {
		out = append(out, Evidence(e))
	}
	return out
}
