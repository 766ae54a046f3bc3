// Package answer is what a verdict says of a run beside its findings: the answer in one
// word, what the data leave open, what to do next, and what was lost, skipped or
// refused. All of it is kinds and numbers; package report has the sentences.
package answer

import "github.com/sfstat/sfstat/trace/enum"

// Status is the answer to a run in one word.
type Status uint8

const (
	TooLittleData  Status = iota
	NoStraggler           // nothing of the least gain or more can hide in this data
	UndecidedRun          // something that large may hide; Undecided says where
	SlowEverywhere        // all ranks alike are slower: than a baseline, or in some steps than in others
	ImbalanceRun          // work is uneven by design: a stage, sequence lengths
	Straggler             // a rank, host or group delays the others
	Hang                  // a rank never entered a collective that others wait in
)

var statusNames = [...]string{"too_little_data", "no_straggler", "undecided", "slow_everywhere", "imbalance", "straggler", "hang"}

func (s Status) String() string { return enum.Name(statusNames[:], s) }

// Names are all statuses.
func (Status) Names() []string { return statusNames[:] }

// MarshalText writes the name.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
