package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/archive/partitions"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/auto"
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

// quietPolls is how many polls without a change make windows count as complete that
// some ranks have not written.
const quietPolls = 10

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
	f := archiving{p: p, c: c, names: names, out: strings.TrimSuffix(out, "/") + "/", to: a}
	p.windsDown.Store(true)
	if c.Bool("once") {
		return f.look(allWindows)
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

// archiving is a command that keeps an archive up to date with what it follows.
type archiving struct {
	p       *program
	c       *cli.Context
	names   []string
	out     string
	to      *partitions.Archive
	written int
}

// which windows of a look are archived
type which uint8

const (
	settledWindows which = iota // those that all ranks have written, or that others follow
	allWindows
)

// follow looks whenever something has changed, and once more when nothing has for
// long, or at the end: then what is not complete by now is archived too.
func (f *archiving) follow() error {
	ctx, every := f.c.Context, f.c.Duration("every")
	files := polling{names: f.names, every: every, idle: quietPolls * every}
	var ended snapshot // when all windows were archived
	for ctx.Err() == nil {
		err := files.follow(ctx, func() error { return f.try(settledWindows) })
		if err == nil && !files.judged.equal(ended) {
			ended = files.judged
			err = f.try(allWindows)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	if err := f.look(allWindows); err != nil {
		return &exitError{exitInterrupted, fmt.Errorf("interrupted, and not everything is written: %w", err)}
	}
	return &exitError{exitInterrupted, fmt.Errorf("interrupted: everything is written, %s since the beginning", counted(f.written, "window"))}
}

// try is a look that may fail: what cannot be read or written now may be the next time.
func (f *archiving) try(which which) error {
	if err := f.look(which); err != nil {
		f.p.remark(f.c, "%s: %s", prefix(f.c.Command.Name), oneLine(err))
	}
	return f.c.Context.Err()
}

// look reads what is there and archives windows that are not. A run that cannot be
// archived leaves the others alone.
func (f *archiving) look(which which) error {
	f.p.outputs.forget()
	open := make(map[string]*trace.Window) // the last of each run, if ranks are missing
	runs := make(map[string]error)
	add := func(w *trace.Window) {
		if w != nil && runs[w.Run] == nil {
			runs[w.Run] = f.to.Add(w)
		}
	}
	_, err := f.p.readAs(f.c, reading{names: f.names, want: auto.WindowsOnly}, func(item auto.Item) error {
		w := item.Window
		add(open[w.Run])
		if open[w.Run] = nil; which == settledWindows && len(w.Missing()) > 0 {
			open[w.Run] = w
		} else {
			add(w)
		}
		return nil
	})
	n, failed := f.to.Flush()
	f.to.Forget(slices.Collect(maps.Keys(open)))
	switch f.written += n; {
	case f.c.Bool("once"):
		f.p.remark(f.c, "%s written to %s", counted(n, "window"), f.out)
	case n > 0:
		f.p.remark(f.c, "%s written to %s, %d since the beginning", counted(n, "window"), f.out, f.written)
	}
	all := []error{err}
	for _, run := range slices.Sorted(maps.Keys(runs)) {
		all = append(all, runs[run])
	}
	return badInput(errors.Join(append(all, failed)...))
}

// polling is how files that change are followed as a whole.
type polling struct {
	names  []string
	every  time.Duration // between looks
	idle   time.Duration // after which it ends without a change; 0: never
	judged snapshot      // what was looked at before
}

// follow calls look whenever the files have changed and are still for one of our
// looks, until that fails, the context ends or nothing happens for long enough.
func (f *polling) follow(ctx context.Context, look func() error) error {
	before, restless := f.judged, 0
	for changed := time.Now(); ; {
		now := snapshotOf(f.names)
		switch settled := now.equal(before); {
		case (settled || restless >= mostRestless) && !now.equal(f.judged):
			f.judged, restless = now, 0
			if err := look(); err != nil {
				return err
			}
			changed = time.Now()
		case !settled:
			restless++
			changed = time.Now()
		case f.idle > 0 && time.Since(changed) >= f.idle:
			return nil
		default:
			restless = 0
		}
		before = now
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(f.every):
		}
	}
}

// snapshot is the files of paths, with sizes and times.
type snapshot []string

func snapshotOf(paths []string) snapshot {
	s := snapshot{}
	for _, path := range paths {
		_ = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // it may be gone already
			}
			if info, err := d.Info(); err == nil && !d.IsDir() {
				s = append(s, fmt.Sprint(name, "\x00", info.Size(), "\x00", info.ModTime().UnixNano()))
			}
			return nil
		})
	}
	return s
}

func (s snapshot) equal(o snapshot) bool { return s != nil && o != nil && slices.Equal(s, o) }
