// Package live does with runs while they are recorded what other packages do with
// recordings that are complete: a [Follower] judges them, an [Archiver] archives them. At
// each look they read those units of their files that have changed, and of packets that
// have grown what was appended alone.
//
// A unit ([follow.Unit]) is read when it is first seen, when it is another and was still
// for a look, and when packets were appended to it. Windows that some ranks have not
// written wait for them until the unit was still for a number of looks.
//
// Of the verdicts that come, [Told] says what is new, and [Seen] when runs were recorded and how long their steps are.
package live

import (
	"context"
	"time"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/ingest/auto/follow"
	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/recorded"
)

// Options are what is followed, and how it is read.
type Options struct {
	Disk   disk.Disk       // where they are; nil: that of this machine
	Paths  []string        // files and folders
	Select trace.Selection // what is read of packets that are appended
	Strict bool            // an input with a line that cannot be read is refused as a whole
	// Read hands on each recording of a unit, of all that is there if that is nil, with the
	// job that has it.
	Read func(u *follow.Unit, each Each) (Inputs, error)
	// Diagnosis is how runs are judged.
	Diagnosis diagnose.Options
	// Light leaves out what no finding rests on, where a unit has stage times alone.
	Light bool
	// See looks at what is read for a verdict; nil: nobody does.
	See func(recorded.Job)
}

// Each takes a recording, and the job that has it.
type Each func(j recorded.Job, r trace.Recording) error

// Inputs are what was read, and what of it was refused.
type Inputs struct {
	Read     []auto.Input
	Problems []report.Problem
}

const (
	// mostRestless is how many looks in a row may find changes before what is there is
	// read nevertheless.
	mostRestless = 5
	// quietLooks is after how many looks without a change windows count as complete that some ranks have not written.
	quietLooks = 10
)

// changing is how a unit changes from look to look.
type changing struct {
	read     *follow.Unit // as it was read last; nil: read it whatever it is
	seen     *follow.Unit // as it was at the last look
	restless int          // looks in a row at which it was another, and not read
	still    int          // looks in a row at which it was as it was read
	runs     []string     // that are its own
}

func (u *changing) changes() *changing { return u }

// due reports whether a unit is to be read: it was not, or is another and has been still
// for a look, or has grown by packets.
func (u *changing) due(now *follow.Unit) bool {
	defer func() { u.seen = now }()
	switch {
	case u.read == nil || now.HasGrown(u.read) && !now.IsUnchanged(u.read):
	case now.IsUnchanged(u.read):
		u.restless = 0
		u.still++
		return false
	case !now.IsUnchanged(u.seen) && u.restless < mostRestless:
		u.restless++
		return false
	}
	return true
}

// readAs notes that a unit is read as it is now.
func (u *changing) readAs(now *follow.Unit) {
	u.read, u.seen, u.restless, u.still = now, now, 0, 0
}

// watched is what is kept of the units of files.
type watched[U interface{ changes() *changing }] struct {
	o     Options
	files *follow.Files
	units map[string]U      // by key
	of    map[string]string // keys, by run
}

func watch[U interface{ changes() *changing }](o Options) watched[U] {
	return watched[U]{o: o, files: follow.New(o.Disk, o.Paths), units: make(map[string]U), of: make(map[string]string)}
}

// look lists the units that there are, and drops what is kept of others, whose keys it returns.
func (f *watched[U]) look() (now []*follow.Unit, gone []string) {
	now = f.files.Look()
	there := make(map[string]bool, len(now))
	for _, u := range now {
		there[u.Key] = true
	}
	for key := range f.units {
		if !there[key] {
			f.release(key)
			delete(f.units, key)
			gone = append(gone, key)
		}
	}
	return now, gone
}

// claim notes that a run is of a unit. It reports whether it is another's: then the two are joined, and read
// together from their beginnings.
func (f *watched[U]) claim(key, run string) (joined bool) {
	u := f.units[key].changes()
	if other, taken := f.of[run]; taken && other != key {
		f.files.Join(other, key)
		f.units[other].changes().read, u.read = nil, nil
		return true
	}
	if f.of[run] != key {
		f.of[run], u.runs = key, append(u.runs, run)
	}
	return false
}

// release gives up the runs of a unit.
func (f *watched[U]) release(key string) {
	u := f.units[key].changes()
	for _, run := range u.runs {
		delete(f.of, run)
	}
	u.runs = nil
}

// Every looks until that fails or the context ends, with pauses that are so long, or longer where looking takes long.
func (f *watched[U]) Every(ctx context.Context, pause time.Duration, look func() error) error {
	for {
		if err := look(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(f.files.Pause(pause)):
		}
	}
}

// RefusedPaths returns the paths that could not be read the last time.
func (f *watched[U]) RefusedPaths() []auto.Problem { return f.files.Refused }

// windows reads with a tail, as far as windows are selected. They are under the name that tells
// their run from others.
func (o *Options) windows(read tailRead, u *follow.Unit, each func(*trace.Window) error) error {
	return read(u, func(w *trace.Window) error {
		if u.Label != "" {
			w.Run = u.Label + "/" + w.Run
		}
		if w = o.Select.Window(w); w == nil {
			return nil
		}
		return each(w)
	})
}

// tailRead is Read or Rest of a follow.Tail.
type tailRead func(*follow.Unit, func(*trace.Window) error) error
