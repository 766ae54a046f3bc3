package follow

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/ingest/packet"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// refusals are the files that end before a line that cannot be read, by path.
type refusals map[string]refusal

// refusal is why and where a file ends for its reader.
type refusal struct {
	end   int64  // where the line begins that cannot be read
	line  []byte // how it begins
	err   error  // with its number in the file
	ranks map[member]bool
}

// member is a rank of a run.
type member struct {
	Run  string `json:"run"`
	Rank int    `json:"rank"`
}

// Problems are the files that are not read to their end, by path.
func (t *Tail) Problems() (out []auto.Problem) {
	for _, path := range slices.Sorted(maps.Keys(t.refused)) {
		out = append(out, auto.Problem{Path: path, Err: t.refused[path].err})
	}
	return out
}

func (t *Tail) policy() ingest.Policy {
	if t.Tolerant {
		return ingest.KeepGoing
	}
	return ingest.FirstError
}

// ended is what the end of reading, err, means, io.EOF if there is more to come. It
// notes which files are refused; of a file alone, that is the error.
func (t *Tail) ended(files []section, streams []packet.Summary, err error) error {
	mine := err == io.EOF
	for _, s := range streams {
		if s.Cut { // where more follows, what is no whole packet is refused
			return ErrRewritten
		}
		if s.Err == nil {
			continue
		}
		if !t.Tolerant {
			return err
		}
		mine = mine || s.Err == err
		i := slices.IndexFunc(files, func(f section) bool { return f.path == s.Name })
		if files[i].to == files[i].from {
			continue // nothing was appended
		}
		bad, err := files[i].refuse(s.Err)
		if err != nil {
			return err
		}
		t.refused[s.Name], files[i].to = bad, bad.end
	}
	if !mine {
		return err
	}
	return cmp.Or(t.alone(files), io.EOF)
}

// alone is why a file is refused that is read alone: then there is no verdict.
func (t *Tail) alone(files []section) error {
	if len(files) > 1 {
		return nil
	}
	return t.refused[files[0].path].err
}

// refuse finds the line that a section is refused for. It must be bad by itself, not
// because of another.
func (f section) refuse(err error) (bad refusal, _ error) {
	var placed *input.Error
	if !errors.As(err, &placed) || placed.Pos.Line == 0 {
		return bad, ErrRewritten
	}
	if bad.end, err = f.lineAt(placed.Pos.Line - 1); err != nil {
		return bad, err
	}
	alone := packet.NewReader([]packet.Stream{{Name: f.path, R: io.NewSectionReader(f.File, bad.end, f.to-bad.end)}}, packet.Options{})
	if _, err := alone.Next(); !errors.As(err, &placed) || placed.Pos.Line != 1 {
		return bad, ErrRewritten
	}
	before, err := f.linesBefore(bad.end)
	if err != nil {
		return bad, err
	}
	pos := placed.Pos
	pos.Line = before + 1
	bad.err = &input.Error{Pos: pos, Err: placed.Err}
	if bad.line, err = f.following(bad.end, min(marked, f.to-bad.end)); err != nil {
		return bad, err
	}
	bad.ranks, err = f.ranks(bad.end)
	return bad, err
}

// lineAt is where the line begins that so many lines of a section precede.
func (f section) lineAt(lines int64) (int64, error) {
	r, at := bufio.NewReaderSize(io.NewSectionReader(f.File, f.from, f.to-f.from), block), f.from
	for lines > 0 {
		part, err := r.ReadSlice('\n')
		switch at += int64(len(part)); err {
		case nil:
			lines--
		case bufio.ErrBufferFull:
		default:
			return at, ErrRewritten
		}
	}
	return at, nil
}

// linesBefore counts the lines of a file before an offset where one begins.
func (f section) linesBefore(end int64) (n int64, _ error) {
	r, part := io.NewSectionReader(f.File, 0, end), make([]byte, block)
	for {
		k, err := r.Read(part)
		n += int64(bytes.Count(part[:k], []byte{'\n'}))
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

func (f section) following(at, n int64) ([]byte, error) {
	b := make([]byte, n)
	_, err := f.ReadAt(b, at)
	return b, err
}

// ranks are those that the last lines of a file before an offset are of, until one comes again.
func (f section) ranks(end int64) (map[member]bool, error) {
	out := make(map[member]bool)
	for end > 0 {
		begin, err := wholeLines(f.File, 0, end-1)
		if err != nil {
			return nil, err
		}
		line, err := f.following(begin, end-begin)
		if err != nil {
			return nil, err
		}
		var m member
		if end = begin; json.Unmarshal(line, &m) != nil {
			continue // blank
		}
		if out[m] {
			break
		}
		out[m] = true
	}
	return out, nil
}

// still is the error unless the line that cannot be read still stands in a file.
func (r refusal) still(f *os.File) error {
	b := make([]byte, len(r.line))
	if _, err := f.ReadAt(b, r.end); err != nil || !bytes.Equal(b, r.line) {
		return ErrRewritten
	}
	return nil
}

// awaits reports whether ranks that a window lacks may still come.
func (r refusals) awaits(w *trace.Window) bool {
	return slices.ContainsFunc(w.Missing(), func(rank int) bool {
		for _, bad := range r {
			if bad.ranks[member{w.Run, rank}] {
				return false
			}
		}
		return true
	})
}
