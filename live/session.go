package live

import (
	"maps"
	"slices"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/ingest/auto/follow"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/recorded"
)

const (
	// recentSteps bounds what a verdict is on of a run that is followed (diagnose.Options.Recent).
	recentSteps = 8192
	// betweenMarks is how many windows, counted once for each of their ranks, are read from one mark
	// to the next.
	betweenMarks = 512
	// mostLive is of how many windows, counted likewise, the accounts
	// are kept: those of runs that grew last, and in any case of the last.
	mostLive = 160_000
	// longUnit is from which size on, bytes, packets are followed from the first look on, so that what is kept
	// of them stays small.
	longUnit = 16 << 20
)

// beginning is where the windows of a verdict begin that is not on all of a run.
type beginning struct {
	step    int64 // as recorded
	earlier *diagnose.Earlier
}

// session judges a unit that grows.
type session struct {
	of    *diagnose.Session
	tail  follow.Tail
	read  map[string]int64 // the last step, by run
	marks []bookmark       // one at or before the beginning of what is kept, if any is, and those after it
	since int              // windows since the last mark, counted once for each of their ranks
	kept  int              // the same of those that the session keeps
	used  int              // look
}

// bookmark is how far a unit was read once.
type bookmark struct {
	tail follow.Tail
	read map[string]int64
}

// judge judges a unit: what was appended to its packets, if that can be told.
func (f *Follower) judge(u *judgedUnit, now *follow.Unit) Change {
	goesOn := u.read != nil && now.HasGrown(u.read) && !now.IsUnchanged(u.read)
	u.still, u.restless = 0, 0
	if !goesOn && (u.read != nil || !now.Plain() || now.Size() < longUnit) {
		return f.readWhole(u, now)
	}
	if u.session == nil {
		u.session = &session{of: f.newSession(now), read: map[string]int64{}}
	}
	if f.takeAppended(u.session, now) != nil {
		return f.readWhole(u, now)
	}
	var in Inputs
	x := Change{Key: now.Key}
	x.Verdict = verdict(u.session.of, &in)
	x.Inputs = in
	if len(in.Problems) > len(u.Problems) {
		x.Refused = in.Problems
	}
	u.read, u.seen, u.Inputs = now, now, in
	u.begin(x.Verdict)
	f.dropOldest(u)
	return x
}

// takeAppended takes what was appended to packets to the session.
func (f *Follower) takeAppended(s *session, now *follow.Unit) error {
	err := f.o.windows(s.tail.Read, now, func(w *trace.Window) error {
		s.read[w.Run] = lastStep(w)
		s.since += len(w.Ranks)
		f.see(windowPiece(w))
		return s.of.Add(w)
	})
	if s.since >= betweenMarks {
		s.marks, s.since = append(s.marks, bookmark{s.tail.Clone(), maps.Clone(s.read)}), 0
	}
	return err
}

// windowPiece returns the piece of a job that is one window.
func windowPiece(w *trace.Window) recorded.Job { return recorded.Job{Windows: []*trace.Window{w}} }

func lastStep(w *trace.Window) int64 { return w.StepAt(w.Steps() - 1) }

// begin notes where what a verdict is on begins, and drops the marks before that which are
// of no use.
func (u *judgedUnit) begin(v *diagnose.Verdict) {
	u.begins = nil
	kept := 0
	for i := range v.Runs {
		r := &v.Runs[i]
		for k := range r.Windows {
			kept += len(r.Windows[k].Main.Ranks)
		}
		if r.Earlier == nil || len(r.Windows) == 0 {
			continue
		}
		if u.begins == nil {
			u.begins = make(map[string]beginning)
		}
		u.begins[r.Run] = beginning{r.Windows[0].Main.FirstStep, r.Earlier}
	}
	if s := u.session; s != nil {
		s.kept = kept
		for len(s.marks) > 1 && u.precedes(&s.marks[1]) {
			s.marks = slices.Delete(s.marks, 0, 1)
		}
	}
}

// precedes reports whether a mark is before all that verdicts are on.
func (u *judgedUnit) precedes(m *bookmark) bool {
	for run, last := range m.read {
		if at, ok := u.begins[run]; !ok || last >= at.step {
			return false
		}
	}
	return true
}

// again reads what the verdict on a unit is on.
func (f *Follower) again(u *judgedUnit, each Each) (Inputs, error) {
	recent := func(j recorded.Job, r trace.Recording) error {
		if w, is := r.(*trace.Window); is && lastStep(w) < u.begins[w.Run].step {
			return nil
		}
		return each(j, r)
	}
	if s := u.session; u.begins != nil && s != nil && len(s.marks) > 0 && u.precedes(&s.marks[0]) {
		tail := s.marks[0].tail.Clone()
		err := f.o.windows(tail.Read, u.read, func(w *trace.Window) error { return recent(windowPiece(w), w) })
		return Inputs{}, err
	}
	return f.o.Read(u.read, recent)
}

// dropOldest drops the sessions that were used longest ago where they keep too much. That of
// the unit that was judged last stays: to read it anew would take as much.
func (f *Follower) dropOldest(last *judgedUnit) {
	last.session.used = f.looks
	for {
		total := 0
		var oldest *judgedUnit
		for _, u := range f.units {
			if u.session == nil {
				continue
			}
			total += u.session.kept
			if u != last && (oldest == nil || u.session.used < oldest.session.used) {
				oldest = u
			}
		}
		if total <= mostLive || oldest == nil {
			return
		}
		oldest.session = nil
	}
}
