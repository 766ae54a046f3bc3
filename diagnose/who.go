package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
)

// Who is who a finding is about.
type Who struct {
	Kind WhoKind
	Place
}

// WhoKind says which ranks they are.
type WhoKind string

const (
	AllRanks   WhoKind = ""            // or nobody in particular
	OneRank    WhoKind = "one_rank"    // Rank
	SomeRanks  WhoKind = "some_ranks"  // Ranks, late together; Rank is the one that the finding is on, if any
	HostRanks  WhoKind = "host_ranks"  // all Ranks of Host
	GroupRanks WhoKind = "group_ranks" // all Ranks of Group
	HeavyGroup WhoKind = "heavy_group" // Group, which has more work
)

// Who returns the subject of the finding.
func (f *Finding) Who() Who {
	w := Who{Place: f.Place}
	_, messages := evidence.Find[evidence.LateBehindMessages](f.Evidence)
	several := len(f.Ranks) > 0
	switch {
	case f.Kind == KindHost:
		w.Kind = HostRanks
	case f.Cause == CauseMoreWork:
		w.Kind = HeavyGroup
	case f.Kind == KindGroup && several && messages, f.Rank != nil && len(f.Ranks) > 1:
		w.Kind = SomeRanks
	case f.Kind == KindGroup && several:
		w.Kind = GroupRanks
	case f.Rank != nil:
		w.Kind = OneRank
	}
	return w
}

// Where is where a finding is. What does not apply is zero.
type Where struct {
	Stage    string
	Op       string // operation, instead of the stage
	OnDevice bool
	Before   bool                 // the ranks are late before Op, or before Line
	Line     *evidence.SourceLine // of the program
}

// Where returns where the finding is: an operation, else a stage. A late rank is not late in the operation that awaits it,
// unless no other is known.
func (f *Finding) Where() Where {
	w := Where{Stage: f.Stage, OnDevice: f.Cause == CauseDevice, Line: f.Source}
	_, byStages := evidence.Find[evidence.LastToArrive](f.Evidence)
	w.Before = f.Stage == "" && !byStages && (f.Op != "" || f.Source != nil) && f.Cause == CauseLate
	if f.Op != "" && (f.Stage == "" || f.Cause != CauseLate) {
		w.Op = f.Op
	}
	return w
}

// MainOperator returns the operator that explains most of the finding; "" without one.
func (v *RunVerdict) MainOperator(f *Finding) string {
	i := slices.IndexFunc(v.Findings, func(o Finding) bool {
		return o.Cause == CauseOperator && o.Rank != nil && f.Rank != nil && *o.Rank == *f.Rank && o.Stage == f.Stage
	})
	if i < 0 {
		return ""
	}
	return v.Findings[i].Op
}
