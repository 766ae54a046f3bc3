package main

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/archive/partitions"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/ingest/auto/follow"
	"github.com/sfstat/sfstat/trace"
)

// followFlags are for an archive that grows with running jobs.
func followFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "follow", Category: forInput, Usage: "follow running jobs: keep the folder -o an archive, partitioned by day and run, of all windows that are there and that come, until interrupted"},
		&cli.DurationFlag{Name: "every", Value: 10 * time.Second, Category: forInput, Usage: "with --follow, poll every `DURATION`"},
		&cli.BoolFlag{Name: "once", Category: forInput, Usage: "with --follow, bring the archive up to date and end"},
	}
}

func (p *program) convertFollowing(c *cli.Context, out string) error {
	names, err := paths(c)
	switch {
	case err != nil:
		return err
	case slices.Contains(names, ingest.Stdin):
		return badUsage("--follow is for files and folders, not standard input")
	case c.Duration("every") < 10*time.Millisecond:
		return badUsage("--every is %v, expected 10ms or more", c.Duration("every"))
	case out == ingest.Stdin || c.Bool("in-place"):
		return badUsage("--follow writes a folder of archives: give -o DIR/")
	case c.String("to") != "" && c.String("to") != containers[parquet].name:
		return badUsage("--follow writes Parquet, not %s", c.String("to"))
	}
	if name := overlapping(out, names); name != "" {
		return badUsage("-o %s lies in %s, which is followed, or the other way round: name a folder beside it", out, name)
	}
	a, err := partitions.Open(out)
	if err != nil {
		return badInput(err)
	}
	defer a.Close()
	f := newArchiving(p, c, names, a)
	p.windsDown.Store(true)
	if c.Bool("once") {
		return f.once()
	}
	p.err = &once{w: p.err, seen: map[string]bool{}}
	return f.follow()
}

// overlapping is the first of paths that lies in a folder, or that it lies in.
func overlapping(folder string, paths []string) string {
	within := func(a, b string) bool {
		rel, err := filepath.Rel(b, a)
		return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
	}
	real := func(path string) string {
		if abs, err := filepath.Abs(path); err == nil {
			path = abs
		}
		if link, err := filepath.EvalSymlinks(path); err == nil {
			path = link
		}
		return path
	}
	for _, path := range paths {
		if within(real(folder), real(path)) || within(real(path), real(folder)) {
			return path
		}
	}
	return ""
}

// archiving is a command that keeps an archive up to date with what it follows: at each
// look it reads those units of its files that have changed, and of packets that have
// grown what was appended alone.
type archiving struct {
	p       *program
	c       *cli.Context
	names   []string
	out     string
	to      *partitions.Archive
	files   *follow.Files
	units   map[string]*archivedUnit // by key
	of      map[string]string        // keys, by run
	written int
}

func newArchiving(p *program, c *cli.Context, names []string, to *partitions.Archive) *archiving {
	return &archiving{p: p, c: c, names: names, out: strings.TrimSuffix(c.String("output"), "/") + "/", to: to,
		files: follow.New(names), units: make(map[string]*archivedUnit), of: make(map[string]string)}
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

// which windows of a look are archived
type which uint8

const (
	settledWindows which = iota // those that all ranks have written, or that others follow
	allWindows
)

// errJoined: a unit has a run of another; they are read together from now on.
var errJoined = errors.New("two units have one run")

// once reads what is there and archives it.
func (f *archiving) once() error {
	to := adding{f: f}
	err := f.read(nil, to.add)
	n, failed := f.to.Flush()
	f.p.remark(f.c, "%s written to %s", counted(n, "window"), f.out)
	return badInput(errors.Join(err, to.err(), failed))
}

// follow looks until it is interrupted, and once more then. What cannot be read or
// written now may be the next time.
func (f *archiving) follow() error {
	ctx := f.c.Context
	for ctx.Err() == nil {
		if err := f.look(settledWindows); err != nil {
			f.p.remark(f.c, "%s: %s", prefix(f.c.Command.Name), oneLine(err))
		}
		select {
		case <-ctx.Done():
		case <-time.After(f.c.Duration("every")):
		}
	}
	if err := f.look(allWindows); err != nil {
		return &exitError{exitInterrupted, fmt.Errorf("interrupted, and not everything is written: %w", err)}
	}
	return &exitError{exitInterrupted, fmt.Errorf("interrupted: everything is written, %s since the beginning", counted(f.written, "window"))}
}

// look archives what is new. A unit or run that cannot be archived leaves the others alone.
func (f *archiving) look(which which) error {
	var failures []error
	n := 0
	for again := true; again; {
		again = false
		units := f.files.Look()
		f.drop(units)
		for _, now := range units {
			if !f.due(now, which) {
				continue
			}
			u := f.units[now.Key]
			err := f.archive(u, now, which)
			written, unwritten := f.to.Flush() // before what was read of it counts as archived
			n += written
			if errors.Is(err, errJoined) {
				again, err = true, nil
			}
			if err = errors.Join(err, unwritten); err != nil {
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
	if f.written += n; n > 0 {
		f.p.remark(f.c, "%s written to %s, %d since the beginning", counted(n, "window"), f.out, f.written)
	}
	return badInput(errors.Join(failures...))
}

// drop forgets units that are not there any more.
func (f *archiving) drop(now []*follow.Unit) {
	there := make(map[string]bool, len(now))
	for _, u := range now {
		there[u.Key] = true
	}
	maps.DeleteFunc(f.units, func(key string, _ *archivedUnit) bool { return !there[key] })
	maps.DeleteFunc(f.of, func(_, key string) bool { return f.units[key] == nil })
}

// due reports whether a unit is to be read: it has changed, or has been still for long
// and has windows that are not archived. A new one that may be half written waits for a look.
func (f *archiving) due(now *follow.Unit, which which) bool {
	u := f.units[now.Key]
	if u == nil {
		u = &archivedUnit{changing: changing{seen: now}}
		f.units[now.Key] = u
		return now.Plain() || which == allWindows
	}
	switch {
	case u.due(now):
		return true
	case which == allWindows:
		return u.open > 0 || u.failed || !now.Same(u.judged)
	}
	return u.still == quietLooks && (u.open > 0 || u.failed)
}

// archive adds what is new of a unit to the archive. Where its files have been still
// for long, that is all of it.
func (f *archiving) archive(u *archivedUnit, now *follow.Unit, which which) error {
	if u.judged != nil && now.Same(u.judged) {
		which = allWindows
	}
	goesOn := u.judged != nil && now.Grown(u.judged) && !u.failed
	if !goesOn {
		if u.judged != nil {
			maps.DeleteFunc(f.of, func(_, key string) bool { return key == now.Key })
		}
		u.tail, u.whole, u.failed = follow.Tail{}, !now.Plain(), false
	}
	u.judgedAs(now)
	to := adding{f: f, key: now.Key}
	for !u.whole && !to.joined {
		if f.appended(u, now, which, to.add) == nil {
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
	f       *archiving
	key     string
	refused map[string]error // by run
	joined  bool             // a run is another unit's
}

func (a *adding) add(w *trace.Window) error {
	if a.joined = a.f.claim(a.key, w.Run); a.joined {
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

// err is why windows were refused.
func (a *adding) err() error {
	var all []error
	for _, run := range slices.Sorted(maps.Keys(a.refused)) {
		all = append(all, a.refused[run])
	}
	return errors.Join(all...)
}

// claim notes whose a run is. It reports whether it is another's: then the two are
// joined, and read together from their beginnings.
func (f *archiving) claim(key, run string) (joined bool) {
	other, taken := f.of[run]
	if taken && other != key {
		f.files.Join(other, key)
		f.units[other].judged, f.units[key].judged = nil, nil
		return true
	}
	f.of[run] = key
	return false
}

// appended adds what was appended to packets.
func (f *archiving) appended(u *archivedUnit, now *follow.Unit, which which, add func(*trace.Window) error) error {
	choose, err := newChooser(f.c)
	if err != nil {
		return err
	}
	chosen := func(w *trace.Window) error {
		if item, ok := choose.of(labelled(now, w)); ok {
			return add(item.Window)
		}
		return nil
	}
	if err := u.tail.Read(now, chosen); err != nil {
		return err
	}
	if u.open = u.tail.Open; u.open == 0 || which == settledWindows {
		return nil
	}
	u.open = 0
	return u.tail.Rest(now, chosen)
}

// wholly adds the windows of a unit from its beginning.
func (f *archiving) wholly(u *archivedUnit, now *follow.Unit, which which, add func(*trace.Window) error) error {
	open := make(map[string]*trace.Window) // the last of each run, if ranks are missing
	err := f.read(now, func(w *trace.Window) error {
		if last := open[w.Run]; last != nil {
			if err := add(last); err != nil {
				return err
			}
		}
		if delete(open, w.Run); which == settledWindows && len(w.Missing()) > 0 {
			open[w.Run] = w
			return nil
		}
		return add(w)
	})
	u.open = len(open)
	return err
}

// read hands on the windows of a unit, or of all that is there.
func (f *archiving) read(unit *follow.Unit, each func(*trace.Window) error) error {
	f.p.outputs.forget()
	in, err := f.p.readAs(f.c, reading{names: f.names, want: auto.WindowsOnly, unit: unit}, func(item auto.Item) error { return each(item.Window) })
	if unit != nil {
		for _, line := range refusals(in.problems) {
			f.p.say("%s: %s", prefix(f.c.Command.Name), line)
		}
	}
	return err
}
