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

// Observation is one piece of evidence. A new kind is a struct here, with a Kind
// method and a doc tag on each field, a row in publish.Observations, and a sentence in
// package report.
type Observation interface{ Kind() Kind }

// Kind names a kind of evidence, in the JSON too.
type Kind string

// Find returns the first evidence of a type in a list.
func Find[E Observation](list []Observation) (e E, ok bool) {
	return FindIf(list, func(E) bool { return true })
}

// FindIf returns the first evidence of a type in a list that satisfies a condition.
func FindIf[E Observation](list []Observation, holds func(E) bool) (e E, ok bool) {
	for _, x := range list {
		if e, ok = x.(E); ok && holds(e) {
			return e, true
		}
	}
	var none E
	return none, false
}

// Source is a recording that evidence comes from, other than stage times.
type Source string

// The recordings that join the stage times of a run.
const (
	FromOperators Source = "operator_trace"
	FromProfiler  Source = "profiler"
	FromNCCL      Source = "nccl"     // calls and kernels
	FromArrivals  Source = "arrivals" // entries of collectives, as Flight Recorder dumps hold them
)

// Names returns all sources.
func (Source) Names() []string {
	return []string{string(FromOperators), string(FromProfiler), string(FromNCCL), string(FromArrivals)}
}

// Witness is what another recording of the same run says of a finding.
type Witness struct {
	Source Source `json:"source" doc:"the other recording"`
	Agrees bool   `json:"agrees" doc:"it finds the same rank, by itself; false: it finds nothing"`
	Raised bool   `json:"raised" doc:"the finding was less certain, or too small to act on, without it"`

	Confidence Confidence `json:"confidence,omitempty" doc:"certainty of its own finding"`
	Stage      string     `json:"stage,omitempty" doc:"stage of the delay, as its recording divides a step"`
	Op         string     `json:"op,omitempty" doc:"operator with most of the excess; absent: several"`
	Excess     int64      `json:"excess_ns,omitempty" doc:"how much longer than its peers the rank takes, a step"`
	Step       int64      `json:"step_ns,omitempty" doc:"length of its steps"`
	Steps      int        `json:"steps,omitempty" doc:"steps that it recorded"`
	First      int64      `json:"first,omitempty" doc:"first of those steps"`
	Last       int64      `json:"last,omitempty" doc:"last of those steps"`
	Ranks      int        `json:"ranks,omitempty" doc:"ranks that it recorded"`
	Operators  int        `json:"operators,omitempty" doc:"operators that it recorded"`
}

// Kind implements Observation.
func (Witness) Kind() Kind { return "witness" }

// WitnessOf returns a recording's evidence on a finding, if it was asked.
func WitnessOf(list []Observation, source Source) (Witness, bool) {
	return FindIf(list, func(w Witness) bool { return w.Source == source })
}

// Lack is evidence against: a condition of a higher confidence that is not met.
type Lack struct {
	Reason Reason     `json:"reason" doc:"the condition"`
	AtMost Confidence `json:"at_most" doc:"highest confidence without it"`
	N      int        `json:"n,omitempty" doc:"what the reason counts"`
	Rank   *int       `json:"rank,omitempty" doc:"the rank that another source finds instead"`
	Source Source     `json:"source,omitempty" doc:"that source; absent: the engines, or the stage times where no rank is given"`
	P      float64    `json:"p,omitempty" doc:"p-value, or the level that it exceeds"`
}

// Kind implements Observation.
func (Lack) Kind() Kind { return "lack" }

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

// Names returns all levels, the lowest first.
func (Confidence) Names() []string { return confidenceNames[:] }

// MarshalText writes the name.
func (c Confidence) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// SourceLine is a line of the training program.
type SourceLine struct {
	File     string `json:"file" doc:"path as recorded"`
	Line     int    `json:"line" doc:"number of the line"`
	Function string `json:"function" doc:"function that the line is in"`
	Call     string `json:"call" doc:"library function that the line calls; empty where unknown"`
}

// Short returns the name of the file without its folder, and the line: "train.py:66"; "" of nil.
func (s *SourceLine) Short() string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d", path.Base(s.File), s.Line)
}
