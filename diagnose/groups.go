package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
)

// compareGroups tests of a role group that does more work whether it takes longer for the operators that the other groups
// launch as often too. Then the division of the model is no reason, and the group may be called.
func (j *judge) compareGroups(f *Finding) {
	if f.Cause != CauseMoreWork {
		return
	}
	for _, r := range j.across {
		in := newLaunchedSuspect(r, slices.Min(f.Ranks), "")
		if in == nil {
			continue
		}
		if len(in.sure) == 0 || 2*in.sureExcess < float64(f.timePerStep()) {
			return
		}
		first := in.compareOperator(in.sure[0])
		f.Evidence = append(f.Evidence, evidence.LaunchedOperators{Group: f.Group, N: len(in.sure), Of: len(in.all), Excess: int64(in.sureExcess), Tested: in.all[0].Tested, First: &first})
		if f.Confidence == evidence.Ambiguous {
			f.Confidence = evidence.Supported
			f.Evidence = append(f.Evidence, evidence.Lack{Reason: evidence.WorkUnknown, AtMost: evidence.Supported})
		}
		return
	}
}
