package frontier

import "github.com/sfstat/sfstat/trace/enum"

// Cut says where a step begins.
type Cut uint8

const (
	// CutAuto chooses: sync where a synchronising boundary is clear, else carried,
	// else (one rank, one step) step.
	CutAuto Cut = iota
	// CutStep starts every step's prefixes at zero, as the paper does.
	CutStep
	// CutCarried lets prefixes run on from step to step.
	CutCarried
	// CutSync re-cuts the steps at the boundary where the ranks synchronise.
	CutSync
)

var cutNames = [...]string{"auto", "step", "carried", "sync"}

func (c Cut) String() string { return enum.Name(cutNames[:], c) }

// Names returns all cuts.
func (Cut) Names() []string { return cutNames[:] }

// ParseCut returns the cut of a name, the inverse of String.
func ParseCut(s string) (Cut, error) { return enum.Parse[Cut]("cut", cutNames[:], s) }

// CutReason is why an account has its cut.
type CutReason string

const (
	CutAsPublished  CutReason = "as_published"   // the paper's, beside an automatic cut
	CutAsked        CutReason = "asked"          // by the caller
	CutSingleRank   CutReason = "single_rank"    // nobody to wait for
	CutSingleStep   CutReason = "single_step"    // which cannot be cut again
	CutAtSyncPoint  CutReason = "at_sync_point"  // ranks are shown to synchronise there
	CutAtLikelySync CutReason = "at_likely_sync" // they may
	CutNoSyncPoint  CutReason = "no_sync_point"  // one was asked for, and there is none
	CutUnknownGaps  CutReason = "unknown_gaps"   // no synchronisation point, and no wall time that tells the gaps between steps
	CutMeetings     CutReason = "meetings"       // ranks synchronise in one step of several: prefixes run on
	CutRunsOn       CutReason = "runs_on"        // no synchronisation point: prefixes run on
	CutTooLong      CutReason = "too_long"       // prefixes that run on would exceed what fits a sum
)
