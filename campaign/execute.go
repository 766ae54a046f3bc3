package campaign

import (
	"errors"
	"fmt"
	"io"

	"github.com/sfstat/sfstat/archive"
	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/simulate"
)

// Execution is how a campaign is carried out. The zero value is usable.
type Execution struct {
	Version string // of this program, noted in every row
	// Create begins an output; nil: atomicfile.Create. Whoever can be
	// interrupted keeps what is open, to discard it.
	Create   func(path string) (*atomicfile.File, error)
	Progress func(done, total int) // after each run that was made, counted without those that stood
}

func (e *Execution) write(path string, write func(io.Writer) error) error {
	create := e.Create
	if create == nil {
		create = atomicfile.Create
	}
	out, err := create(path)
	if err != nil {
		return err
	}
	if err := write(out); err != nil {
		out.Discard()
		return err
	}
	return out.Commit()
}

// Outcome counts the runs of an execution.
type Outcome struct {
	Made    int // of them
	Changed int // were there with another specification, version or content
	Stood   int // were done before
}

// Execute makes the runs of a campaign that are not done yet, in the folder
// dir: an archive and a row for each, under their names only when they are
// complete, the archive first. So an execution that was killed is taken up by
// another. A run is done when its row tells of this specification and this
// version, and of the archive that is there.
func Execute(dir string, s *Spec, e Execution) (Outcome, error) {
	var o Outcome
	f, err := prepare(dir, s, &e)
	if err != nil {
		return o, err
	}
	var wanting []Task
	for i := range f.tasks {
		switch state, err := f.state(&f.tasks[i], e.Version); {
		case err != nil:
			return o, err
		case state == standing:
			o.Stood++
			continue
		case state == changed:
			o.Changed++
		}
		wanting = append(wanting, f.tasks[i])
	}
	for i := range wanting {
		if err := f.carryOut(&wanting[i], &e); err != nil {
			return o, fmt.Errorf("run %s: %w", wanting[i].ID, err)
		}
		o.Made++
		if e.Progress != nil {
			e.Progress(o.Made, len(wanting))
		}
	}
	return o, f.join(&e)
}

// carryOut makes one run, its archive and its row.
func (f *folder) carryOut(t *Task, e *Execution) error {
	g, err := simulate.New(t.Spec)
	if err != nil {
		return err
	}
	if err := e.write(f.archive(t), func(w io.Writer) error { return archiveAll(g, w) }); err != nil {
		return err
	}
	hash, err := fileHash(f.archive(t))
	if err != nil {
		return err
	}
	score, err := f.score([]Task{*t})
	if err != nil {
		return err
	}
	p := Provenance{Run: t.ID, Group: t.Group, SpecHash: t.Hash, Version: e.Version, Input: f.input(t), InputHash: hash}
	return e.write(f.row(t), func(w io.Writer) error { return writeRows(w, score, p) })
}

func archiveAll(g *simulate.Generator, w io.Writer) error {
	out, err := archive.NewWriter(w)
	if err != nil {
		return err
	}
	for {
		window, err := g.Next()
		if errors.Is(err, io.EOF) {
			return out.Close()
		}
		if err == nil {
			err = out.Write(window)
		}
		if err != nil {
			return err
		}
	}
}
