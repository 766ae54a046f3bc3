package main

import (
	"bytes"
	"math"
	"slices"

	"github.com/sfstat/sfstat/archive"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/ingest/packet"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
)

// wideArchive is a table of windows in Parquet, with the epochs and arrivals beside it. It is edited
// as windows.
var wideArchive = &form{
	name: "Parquet",
	ranks: func(f *file) (out []int) {
		windows, err := windowsOf(f)
		if err != nil {
			return nil
		}
		for _, w := range windows {
			for _, r := range w.Ranks {
				if !slices.Contains(out, r.ID) {
					out = append(out, r.ID)
				}
			}
		}
		slices.Sort(out)
		return out
	},
	can: map[edit]func(*file, *editing) ([]*file, error){
		rewrite:     editWindows(func(*trace.Window, *editing) error { return nil }),
		renameRanks: editWindows(renameWindow),
		renameHosts: editWindows(func(w *trace.Window, e *editing) error {
			for i := range w.Ranks {
				w.Ranks[i].Host = e.names.host(w.Ranks[i].Host)
			}
			for _, a := range w.Arrivals {
				for i := range a.Processes {
					a.Processes[i].Host = e.names.host(a.Processes[i].Host)
				}
			}
			return nil
		}),
		shift:    editWindows(shiftWindow),
		round:    editWindows(roundWindow),
		remove:   editWindows(removeFromWindow),
		addStage: editWindows(addToWindow),
		split:    splitArchive,
	},
	not: map[edit]string{
		reorder: "the writer of archives sorts their rows",
		merge:   "two tables of columns are one file only through their writer",
	},
}

// windowsOf returns the windows of a table, with what lies beside it.
func windowsOf(f *file) (out []*trace.Window, err error) {
	in, err := auto.Open(append([]string{f.path}, companions(f.path)...), auto.Options{Kinds: auto.Windows})
	if err != nil {
		return nil, notApplicable("%v", err)
	}
	defer in.Close()
	for j, err := range in.Jobs() {
		if err != nil {
			return nil, notApplicable("%v", err)
		}
		out = append(out, j.Windows...)
	}
	return out, nil
}

func editWindows(change func(*trace.Window, *editing) error) func(*file, *editing) ([]*file, error) {
	return func(f *file, e *editing) ([]*file, error) {
		windows, err := windowsOf(f)
		if err != nil {
			return nil, err
		}
		for _, w := range windows {
			if err := change(w, e); err != nil {
				return nil, err
			}
		}
		return archiveFiles(f, windows)
	}
}

// archiveFiles returns an archive of windows in the place of a file, with what lies beside it.
func archiveFiles(f *file, windows []*trace.Window) ([]*file, error) {
	var table, besides bytes.Buffer
	to, lines := archive.NewWriter(&table), packet.NewSidecarWriter(&besides)
	for _, w := range windows {
		if err := to.Write(w); err != nil {
			return nil, err
		}
		if err := lines.Write(w); err != nil {
			return nil, err
		}
	}
	if err := to.Close(); err != nil {
		return nil, err
	}
	out := []*file{f.withContent(table.Bytes())}
	if besides.Len() > 0 {
		arrivals, err := (&file{name: out[0].name + ".arrivals.jsonl", stored: besides.Bytes(), form: partner}).compress(".zst")
		if err != nil {
			return nil, err
		}
		out = append(out, arrivals)
	}
	return out, nil
}

// columnsOf reorders all that a window holds by rank; from[r] is the column that becomes column r.
func columnsOf(w *trace.Window, from []int) {
	pick := func(list []int64) []int64 {
		if list == nil {
			return nil
		}
		n := len(w.Ranks)
		out := make([]int64, 0, len(list)/n*len(from))
		for at := 0; at < len(list); at += n {
			for _, r := range from {
				out = append(out, list[at+r])
			}
		}
		return out
	}
	w.Durations, w.Wall, w.Epochs = pick(w.Durations), pick(w.Wall), pick(w.Epochs)
	for i := range w.Side {
		var samples []trace.Sample
		for _, s := range w.Side[i].Samples {
			if at := slices.Index(from, s.Rank); at >= 0 {
				s.Rank = at
				samples = append(samples, s)
			}
		}
		slices.SortStableFunc(samples, func(a, b trace.Sample) int {
			if a.Step != b.Step {
				return int(a.Step - b.Step)
			}
			return a.Rank - b.Rank
		})
		w.Side[i].Samples = samples
	}
	ranks := make([]trace.Rank, len(from))
	for at, r := range from {
		ranks[at] = w.Ranks[r]
	}
	w.Ranks = ranks
}

func renameWindow(w *trace.Window, e *editing) error {
	for _, list := range [][]int{w.Expected, w.GatherFailed} {
		renameAll(list, e.names)
	}
	for _, a := range w.Arrivals {
		if slices.ContainsFunc(a.Calls, func(c comms.Call) bool { return c.Peer >= 0 }) {
			return notApplicable("sends and receives name their peers by their places in the group")
		}
		for i := range a.Processes {
			a.Processes[i].Rank = e.names.rank(a.Processes[i].Rank)
		}
		for i := range a.Groups {
			a.Groups[i].Members = slices.Clone(a.Groups[i].Members)
			renameAll(a.Groups[i].Members, e.names)
		}
	}
	slices.SortStableFunc(w.Arrivals, func(a, b *comms.Record) int { return a.Processes[0].Rank - b.Processes[0].Rank })
	from := make([]int, len(w.Ranks))
	for i := range w.Ranks {
		from[i] = i
		w.Ranks[i].ID = e.names.rank(w.Ranks[i].ID)
	}
	slices.SortFunc(from, func(a, b int) int { return w.Ranks[a].ID - w.Ranks[b].ID })
	columnsOf(w, from)
	return nil
}

func shiftWindow(w *trace.Window, e *editing) error {
	if w.Epochs == nil && len(w.Arrivals) == 0 {
		return errNoClock
	}
	for i, r := range w.Ranks {
		if r.ID == e.rank && w.Epochs != nil && w.Epochs[i] != 0 {
			w.Epochs[i] += e.ns
		}
	}
	for _, a := range w.Arrivals {
		for i := range a.Calls {
			if c := &a.Calls[i]; a.Processes[0].Rank == e.rank {
				c.Enter += e.ns
				if c.Exit != 0 {
					c.Exit += e.ns
				}
			}
		}
	}
	return nil
}

func roundWindow(w *trace.Window, e *editing) error {
	for _, list := range [][]int64{w.Durations, w.Wall, w.Epochs} {
		for i := range list {
			list[i] = roundTo(list[i], e.ns)
		}
	}
	for _, c := range w.Side {
		for i := range c.Samples {
			s := &c.Samples[i]
			s.Value = float64(roundTo(int64(math.Round(s.Value*1e6)), e.ns)) / 1e6
		}
	}
	for _, a := range w.Arrivals {
		for i := range a.Calls {
			c := &a.Calls[i]
			c.Enter, c.Exit = roundTo(c.Enter, e.ns), roundTo(c.Exit, e.ns)
		}
	}
	return nil
}

func removeFromWindow(w *trace.Window, e *editing) error {
	var from []int
	for i, r := range w.Ranks {
		if r.ID != e.rank {
			from = append(from, i)
		}
	}
	columnsOf(w, from)
	w.Arrivals = slices.DeleteFunc(w.Arrivals, func(a *comms.Record) bool { return a.Processes[0].Rank == e.rank })
	return nil
}

func addToWindow(w *trace.Window, e *editing) error {
	stages, ranks := len(w.Schema.Stages), len(w.Ranks)
	var out []int64
	for t := range w.Steps() {
		row := w.Step(t)
		out = append(out, row...)
		for r := range ranks {
			sum := int64(0)
			for s := range stages {
				sum += row[s*ranks+r]
			}
			if !e.sums {
				sum = 0
			}
			out = append(out, sum)
		}
	}
	w.Durations, w.Schema.Stages = out, append(slices.Clone(w.Schema.Stages), stageAdded(e))
	return nil
}

// splitArchive puts the windows of a table into two.
func splitArchive(f *file, _ *editing) ([]*file, error) {
	windows, err := windowsOf(f)
	if err != nil {
		return nil, err
	}
	if len(windows) < 2 {
		return []*file{f}, nil
	}
	var out []*file
	dir, base := splitName(f.name)
	for i, part := range [][]*trace.Window{windows[:len(windows)/2], windows[len(windows)/2:]} {
		files, err := archiveFiles(f.withName(dir+string("ab"[i])+"-"+base), part)
		if err != nil {
			return nil, err
		}
		out = append(out, files...)
	}
	return out, nil
}
