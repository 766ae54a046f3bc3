package report

import "github.com/sfstat/sfstat/diagnose"

// operatorEvidence words what operator traces give, "" for all else.
func operatorEvidence(e diagnose.Evidence) string {
	return ""
}

// operatorLack words a reason of that judge, "" for all else.
func operatorLack(l diagnose.Lack) string {
	return ""
}
