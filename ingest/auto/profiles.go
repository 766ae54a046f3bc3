package auto

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sfstat/sfstat/engine/stages"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/kineto"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/internal/parallel"
	"github.com/sfstat/sfstat/trace/profile"
)

// profiles is the profiler traces of one folder, which belong together: one
// for each rank. They are read side by side, and make windows or operator
// traces when all are.
type profiles struct {
	jobItems
	folder string              // of all of them
	piped  map[*Input]*metered // those that cannot be opened again
}

// addProfile puts a profiler trace to those of its folder.
func (r *Reader) addProfile(in *Input, src *metered) {
	size, folder := r.meter.expect(in.Bytes), profileFolder(in)
	i := slices.IndexFunc(r.units, func(u *unit) bool {
		p, ok := u.reader.(*profiles)
		return ok && p.folder == folder && in.Path != ingest.Stdin
	})
	if i < 0 {
		p := &profiles{jobItems: jobItems{r: r}, folder: folder, piped: make(map[*Input]*metered)}
		p.load = p.readAll
		i, r.units = len(r.units), append(r.units, &unit{reader: p})
	}
	p := r.units[i].reader.(*profiles)
	p.inputs = append(p.inputs, in)
	r.units[i].size += size
	if in.Bytes == ingest.UnknownSize {
		p.piped[in] = src
	} else {
		src.Close()
	}
}

func (p *profiles) Close() error {
	var errs []error
	for _, src := range p.piped {
		errs = append(errs, src.Close())
	}
	return errors.Join(errs...)
}

// readAll reads all files and makes the items. A file that is refused is a
// problem; it is the error where it is the only one or nothing may be refused.
func (p *profiles) readAll() error {
	var ranks []*profile.Rank
	for i, file := range p.sideBySide() {
		if file.err == nil {
			ranks = append(ranks, file.rank)
			continue
		}
		p.inputs[i].Skipped = ""
		if err := p.r.refuseFile(p.inputs[i].Path, file.err); err != nil {
			return err
		}
	}
	jobs := stages.Jobs(ranks)
	for _, j := range jobs {
		if err := p.convert(j, p.runName(j, len(jobs))); err != nil {
			if err := p.r.refuseFile(j.Ranks[0].Source, err); err != nil {
				return err
			}
		}
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
	if len(p.inputs) == 1 || first == ingest.Stdin {
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

// readProfile is what became of a file.
type readProfile struct {
	rank *profile.Rank
	err  error
}

// sideBySide reads the files, as many at a time as there are processors.
func (p *profiles) sideBySide() []readProfile {
	var consumed atomic.Int64
	all, ended := make([]readProfile, len(p.inputs)), make(chan struct{})
	var reading parallel.Group
	reading.Go(func() {
		defer close(ended)
		parallel.Do(len(p.inputs), 0, func(i int) { all[i].rank, all[i].err = p.readOne(p.inputs[i], &consumed) })
	})
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for seen, going := int64(0), true; going; {
		select {
		case <-tick.C:
		case <-ended:
			going = false
		}
		now := consumed.Load()
		p.r.meter.add(now - seen)
		seen = now
	}
	reading.Wait()
	return all
}

// readOne reads one file.
func (p *profiles) readOne(in *Input, consumed *atomic.Int64) (_ *profile.Rank, err error) {
	defer bug.Contain(in.Path, &err)
	return in.Format.row().profile(p, in, consumed)
}

func (p *profiles) readKineto(in *Input, consumed *atomic.Int64) (_ *profile.Rank, err error) {
	var src *ingest.Source
	if piped := p.piped[in]; piped != nil {
		src = piped.Source
	} else {
		if src, err = ingest.Open(in.Path, p.r.o.Limits); err != nil {
			return nil, err
		}
		defer src.Close()
	}
	return kineto.Read(&metered{Source: src, add: func(n int64) { consumed.Add(n) }}, in.Path,
		kineto.Options{Stages: p.r.o.Stages, Detail: wants[p.r.o.Want].detail})
}
