package diagnose

import (
	"fmt"
	"slices"
)

// compareGroups says of a role group that does more work whether it takes longer
// for what the other groups launch as often too. Then it is not how the model
// was divided, and the group may be called.
func (j *judge) compareGroups(f *finding) {
	members := f.members()
	if f.Cause != CauseMoreWork || len(members) == 0 {
		return
	}
	for _, r := range j.across {
		in := insideOf(r, members[0], "")
		if in == nil {
			continue
		}
		f.inside = in
		if len(in.sure) == 0 || 2*in.sureExcess < float64(f.perStep()) {
			return
		}
		f.Evidence = append(f.Evidence, Said(fmt.Sprintf("operators that all role groups launch as often: longer in %s than in the others (median) beyond chance are %d of %d, by %s a step; first %s",
			f.Group, len(in.sure), len(in.all), ms(int64(in.sureExcess)), in.compared(in.sure[0]))))
		if f.Confidence == Ambiguous {
			f.Confidence = Supported
			f.Evidence = append(f.Evidence, Said("called all the same, since the same operators take longer there; not strong: their inputs may be larger, which their names do not tell"))
		}
		return
	}
}

// members are the ranks of the role group of a finding, ascending.
func (f *finding) members() []int {
	var ids []int
	for _, m := range f.best.Members {
		if m.Role.Group() == f.Group {
			ids = append(ids, m.ID)
		}
	}
	slices.Sort(ids)
	return ids
}
