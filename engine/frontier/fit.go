package frontier

import "github.com/sfstat/sfstat/trace/enum"

// FitReason is why later wait is, or is not, charged to the leading stage.
type FitReason string

const (
	FitBelowFloor FitReason = "below_floor" // the makespan is too small to interpret
	FitOff        FitReason = "off"         // switched off by the caller
	FitAsGiven    FitReason = "as_given"    // by the caller
	FitNoSync     FitReason = "no_sync"     // no stage is shown to be one where ranks synchronise
	FitMeetings   FitReason = "meetings"    // ranks synchronise in one step of several, not in each
	FitLowGain    FitReason = "low_gain"    // of the leading stage with the waits it induces
	FitByChance   FitReason = "by_chance"   // ranks that are late because of the stage beyond chance answer for less than half of the gain
	FitInduced    FitReason = "induced"     // ranks wait after the stage for one another
)

// FitMode says on whose word later wait may be charged to an earlier stage.
type FitMode uint8

const (
	FitAuto  FitMode = iota // the window's own: it shows where ranks synchronise
	FitNone                 // nobody's, as in the paper's tables
	FitGiven                // the caller's
)

var fitNames = [...]string{"auto", "none", "given"}

func (m FitMode) String() string { return enum.Name(fitNames[:], m) }

// Names returns all modes.
func (FitMode) Names() []string { return fitNames[:] }

// ParseFit returns the fit of a name, the inverse of String.
func ParseFit(s string) (FitMode, error) { return enum.Parse[FitMode]("model fit", fitNames[:], s) }

// Fit is the evidence that later wait is induced by the leading stage.
type Fit struct {
	Mode  FitMode
	Holds bool
	Why   FitReason
	// Gain is the part of the makespan that goes with Stage, the leading one, at its baseline and with the waits
	// that it induces; 0 and "" where Why does not rest on them.
	Stage string
	Gain  float64
}
