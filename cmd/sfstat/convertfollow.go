package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/archive/partitions"
	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/live"
)

func (p *program) convertFollowing(c *cli.Context, out string) error {
	names, err := paths(c)
	switch {
	case err != nil:
		return err
	case slices.Contains(names, ingest.Stdin):
		return badUsage("--follow is for files and folders, not standard input")
	case out == ingest.Stdin || c.Bool("in-place"):
		return badUsage("--follow writes a folder of archives: give -o DIR/")
	case c.String("to") != "" && c.String("to") != containers[parquet].name:
		return badUsage("--follow writes Parquet, not %s", c.String("to"))
	}
	if name := overlappingPath(out, names); name != "" {
		return badUsage("-o %s lies in %s, which is followed, or the other way round: name a folder beside it", out, name)
	}
	a, err := partitions.OpenOn(p.disk, out)
	if err != nil {
		return badInput(err)
	}
	defer a.Close()
	f, err := p.newArchiving(c, a)
	if err != nil {
		return err
	}
	p.windsDown.Store(true)
	if c.Bool("once") {
		return f.once()
	}
	p.dedupeMessages()
	return f.follow()
}

// overlappingPath returns the first of paths that lies in a folder, or in which the folder lies.
func overlappingPath(folder string, paths []string) string {
	for _, path := range paths {
		if auto.IsWithin(folder, path) || auto.IsWithin(path, folder) {
			return path
		}
	}
	return ""
}

// archiving is a command that keeps an archive up to date with what it follows.
type archiving struct {
	p       *program
	c       *cli.Context
	out     string
	files   *live.Archiver
	written int
}

func (p *program) newArchiving(c *cli.Context, to *partitions.Archive) (*archiving, error) {
	o, err := p.liveInputs(c, reading{kinds: auto.Windows})
	return &archiving{p: p, c: c, out: strings.TrimSuffix(c.String("output"), "/") + "/", files: live.NewArchiver(o, to)}, err
}

// once reads what is there and archives it.
func (f *archiving) once() error {
	n, err := f.files.Update()
	f.p.remark(f.c, "%s written to %s", table.Counted(n, "window"), f.out)
	return badInput(err)
}

// follow looks until it is interrupted, and once more then. What cannot be read or
// written now may be the next time.
func (f *archiving) follow() error {
	_ = f.files.Every(f.c.Context, f.c.Duration("every"), func() error { // ends by an interrupt
		if err := f.look(live.Settled); err != nil {
			f.p.note(err)
			f.p.remark(f.c, "%s: %s", f.c.Title(), oneLine(err))
		}
		return nil
	})
	if err := f.look(live.All); err != nil {
		return &exitError{exitInterrupted, fmt.Errorf("interrupted, and not everything is written: %w", err)}
	}
	return &exitError{exitInterrupted, fmt.Errorf("interrupted: everything is written, %s since the beginning", table.Counted(f.written, "window"))}
}

// look archives what is new and says how much that is.
func (f *archiving) look(which live.Which) error {
	n, err := f.files.Look(which)
	if f.written += n; n > 0 {
		f.p.remark(f.c, "%s written to %s, %d since the beginning", table.Counted(n, "window"), f.out, f.written)
	}
	return err
}
