// Package live does with runs while they are recorded what other packages do with
// recordings that are complete: a [Follower] judges them, an [Archiver] archives them. At
// each look they read those units of their files that have changed, and of packets that
// have grown what was appended alone.
//
// A unit ([follow.Unit]) is read when it is first seen, when it is another and was still
// for a look, and when packets were appended to it. Windows that some ranks have not
// written wait for them until the unit was still for a number of looks.
//
// Of the verdicts that come, [Told] says what is new, [Seen] when runs were recorded and how long their steps are, and
// [Captures] has a recorder capture what they ask for.
package live

import (
	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/ingest/auto/follow"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace"
)

// Options are what is followed, and how it is read.
type Options struct {
	Paths  []string        // files and folders
	Select trace.Selection // what is read of packets that are appended
	Strict bool            // an input with a line that cannot be read is refused as a whole
	// Read hands on each recording of a unit, of all that is there if that is nil, with the
	// item that has it.
	Read func(u *follow.Unit, each Each) (Inputs, error)
	// Diagnosis is how runs are judged.
	Diagnosis diagnose.Options
	// Light leaves out what no finding rests on, where a unit has stage times alone.
	Light bool
	// See looks at what is read for a verdict; nil: nobody does.
	See func(auto.Item)
}

// Each takes a recording, and the item that has it.
type Each func(item auto.Item, r trace.Recording) error

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
}

// due reports whether a unit is to be read: it was not, or is another and has been still
// for a look, or has grown by packets.
func (u *changing) due(now *follow.Unit) bool {
	defer func() { u.seen = now }()
	switch {
	case u.read == nil || now.Grown(u.read) && !now.Same(u.read):
	case now.Same(u.read):
		u.restless = 0
		u.still++
		return false
	case !now.Same(u.seen) && u.restless < mostRestless:
		u.restless++
		return false
	}
	return true
}

// readAs notes that a unit is read as it is now.
func (u *changing) readAs(now *follow.Unit) { *u = changing{read: now, seen: now} }

// gone are the keys of units that are not there any more.
func gone[U any](known map[string]U, now []*follow.Unit) (keys []string) {
	there := make(map[string]bool, len(now))
	for _, u := range now {
		there[u.Key] = true
	}
	for key := range known {
		if !there[key] {
			keys = append(keys, key)
		}
	}
	return keys
}

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
