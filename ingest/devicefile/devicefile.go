// Package devicefile keeps how the accelerators of a run spent its steps, as
// profilers recorded them: [devicetime.Run] as JSON Lines.
//
//	{"schema":"sfstat.device/1","run":"job","ranks":2,"notes":[{"kind":"recorder","text":"…"}]}
//	{"rank":0,"host":"n0","local_rank":0,"role":{"dp":0},"steps":[[4,100,900,110,880,600,200,10,40,90],…]}
//	…
//
// A line for each rank; a step is its number, start, end, first and last moment
// of work, and what it spent computing, communicating, moving memory, idle, and
// in communication that nothing covers, all in nanoseconds. What is
// written is read as it was.
package devicefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/devicetime"
	"github.com/sfstat/sfstat/trace/input"
)

// Schema is what a file says that it is.
const Schema = "sfstat.device/1"

type head struct {
	Schema string       `json:"schema"`
	Run    string       `json:"run"`
	Ranks  int          `json:"ranks"`
	Notes  []input.Note `json:"notes,omitempty"`
}

// numbers are those of a step, in the order of the package's doc. Not an array:
// encoding/json would fill up a short one, and pass over what is too much.
type numbers []int64

const perStep = 10

type line struct {
	Rank      int            `json:"rank"`
	Host      string         `json:"host,omitempty"`
	LocalRank int            `json:"local_rank"`
	Role      map[string]int `json:"role,omitempty"`
	Steps     []numbers      `json:"steps"`
}

// Write writes the device times of a run.
func Write(w io.Writer, d *devicetime.Run) error {
	out := json.NewEncoder(w)
	if err := out.Encode(head{Schema, d.Run, len(d.Ranks), d.Notes}); err != nil {
		return err
	}
	for i := range d.Ranks {
		r := &d.Ranks[i]
		l := line{Rank: r.Rank.ID, Host: r.Rank.Host, LocalRank: r.Rank.LocalRank}
		for _, c := range r.Rank.Role {
			if l.Role == nil {
				l.Role = make(map[string]int)
			}
			l.Role[c.Axis] = c.Index
		}
		for _, s := range r.Steps {
			l.Steps = append(l.Steps, numbers{s.Step, s.Start, s.End, s.First, s.Last, s.Compute, s.Communication, s.Memory, s.Idle, s.ExposedComm})
		}
		if err := out.Encode(l); err != nil {
			return err
		}
	}
	return nil
}

// Read reads the device times of one run. name stands in errors, which say the
// line.
func Read(r io.Reader, name string, lim ingest.Limits) (*devicetime.Run, error) {
	in := ingest.NewLines(r, name, lim, nil)
	var h head
	if err := next(in, &h); err != nil {
		return nil, ended(in, err, "no header")
	}
	if h.Schema != Schema {
		return nil, input.At(in.Pos(), input.Bad(input.ErrFormat, "schema %.80q, expected %q", h.Schema, Schema))
	}
	d := &devicetime.Run{Run: h.Run, Notes: h.Notes}
	for {
		var l line
		err := next(in, &l)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		rank, err := l.rank()
		if n := len(d.Ranks); err == nil && n > 0 && d.Ranks[n-1].Rank.ID >= rank.Rank.ID {
			err = input.Bad(input.ErrFormat, "rank %d behind rank %d: ranks must ascend", rank.Rank.ID, d.Ranks[n-1].Rank.ID)
		}
		if err != nil {
			return nil, input.At(in.Pos(), err)
		}
		d.Ranks = append(d.Ranks, rank)
	}
	if len(d.Ranks) != h.Ranks || h.Ranks == 0 {
		return nil, input.At(in.Pos(), input.Bad(input.ErrTruncated, "%d ranks, the header says %d: the file was cut off, convert again", len(d.Ranks), h.Ranks))
	}
	return d, nil
}

func ended(in *ingest.Lines, err error, what string) error {
	if errors.Is(err, io.EOF) {
		return input.At(in.Pos(), input.Bad(input.ErrEmpty, "%s", what))
	}
	return err
}

// next decodes the next line that is not blank.
func next(in *ingest.Lines, to any) error {
	for {
		text, err := in.Next()
		switch {
		case errors.Is(err, io.EOF):
			return io.EOF
		case err != nil:
			return input.At(in.Pos(), err)
		case len(bytes.TrimSpace(text)) == 0:
			continue
		}
		d := json.NewDecoder(bytes.NewReader(text))
		if err := d.Decode(to); err != nil {
			return input.At(in.Pos(), input.Bad(input.ErrFormat, "%v", err))
		}
		if d.More() {
			return input.At(in.Pos(), input.Bad(input.ErrFormat, "more than one value on the line"))
		}
		return nil
	}
}

// rank checks a line and makes the rank of it.
func (l *line) rank() (devicetime.Rank, error) {
	d := devicetime.Rank{Rank: trace.Rank{ID: l.Rank, Host: l.Host, LocalRank: l.LocalRank}}
	if l.Rank < 0 || l.Rank >= trace.MaxRanks || l.LocalRank < -1 {
		return d, input.Bad(input.ErrFormat, "rank %d, local rank %d, expected 0 to %d, and -1 or more", l.Rank, l.LocalRank, trace.MaxRanks-1)
	}
	if len(l.Steps) == 0 {
		return d, input.Bad(input.ErrEmpty, "rank %d has no steps", l.Rank)
	}
	var coords []trace.Coord
	for axis, index := range l.Role {
		coords = append(coords, trace.Coord{Axis: axis, Index: index})
	}
	var err error
	if len(coords) > 0 {
		if d.Rank.Role, err = trace.NewRole(coords...); err != nil {
			return d, err
		}
	}
	until := int64(-trace.MaxTotal)
	for _, n := range l.Steps {
		if len(n) != perStep {
			return d, input.Bad(input.ErrFormat, "a step of %d numbers, expected %d", len(n), perStep)
		}
		s := devicetime.Step{Step: n[0], Start: n[1], End: n[2], First: n[3], Last: n[4], Compute: n[5], Communication: n[6],
			Memory: n[7], Idle: n[8], ExposedComm: n[9]}
		if err := check(&s, until); err != nil {
			return d, err
		}
		until = s.End
		d.Steps = append(d.Steps, s)
	}
	return d, nil
}

// check refuses a step that cannot be, or begins before the one before it ended.
func check(s *devicetime.Step, until int64) error {
	span := s.End - s.Start
	switch {
	case s.Step < 0:
		return input.Bad(input.ErrNegative, "step %d", s.Step)
	case s.Start < until || s.End < s.Start || s.End > trace.MaxTotal:
		return input.Bad(input.ErrFormat, "step %d lasts from %d to %d ns, the one before it until %d", s.Step, s.Start, s.End, until)
	case s.First < s.Start || s.Last < s.First || s.Last > s.End:
		return input.Bad(input.ErrFormat, "step %d from %d to %d ns has work from %d to %d", s.Step, s.Start, s.End, s.First, s.Last)
	}
	for _, part := range [...]int64{s.Compute, s.Communication, s.Memory, s.Idle, s.ExposedComm} {
		if part < 0 || part > span {
			return input.Bad(input.ErrFormat, "step %d takes %d ns and has %d ns of something", s.Step, span, part)
		}
	}
	return nil
}
