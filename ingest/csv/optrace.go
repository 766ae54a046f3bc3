package csv

import (
	"io"
	"strconv"

	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
)

// NewOperatorReader reads an operator trace without a schedule as NewReader reads a table of operators; file stands
// in errors and names the run.
func NewOperatorReader(t *operator.Trace, file string, o Options) (*Reader, error) {
	o.Unit = Nanoseconds
	return newReader(&traceRows{t: t, file: file}, file, o)
}

// traceRows are the rows of an operator trace.
type traceRows struct {
	t    *operator.Trace
	file string
	next int
}

func (r *traceRows) Header() ([]string, error) {
	return []string{"rank", "step", "host", "role", operatorNames[0], startNames[0], longValues[0]}, nil
}

func (r *traceRows) Next() ([]string, error) {
	if r.next == r.t.Len() {
		return nil, io.EOF
	}
	t, row := r.t, r.next
	r.next++
	rank, role := t.Ranks[t.Rank[row]], ""
	if t.Layout.PP > 1 {
		role = rank.Role.String()
	}
	whole := func(v int64) string { return strconv.FormatInt(v, 10) }
	return []string{strconv.Itoa(rank.ID), whole(t.Steps[t.Step[row]]), rank.Host, role, t.Names[t.Name[row]], whole(t.Start[row]), whole(t.Dur[row])}, nil
}

func (r *traceRows) Pos() input.Pos { return input.Pos{File: r.file, Line: int64(r.next)} }

func (r *traceRows) AtEnd() bool { return false }
