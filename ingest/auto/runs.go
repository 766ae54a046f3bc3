package auto

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest/flightrecorder"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/profile"
)

// Which run a recording is of is decided here, for all formats. One that names its
// run is of that; of one name in two folders are two runs. A profiler's traces are
// of the run that a recorder timed at the same time. One that names none, as
// Flight Recorder dumps, logs and exports of NCCL's work, and operator traces named
// by their file, is of the run whose windows lie in its folder, if that is one;
// else of the run that its folder is named like; else of the only run that there
// is. Where none of this holds, its folder, or its file, is a run.

// runNames are the run names of the recordings read so far.
type runNames struct {
	given  map[[2]string]string                     // by their own name and their folder
	taken  map[string]bool                          // names that were given
	first  map[string]string                        // the folder whose run has its own name, by that
	places []place                                  // in the order of reading, each once
	seen   map[place]bool                           // those of places
	timed  []timedRun                               // those whose stages a recorder timed, in that order
	last   struct{ run, path, name, folder string } // that was asked for
	// profiled says that a profiler's traces come, which may be of these.
	profiled bool
}

// timedRun is a run whose stages a recorder timed, as far as it was read.
type timedRun struct {
	place
	hosts    map[int]string // of each rank, "": not recorded
	from, to int64          // Unix ns; 0: not recorded
	arrivals bool           // it recorded its collectives too
}

// place is a run and a folder that holds windows or an operator trace of it.
type place struct{ run, folder string }

func newRunNames() runNames {
	return runNames{given: make(map[[2]string]string), taken: make(map[string]bool), first: make(map[string]string), seen: make(map[place]bool)}
}

// maxRuns is the number of runs that one reading distinguishes: some 50 MB of names.
const maxRuns = 1 << 17

// full returns the error of an input that is read when there are too many runs.
func (n *runNames) full(path string) error {
	if len(n.taken) < maxRuns {
		return nil
	}
	return input.At(input.Pos{File: path}, input.Bad(input.ErrTooLarge,
		"%d runs have been read, more are not: is the column of the run the number of a step? Else give fewer inputs at a time", maxRuns))
}

// uniqueName returns the name of a run that was read in a folder: its own for the first
// folder that has it.
func (n *runNames) uniqueName(run, path string) string {
	if n.last.path == path && n.last.run == run {
		return n.last.name
	}
	parts := slices.DeleteFunc(folderParts(path), isDay)
	key := [2]string{run, strings.Join(parts, "/")}
	name, ok := n.given[key]
	if !ok {
		name = n.give(key, parts)
	}
	n.last.run, n.last.path, n.last.name, n.last.folder = run, path, name, dirOf(path)
	return name
}

// give names a run that was not read in its folder yet.
func (n *runNames) give(key [2]string, parts []string) string {
	run := key[0]
	at := len(parts) - 1 // where the way to the folder leaves that to the first one
	if folder, ok := n.first[run]; ok {
		at = min(at, common(parts, strings.Split(folder, "/")))
	}
	name := run
	for i := at + 1; n.taken[name] && i <= len(parts); i++ {
		name = strings.Join(parts[at:i], "/") + "/" + run
	}
	n.given[key], n.taken[name] = name, true
	if name == run {
		n.first[run] = key[1]
	}
	return name
}

// isDay reports whether a folder is of one day of an archive that is partitioned by
// day and run: a run has one for each of its days.
func isDay(folder string) bool { return strings.HasPrefix(folder, "day=") }

// setRunName sets the run name of a part that was read from a path, and returns the part.
func (r *Reader) setRunName(p part, path string) part {
	if p.run != "" {
		return p
	}
	n := &r.runs
	for _, w := range p.Windows {
		w.Run = n.uniqueName(w.Run, path)
		n.see(w.Run, cmp.Or(p.folder, n.last.folder))
		if p.folder == "" && n.profiled {
			n.time(w, n.last.folder)
		}
	}
	switch {
	case p.Operators == nil:
	case len(p.Windows) == 0 && p.Launched == nil:
		p.Operators.Run = r.runOfOperators(p, path)
		n.see(p.Operators.Run, dirOf(path))
	default:
		p.Operators.Run = n.uniqueName(p.Operators.Run, path)
	}
	if p.Launched != nil {
		launched := *p.Launched
		launched.Run = n.uniqueName(launched.Run, path)
		p.Launched = &launched
	}
	if p.Devices != nil {
		device := *p.Devices
		device.Run = n.uniqueName(device.Run, path)
		p.Devices = &device
	}
	switch c := p.Calls; {
	case c == nil:
	case len(p.Windows) > 0:
		c.Run = p.Windows[0].Run
	case c.Run == "":
		c.Run = r.runOfEntries(path)
	}
	return p
}

// see records that a run lies in a folder.
func (n *runNames) see(run, folder string) {
	if p := (place{run, folder}); !n.seen[p] {
		n.seen[p] = true
		n.places = append(n.places, p)
	}
}

// time records which ranks of a run a recorder timed, and when.
func (n *runNames) time(w *trace.Window, folder string) {
	i := slices.IndexFunc(n.timed, func(t timedRun) bool { return t.run == w.Run && t.folder == folder })
	if i < 0 {
		i = len(n.timed)
		n.timed = append(n.timed, timedRun{place: place{w.Run, folder}, hosts: make(map[int]string)})
	}
	t := &n.timed[i]
	for r, rank := range w.Ranks {
		t.hosts[rank.ID] = rank.Host
		if w.Epochs == nil || w.Wall == nil || w.Epochs[r] == 0 {
			continue
		}
		end := w.Epochs[r]
		for at := range w.Steps() {
			end += w.WallOf(at)[r]
		}
		t.to = max(t.to, end)
		if t.from == 0 || w.Epochs[r] < t.from {
			t.from = w.Epochs[r]
		}
	}
	t.arrivals = t.arrivals || len(w.Arrivals) > 0
}

// clockSlack is by how much the clock of a profiler and that of a recorder may
// differ, ns: one counts processor cycles from when it began.
const clockSlack = 1e9

// timedRunOf returns the run that a recorder timed in the folder of a profiler, or in the only other folder. The
// profiled ranks must be among the timed ranks, and times must overlap where both have them.
func (n *runNames) timedRunOf(ranks []*profile.Rank) *timedRun {
	var found *timedRun
	for i := range n.timed {
		t := &n.timed[i]
		near := t.folder == dirOf(ranks[0].Source) || len(n.timed) == 1
		if !near || !t.covers(ranks) {
			continue
		}
		if found != nil {
			return nil
		}
		found = t
	}
	return found
}

// covers reports whether profiles may belong to a run.
func (t *timedRun) covers(ranks []*profile.Rank) bool {
	for _, r := range ranks {
		host, timed := t.hosts[r.ID]
		if !timed || r.World > 0 && r.World < len(t.hosts) || host != "" && r.Host != "" && shortHost(host) != shortHost(r.Host) {
			return false
		}
		if from, to, ok := r.Span(); ok && t.from > 0 && (to < t.from-clockSlack || from > t.to+clockSlack) {
			return false
		}
	}
	return true
}

// shortHost returns the name of a host without its domain.
func shortHost(name string) string {
	short, _, _ := strings.Cut(name, ".")
	return short
}

// runsWithSteps returns the runs that have windows or an operator trace.
func (n *runNames) runsWithSteps() (runs []string) {
	listed := make(map[string]bool)
	for _, p := range n.places {
		if !listed[p.run] {
			listed[p.run] = true
			runs = append(runs, p.run)
		}
	}
	return runs
}

// singleRunIn returns the run of a folder; ok if there is exactly one.
func (n *runNames) singleRunIn(folder string) (run string, ok bool) {
	for _, p := range n.places {
		switch {
		case p.folder != folder || p.run == run:
		case ok:
			return "", false
		default:
			run, ok = p.run, true
		}
	}
	return run, ok
}

// unnamedRun returns the run of a recording without a run's name: one of so many jobs of its kind in a folder.
func (n *runNames) unnamedRun(folder string, of int) string {
	if run, ok := n.singleRunIn(folder); ok {
		return run
	}
	name, all := filepath.Base(folder), n.runsWithSteps()
	if !slices.Contains(all, name) && of == 1 && len(all) == 1 {
		return all[0]
	}
	return name
}

// runOfOperators returns the run of an operator trace. A trace that names a run belongs to it, wherever its windows lie.
func (r *Reader) runOfOperators(p part, path string) string {
	n, own := &r.runs, p.Operators.Run
	if p.unnamed {
		others := 0
		for _, in := range r.inputs {
			if in.Format == OperatorTrace && in.Skipped == "" && dirOf(in.Path) == dirOf(path) {
				others++
			}
		}
		if run, ok := n.singleRunIn(dirOf(path)); ok && others == 1 {
			return run
		}
		return n.uniqueName(own, path)
	}
	var runs []string
	for k, name := range n.given {
		if k[0] == own && slices.Contains(n.runsWithSteps(), name) {
			runs = append(runs, name)
		}
	}
	if len(runs) == 1 {
		return runs[0]
	}
	return n.uniqueName(own, path)
}

// runOfEntries returns the run of arrival recordings, one file per rank. The folders of one job, one per host, have different
// ranks.
func (r *Reader) runOfEntries(path string) string {
	if r.entries == nil {
		r.entries = r.jobsOfEntries()
	}
	return r.entries[dirOf(path)]
}

func (r *Reader) jobsOfEntries() map[string]string {
	type job struct {
		folders []string
		ranks   map[int]bool
	}
	ranks := make(map[string]map[int]bool)
	var folders []string
	stacks := map[string]string{} // by the folders of their jobs, those that they lie in
	for i := range r.inputs {
		in := &r.inputs[i]
		if in.Skipped != "" || in.Format.row().gives != Entries {
			continue
		}
		folder := dirOf(in.Path)
		if in.Format == StackDump {
			stacks[folder] = stackFolder(r, in)
			continue
		}
		if ranks[folder] == nil {
			folders, ranks[folder] = append(folders, folder), make(map[int]bool)
		}
		rank, _ := flightrecorder.RankOf(in.Path, r.o.Rank)
		ranks[folder][rank] = true
	}
	var jobs []*job
	for _, folder := range folders {
		i := slices.IndexFunc(jobs, func(j *job) bool {
			return len(r.runs.runsWithSteps()) < 2 && !slices.ContainsFunc(slices.Collect(maps.Keys(ranks[folder])), func(rank int) bool { return j.ranks[rank] })
		})
		if i < 0 {
			i = len(jobs)
			jobs = append(jobs, &job{ranks: make(map[int]bool)})
		}
		jobs[i].folders = append(jobs[i].folders, folder)
		maps.Copy(jobs[i].ranks, ranks[folder])
	}
	jobOf := func(folder string) int { // that has a folder in this one
		return slices.IndexFunc(jobs, func(j *job) bool {
			return slices.ContainsFunc(j.folders, func(f string) bool { return f == folder || strings.HasPrefix(f, folder+"/") })
		})
	}
	for _, of := range slices.Compact(slices.Sorted(maps.Values(stacks))) {
		if jobOf(of) < 0 {
			jobs = append(jobs, &job{folders: []string{of}})
		}
	}
	out := make(map[string]string)
	for _, j := range jobs {
		for _, folder := range j.folders {
			out[folder] = r.runs.unnamedRun(j.folders[0], len(jobs))
		}
	}
	for folder, of := range stacks {
		out[folder] = r.runs.unnamedRun(jobs[jobOf(of)].folders[0], len(jobs))
	}
	return out
}

// dirOf returns the folder of a file, in full.
func dirOf(path string) string { return strings.Join(folderParts(path), "/") }
