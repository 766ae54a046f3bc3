package diagnose

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/trace/stagename"
)

// The answers that name nothing: no straggler, too little data, an open question.

// Healthy is what is known of a run without a straggler.
type Healthy struct {
	Searched *evidence.NobodyLate // what was looked at; nil: not known
	Stages   []string             // in which a delay would have been reported
	Least    int64                // the least that would have been, in any of them; 0: not known
	Blind    []answer.Coverage    // what is not seen and may hide a delay, the largest first
	Step     int64                // length of a step; 0: not known

	// What happened all the same; nil: nothing.
	Small    *Finding // certain, and too small to act on
	Once     *Finding // in a step or a few, however large
	Periodic *Finding
	StartUp  *Finding
	// What the data cannot exclude; nil: nothing.
	Inside   *answer.Undecided // a late rank
	Transfer *answer.Undecided // a slow transfer
}

func (v *RunVerdict) healthy() *Healthy {
	h := &Healthy{Small: v.small()}
	if e, ok := evidence.Find[evidence.NobodyLate](v.Observed); ok {
		h.Searched, h.Step = &e, e.Step
	} else if v.Operators != nil {
		h.Step = int64(v.Operators.Replay.Recorded.Mean)
	}
	for _, c := range v.Coverage {
		switch {
		case c.Seen && c.Stage != stagename.Residual:
			h.Least, h.Stages = max(h.Least, c.Least), append(h.Stages, c.Stage)
		case !c.Seen && c.Hides > 0:
			h.Blind = append(h.Blind, c)
		}
	}
	slices.SortStableFunc(h.Blind, func(a, b answer.Coverage) int { return cmp.Compare(b.Hides, a.Hides) })
	if n := slices.IndexFunc(h.Blind, func(c answer.Coverage) bool { return float64(c.Hides) < leastTold*float64(h.Step) }); n > 0 {
		h.Blind = h.Blind[:n] // what hides little beside the others is in the table of places
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		switch {
		case h.Once == nil && f.isEvent():
			h.Once = f
		case h.Periodic == nil && f.Cause == CausePeriodic && !f.IsFlagged():
			h.Periodic = f
		case h.StartUp == nil && f.Cause == CauseStartUp:
			h.StartUp = f
		}
	}
	if i := slices.IndexFunc(v.Undecided, func(u answer.Undecided) bool { return u.HidesRank() && u.Unlikely }); i >= 0 {
		h.Inside = &v.Undecided[i]
	}
	if u, ok := v.LargestHidden(); ok && u.Question == answer.TransferHidden {
		h.Transfer = &u
	}
	return h
}

// isEvent reports whether a finding is an event: what happened in a step or a few, however large.
func (f *Finding) isEvent() bool {
	return f.Confidence == evidence.Ambiguous && f.Struck.Pattern == PatternIntermittent && (f.Cause == CauseLate || f.Cause == CauseSlowSteps)
}

// small returns the certain delay, of ranks that others wait for, that a run without a straggler has below its threshold; nil
// without one.
func (v *RunVerdict) small() *Finding {
	f := v.first()
	if f == nil || f.Who().Kind == AllRanks || f.Cause == CauseStartUp || f.Confidence < evidence.Supported {
		return nil
	}
	return f
}

// Shortage is what there is too little of.
type Shortage struct {
	Of      ShortageKind
	Ranks   int
	Steps   int
	Time    int64                  // of all steps
	Missing int                    // ranks that did not report
	All     int                    // ranks of the job, of which they are missing
	Says    string                 // what the reader says
	Device  *evidence.DeviceShares // of the only rank; nil: not known
	One     *evidence.OneRank      // what takes its steps; nil: not known
}

// ShortageKind is what data lack.
type ShortageKind string

const (
	TooFewSteps      ShortageKind = "few_steps" // to exclude chance
	NoSteps          ShortageKind = "no_steps"
	NoPeers          ShortageKind = "no_peers" // one rank reported
	UnlikeStages     ShortageKind = "unlike_stages"
	DisorderedStages ShortageKind = "disordered_stages"
	NestedStages     ShortageKind = "nested_stages" // time in a stage and in what it contains counts twice
	RanksMissing     ShortageKind = "ranks_missing"
	IncompleteSteps  ShortageKind = "incomplete_steps"
	TooShort         ShortageKind = "too_short" // for shares
)

func (v *RunVerdict) shortage() Shortage {
	s := Shortage{Of: TooFewSteps}
	incomplete := false
	for _, w := range v.Windows {
		incomplete = incomplete || w.Incomplete()
		if n := w.Main.Quality.Missing.Len(); w.Incomplete() && n > s.Missing {
			s.Missing, s.All = n, w.Main.WorldSize
		}
		s.Ranks, s.Steps, s.Time = max(s.Ranks, len(w.Main.Ranks)), s.Steps+w.Main.Steps, s.Time+w.Main.Makespan
	}
	if o := v.Operators; o != nil && len(v.Windows) == 0 {
		s.Ranks, s.Steps, s.Time = len(o.Workers), len(o.Steps), int64(o.Replay.Recorded.Mean*float64(len(o.Steps)))
	}
	switch {
	case s.Steps == 0:
		s.Of = NoSteps
	case s.Ranks == 1:
		s.Of = NoPeers
		if e, ok := evidence.Find[evidence.OneRank](v.Observed); ok {
			s.One = &e
		}
		if e, ok := evidence.Find[evidence.DeviceShares](v.Observed); ok {
			s.Device = &e
		}
	case v.spoilt(&s), len(v.Windows) == 0:
	case s.Missing > 0:
		s.Of = RanksMissing
	case incomplete:
		s.Of = IncompleteSteps
	case v.Windows[0].Main.BelowFloor():
		s.Of = TooShort
	}
	return s
}

// spoilt returns the first defect of a recording of [spoiling] that prevents any finding.
func (v *RunVerdict) spoilt(s *Shortage) bool {
	for _, c := range spoiling {
		if text := problemText(v.Problems, c.problem); text != "" {
			s.Of, s.Says = c.lacks, text
			return true
		}
	}
	return false
}

// problemText returns what a reader says of a problem of that kind, "" where there is none.
func problemText(problems []answer.Problem, kind answer.ProblemKind) string {
	i := slices.IndexFunc(problems, func(p answer.Problem) bool { return p.Problem == kind })
	if i < 0 {
		return ""
	}
	return problems[i].Text
}

// openQuestion returns the question that leaves the run undecided: by default, where its ranks synchronise.
func (v *RunVerdict) openQuestion() answer.Undecided {
	hidden, ok := v.LargestHidden()
	for _, q := range []answer.Question{answer.RanksNotRecorded, answer.ClockOrDelay, answer.RolesMixed, answer.MessagesNotRecorded} {
		i := slices.IndexFunc(v.Undecided, func(u answer.Undecided) bool { return u.Question == q && u.Hides > 0 })
		first := q == answer.RanksNotRecorded || q == answer.RolesMixed // before any stage
		if i >= 0 && (first || !ok) {
			return v.Undecided[i]
		}
	}
	if ok {
		return hidden
	}
	return answer.Undecided{Question: answer.SyncPointUnknown}
}
