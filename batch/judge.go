package batch

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"

	"github.com/sfstat/sfstat/batch/findings"
	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/trace"
)

// A run is judged in stretches of so many windows, and of so many runs at once
// whose windows alternate: what is kept of each window is small, but there may be
// months of them.
const (
	stretch  = 256
	openRuns = 64
)

// judge turns the windows of units into rows.
type judge struct {
	o     diagnose.Options
	emit  func(findings.Row) error
	refer func(Problem) error
	tell  func(windows int) // that were judged
	open  []*session        // by first window
}

// session is a stretch of a run.
type session struct {
	at     findings.Where
	run    string
	s      *diagnose.Session
	starts []int64
}

// unit judges the runs of files that are read together. What is wrong with them
// is referred; an error is one of the output, or the end of ctx.
func (j *judge) unit(ctx context.Context, u unit) error {
	paths := make([]string, len(u))
	for i := range u {
		paths[i] = u[i].Path
	}
	r, err := auto.OpenFound(paths, auto.Options{Want: auto.WindowsOnly})
	if err != nil {
		return j.refer(Problem{paths[0], reason(paths[0], err)})
	}
	defer r.Close()
	for {
		item, err := r.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) && len(r.Problems()) == 0 && !passedOver(r) {
				err = j.refer(Problem{paths[0], reason(paths[0], err)})
			} else {
				err = nil
			}
			return errors.Join(err, j.finish(0), j.problems(ctx, u, r))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := j.add(item, findings.Where{Folder: filepath.Dir(paths[0]), File: base(item, paths)}); err != nil {
			return err
		}
	}
}

// base is the name of the file that an item is of.
func base(item auto.Item, paths []string) string {
	switch {
	case item.Path != "":
		return filepath.Base(item.Path)
	case len(paths) == 1:
		return filepath.Base(paths[0])
	}
	return ""
}

// passedOver reports whether all files are no inputs, which is nothing wrong.
func passedOver(r *auto.Reader) bool {
	return !slices.ContainsFunc(r.Inputs(), func(in auto.Input) bool { return in.Skipped == "" })
}

// another reports whether a file was refused at its first line because the steps in
// it are those of another file: it is another recording under the same name.
func another(p auto.Problem) bool {
	var at *trace.RecordError
	return errors.Is(p.Err, trace.ErrDuplicate) && errors.As(p.Err, &at) && at.Pos.File == p.Path && at.Pos.Line == 1
}

// problems refers what was refused of a unit, and files that changed under it. What
// is another recording is judged by itself.
func (j *judge) problems(ctx context.Context, u unit, r *auto.Reader) error {
	for _, p := range r.Problems() {
		i := slices.IndexFunc(u, func(f file) bool { return f.Path == p.Path })
		if i >= 0 && len(u) > 1 && another(p) {
			if err := j.unit(ctx, unit{u[i]}); err != nil {
				return err
			}
			continue
		}
		if err := j.refer(Problem{p.Path, reason(p.Path, p.Err)}); err != nil {
			return err
		}
	}
	for i := range u {
		if what := u[i].changed(); what != "" {
			if err := j.refer(Problem{u[i].Path, what + " since the work began: the rows are of what was read"}); err != nil {
				return err
			}
		}
	}
	return nil
}

// add takes a window to the session of its run.
func (j *judge) add(item auto.Item, at findings.Where) error {
	w := item.Window
	i := slices.IndexFunc(j.open, func(s *session) bool { return s.run == w.Run && s.at == at })
	if i < 0 {
		if err := j.finish(openRuns - 1); err != nil {
			return err
		}
		i = len(j.open)
		j.open = append(j.open, &session{at: at, run: w.Run, s: diagnose.New(j.o)})
	}
	s := j.open[i]
	if err := s.s.Add(w); err != nil {
		path := filepath.Join(at.Folder, at.File)
		return j.refer(Problem{path, reason(path, err)})
	}
	s.starts = append(s.starts, start(w))
	ingest.Release(w) // the session keeps the account alone
	j.tell(1)
	if len(s.starts) < stretch {
		return nil
	}
	j.open = slices.Delete(j.open, i, i+1)
	return j.close(s)
}

// start is when a window began on the first rank that tells; 0: none does.
func start(w *trace.Window) int64 {
	for _, at := range w.Epochs {
		if at != 0 {
			return at
		}
	}
	return 0
}

// finish closes the oldest sessions until so many are left.
func (j *judge) finish(left int) error {
	for len(j.open) > left {
		s := j.open[0]
		j.open = j.open[1:]
		if err := j.close(s); err != nil {
			return err
		}
	}
	return nil
}

// close gives the rows of a session.
func (j *judge) close(s *session) error {
	for _, v := range s.s.Verdict().Runs {
		for _, row := range findings.Of(s.at, &v, s.starts) {
			if err := j.emit(row); err != nil {
				return err
			}
		}
	}
	return nil
}
