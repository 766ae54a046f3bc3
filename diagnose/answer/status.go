// Package answer is what a verdict says of a run beside its findings: the answer in one
// word, what the data leave open, what to do next, and what was lost, skipped or
// refused. All of it is kinds and numbers; package report has the sentences.
package answer

import "github.com/sfstat/sfstat/trace/enum"

// Status is the answer to a run in one word.
type Status uint8

const (
	TooLittleData  Status = iota
	NoStraggler           // every place of a step is seen, and nobody is late there by the least gain or more
	Unseen                // a delay of the least gain may be where the recording does not show one; Coverage says where
	UndecidedRun          // something points at a delay that the recording cannot place; Undecided says what
	SlowEverywhere        // all ranks alike are slower: than a baseline, or in some steps than in others
	ImbalanceRun          // work is uneven by design: a stage, sequence lengths
	Straggler             // a rank, host or group delays the others
	Hang                  // a rank never entered a collective that others wait in
)

var statusNames = [...]string{"too_little_data", "no_straggler", "unseen", "undecided", "slow_everywhere", "imbalance", "straggler", "hang"}

func (s Status) String() string { return enum.Name(statusNames[:], s) }

// Names returns all statuses.
func (Status) Names() []string { return statusNames[:] }

// MarshalText writes the name.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
