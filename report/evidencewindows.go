package report

import "github.com/sfstat/sfstat/diagnose"

// windowEvidence words what windows give, "" for all else.
func windowEvidence(e diagnose.Evidence) string {
	return ""
}

// windowLack words a reason of that judge, "" for all else.
func windowLack(l diagnose.Lack) string {
	return ""
}
