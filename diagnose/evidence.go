package diagnose

import "slices"

// Evidence is one observation for or against a finding: a kind and numbers,
// never a sentence. Its fields with their JSON names are the contract of the
// verdict; package report words every kind in one function.
//
// A new kind is a struct with a Kind method, an entry in the list of prototypes
// of its judge, and a case in report; the tests there fail for a kind without
// words. Numbers are plain: nanoseconds, fractions of 1, counts, p-values.
type Evidence interface{ Kind() EvidenceKind }

// EvidenceKind names a kind of evidence, in the JSON too.
type EvidenceKind string

// Find is the first evidence of a type in a list.
func Find[E Evidence](list []Evidence) (e E, ok bool) {
	for _, x := range list {
		if e, ok = x.(E); ok {
			return e, true
		}
	}
	return e, false
}

// EvidencePrototypes are one value of every kind of evidence.
func EvidencePrototypes() []Evidence {
	return slices.Concat([]Evidence{Lack{}}, windowEvidence(), launchedEvidence(), operatorEvidence(), communicationEvidence(), arrivalEvidence())
}

// Lack is evidence against: a condition of a higher confidence that is not met.
type Lack struct {
	Reason Reason     `json:"reason"`
	AtMost Confidence `json:"at_most"`
	// What the reason is about, where it has numbers.
	N int     `json:"n,omitempty"`
	P float64 `json:"p,omitempty"`
}

// Kind implements Evidence.
func (Lack) Kind() EvidenceKind { return "lack" }

// Reason is why a finding is not more certain. It is a name, in the JSON too;
// package report has a sentence for each.
type Reason string

// Reasons are all reasons of all judges.
func Reasons() []Reason {
	return slices.Concat(windowReasons(), launchedReasons(), operatorReasons(), communicationReasons(), arrivalReasons())
}
