package auto

import (
	"errors"
	"io"
	"path/filepath"
	"slices"

	"github.com/sfstat/sfstat/engine/stages"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
	"github.com/sfstat/sfstat/trace/profile"
)

// jobItems are the windows and operator traces of jobs that profilers recorded,
// and how much of each came from which file.
type jobItems struct {
	r      *Reader
	inputs []*Input
	load   func() error // reads the inputs and makes the items; nil: it did
	items  []Item
	of     []map[string]int // operators of each item, by file
}

// Next hands out the next item and counts it for the inputs that it is made
// of.
func (q *jobItems) Next() (Item, error) {
	if load := q.load; load != nil {
		q.load = nil
		if err := load(); err != nil {
			return Item{}, err
		}
	}
	if len(q.items) == 0 {
		return Item{}, io.EOF
	}
	item, of := q.items[0], q.of[0]
	q.items, q.of = q.items[1:], q.of[1:]
	for _, in := range q.inputs {
		n, ok := of[in.Path]
		switch {
		case ok && (item.Window != nil || item.Profiled != nil):
			in.Windows++
		case ok && item.Ops != nil:
			in.Ops += n
		}
	}
	return item, nil
}

// Close implements itemReader: what was opened by its path is closed.
func (q *jobItems) Close() error { return nil }

// convert adds what is wanted of a job.
func (q *jobItems) convert(j stages.Job, run string) (err error) {
	path := j.Ranks[0].Source
	defer bug.Contain(path, &err)
	if slices.ContainsFunc(j.Ranks, func(other *profile.Rank) bool { return other.Source != path }) {
		path = filepath.Dir(path)
	}
	options := stages.Options{Run: run, Timeline: q.r.o.Timeline}
	if timed := q.r.runs.timedWith(j.Ranks); timed != nil && q.r.o.Want == ForVerdict {
		return q.behind(j, path, timed)
	}
	if q.r.o.Want != OperatorsFirst {
		if err := q.windows(j, path, options); err != nil {
			return err
		}
	}
	if q.r.o.Want != OperatorsFirst && !wants[q.r.o.Want].both {
		return nil
	}
	ops, err := stages.OpTrace(j.Ranks, options)
	switch {
	case err == nil:
		q.operators(ops, j, path, options)
	case q.r.o.Want == OperatorsFirst:
		return err
	case errors.Is(err, input.ErrTooLarge) && q.r.o.Want == EveryForm:
		w := q.items[len(q.items)-1].Window // the windows are there
		w.Notes = append(w.Notes, input.Note{Kind: input.NoteRecorder, Text: "operators are left out: " + err.Error()})
	}
	return nil
}

// windows adds those of a job, and with the first what lies behind them.
func (q *jobItems) windows(j stages.Job, path string, o stages.Options) error {
	job, err := stages.Divide(j.Ranks, o)
	if err != nil {
		return err
	}
	device, err := stages.DeviceTimes(j.Ranks, o.Run)
	if err != nil {
		device = nil // windows do without
	} else {
		device.Notes = append(device.Notes, j.Notes...)
	}
	for i, w := range job.Windows {
		w.Notes = append(w.Notes, j.Notes...)
		item := Item{Window: w, Path: path, folder: dirOf(j.Ranks[0].Source)}
		if i == 0 {
			item.Launched, item.Device = job.Launched, device
			if wants[q.r.o.Want].contents&entries != 0 && q.r.o.Want != Described { // which lists files of entries alone
				item.Comm = stages.Entered(j.Ranks, o.Run)
			}
			if item.Comm != nil {
				w.Notes = append(w.Notes, item.Comm.Notes...)
			}
		}
		q.add(item, j.Ranks)
	}
	return nil
}

// behind adds what a profiler saw of a run that a recorder timed: a second account of
// its steps, the operators behind the recorder's stages, device times, and the
// collectives that hosts entered where the recorder has none.
func (q *jobItems) behind(j stages.Job, path string, timed *timedRun) error {
	o := stages.Options{Run: timed.run, Timeline: q.r.o.Timeline}
	own, err := stages.Divide(j.Ranks, o)
	if err != nil {
		return err
	}
	for _, w := range own.Windows {
		if len(j.Ranks) < len(timed.hosts) {
			break // late among few is not late
		}
		q.add(Item{Profiled: w, Path: path, run: timed.run}, j.Ranks)
	}
	o.Timeline = stages.OnHost // as the recorder times them
	host, err := stages.Divide(j.Ranks, o)
	if err != nil {
		return err
	}
	item := Item{Launched: host.Launched, Path: path, run: timed.run}
	if item.Device, err = stages.DeviceTimes(j.Ranks, timed.run); err == nil {
		item.Device.Notes = append(item.Device.Notes, j.Notes...)
	}
	if !timed.arrivals {
		item.Comm = stages.Entered(j.Ranks, timed.run)
	}
	if len(item.Recordings()) > 0 {
		q.add(item, j.Ranks)
	}
	return nil
}

// operators adds those of a job.
func (q *jobItems) operators(ops *operator.Trace, j stages.Job, path string, o stages.Options) {
	ops.Notes = append(ops.Notes, j.Notes...)
	item := Item{Ops: ops, Path: path}
	if q.r.o.Want == OperatorsFirst {
		if staged, err := stages.Divide(j.Ranks, o); err == nil {
			item.Launched = staged.Launched // operators are there without stages too
		}
	}
	q.add(item, j.Ranks)
}

// add puts an item to those that are handed out, with the files that it is
// made of and how many operators each has in it.
func (q *jobItems) add(item Item, ranks []*profile.Rank) {
	of := make(map[string]int)
	sources := make(map[int]string)
	for _, r := range ranks {
		of[r.Source], sources[r.ID] = 0, r.Source
	}
	if item.Ops != nil {
		for _, at := range item.Ops.Rank {
			of[sources[item.Ops.Ranks[at].ID]]++
		}
	}
	q.items, q.of = append(q.items, item), append(q.of, of)
}
