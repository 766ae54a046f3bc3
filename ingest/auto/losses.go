package auto

import (
	"errors"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace/input"
)

// lose notes that a file was not read whole. Its error is not nil under ingest.FirstError, and ends the reading.
func (r *Reader) lose(path string, note input.Note) error {
	kind := input.ErrTruncated
	switch note.Kind {
	case input.NoteDamaged:
		kind = input.ErrFormat
	case input.NoteNoEntries:
		kind = input.ErrEmpty
	}
	text := strings.TrimPrefix(strings.TrimPrefix(note.Text, path), ": ")
	text = strings.TrimSuffix(text, " ("+kind.Error()+")")
	err := input.At(input.Pos{File: path}, input.Bad(kind, "%s", text))
	if slices.ContainsFunc(r.unwhole, func(p Problem) bool { return p.Path == path && p.Err.Error() == err.Error() }) {
		return nil
	}
	r.unwhole = append(r.unwhole, Problem{path, err})
	if r.o.Strict == ingest.FirstError {
		return err
	}
	return nil
}

// loseNotes notes what readers say of a file that was not read whole.
func (r *Reader) loseNotes(path string, notes []input.Note) (err error) {
	for _, n := range notes {
		if n.Kind.Loses() {
			err = errors.Join(err, r.lose(path, n))
		}
	}
	return err
}

// losses notes which inputs of an item were not read whole. Profiler traces are noted file by file, and packets
// by their reader.
func (r *Reader) losses(u *unit, item Item) error {
	if u.profile != nil || u.format == Packets || len(u.inputs) == 0 {
		return nil
	}
	var notes []input.Note
	if item.Window != nil {
		notes = item.Window.Notes
	}
	if item.Ops != nil {
		notes = slices.Concat(notes, item.Ops.Notes)
	}
	if item.Comm != nil {
		notes = slices.Concat(notes, item.Comm.Notes)
	}
	return r.loseNotes(u.inputs[0].Path, notes)
}

// cutPackets returns the files of packets that end in the middle of one.
func (r *Reader) cutPackets() (all []Problem) {
	for _, s := range r.summaries() {
		if s.Cut && s.Err == nil {
			all = append(all, Problem{s.Name, input.At(input.Pos{File: s.Name}, input.Bad(input.ErrTruncated, "it ends in the middle of a packet, as when a job is killed: what came before is used"))})
		}
	}
	return all
}
