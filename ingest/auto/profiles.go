package auto

import (
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sfstat/sfstat/engine/stages"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/kineto"
	"github.com/sfstat/sfstat/trace/profile"
)

// profiles is the profiler traces of one folder, which belong together: one
// for each rank. They are read side by side, and make windows or operator
// traces when all are.
type profiles struct {
	jobItems
	files  []profiled
	folder string // of all of them
	read   bool
}

// profiled is one of them. Its source is kept open only when it cannot be
// opened again.
type profiled struct {
	in  *Input
	src *metered
}

// addProfile puts a profiler trace to those of its folder.
func (r *Reader) addProfile(in *Input, src *metered) {
	file := profiled{in: in, src: src}
	if in.Bytes != ingest.UnknownSize {
		src.Close()
		file.src = nil
	}
	size := r.meter.expect(in.Bytes)
	folder := profileFolder(in)
	for _, u := range r.units {
		if p, ok := u.reader.(*profiles); ok && p.folder == folder && in.Path != ingest.Stdin {
			p.files = append(p.files, file)
			u.size += size
			return
		}
	}
	r.units = append(r.units, &unit{reader: &profiles{jobItems: jobItems{r: r}, folder: folder, files: []profiled{file}}, size: size})
}

func (p *profiles) Next() (Item, error) {
	if !p.read {
		p.read = true
		if err := p.load(); err != nil {
			return Item{}, err
		}
	}
	inputs := make([]*Input, len(p.files))
	for i, f := range p.files {
		inputs[i] = f.in
	}
	return p.next(inputs)
}

func (p *profiles) Close() error {
	var errs []error
	for _, f := range p.files {
		if f.src != nil {
			errs = append(errs, f.src.Close())
		}
	}
	return errors.Join(errs...)
}

// load reads all files and makes the items. A file that is refused is a
// problem; it is the error where it is the only one or nothing may be refused.
func (p *profiles) load() error {
	ranks, failed := p.readAll()
	for i, err := range failed {
		if err == nil {
			continue
		}
		p.files[i].in.Skipped = ""
		if err := p.refuse(p.files[i].in.Path, err); err != nil {
			return err
		}
	}
	jobs := stages.Jobs(ranks)
	for _, j := range jobs {
		if err := p.convert(j, p.runName(j, len(jobs))); err != nil {
			if err := p.refuse(j.Ranks[0].Source, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// refuse notes a problem; its error is the one that ends the reading.
func (p *profiles) refuse(path string, err error) error {
	p.r.problems = append(p.r.problems, Problem{path, err})
	if p.r.given == 1 || p.r.o.Strict == FirstError {
		return err
	}
	return nil
}

// runName is the folder's name, or the file's where it is alone or the folder
// holds several jobs.
func (p *profiles) runName(j stages.Job, jobs int) string {
	first := j.Ranks[0].Source
	name := filepath.Base(first)
	for _, ext := range []string{".gz", ".zst", ".json", ".trace", ".pt"} {
		name = strings.TrimSuffix(name, ext)
	}
	if len(p.files) == 1 || first == ingest.Stdin {
		return name
	}
	folder := p.folder
	if abs, err := filepath.Abs(folder); err == nil {
		folder = abs
	}
	if jobs > 1 {
		return filepath.Base(folder) + "/" + name
	}
	return filepath.Base(folder)
}

// readAll reads the files, as many at a time as there are processors. What
// could be read comes in the order of the files, and so do the errors.
func (p *profiles) readAll() (ranks []*profile.Rank, failed []error) {
	read := make([]*profile.Rank, len(p.files))
	failed = make([]error, len(p.files))
	var consumed atomic.Int64
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(p.files)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(p.files)); i = next.Add(1) - 1 {
				read[i], failed[i] = p.readOne(&p.files[i], &consumed)
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for seen := int64(0); ; {
		select {
		case <-tick.C:
		case <-done:
		}
		now := consumed.Load()
		p.r.meter.add(now - seen)
		seen = now
		select {
		case <-done:
		default:
			continue
		}
		break
	}
	for _, r := range read {
		if r != nil {
			ranks = append(ranks, r)
		}
	}
	return ranks, failed
}

// readOne reads one file.
func (p *profiles) readOne(f *profiled, consumed *atomic.Int64) (*profile.Rank, error) {
	if f.in.Format == XPlane {
		return p.readXPlane(f, consumed)
	}
	var src *ingest.Source
	if f.src != nil {
		src = f.src.Source
	} else {
		var err error
		if src, err = ingest.Open(f.in.Path, p.r.o.Limits); err != nil {
			return nil, err
		}
		defer src.Close()
	}
	return kineto.Read(&metered{Source: src, add: func(n int64) { consumed.Add(n) }}, f.in.Path,
		kineto.Options{Stages: p.r.o.Stages, Detail: p.r.o.Want.detail()})
}
