package report

import "github.com/sfstat/sfstat/diagnose"

// communicationEvidence words what calls and kernels of communication give, "" for all else.
func communicationEvidence(e diagnose.Evidence) string {
	return ""
}

// communicationLack words a reason of that judge, "" for all else.
func communicationLack(l diagnose.Lack) string {
	return ""
}
