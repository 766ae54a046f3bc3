// Package cut says where the steps of an account begin, and why there.
package cut

import (
	"fmt"

	"github.com/sfstat/sfstat/trace/enum"
)

// Cut says where a step begins.
type Cut uint8

const (
	// Auto chooses: sync where a synchronising boundary is clear, else carried,
	// else (one rank, one step) step.
	Auto Cut = iota
	// Step starts every step's prefixes at zero, as the paper does.
	Step
	// Carried lets prefixes run on from step to step.
	Carried
	// Sync re-cuts the steps at the boundary where the ranks synchronise.
	Sync
)

var names = [...]string{"auto", "step", "carried", "sync"}

func (c Cut) String() string { return enum.Name(names[:], c) }

// Parse is the inverse of String.
func Parse(s string) (Cut, error) {
	for i, name := range names {
		if s == name {
			return Cut(i), nil
		}
	}
	return 0, fmt.Errorf("cut is %q, expected auto, step, carried or sync", s)
}

// Reason is why an account has its cut.
type Reason uint8

const (
	Unexplained  Reason = iota
	AsPublished         // the paper's, beside an automatic cut
	Asked               // by the caller
	SingleRank          // nobody to wait for
	SingleStep          // which cannot be cut again
	AtSyncPoint         // ranks are shown to synchronise there
	AtLikelySync        // they may
	NoSyncPoint         // one was asked for, and there is none
	UnknownGaps         // no synchronisation point, and no wall time that tells the gaps between steps
	RunsOn              // no synchronisation point: prefixes run on
	TooLong             // prefixes that run on would exceed what fits a sum
)
