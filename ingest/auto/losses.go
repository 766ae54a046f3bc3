package auto

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/nsight"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/recorded"
)

// noteLoss notes a file that was not read whole. Under ingest.FirstError it returns an error, which ends the reading.
func (r *Reader) noteLoss(path string, note input.Note) error {
	kind := input.ErrTruncated
	switch note.Kind {
	case input.NoteDamaged:
		kind = input.ErrFormat
	case input.NoteNoEntries:
		kind = input.ErrEmpty
	}
	text := strings.TrimPrefix(strings.TrimPrefix(note.Text, path), ": ")
	if line, ok := strings.CutPrefix(text, ":"); ok {
		text = "line " + line
	}
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
			err = errors.Join(err, r.noteLoss(path, n))
		}
	}
	return err
}

// noteLosses notes which inputs of a job were not read whole. Profiler traces are noted file by file, packets by their
// reader.
func (r *Reader) noteLosses(u *unit, j *recorded.Job) error {
	if u.profile != nil || u.format == Packets || len(u.inputs) == 0 {
		return nil
	}
	var notes []input.Note
	for _, w := range j.Windows {
		notes = slices.Concat(notes, w.Notes)
	}
	if j.Operators != nil {
		notes = slices.Concat(notes, j.Operators.Notes)
	}
	if j.Calls != nil {
		notes = slices.Concat(notes, j.Calls.Notes)
	}
	return u.loseNotes(notes)
}

// loseNotes notes what readers say of the inputs of a unit that were not read whole, of that which the text begins with, else of the first.
func (u *unit) loseNotes(notes []input.Note) (err error) {
	for _, n := range notes {
		path := u.inputs[0].Path
		for _, in := range u.inputs {
			if rest, ok := strings.CutPrefix(n.Text, in.Path); ok && rest != "" && strings.IndexByte(":[@", rest[0]) >= 0 {
				path = in.Path
			}
		}
		err = errors.Join(err, u.r.loseNotes(path, []input.Note{n}))
	}
	return err
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

// recordingName matches the names that tools give to recordings. An empty file of such a name has lost a recording.
var recordingName = regexp.MustCompile(`(?i)^(?:(?:fr_trace|nccl_trace_rank|comm_lib_trace_rank)_\d+(?:\.json|\.pkl)?|ras_?\d+\.json|pyspy_\d+\.txt|.*\.pt\.trace\.json|.*\.xplane\.pb|.*\.sqlite)(?:\.gz|\.zst)?$`)

// isExport reports whether a file has the name of an export of Nsight Systems, or of a report of which no export
// lies beside it.
func isExport(path string) bool {
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".sqlite":
		return true
	case ".nsys-rep":
		return !exists(path[:len(path)-len(ext)] + ".sqlite")
	}
	return false
}

// isLostRecording reports whether an unreadable file of a folder is a recording nevertheless: a damaged database, a file
// named as an export, or an empty or damaged file named as a recording.
func (r *Reader) isLostRecording(in *Input, err error) (bool, error) {
	switch {
	case !SQLite.gives(r.o.Kinds) && in.Format != Empty:
		return false, err
	case in.Format == SQLite:
		return !errors.Is(err, nsight.ErrForeign) && foreignError(in.Format, err) != nil && in.Compression == ingest.Plain, err
	case in.Format == Empty:
		return recordingName.MatchString(filepath.Base(in.Path)), err
	case in.Format == Binary && !isExport(in.Path) && recordingName.MatchString(filepath.Base(in.Path)):
		return true, input.At(input.Pos{File: in.Path}, input.Bad(input.ErrFormat, "named as a recording, and not recognised as one: is it damaged?"))
	case isExport(in.Path) && (in.Format == Binary || in.Format == Unknown || in.Format == Text):
		if strings.EqualFold(filepath.Ext(in.Path), ".sqlite") {
			return true, input.At(input.Pos{File: in.Path}, input.Bad(input.ErrFormat, "no SQLite database, but named as an export of Nsight Systems: is it damaged? Export it again from the .nsys-rep"))
		}
		return true, input.At(input.Pos{File: in.Path}, input.Bad(input.ErrFormat, "a report of Nsight Systems, of which no export lies beside it: nsys export --type=sqlite"))
	}
	return false, err
}

// refusedExports returns the exports in a folder that were refused.
func (r *Reader) refusedExports(folder string) (paths []string) {
	for _, in := range r.inputs {
		if filepath.Dir(in.Path) == folder && (in.Format == SQLite || isExport(in.Path)) && slices.ContainsFunc(r.problems, func(p Problem) bool { return p.Path == in.Path }) {
			paths = append(paths, in.Path)
		}
	}
	return paths
}

// notePartialLine notes that a text ends in the middle of a line, where it does.
func (r *Reader) notePartialLine(path string, src *ingest.Source) error {
	if !src.EndsMidLine() {
		return nil
	}
	return r.noteLoss(path, input.Note{Kind: input.NoteTruncated, Text: "it ends in the middle of a line: what came before is used"})
}

// noteUnread notes the NCCL records of files that could not be read. Logs that processes share always have some cut
// records; the account of the calls reports them.
func (r *Reader) noteUnread(c *comms.Record) (err error) {
	for i := range c.Sources {
		if c.Sources[i].Kind == comms.SourceNCCLLog {
			continue
		}
		n, first := int64(0), comms.Unread{}
		for _, u := range c.Unread {
			if u.Source == i {
				if n += u.Count; first.Count == 0 || u.Line < first.Line {
					first = u
				}
			}
		}
		if n > 0 {
			err = errors.Join(err, r.noteLoss(c.Sources[i].Path, input.Note{Kind: input.NoteDamaged,
				Text: fmt.Sprintf("records that cannot be read: %d, the first in line %d (%s): the others are used", n, first.Line, first.Reason)}))
		}
	}
	return err
}
