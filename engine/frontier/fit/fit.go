// Package fit says whether the wait after a stage is induced by it, and on whose word.
package fit

import (
	"fmt"

	"github.com/sfstat/sfstat/trace/enum"
)

// Reason is why later wait is, or is not, charged to the leading stage.
type Reason uint8

const (
	Unexplained Reason = iota
	BelowFloor         // the makespan is too small to interpret
	Off                // switched off by the caller
	AsGiven            // by the caller
	NoSync             // no stage is shown to be one where ranks synchronise
	LowGain            // of the leading stage with the waits it induces
	ByChance           // no rank is late because of the stage beyond chance
	Induced            // ranks wait after the stage for one another
)

// Mode says on whose word later wait may be charged to an earlier stage.
type Mode uint8

const (
	Auto  Mode = iota // the window's own: it shows where ranks synchronise
	None              // nobody's, as in the paper's tables
	Given             // the caller's
)

var names = [...]string{"auto", "none", "given"}

func (m Mode) String() string { return enum.Name(names[:], m) }

// Parse is the inverse of String.
func Parse(s string) (Mode, error) {
	for i, name := range names {
		if s == name {
			return Mode(i), nil
		}
	}
	return 0, fmt.Errorf("model fit is %q, expected auto, none or given", s)
}

// Fit is the evidence that later wait is induced by the leading stage.
type Fit struct {
	Mode  Mode
	Holds bool
	Why   Reason
	// Gain is the part of the makespan that goes with Stage, the leading one, at its baseline and with the waits
	// that it induces; 0 and "" where Why does not rest on them.
	Stage string
	Gain  float64
}
