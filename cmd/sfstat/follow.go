package main

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/ingest/auto/follow"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace"
)

// following is a command that judges runs while they are recorded: at each look those
// units of its files that have changed, and of packets that have grown what was
// appended alone.
type following struct {
	p     *program
	c     *cli.Context
	o     diagnose.Options
	names []string
	rank  *regexp.Regexp
	files *follow.Files
	units map[string]*followedUnit // by key
	of    map[string]string        // keys, by run
	looks int
	// light leaves out what no finding rests on, where a unit has stage times alone.
	light bool
	mu    sync.Mutex // of units and of
	// see looks at what is read for a verdict; nil: nobody does.
	see func(auto.Item)
}

// followedUnit is what is kept of a unit.
type followedUnit struct {
	changing
	live   *live
	runs   []string
	begins map[string]beginning // of what its verdict is on, by run; those of all windows have none
	inputs
}

// changing is how a unit changes from look to look.
type changing struct {
	judged   *follow.Unit // as it was judged last; nil: judge it whatever it is
	seen     *follow.Unit // as it was at the last look
	restless int          // looks in a row at which it was another, and not judged
	still    int          // looks in a row at which it was as it was judged
}

// due reports whether a unit is to be judged: it was not, or is another and has been still
// for a look, or has grown by packets.
func (u *changing) due(now *follow.Unit) bool {
	defer func() { u.seen = now }()
	switch {
	case u.judged == nil || now.Grown(u.judged) && !now.Same(u.judged):
	case now.Same(u.judged):
		u.restless = 0
		u.still++
		return false
	case !now.Same(u.seen) && u.restless < mostRestless:
		u.restless++
		return false
	}
	return true
}

// judgedAs notes that a unit is judged as it is now.
func (u *changing) judgedAs(now *follow.Unit) { *u = changing{judged: now, seen: now} }

// beginning is where the windows of a verdict begin that is not on all of a run.
type beginning struct {
	step    int64 // as recorded
	earlier []diagnose.Stretch
}

// live is the session of a unit that grows.
type live struct {
	s     *diagnose.Session
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

const (
	// mostRestless is how many looks in a row may find changes before what is there is
	// judged nevertheless.
	mostRestless = 5
	// quietLooks is after how many looks without a change windows count as complete that some ranks have not written.
	quietLooks = 10
	// recentWindows bounds what a verdict is on of a run that is followed (diagnose.Options.Recent).
	recentWindows = 2048
	// betweenMarks is how many windows, counted likewise, are read from one mark to the next.
	betweenMarks = recentWindows / 4
	// mostLive is of how many windows, counted likewise, the accounts
	// are kept: those of runs that grew last, and in any case of the last.
	mostLive = 160_000
	// longUnit is from which size on, bytes, packets are followed from the first look on, so that what is kept
	// of them stays small.
	longUnit = 16 << 20
)

// change is a unit that was judged.
type change struct {
	key string
	*judgement
	err       error // why it cannot be; the verdict is nil
	gone      bool  // it is there no more
	done, all int   // units of this look, this one included
}

// newFollowing reads the flags that decide on verdicts.
func (p *program) newFollowing(c *cli.Context) (*following, error) {
	names, err := paths(c)
	if err != nil {
		return nil, err
	}
	f := &following{p: p, c: c, names: names, files: follow.New(names), units: make(map[string]*followedUnit), of: make(map[string]string)}
	if f.rank, err = rankPattern(c); err != nil {
		return nil, err
	}
	if _, err := newChooser(c); err != nil {
		return nil, err
	}
	f.o, err = p.diagnosis(c)
	return f, err
}

// follow looks every so often until that fails, the context ends or, unless idle is 0,
// nothing happens for so long.
func (f *following) follow(ctx context.Context, every, idle time.Duration, each func(change) error) error {
	for changed := time.Now(); ; {
		before := len(f.units)
		n, err := f.look(ctx, each)
		switch {
		case err != nil:
			return err
		case n > 0 || f.unsettled() || len(f.units) != before:
			changed = time.Now()
		case idle > 0 && time.Since(changed) >= idle:
			return f.finish(each)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(every):
		}
	}
}

// unsettled reports whether something has changed that waits for the next look.
func (f *following) unsettled() bool {
	for _, u := range f.units {
		if u.restless > 0 {
			return true
		}
	}
	return false
}

// finish judges the windows that some ranks have not written as they are.
func (f *following) finish(each func(change) error) error {
	for _, key := range slices.Sorted(maps.Keys(f.units)) {
		if u := f.units[key]; u.live != nil && u.live.tail.Open > 0 {
			if err := each(f.whole(u, u.judged)); err != nil {
				return err
			}
		}
	}
	return nil
}

// look judges what has changed and hands it to each, as what is gone. It returns how many
// units that were.
func (f *following) look(ctx context.Context, each func(change) error) (n int, err error) {
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
			joined, err := f.one(now, func(x change) error {
				x.done, x.all = i+1, len(due)
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
func (f *following) sift(each func(change) error) (due []*follow.Unit, gone int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	units := f.files.Look()
	if gone, err = f.drop(units, each); err != nil {
		return nil, gone, err
	}
	return slices.DeleteFunc(units, func(u *follow.Unit) bool { return !f.due(u) }), gone, nil
}

// one judges a unit and hands it on, unless another has one of its runs: then they are
// joined, and judged together at once.
func (f *following) one(now *follow.Unit, each func(change) error) (joined bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	x := f.judge(f.units[now.Key], now)
	if f.claim(&x) {
		return true, nil
	}
	return false, each(x)
}

// drop forgets units that are not there any more.
func (f *following) drop(now []*follow.Unit, each func(change) error) (n int, err error) {
	there := make(map[string]bool, len(now))
	for _, u := range now {
		there[u.Key] = true
	}
	for key, u := range f.units {
		if there[key] {
			continue
		}
		n++
		f.release(key, u)
		delete(f.units, key)
		if err := each(change{key: key, gone: true}); err != nil {
			return n, err
		}
	}
	return n, nil
}

// due reports whether a unit is to be judged: it is new or has changed, or has been still
// for long and has windows that some ranks have not written.
func (f *following) due(now *follow.Unit) bool {
	u := f.units[now.Key]
	if u == nil {
		f.units[now.Key] = &followedUnit{}
		return true
	}
	return u.due(now) || u.live != nil && u.live.tail.Open > 0 && u.still == quietLooks
}

// claim notes whose the runs of a unit are. It reports whether another has one of them: then the two are joined.
func (f *following) claim(x *change) (joined bool) {
	if x.judgement == nil {
		return false
	}
	u := f.units[x.key]
	f.release(x.key, u)
	for i := range x.verdict.Runs {
		name := x.verdict.Runs[i].Run
		if other, taken := f.of[name]; taken && f.units[other] != nil {
			f.files.Join(other, x.key)
			f.units[other].judged, u.judged, joined = nil, nil, true
			continue
		}
		f.of[name] = x.key
		u.runs = append(u.runs, name)
	}
	return joined
}

func (f *following) release(key string, u *followedUnit) {
	for _, name := range u.runs {
		if f.of[name] == key {
			delete(f.of, name)
		}
	}
	u.runs = nil
}

// judge judges a unit: what was appended to its packets, if that can be told.
func (f *following) judge(u *followedUnit, now *follow.Unit) change {
	goesOn := u.judged != nil && now.Grown(u.judged) && !now.Same(u.judged)
	u.still, u.restless = 0, 0
	if !goesOn && (u.judged != nil || !now.Plain() || now.Size() < longUnit) {
		return f.whole(u, now)
	}
	if u.live == nil {
		u.live = &live{s: f.session(now), tail: follow.Tail{Tolerant: !f.c.Bool("strict")}, read: map[string]int64{}}
	}
	in, err := f.appended(u.live, now)
	if err != nil && len(now.Files) == 1 && len(in.problems) == 1 {
		u.live.s, u.live.marks = f.session(now), nil // nothing comes to it any more
		return u.refuse(now, badInput(err))
	}
	if err != nil {
		return f.whole(u, now)
	}
	if len(in.problems) > len(u.problems) {
		f.sayRefused(in)
	}
	u.judged, u.seen, u.inputs = now, now, in
	verdict := u.live.s.Verdict()
	u.begin(verdict)
	f.bound(u)
	return change{key: now.Key, judgement: &judgement{in, verdict}}
}

// appended takes what was appended to packets to the session.
func (f *following) appended(l *live, now *follow.Unit) (inputs, error) {
	err := f.tail(&l.tail, now, func(item auto.Item) error {
		w := item.Window
		l.read[w.Run] = lastStep(w)
		l.since += len(w.Ranks)
		if f.see != nil {
			f.see(item)
		}
		return l.s.Add(w)
	})
	if l.since >= betweenMarks {
		l.marks, l.since = append(l.marks, bookmark{l.tail.Clone(), maps.Clone(l.read)}), 0
	}
	return appendedTo(now, &l.tail), err
}

func lastStep(w *trace.Window) int64 { return w.FirstStep + int64(w.Steps()) - 1 }

// appendedTo is what is read of a unit of packets.
func appendedTo(u *follow.Unit, t *follow.Tail) (in inputs) {
	for _, path := range u.Paths() {
		in.read = append(in.read, auto.Input{Path: path, Format: auto.Packets})
	}
	for _, p := range t.Problems() {
		in.problems = append(in.problems, report.Problem{Path: p.Path, Err: p.Err})
	}
	return in
}

// tail hands on the windows that come into packets, as far as flags ask for them.
func (f *following) tail(t *follow.Tail, u *follow.Unit, each func(auto.Item) error) error {
	choose, err := newChooser(f.c)
	if err != nil {
		return err
	}
	return t.Read(u, func(w *trace.Window) error {
		if item, ok := choose.of(labelled(u, w)); ok {
			return each(item)
		}
		return nil
	})
}

// labelled is a window of packets under the name that tells its run from others.
func labelled(u *follow.Unit, w *trace.Window) auto.Item {
	if u.Label != "" {
		w.Run = u.Label + "/" + w.Run
	}
	return auto.Item{Window: w}
}

// begin notes where what a verdict is on begins, and drops the marks before that which are
// of no use.
func (u *followedUnit) begin(v *diagnose.Verdict) {
	u.begins = nil
	kept := 0
	for i := range v.Runs {
		r := &v.Runs[i]
		for k := range r.Windows {
			kept += len(r.Windows[k].Main.Ranks)
		}
		if len(r.Earlier) == 0 || len(r.Windows) == 0 {
			continue
		}
		if u.begins == nil {
			u.begins = make(map[string]beginning)
		}
		u.begins[r.Run] = beginning{r.Windows[0].Main.FirstStep, r.Earlier}
	}
	if l := u.live; l != nil {
		l.kept = kept
		for len(l.marks) > 1 && u.precedes(&l.marks[1]) {
			l.marks = slices.Delete(l.marks, 0, 1)
		}
	}
}

// precedes reports whether a mark is before all that verdicts are on.
func (u *followedUnit) precedes(m *bookmark) bool {
	for run, last := range m.read {
		if at, ok := u.begins[run]; !ok || last >= at.step {
			return false
		}
	}
	return true
}

// again reads what the verdict on a unit is on.
func (f *following) again(u *followedUnit, each func(auto.Item) error) (inputs, error) {
	recent := func(item auto.Item) error {
		if w := item.Window; w != nil && lastStep(w) < u.begins[w.Run].step {
			return nil
		}
		return each(item)
	}
	switch {
	case u.begins == nil:
		return f.read(u.judged, each)
	case u.live != nil && len(u.live.marks) > 0 && u.precedes(&u.live.marks[0]):
		tail := u.live.marks[0].tail.Clone()
		err := f.tail(&tail, u.judged, recent)
		return appendedTo(u.judged, &tail), err
	}
	return f.read(u.judged, recent)
}

// bound drops the sessions that were used longest ago where they keep too much. That of
// the unit that was judged last stays: to read it anew would take as much.
func (f *following) bound(last *followedUnit) {
	last.live.used = f.looks
	for {
		total := 0
		var oldest *followedUnit
		for _, u := range f.units {
			if u.live == nil {
				continue
			}
			total += u.live.kept
			if u != last && (oldest == nil || u.live.used < oldest.live.used) {
				oldest = u
			}
		}
		if total <= mostLive || oldest == nil {
			return
		}
		oldest.live = nil
	}
}

// whole reads a unit from its beginning.
func (f *following) whole(u *followedUnit, now *follow.Unit) change {
	u.live, u.begins, u.judged, u.seen = nil, nil, now, now
	f.p.outputs.forget()
	s := f.session(now)
	in, err := f.read(now, func(item auto.Item) error {
		for _, r := range item.Recordings() {
			if err := s.Add(r); err != nil {
				return ofRecording(r, item, err)
			}
		}
		if f.see != nil {
			f.see(item)
		}
		return nil
	})
	if err != nil {
		return u.refuse(now, err)
	}
	f.sayRefused(in)
	u.inputs = in
	x := change{key: now.Key, judgement: &judgement{in, s.Verdict()}}
	u.begin(x.verdict)
	return x
}

// refuse notes that a unit cannot be judged.
func (u *followedUnit) refuse(now *follow.Unit, err error) change {
	u.judged, u.seen = now, now
	u.inputs = inputs{problems: []report.Problem{{Path: now.Files[0].Path, Err: err}}}
	return change{key: now.Key, err: err}
}

// sayRefused says which inputs are not read to their end.
func (f *following) sayRefused(in inputs) {
	for _, line := range refusals(in.problems) {
		f.p.say("%s: %s", prefix(f.c.Command.Name), line)
	}
}

// read reads a unit.
func (f *following) read(u *follow.Unit, each func(auto.Item) error) (inputs, error) {
	return f.p.readAs(f.c, reading{names: f.names, want: auto.ForVerdict, rank: f.rank, unit: u}, each)
}

// problems are those of all units.
func (f *following) problems() []report.Problem {
	var out []report.Problem
	var read []auto.Input
	for _, p := range f.files.Refused {
		out = append(out, report.Problem{Path: p.Path, Err: p.Err})
	}
	for _, u := range f.units {
		out = append(out, u.problems...)
		read = append(read, u.read...)
	}
	slices.SortStableFunc(out, func(a, b report.Problem) int { return strings.Compare(a.Path, b.Path) })
	return append(out, passedOver(f.names, read)...)
}

// session judges a unit.
func (f *following) session(u *follow.Unit) *diagnose.Session {
	o := f.o
	if u.Plain() {
		o.Recent = recentWindows
	}
	if f.light && !u.Joined {
		o.Engines = diagnose.FindingsAlone
	}
	return diagnose.New(o)
}
