package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
)

// testimony is what another recording of the same run says of who is late: a profiler's traces, operators,
// NCCL's kernels, the entries of calls.
type testimony struct {
	late []Finding // of ranks
	// says is what it is worth beside a finding of the same rank.
	says func(l *Finding) evidence.Witness
	// apart is told of findings of ranks that it does not find late; nil: that says nothing.
	apart func(f *Finding)
}

// join adds to the findings on late ranks what another recording says of them, and gives back what that
// alone finds. What both find is as certain as the surer of them says, and costs what the larger saving is
// of: in a stage where ranks synchronise most of a delay looks like everybody's wait, so that stage times
// see a part of it.
func (v *RunVerdict) join(t testimony) (left []Finding) {
	left = slices.Clone(t.late)
	for i := range v.Findings {
		f := &v.Findings[i]
		if f.Kind != KindRank || f.Rank == nil {
			continue
		}
		if at := sameRank(t.late, f); at < 0 {
			if t.apart != nil {
				t.apart(f)
			}
		} else if k := sameRank(left, f); k >= 0 {
			f.agree(&t.late[at], t.says(&t.late[at]))
			left = slices.Delete(left, k, k+1)
		}
	}
	return left
}

// seesMore is the factor by which another recording must find a larger saving for its cost to count: both are
// replays and differ by noise.
const seesMore = 1.25

// agree adds to a finding what another recording says of the same rank.
func (f *Finding) agree(l *Finding, w evidence.Witness) {
	w.Agrees, w.Confidence = true, l.Confidence
	w.Raised = f.Confidence < l.Confidence || f.BelowMinGain && !l.BelowMinGain
	f.Confidence = max(f.Confidence, l.Confidence)
	f.Evidence = slices.DeleteFunc(slices.Clone(f.Evidence), func(e evidence.Observation) bool {
		lack, ok := e.(evidence.Lack)
		return ok && lack.AtMost < f.Confidence // which the other recording makes up for
	})
	f.Evidence = append(f.Evidence, w)
	if e, ok := evidence.EntersLast(l.Evidence, w.Source); ok {
		f.Evidence = append(f.Evidence, e)
	}
	if f.Stage == "" && w.Source == evidence.FromArrivals {
		f.Stage = l.Stage
	}
	if f.Op == "" {
		f.Op, f.Group, f.Source = l.Op, l.Group, l.Source
	}
	if f.Host == "" {
		f.Host = l.Host
	}
	if l.RunGain > f.RunGain && (w.Raised || l.RunGain > seesMore*f.RunGain) {
		if w.Source == evidence.FromArrivals && l.Stage != "" && l.Excess > 2*f.Excess {
			f.Stage, f.Op, f.Group, f.Source = l.Stage, l.Op, l.Group, l.Source // where most of it is
		}
		f.Cost, f.BelowMinGain = l.Cost, l.BelowMinGain
		f.Evidence = slices.DeleteFunc(f.Evidence, func(e evidence.Observation) bool { _, ok := e.(evidence.Replay); return ok })
		if replay, ok := evidence.Find[evidence.Replay](l.Evidence); ok {
			f.Evidence = append(f.Evidence, replay)
		}
	}
}

// lack notes a condition of a higher confidence that is not met.
func (f *Finding) lack(l evidence.Lack) {
	f.Confidence = min(f.Confidence, l.AtMost)
	f.Evidence = append(f.Evidence, l)
}

// lackIf notes it where that holds.
func (f *Finding) lackIf(holds bool, l evidence.Lack) {
	if holds {
		f.lack(l)
	}
}

// sameRank is the index of the finding on the same rank, −1: there is none.
func sameRank(late []Finding, f *Finding) int {
	if f.Rank == nil {
		return -1
	}
	return slices.IndexFunc(late, func(l Finding) bool { return l.Rank != nil && *l.Rank == *f.Rank })
}
