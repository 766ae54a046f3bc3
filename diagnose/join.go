package diagnose

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/gates"
)

// testimony is what another recording of the same run claims beside its steps: a profiler's traces, operators,
// NCCL's kernels.
type testimony struct {
	late   []Finding                         // of ranks
	rest   []Finding                         // of what else, which no claim of the steps is the same as
	agrees func(l *Finding) evidence.Witness // what it is worth beside a claim on the same rank
	denies func(f Finding) Finding           // what it makes of a claim on a rank that it does not find late; nil: nothing
	alone  func(l Finding) Finding           // what a claim is that it alone makes; nil: what it was
}

// join returns the claims with what another recording says of them, and what it alone claims, in order. What
// both claim is as certain as the surer of them says, and costs what the larger saving is of: in a stage where
// ranks synchronise most of a delay looks like everybody's wait, so that stage times see a part of it.
func (j *judge) join(claims []Finding, t testimony) []Finding {
	left := slices.Clone(t.late)
	out := make([]Finding, 0, len(claims)+len(t.late)+len(t.rest))
	for _, f := range claims {
		if f.Kind == KindRank && f.Rank != nil && f.Cause != CauseStartUp { // a start-up is of other steps
			if at := indexOfRank(t.late, &f); at < 0 {
				if t.denies != nil {
					f = t.denies(f)
				}
			} else if k := indexOfRank(left, &f); k >= 0 {
				f.agree(&t.late[at], t.agrees(&t.late[at]))
				left = slices.Delete(left, k, k+1)
			}
		}
		out = append(out, f)
	}
	for _, l := range left {
		if t.alone != nil {
			l = t.alone(l)
		}
		out = append(out, l)
	}
	return j.order(append(out, t.rest...))
}

// seesMore is the factor by which another recording must find a larger saving for its cost to count: both are
// replays and differ by noise.
const seesMore = 1.25

// agree adds to a finding what another recording says of the same rank.
func (f *Finding) agree(l *Finding, w evidence.Witness) {
	w.Agrees, w.Confidence = true, l.Confidence
	if f.completeWith(l) {
		f.witness(l, w)
		return
	}
	w.Raised = f.Confidence < l.Confidence || f.BelowMinGain && !l.BelowMinGain
	divides := w.Source == evidence.FromArrivals && l.Confidence >= f.Confidence // the same stages
	f.Confidence = max(f.Confidence, l.Confidence)
	f.Evidence = slices.DeleteFunc(slices.Clone(f.Evidence), func(e evidence.Observation) bool {
		lack, ok := e.(evidence.Lack)
		return ok && lack.AtMost < f.Confidence // which the other recording makes up for
	})
	f.witness(l, w)
	if l.RunGain > f.RunGain && (w.Raised || l.RunGain > seesMore*f.RunGain) {
		if lack, few := l.lackOfSteps(); few && l.total() > 2*f.total() { // that it is so much is by chance, or is not
			f.lack(lack)
		}
		f.Cost, f.BelowMinGain = l.Cost, l.BelowMinGain
		if divides {
			f.Stage = cmp.Or(l.Stage, f.Stage)
		}
		f.Evidence = slices.DeleteFunc(slices.Clone(f.Evidence), func(e evidence.Observation) bool { _, ok := e.(evidence.Replay); return ok })
		if replay, ok := evidence.Find[evidence.Replay](l.Evidence); ok {
			f.Evidence = append(f.Evidence, replay)
		}
	}
}

// witness adds to a finding that another recording shows the same rank late, with how the rank enters calls, and which.
func (f *Finding) witness(l *Finding, w evidence.Witness) {
	f.Evidence = append(slices.Clip(f.Evidence), w)
	if e, entered := evidence.EntersLast(l.Evidence, w.Source); entered {
		f.Evidence = append(f.Evidence, e)
	}
	f.locateCall(l)
}

// completeWith makes a finding supported where the steps show for certain that a rank takes longer, and not that others wait for
// it, and another recording shows that they wait, and how long, at too few calls to exclude chance: each shows what the other lacks. It reports
// whether that is so.
func (f *Finding) completeWith(l *Finding) bool {
	waits := func(e evidence.Observation) bool {
		lack, ok := e.(evidence.Lack)
		return ok && slices.Contains([]evidence.Reason{evidence.NobodyWaits, evidence.SyncNotShown, evidence.SyncLikely}, lack.Reason)
	}
	few, ok := l.lackOfSteps()
	if !ok || !f.modelled || f.P > gates.Supported || l.BelowMinGain || !slices.ContainsFunc(f.Evidence, waits) {
		return false
	}
	most := evidence.Supported
	for _, e := range slices.Concat(f.Evidence, l.Evidence) {
		if lack, ok := e.(evidence.Lack); ok && !waits(e) && lack.Reason != few.Reason {
			most = min(most, lack.AtMost)
		}
	}
	if most <= f.Confidence {
		return false
	}
	f.Confidence, f.Cost, f.BelowMinGain = most, l.Cost, l.BelowMinGain
	f.Evidence = slices.DeleteFunc(slices.Clone(f.Evidence), func(e evidence.Observation) bool {
		_, replay := e.(evidence.Replay)
		return waits(e) || replay
	})
	if replay, ok := evidence.Find[evidence.Replay](l.Evidence); ok {
		f.Evidence = append(f.Evidence, replay)
	}
	return true
}

// locateCall takes from what another recording says of the same rank the operation and the line that it is late in, and its host, where they
// are not known.
func (f *Finding) locateCall(l *Finding) {
	if f.Op == "" {
		f.Op, f.Group, f.Source = l.Op, l.Group, l.Source
	}
	f.Host = cmp.Or(f.Host, l.Host)
}

// total returns how much longer all steps that a finding struck are together, ns.
func (f *Finding) total() int64 { return f.Excess * int64(f.Struck.Count) }

// lackOfSteps returns what a finding lacks where it strikes too few times to exclude chance.
func (f *Finding) lackOfSteps() (lack evidence.Lack, ok bool) {
	for _, e := range f.Evidence {
		if lack, ok = e.(evidence.Lack); ok && lack.Reason == evidence.ChanceNotExcluded {
			return lack, true
		}
	}
	return lack, false
}

// lack notes a condition of a higher confidence that is not met.
func (f *Finding) lack(l evidence.Lack) {
	f.Confidence = min(f.Confidence, l.AtMost)
	f.Evidence = append(slices.Clip(f.Evidence), l)
}

// lackIf notes it where that holds.
func (f *Finding) lackIf(holds bool, l evidence.Lack) {
	if holds {
		f.lack(l)
	}
}

// indexOfRank returns the index of the finding on the same rank, −1: there is none.
func indexOfRank(late []Finding, f *Finding) int {
	if f.Rank == nil {
		return -1
	}
	return slices.IndexFunc(late, func(l Finding) bool { return l.Rank != nil && *l.Rank == *f.Rank })
}
