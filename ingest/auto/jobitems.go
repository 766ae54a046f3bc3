package auto

import (
	"errors"
	"path/filepath"
	"slices"

	"github.com/sfstat/sfstat/ingest/stages"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/profile"
)

// convert makes what is wanted of a job.
func (u *unit) convert(j stages.Job, run string) (items []Item, err error) {
	path := j.Ranks[0].Source
	defer bug.Contain(path, &err)
	if slices.ContainsFunc(j.Ranks, func(other *profile.Rank) bool { return other.Source != path }) {
		path = filepath.Dir(path)
	}
	want := u.r.o.Want
	options := stages.Options{Run: run, Timeline: u.r.o.Timeline}
	if timed := u.r.runs.timedWith(j.Ranks); timed != nil && want == ForVerdict {
		return u.behind(j, path, timed)
	}
	if want != OperatorsFirst {
		if items, err = u.windowsOf(j, path, options); err != nil || !wants[want].both {
			return items, err
		}
	}
	ops, err := stages.OpTrace(j.Ranks, options)
	switch {
	case err == nil:
		ops.Notes = append(ops.Notes, j.Notes...)
		item := Item{Ops: ops, Path: path}
		if want == OperatorsFirst {
			if staged, err := stages.Divide(j.Ranks, options); err == nil {
				item.Launched = staged.Launched // operators are there without stages too
			}
		}
		items = append(items, itemOf(item, j.Ranks))
	case want == OperatorsFirst:
		return nil, err
	case errors.Is(err, input.ErrTooLarge) && want == EveryForm:
		w := items[len(items)-1].Window // the windows are there
		w.Notes = append(w.Notes, input.Note{Kind: input.NoteRecorder, Text: "operators are left out: " + err.Error()})
	}
	return items, nil
}

// windowsOf are those of a job, and with the first what lies behind them.
func (u *unit) windowsOf(j stages.Job, path string, o stages.Options) (items []Item, err error) {
	job, err := stages.Divide(j.Ranks, o)
	if err != nil {
		return nil, err
	}
	if job.Device != nil {
		job.Device.Notes = append(job.Device.Notes, j.Notes...)
	}
	for i, w := range job.Windows {
		w.Notes = append(w.Notes, j.Notes...)
		item := Item{Window: w, Path: path, folder: dirOf(j.Ranks[0].Source)}
		if i == 0 {
			item.Launched, item.Device = job.Launched, job.Device
			if wants[u.r.o.Want].contents&entries != 0 && u.r.o.Want != Described { // which lists files of entries alone
				item.Comm = job.Entered
			}
			if item.Comm != nil {
				w.Notes = append(w.Notes, item.Comm.Notes...)
			}
		}
		items = append(items, itemOf(item, j.Ranks))
	}
	return items, nil
}

// behind is what a profiler saw of a run that a recorder timed: a second account of
// its steps, the operators behind the recorder's stages, device times, and the
// collectives that hosts entered where the recorder has none.
func (u *unit) behind(j stages.Job, path string, timed *timedRun) (items []Item, err error) {
	job, err := stages.Divide(j.Ranks, stages.Options{Run: timed.run, Timeline: u.r.o.Timeline, Operators: stages.OnHost}) // as the recorder times them
	if err != nil {
		return nil, err
	}
	for _, w := range job.Windows {
		if len(j.Ranks) < len(timed.hosts) {
			break // late among few is not late
		}
		items = append(items, itemOf(Item{Profiled: w, Path: path, run: timed.run}, j.Ranks))
	}
	item := Item{Launched: job.Launched, Device: job.Device, Path: path, run: timed.run}
	if job.Device != nil {
		job.Device.Notes = append(job.Device.Notes, j.Notes...)
	}
	if !timed.arrivals {
		item.Comm = job.Entered
	}
	if len(item.Recordings()) > 0 {
		items = append(items, itemOf(item, j.Ranks))
	}
	return items, nil
}

// itemOf is an item with the files that it is made of and how many operators each has in it.
func itemOf(item Item, ranks []*profile.Rank) Item {
	item.of = make(map[string]int)
	sources := make(map[int]string)
	for _, r := range ranks {
		item.of[r.Source], sources[r.ID] = 0, r.Source
	}
	if item.Ops != nil {
		for _, at := range item.Ops.Rank {
			item.of[sources[item.Ops.Ranks[at].ID]]++
		}
	}
	return item
}
