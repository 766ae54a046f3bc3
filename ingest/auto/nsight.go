package auto

import (
	"path/filepath"

	"github.com/sfstat/sfstat/engine/stages"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/nsight"
	"github.com/sfstat/sfstat/trace/input"
)

// export says why an SQLite database is not read, nil when it is.
func export(src *ingest.Source) error {
	at := input.Pos{File: src.Name()}
	switch {
	case src.Compression() != ingest.Plain:
		return input.At(at, input.Bad(input.ErrFormat, "an SQLite database inside %s: unpack it first, its pages are read where they lie", src.Compression()))
	case src.Size() == ingest.UnknownSize:
		return input.At(at, input.Bad(input.ErrFormat, "an SQLite database that comes through a pipe: give the file by its name, its pages are read where they lie"))
	}
	return nsight.Check(src.Name())
}

// addExport puts an export to the others; it is opened by its path.
func (r *Reader) addExport(in *Input, src *metered) {
	src.Close()
	r.nsight = append(r.nsight, in)
}

// exports makes a unit of the Nsight Systems exports in each folder: they are
// of one run.
func (r *Reader) exports() {
	folders := make(map[string]*nsightRun)
	for _, in := range r.nsight {
		dir := filepath.Dir(in.Path)
		p := folders[dir]
		if p == nil {
			p = &nsightRun{jobItems: jobItems{r: r}, name: filepath.Base(dir)}
			p.load = p.readAll
			folders[dir] = p
			r.units = append(r.units, &unit{reader: p})
		}
		p.inputs = append(p.inputs, in)
	}
	for _, u := range r.units {
		if p, ok := u.reader.(*nsightRun); ok {
			for _, in := range p.inputs {
				u.size += r.meter.expect(in.Bytes)
			}
			if len(p.inputs) == 1 {
				p.name = stem(p.inputs[0].Path)
			}
		}
	}
}

// nsightRun is the exports of one run as items.
type nsightRun struct {
	jobItems
	name string // of the run
}

// readAll reads the exports. Those that are refused are left out of p, unless
// nothing is left or all must be good.
func (p *nsightRun) readAll() error {
	paths := make([]string, len(p.inputs))
	for i, in := range p.inputs {
		paths[i] = in.Path
	}
	p.r.meter.say() // nothing is known until all are read
	ranks, problems := nsight.Read(paths, nsight.Options{Limits: p.r.o.Limits, Stages: p.r.o.Stages, Detail: wants[p.r.o.Want].detail})
	refused := make(map[string]bool)
	for _, bad := range problems {
		if p.r.o.Strict == FirstError || len(paths) == 1 {
			return bad.Err
		}
		p.r.problems = append(p.r.problems, Problem(bad))
		refused[bad.Path] = true
	}
	var kept []*Input
	for _, in := range p.inputs {
		if !refused[in.Path] {
			kept = append(kept, in)
		}
	}
	if p.inputs = kept; len(kept) == 0 {
		return nil
	}
	job := stages.Job{Ranks: ranks}
	if jobs := stages.Jobs(ranks); len(jobs) == 1 { // steps numbered alike
		job = jobs[0]
	} else {
		job.Notes = append(job.Notes, input.Note{Kind: input.NoteRecorder,
			Text: "the exports were recorded at different times: are they of one run? Put those of each run in a folder of their own"})
	}
	return p.jobItems.convert(job, p.name)
}
