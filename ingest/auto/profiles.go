package auto

import (
	"maps"
	"path/filepath"
	"time"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/kineto"
	"github.com/sfstat/sfstat/ingest/nsight"
	"github.com/sfstat/sfstat/ingest/stages"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/internal/parallel"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/profile"
)

// profiles passes on the jobs of the profiler traces of one folder, one trace for each rank, read in parallel. A refused
// file is a problem; it is an error if it is the only file, or under ingest.FirstError.
func (u *unit) profiles(give func(part) bool) error {
	var ranks []*profile.Rank
	for i, file := range u.readParallel() {
		if file.err == nil {
			ranks = append(ranks, file.rank)
			if err := u.r.loseNotes(u.inputs[i].Path, file.rank.Notes); err != nil {
				return err
			}
			continue
		}
		u.inputs[i].Skipped = ""
		if err := u.r.refuseFile(u.inputs[i].Path, file.err); err != nil {
			return err
		}
	}
	jobs := stages.Jobs(ranks)
	for _, j := range jobs {
		p, err := u.divide(j, u.runName(j, len(jobs)))
		if err != nil {
			if err := u.r.refuseFile(j.Ranks[0].Source, err); err != nil {
				return err
			}
		}
		if !p.Empty() && !give(p) {
			return nil
		}
	}
	return nil
}

// runName returns the name of the folder, or of the file where it is alone or the folder holds several jobs.
func (u *unit) runName(j stages.Profiles, jobs int) string {
	first := j.Ranks[0].Source
	name := stem(first)
	if len(u.inputs) == 1 || first == ingest.Stdin {
		return name
	}
	folder := u.folder
	if abs, err := filepath.Abs(folder); err == nil {
		folder = abs
	}
	if jobs > 1 {
		return filepath.Base(folder) + "/" + name
	}
	return filepath.Base(folder)
}

// readProfile is what became of a file.
type readProfile struct {
	rank *profile.Rank
	err  error
}

// readParallel reads the files, as many at a time as there are processors.
func (u *unit) readParallel() []readProfile {
	all, ended := make([]readProfile, len(u.inputs)), make(chan struct{})
	var reading parallel.Group
	reading.Go(func() {
		defer close(ended)
		parallel.Do(len(u.inputs), 0, func(i int) { all[i].rank, all[i].err = u.readOne(u.inputs[i]) })
	})
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for going := true; going; u.r.meter.tell() {
		select {
		case <-tick.C:
		case <-ended:
			going = false
		}
	}
	reading.Wait()
	return all
}

// readOne reads one file.
func (u *unit) readOne(in *Input) (_ *profile.Rank, err error) {
	defer bug.Contain(in.Path, &err)
	return in.Format.row().profile(u, in)
}

func (u *unit) readKineto(in *Input) (*profile.Rank, error) {
	src, err := u.r.open(in)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	src.quiet = true
	return kineto.Read(src, in.Path, kineto.Options{Stages: u.r.o.Stages, Detail: u.r.o.Detail})
}

// exports passes on the jobs of the Nsight Systems exports in one folder, which are of one run. Refused exports are left
// out, unless none is left or all must be readable.
func (u *unit) exports(give func(part) bool) error {
	r := u.r
	paths := make([]string, len(u.inputs))
	for i, in := range u.inputs {
		paths[i] = in.Path
	}
	name := filepath.Base(u.folder)
	if len(paths) == 1 {
		name = stem(paths[0])
	}
	r.meter.say() // nothing is known until all are read
	run, problems := nsight.Read(paths, nsight.Options{Limits: r.o.Limits, Stages: r.o.Stages, Detail: r.o.Detail, Refused: r.refusedExports(u.folder),
		Kernels: len(r.recorded) > 0})
	maps.Copy(r.exportComm, run.Comm)
	for _, bad := range problems {
		if r.o.Strict == ingest.FirstError || len(paths) == 1 {
			return bad.Err
		}
		r.problems = append(r.problems, Problem(bad))
	}
	if len(problems) == len(paths) {
		return nil
	}
	j := stages.Profiles{Ranks: run.Ranks}
	if jobs := stages.Jobs(run.Ranks); len(jobs) == 1 { // steps numbered alike
		j = jobs[0]
	} else {
		j.Notes = append(j.Notes, input.Note{Kind: input.NoteRecorder,
			Text: "the exports were recorded at different times: are they of one run? Put those of each run in a folder of their own"})
	}
	p, err := u.divide(j, name)
	if err == nil && !p.Empty() {
		give(p)
	}
	return err
}

func exportFolder(_ *Reader, in *Input) string { return filepath.Dir(in.Path) }

// sqlite returns why an SQLite database is not read, nil when it is.
func sqlite(src *ingest.Source) error {
	at := input.Pos{File: src.Name()}
	switch {
	case src.Compression() != ingest.Plain:
		return input.At(at, input.Bad(input.ErrFormat, "an SQLite database inside %s: unpack it first, its pages are read where they lie", src.Compression()))
	case src.Size() == ingest.UnknownSize:
		return input.At(at, input.Bad(input.ErrFormat, "an SQLite database that comes through a pipe: give the file by its name, its pages are read where they lie"))
	}
	return nsight.Check(src.Name())
}
