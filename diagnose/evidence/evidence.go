// Package evidence is what speaks for and against a finding of a verdict: each
// observation a kind and numbers, never a sentence. The fields with their JSON
// names are the contract of the verdict; package report words every kind in one
// function.
//
// Numbers are plain: nanoseconds, fractions of 1, counts, p-values.
package evidence

import (
	"fmt"
	"path"

	"github.com/sfstat/sfstat/trace/enum"
)

// Observation is one piece of evidence. A new kind is a struct with a Kind method,
// and a case in report, whose tests list every kind and fail for one that they miss
// or that has no words.
type Observation interface{ Kind() Kind }

// Kind names a kind of evidence, in the JSON too.
type Kind string

// Find is the first evidence of a type in a list.
func Find[E Observation](list []Observation) (e E, ok bool) {
	for _, x := range list {
		if e, ok = x.(E); ok {
			return e, true
		}
	}
	return e, false
}

// Lack is evidence against: a condition of a higher confidence that is not met.
type Lack struct {
	Reason Reason     `json:"reason"`
	AtMost Confidence `json:"at_most"`
	// What the reason is about, where it has numbers.
	N int     `json:"n,omitempty"`
	P float64 `json:"p,omitempty"`
}

// Kind implements Observation.
func (Lack) Kind() Kind { return "lack" }

// Reason is why a finding is not more certain. It is a name, in the JSON too;
// package report has a sentence for each.
type Reason string

// Confidence is how certain a finding is, whatever its size.
type Confidence uint8

const (
	// Insufficient: too little data to say.
	Insufficient Confidence = iota
	// Ambiguous: several readings fit.
	Ambiguous
	// Supported: one kind of evidence stands alone, or a condition for Strong
	// is missing and named.
	Supported
	// Strong: independent evidence agrees, and nothing speaks against it.
	Strong
)

var confidenceNames = [...]string{"insufficient", "ambiguous", "supported", "strong"}

func (c Confidence) String() string { return enum.Name(confidenceNames[:], c) }

// MarshalText writes the name.
func (c Confidence) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// SourceLine is a line of the training program.
type SourceLine struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Function string `json:"function"`
	Call     string `json:"call"` // what it calls, of a library; "" where that is not known
}

// Short is the name of the file without its folder, and the line: "train.py:66";
// "" of nil.
func (s *SourceLine) Short() string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d", path.Base(s.File), s.Line)
}
