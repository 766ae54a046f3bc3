package live

import (
	"errors"
	"maps"
	"slices"

	"github.com/sfstat/sfstat/archive/partitions"
	"github.com/sfstat/sfstat/ingest/auto/follow"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/recorded"
)

// Archiver keeps an archive up to date with what it follows. Make one with [NewArchiver].
type Archiver struct {
	watched[*archivedUnit]
	to *partitions.Archive
}

// NewArchiver returns an Archiver that has not looked yet.
func NewArchiver(o Options, to *partitions.Archive) *Archiver {
	return &Archiver{watched: watch[*archivedUnit](o), to: to}
}

// archivedUnit is what is kept of a unit. All that was read of it is in the archive,
// but for windows that are open, unless it failed.
type archivedUnit struct {
	changing
	tail   follow.Tail
	whole  bool // what is appended cannot be read alone
	failed bool // read it from its beginning
	open   int  // windows that are not archived yet: some ranks have not written them
}

// Which windows of a look are archived.
type Which uint8

const (
	Settled Which = iota // those that all ranks have written, or that others follow
	All
)

// errJoined: a unit has a run of another; they are read together from now on.
var errJoined = errors.New("two units have one run")

// Update archives what is there, and returns how many windows were written.
func (f *Archiver) Update() (n int, err error) {
	to := adding{f: f}
	err = f.readWindows(nil, to.add)
	n, failed := f.to.Flush()
	return n, errors.Join(err, to.err(), failed)
}

// Look archives what is new, and returns how many windows were written. A unit or run that
// cannot be archived leaves the others alone.
func (f *Archiver) Look(which Which) (n int, err error) {
	var failures []error
	for again := true; again; {
		again = false
		units, _ := f.look()
		for _, now := range units {
			if !f.due(now, which) {
				continue
			}
			u := f.units[now.Key]
			written, joined, err := f.archiveUnit(u, now, which)
			n, again = n+written, again || joined
			if err != nil {
				u.failed = true
				failures = append(failures, err)
			}
		}
	}
	for _, p := range f.files.Refused {
		failures = append(failures, p.Err)
	}
	f.to.Forget(func(run string) bool {
		u := f.units[f.of[run]]
		return u == nil || u.still > quietLooks
	})
	return n, errors.Join(failures...)
}

// archiveUnit archives what is new of a unit, and returns how many windows were written, and whether
// it is read together with another from now on. A panic is an error of the unit.
func (f *Archiver) archiveUnit(u *archivedUnit, now *follow.Unit, which Which) (n int, joined bool, err error) {
	defer bug.Contain(now.Files[0].Path, &err)
	if err = f.archive(u, now, which); errors.Is(err, errJoined) {
		joined, err = true, nil
	}
	n, unwritten := f.to.Flush() // before what was read of it counts as archived
	return n, joined, errors.Join(err, unwritten)
}

// due reports whether a unit is to be read: it has changed, or has been still for long
// and has windows that are not archived. A new one that may be half written waits for a look.
func (f *Archiver) due(now *follow.Unit, which Which) bool {
	u := f.units[now.Key]
	if u == nil {
		u = &archivedUnit{changing: changing{seen: now}}
		f.units[now.Key] = u
		return now.Plain() || which == All
	}
	switch {
	case u.due(now):
		return true
	case which == All:
		return u.open > 0 || u.failed || !now.IsUnchanged(u.read)
	}
	return u.still == quietLooks && (u.open > 0 || u.failed)
}

// archive adds what is new of a unit to the archive. Where its files have been still
// for long, that is all of it.
func (f *Archiver) archive(u *archivedUnit, now *follow.Unit, which Which) error {
	if u.read != nil && now.IsUnchanged(u.read) {
		which = All
	}
	goesOn := u.read != nil && now.HasGrown(u.read) && !u.failed
	if !goesOn {
		f.release(now.Key)
		u.tail, u.whole, u.failed = follow.Tail{}, !now.Plain(), false
	}
	u.readAs(now)
	to := adding{f: f, key: now.Key}
	for !u.whole && !to.joined {
		if f.addAppended(u, now, which, to.add) == nil {
			return to.err()
		}
		u.whole, u.tail, goesOn = !goesOn, follow.Tail{}, false // from the beginning, and then as a whole
	}
	var err error
	if !to.joined {
		err = f.wholly(u, now, which, to.add)
	}
	if to.joined {
		return errJoined
	}
	return errors.Join(err, to.err())
}

// adding is windows of a unit on their way into the archive.
type adding struct {
	f       *Archiver
	key     string           // "": of all that is there
	refused map[string]error // by run
	joined  bool             // a run is another unit's
}

func (a *adding) add(w *trace.Window) error {
	if a.key != "" && a.f.claim(a.key, w.Run) {
		a.joined = true
		return errJoined
	}
	if a.refused[w.Run] != nil {
		return nil
	}
	if err := a.f.to.Add(w); err != nil {
		if a.refused == nil {
			a.refused = make(map[string]error)
		}
		a.refused[w.Run] = err
	}
	return nil
}

// err returns why windows were refused.
func (a *adding) err() error {
	var all []error
	for _, run := range slices.Sorted(maps.Keys(a.refused)) {
		all = append(all, a.refused[run])
	}
	return errors.Join(all...)
}

// addAppended adds what was appended to packets.
func (f *Archiver) addAppended(u *archivedUnit, now *follow.Unit, which Which, add func(*trace.Window) error) error {
	if err := f.o.windows(u.tail.Read, now, add); err != nil {
		return err
	}
	if u.open = u.tail.Open; u.open == 0 || which == Settled {
		return nil
	}
	u.open = 0
	return f.o.windows(u.tail.Rest, now, add)
}

// wholly adds the windows of a unit from its beginning.
func (f *Archiver) wholly(u *archivedUnit, now *follow.Unit, which Which, add func(*trace.Window) error) error {
	open := make(map[string]*trace.Window) // the last of each run, if ranks are missing
	err := f.readWindows(now, func(w *trace.Window) error {
		if last := open[w.Run]; last != nil {
			if err := add(last); err != nil {
				return err
			}
		}
		if delete(open, w.Run); which == Settled && len(w.Missing()) > 0 {
			open[w.Run] = w
			return nil
		}
		return add(w)
	})
	u.open = len(open)
	return err
}

// readWindows hands on the windows of a unit, or of all that is there.
func (f *Archiver) readWindows(u *follow.Unit, each func(*trace.Window) error) error {
	_, err := f.o.Read(u, func(_ recorded.Job, r trace.Recording) error {
		if w, ok := r.(*trace.Window); ok {
			return each(w)
		}
		return nil
	})
	return err
}
