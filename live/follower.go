package live

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/auto/follow"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/recorded"
)

// Follower judges runs. Make one with [New].
type Follower struct {
	watched[*judgedUnit]
	looks int
	mu    sync.Mutex // of what is watched
}

// New returns a Follower that has not looked yet.
func New(o Options) *Follower { return &Follower{watched: watch[*judgedUnit](o)} }

// judgedUnit is what is kept of a unit.
type judgedUnit struct {
	changing
	session *session
	begins  map[string]beginning // of what its verdict is on, by run; those of all windows have none
	unread  bool                 // something of it could not be read, which may have passed by now
	Inputs
}

// Judgement is a verdict, and what was read for it.
type Judgement struct {
	Verdict *diagnose.Verdict
	Inputs
}

// Change is a unit that was judged.
type Change struct {
	Key       string
	Judgement                  // without a verdict where Err is set or Gone
	Refused   []report.Problem // by the lines appended, beside earlier ones; nil if none is new. Runs that fail are among them
	Err       error            // why it cannot be judged
	Gone      bool             // it is there no more
	Done, All int              // units of this look, this one included
}

// errIdle ends Follow where nothing has happened for long.
var errIdle = errors.New("idle")

// Follow looks every so often until that fails, the context ends or, unless idle is 0,
// nothing happens for so long.
func (f *Follower) Follow(ctx context.Context, every, idle time.Duration, each func(Change) error) error {
	quiet := stillness{clock: disk.Or(f.o.Disk)}
	err := f.Every(ctx, every, func() error {
		before := len(f.units)
		n, err := f.Look(ctx, each)
		switch {
		case err != nil:
			return err
		case n > 0 || f.hasUnsettled() || len(f.units) != before:
			quiet.begin()
		case idle > 0 && quiet.look(f.files.Pause(every)) >= idle:
			return errIdle
		}
		return nil
	})
	if errors.Is(err, errIdle) {
		return f.finish(each)
	}
	return err
}

// stillness measures for how long nothing has happened, by looks, whatever is done to the clock meanwhile.
type stillness struct {
	clock disk.Disk
	last  time.Time // of the last look; zero: there was none
	sum   time.Duration
}

// mostPauses is how many pauses may seem to lie between two looks, of which each takes its time too.
const mostPauses = 4

func (s *stillness) begin() { s.last, s.sum = s.clock.Now(), 0 }

// look returns for how long nothing has happened, where looks have pauses of such a length between them.
func (s *stillness) look(pause time.Duration) time.Duration {
	now := s.clock.Now()
	if !s.last.IsZero() {
		s.sum += min(max(now.Sub(s.last), pause), mostPauses*pause)
	}
	s.last = now
	return s.sum
}

// hasUnsettled reports whether something has changed that waits for the next look.
func (f *Follower) hasUnsettled() bool {
	for _, u := range f.units {
		if u.restless > 0 {
			return true
		}
	}
	return false
}

// finish judges the windows that some ranks have not written as they are.
func (f *Follower) finish(each func(Change) error) error {
	for _, key := range slices.Sorted(maps.Keys(f.units)) {
		if u := f.units[key]; u.session != nil && u.session.tail.Open > 0 {
			if err := each(u.containPanic(u.read, f.readWhole)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Look judges what has changed and hands it to each, as what is gone. It returns how many
// units that were.
func (f *Follower) Look(ctx context.Context, each func(Change) error) (n int, err error) {
	f.looks++
	for again := true; again; {
		due, gone, err := f.sift(each)
		n += gone
		if err != nil {
			return n, err
		}
		again = false
		for i, now := range due {
			if ctx.Err() != nil {
				return n, ctx.Err()
			}
			n++
			joined, err := f.judgeUnit(now, func(x Change) error {
				x.Done, x.All = i+1, len(due)
				return each(x)
			})
			if err != nil {
				return n, err
			}
			again = again || joined
		}
	}
	return n, nil
}

// sift lists the units to judge.
func (f *Follower) sift(each func(Change) error) (due []*follow.Unit, gone int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	units, keys := f.look()
	for _, key := range keys {
		gone++
		if err := each(Change{Key: key, Gone: true}); err != nil {
			return nil, gone, err
		}
	}
	return slices.DeleteFunc(units, func(u *follow.Unit) bool { return !f.due(u) }), gone, nil
}

// judgeUnit judges a unit and hands it on, unless another has one of its runs: then they are
// joined, and judged together at once.
func (f *Follower) judgeUnit(now *follow.Unit, each func(Change) error) (joined bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	x := f.units[now.Key].containPanic(now, f.judge)
	if x.Verdict != nil {
		f.release(now.Key)
		for i := range x.Verdict.Runs {
			joined = f.claim(now.Key, x.Verdict.Runs[i].Run) || joined
		}
	}
	if joined {
		return true, nil
	}
	return false, each(x)
}

// containPanic judges a unit. A panic is an error of the unit.
func (u *judgedUnit) containPanic(now *follow.Unit, judge func(*judgedUnit, *follow.Unit) Change) (x Change) {
	if err := bug.Guard(now.Files[0].Path, func() { x = judge(u, now) }); err != nil {
		u.session = nil
		return u.refuse(now, err)
	}
	return x
}

// due reports whether a unit is to be judged: it is new or has changed, has been still
// for long and has windows that some ranks have not written, or could not be read 1, 2, 4, 8 … looks ago.
func (f *Follower) due(now *follow.Unit) bool {
	u := f.units[now.Key]
	if u == nil {
		f.units[now.Key] = &judgedUnit{}
		return true
	}
	return u.due(now) || u.session != nil && u.session.tail.Open > 0 && u.still == quietLooks || u.unread && u.still > 0 && u.still&(u.still-1) == 0
}

// readWhole reads a unit from its beginning.
func (f *Follower) readWhole(u *judgedUnit, now *follow.Unit) Change {
	u.session, u.begins, u.read, u.seen = nil, nil, now, now
	s := f.newSession(now)
	in, err := f.o.Read(now, func(j recorded.Job, r trace.Recording) error {
		f.see(j)
		return s.Add(r)
	})
	if err != nil {
		return u.refuse(now, err)
	}
	refused := len(in.Problems)
	x := Change{Key: now.Key}
	x.Verdict = verdict(s, &in)
	u.Inputs, x.Inputs, x.Refused = in, in, in.Problems[refused:]
	u.unread = slices.ContainsFunc(in.Problems, func(p report.Problem) bool { return ingest.Fails(p.Err) })
	u.begin(x.Verdict)
	return x
}

// verdict judges what a session has. Runs that fail are problems.
func verdict(s *diagnose.Session, in *Inputs) *diagnose.Verdict {
	v, failed := s.Judge()
	for _, b := range failed {
		in.Problems = append(in.Problems, report.Problem{Path: b.Where, Err: b})
	}
	return v
}

// refuse notes that a unit cannot be judged.
func (u *judgedUnit) refuse(now *follow.Unit, err error) Change {
	u.read, u.seen, u.unread = now, now, ingest.Fails(err)
	u.Inputs = Inputs{Problems: []report.Problem{{Path: now.Files[0].Path, Err: err}}}
	return Change{Key: now.Key, Err: err}
}

func (f *Follower) see(j recorded.Job) {
	if f.o.See != nil {
		f.o.See(j)
	}
}

// newSession returns what judges a unit.
func (f *Follower) newSession(u *follow.Unit) *diagnose.Session {
	o := f.o.Diagnosis
	o.GoesOn = true
	if u.Plain() {
		o.Recent = recentSteps
	}
	if f.o.Light && !u.Joined {
		o.Brief = true
	}
	return diagnose.New(o)
}

// Inputs returns the inputs of all units.
func (f *Follower) Inputs() (all Inputs) {
	for _, u := range f.units {
		all.Read = append(all.Read, u.Read...)
		all.Problems = append(all.Problems, u.Problems...)
	}
	slices.SortStableFunc(all.Problems, func(a, b report.Problem) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// DoIdle calls do when no unit is being judged.
func (f *Follower) DoIdle(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

// Anew reads again what the verdict on a run is on, and judges it with all engines. What
// is read of the run goes to see too.
func (f *Follower) Anew(ctx context.Context, run string, see func(trace.Recording) error) (*Judgement, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	u := f.units[f.of[run]]
	if u == nil || u.read == nil {
		return nil, errors.New("its files are being read")
	}
	o := f.o.Diagnosis
	o.GoesOn = true
	s := diagnose.New(o)
	in, err := f.again(u, func(j recorded.Job, r trace.Recording) error {
		if j.Readings == nil && r.RunName() != run {
			return ctx.Err()
		}
		if err := s.Add(r); err != nil {
			return err
		}
		return errors.Join(see(r), ctx.Err())
	})
	v, failed := s.Judge()
	if len(failed) > 0 && err == nil {
		err = failed[0]
	}
	v.Earlier = u.begins[run].earlier
	for i := range v.Runs {
		v.Runs[i].Earlier = v.Earlier
	}
	return &Judgement{v, in}, err
}
