package batch

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/sfstat/sfstat/batch/findings"
	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// bounds are of how many windows and steps a run is judged at once, and of how many runs whose
// windows alternate: what is kept of each window and step is small, but there may be years of
// them.
type bounds struct{ windows, steps, runs int }

// Where there is more than stage times, it comes behind the windows of all runs.
var (
	ofWindows = bounds{1 << 14, 1 << 20, 64}
	ofJoined  = bounds{1 << 14, 1 << 20, 1 << 10}
)

// judge turns the recordings of units into rows.
type judge struct {
	disk  disk.Disk
	o     diagnose.Options
	found func(entry) error
	// windowed: the table of windows is asked for.
	windowed bool
	tell     func(windows int) // that were judged
	beside   *diagnose.Beside
	reads    int        // threads of one file
	of       *copies    // of objects among the inputs
	open     []*session // by first recording
	bounds
}

// session is a stretch of a run.
type session struct {
	at     findings.Where
	run    string
	s      *diagnose.Session
	starts []int64
	steps  int
}

// unit judges the runs of files that are read together. What is wrong with them
// is referred, a panic too; an error is one of the output, or the end of ctx.
func (j *judge) unit(ctx context.Context, u unit) error {
	var err error
	if panicked := bug.Guard(u.files[0].Path, func() { err = j.readUnit(ctx, u) }); panicked != nil {
		return errors.Join(j.refuse(j.of.problem(u.files[0].Path, panicked)), j.finish(0))
	}
	return err
}

func (j *judge) readUnit(ctx context.Context, u unit) error {
	var paths []string
	for _, f := range u.files {
		if err, failed := j.of.failed[f.Path]; failed {
			if err := j.refuse(findings.Refused{Path: f.Path, Error: err.Error()}); err != nil {
				return err
			}
			continue
		}
		paths = append(paths, j.of.path(f.Path))
	}
	if len(paths) == 0 {
		return nil
	}
	j.bounds, j.o.Brief, j.o.Alone, j.o.Beside = ofWindows, true, !u.joined, j.beside
	if u.joined { // what comes behind the windows asks for their accounts
		j.bounds, j.o.Beside = ofJoined, nil
	}
	r, err := auto.Open(paths, auto.Options{Disk: j.disk, Joined: true, Found: true, Threads: j.reads})
	if ingest.Shortage(err) {
		return err
	}
	if err != nil {
		return j.refuse(j.of.problem(paths[0], err))
	}
	defer r.Close()
	for read, err := range r.Jobs() {
		if ingest.Shortage(err) {
			return err
		}
		if err != nil && len(r.Problems()) == 0 {
			err = j.refuse(j.of.problem(paths[0], err))
			return errors.Join(err, j.finish(0), j.problems(ctx, u, r))
		}
		if err != nil {
			break // it is among the problems
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		at := findings.Where{Folder: cmp.Or(u.folder, folderOf(u.files[0].Path)), File: fileOfRun(read.Path, u)}
		for _, recorded := range read.Recordings() {
			if err := j.add(recorded, at, j.of.name(read.Path)); err != nil {
				return err
			}
		}
	}
	return errors.Join(j.finish(0), j.problems(ctx, u, r))
}

// refuse reports an input that is left out or not whole.
func (j *judge) refuse(r findings.Refused) error { return j.found(entry{Refused: &r}) }

// fileOfRun returns the name of the file that holds all of a run; "" where several do.
func fileOfRun(path string, u unit) string {
	switch {
	case len(u.files) == 1:
		return filepath.Base(u.files[0].Path)
	case u.joined:
		return ""
	case path != "":
		return filepath.Base(path)
	}
	return ""
}

// isOtherRecording reports whether a file was refused at its first line because another file has its steps: it is
// another recording of the same name.
func isOtherRecording(p auto.Problem) bool {
	var at *input.Error
	return errors.Is(p.Err, input.ErrDuplicate) && errors.As(p.Err, &at) && at.Pos.File == p.Path && at.Pos.Line == 1
}

// problems reports the refused inputs of a unit, and files that changed under it. Other recordings of the same name are
// judged by themselves.
func (j *judge) problems(ctx context.Context, u unit, r *auto.Reader) error {
	for _, p := range r.Problems() {
		i := slices.IndexFunc(u.files, func(f file) bool { return j.of.path(f.Path) == p.Path })
		if i >= 0 && len(u.files) > 1 && isOtherRecording(p) {
			if err := j.unit(ctx, unit{files: u.files[i : i+1], joined: u.joined}); err != nil {
				return err
			}
			continue
		}
		if err := j.refuse(j.of.problem(p.Path, p.Err)); err != nil {
			return err
		}
	}
	for _, f := range u.files {
		if what := f.changeReason(); what != "" {
			if err := j.refuse(findings.Refused{Path: f.Path, Error: what + " since the work began: the rows are of what was read"}); err != nil {
				return err
			}
		}
	}
	return nil
}

// add takes a recording to the session of its run.
func (j *judge) add(r trace.Recording, at findings.Where, path string) error {
	w, isWindow := r.(*trace.Window)
	i := slices.IndexFunc(j.open, func(s *session) bool { return s.run == r.RunName() && (s.at == at || !isWindow) })
	if i < 0 {
		if err := j.finish(j.runs - 1); err != nil {
			return err
		}
		i = len(j.open)
		j.open = append(j.open, &session{at: at, run: r.RunName(), s: diagnose.New(j.o)})
	}
	s := j.open[i]
	if err := s.s.Add(r); err != nil {
		return j.refuse(j.of.problem(cmp.Or(path, joinName(at.Folder, at.File)), err))
	}
	if !isWindow {
		return nil
	}
	s.starts, s.steps = append(s.starts, start(w)), s.steps+w.Steps()
	j.tell(1)
	if len(s.starts) < j.windows && s.steps < j.steps {
		return nil
	}
	j.open = slices.Delete(j.open, i, i+1)
	return j.close(s)
}

// start returns when a window began, by the first rank with a time; 0 without any.
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

// close gives the rows of a session. A panic is referred.
func (j *judge) close(s *session) error {
	var out []entry
	var failed []*bug.Error
	err := bug.Guard("run "+s.run, func() {
		var v *diagnose.Verdict
		v, failed = s.s.Judge()
		for i := range v.Runs {
			for _, row := range findings.Rows(s.at, &v.Runs[i], s.starts) {
				out = append(out, entry{Row: &row})
			}
			if !j.windowed {
				continue
			}
			for _, w := range findings.WindowsOf(s.at, &v.Runs[i], s.starts) {
				out = append(out, entry{Window: &w})
			}
		}
	})
	if err != nil {
		out, failed = nil, []*bug.Error{bug.PanicOf(err)}
	}
	for _, b := range failed {
		if err := j.refuse(j.of.problem(joinName(s.at.Folder, s.at.File), b)); err != nil {
			return err
		}
	}
	for _, r := range out {
		if err := j.found(r); err != nil {
			return err
		}
	}
	return nil
}
