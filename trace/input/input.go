// Package input says where in an input something was found, what was wrong there,
// and what is incomplete about what was read.
//
//   - a [Pos] is a place, and an [Error] says what was wrong there; [Bad] makes what
//     it wraps, of one of the kinds that this package lists, and [At] places it;
//   - a [Note] is one incompleteness of what could be read.
package input

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/sfstat/sfstat/trace/enum"
)

// What can be wrong with a record. Readers wrap these in an [Error] that
// says where; callers test with errors.Is.
var (
	ErrEmpty     = errors.New("empty")
	ErrNegative  = errors.New("negative")
	ErrNotFinite = errors.New("not a finite number")
	ErrRange     = errors.New("out of range")
	ErrType      = errors.New("wrong type")
	ErrOverflow  = errors.New("overflow")
	ErrDuplicate = errors.New("duplicate")
	ErrRagged    = errors.New("lengths do not agree")
	ErrTooLarge  = errors.New("over the limit")
	ErrMissing   = errors.New("missing")
	ErrTruncated = errors.New("truncated")
	ErrFormat    = errors.New("not the expected format")
)

// Pos is a place in an input. The zero Pos is "unknown place".
type Pos struct {
	File   string // as the user gave it; "-" is standard input
	Line   int64  // 1-based; 0 when the format has no lines
	Offset int64  // byte offset in the decompressed input, meaningful where Line is 0
	Inside string // a place that a format names itself, such as "row 88, column wall_ns"
}

// String formats the position as the format allows: "run.jsonl:12",
// "run.parquet[row 88]" or "run.bin@byte 40".
func (p Pos) String() string {
	file := p.File
	if file == "" {
		file = "input"
	}
	switch {
	case p.Inside != "" && p.Line > 0:
		return file + ":" + strconv.FormatInt(p.Line, 10) + "[" + p.Inside + "]"
	case p.Inside != "":
		return file + "[" + p.Inside + "]"
	case p.Line > 0:
		return file + ":" + strconv.FormatInt(p.Line, 10)
	case p.Offset > 0:
		return file + "@byte " + strconv.FormatInt(p.Offset, 10)
	}
	return file
}

// Error says what was wrong with a record and where. Its message is one
// line: position, what was found, what was expected.
type Error struct {
	Pos Pos
	Err error
}

func (e *Error) Error() string { return e.Pos.String() + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// At wraps err with a position; a nil err stays nil, and an err that already
// carries a position is returned as it is.
func At(pos Pos, err error) error {
	var placed *Error
	if err == nil || errors.As(err, &placed) {
		return err
	}
	return &Error{Pos: pos, Err: err}
}

// Bad makes an error of the given kind (one of the Err values of this package)
// with a sentence for the person who must act.
func Bad(kind error, format string, args ...any) error {
	return fmt.Errorf(format+" (%w)", append(args, kind)...)
}

// OneOf returns the value of a name in an input (enum.Parse).
func OneOf[T ~uint8 | ~int](what string, names []string, name string) (T, error) {
	v, err := enum.Parse[T](what, names, name)
	if err != nil {
		return 0, fmt.Errorf("%w (%w)", err, ErrType)
	}
	return v, nil
}
