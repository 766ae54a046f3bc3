package tables

import (
	"slices"

	"github.com/sfstat/sfstat/internal/table"
)

// row is what a row of a table is about: runs, what they are called, and the ranking that is
// judged of their windows.
type row struct {
	names []string
	*Score
	ranking func(*scoredWindow) routing // nil: the frontier's by the paper's cut
}

func (r *row) routing(w *scoredWindow) routing {
	if r.ranking == nil {
		return w.Routing
	}
	return r.ranking(w)
}

// measure is a column: its head, and what it has of a row.
type measure struct {
	head string
	kind table.Kind
	of   func(*row) table.Cell
}

// part is some of the runs, by what they have in common.
type part struct {
	name string
	of   func(*scoredRun) bool
}

// parts returns the runs by parts, as rows of a table; empty parts are left out.
func (s *Score) parts(list ...part) []row {
	var out []row
	for _, p := range list {
		if own := s.selectRuns(p.of); len(own.Runs) > 0 {
			out = append(out, row{names: []string{p.name}, Score: own})
		}
	}
	return out
}

// limitTo leaves a dash in rows to which the column does not apply.
func (m measure) limitTo(applies func(*row) bool) measure {
	return measure{m.head, m.kind, func(r *row) table.Cell {
		if !applies(r) {
			return table.NoFigure()
		}
		return m.of(r)
	}}
}

// tabulate makes a table of rows, whose names stand under heads.
func tabulate(title string, heads []string, rows []row, columns ...measure) *table.Table {
	t := &table.Table{Title: title, Columns: table.Words(heads...), Keys: len(heads)}
	for _, r := range rows {
		t.Add(table.Texts(r.names...)...)
	}
	extend(t, rows, columns...)
	return t
}

// extend gives the rows of a table further columns.
func extend(t *table.Table, rows []row, columns ...measure) {
	for _, c := range columns {
		t.Columns = append(t.Columns, table.Column{Head: c.head, Kind: c.kind})
		for i := range rows {
			t.Rows[i] = append(t.Rows[i], c.of(&rows[i]))
		}
	}
}

// faulty visits the windows that hold a fault.
func (s *Score) faulty(visit func(*scoredWindow)) {
	for _, r := range s.Runs {
		for i := range r.Windows {
			if r.Windows[i].Fault {
				visit(&r.Windows[i])
			}
		}
	}
}

// tally counts the windows with a fault, or those without, and for how many something holds.
func (s *Score) tally(fault bool, holds func(*scoredWindow) bool) (k, n int) {
	for _, r := range s.Runs {
		for i := range r.Windows {
			if w := &r.Windows[i]; w.Fault == fault {
				n++
				count(&k, holds(w))
			}
		}
	}
	return k, n
}

func count(n *int, holds bool) {
	if holds {
		*n++
	}
}

// mean averages what may be unknown.
type mean struct {
	sum float64
	n   int
}

func (m *mean) add(f *float64) {
	if f != nil {
		m.sum += *f
		m.n++
	}
}

// value returns the mean, 0 of nothing.
func (m mean) value() float64 { return m.sum / float64(max(1, m.n)) }

func (m mean) String() string {
	if m.n == 0 {
		return none
	}
	return twoDecimals(m.value())
}

// cell returns the mean in a column of hundredths.
func (m mean) cell() table.Cell {
	if m.n == 0 {
		return table.NoFigure()
	}
	return table.RealCell(m.value())
}

// mean returns the mean of a value over the windows with a fault.
func (s *Score) mean(of func(*scoredWindow) *float64) (m mean) {
	s.faulty(func(w *scoredWindow) { m.add(of(w)) })
	return m
}

func average(head string, of func(*row, *scoredWindow) *float64) measure {
	return measure{head, table.Hundredths, func(r *row) table.Cell { return r.mean(func(w *scoredWindow) *float64 { return of(r, w) }).cell() }}
}

// ratio returns a quotient, nil where the divisor is 0.
func ratio(a, b float64) *float64 {
	if b <= 0 {
		return nil
	}
	return new(a / b)
}

// routingShare measures how often the seeded stage stands somewhere in the ranking.
func routingShare(head string, holds func(routing) bool) measure {
	return faultShare(head, func(r *row, w *scoredWindow) bool { return holds(r.routing(w)) })
}

func isFirst(p routing) bool     { return p.Top(1) }
func isSecond(p routing) bool    { return p.Top(2) }
func isCandidate(p routing) bool { return p.Hit }

// faultShare measures for which part of the windows with a fault something holds.
func faultShare(head string, holds func(*row, *scoredWindow) bool) measure {
	return measure{head, table.Part, func(r *row) table.Cell {
		return table.PartCell(r.tally(true, func(w *scoredWindow) bool { return holds(r, w) }))
	}}
}

// labelShare measures which part of the windows with a fault has a label.
func labelShare(head, label string) measure {
	return faultShare(head, func(_ *row, w *scoredWindow) bool { return slices.Contains(w.Labels, label) })
}

// healthyShare measures for which part of the windows without a fault something holds.
func healthyShare(head string, holds func(*scoredWindow) bool) measure {
	return measure{head, table.Part, func(r *row) table.Cell { return table.PartCell(r.tally(false, holds)) }}
}

// runShare measures for which part of the runs something holds.
func runShare(head string, holds func(*scoredRun) bool) measure {
	return measure{head, table.Part, func(r *row) table.Cell { return table.PartCell(r.count(holds), len(r.Runs)) }}
}

func (s *Score) count(holds func(*scoredRun) bool) (n int) {
	for _, r := range s.Runs {
		count(&n, holds(r))
	}
	return n
}

func wholeNumber(head string, of func(*row) int) measure {
	return measure{head, table.Integer, func(r *row) table.Cell { return table.WholeCell(of(r)) }}
}

func text(head string, of func(*row) string) measure {
	return measure{head, table.Wrapped, func(r *row) table.Cell { return table.TextCell(of(r)) }}
}

// The columns that several tables have. Windows are those with a fault.
var (
	windows = wholeNumber("windows", (*row).windows)
	runs    = wholeNumber("runs", func(r *row) int { return len(r.Runs) })

	top1    = routingShare("top-1", isFirst)
	top2    = routingShare("top-2", isSecond)
	hit     = routingShare("candidate hit", isCandidate)
	size    = average("mean candidates", func(r *row, w *scoredWindow) *float64 { return new(float64(r.routing(w).Candidates)) })
	largest = measure{"max", table.Integer, func(r *row) table.Cell {
		if r.windows() == 0 {
			return table.NoFigure()
		}
		return table.WholeCell(r.largest())
	}}
	inAll = []measure{top1, top2, hit, size, largest}

	seededShare = average("seeded share", func(_ *row, w *scoredWindow) *float64 { return w.Share })

	stageRight = runShare("stage right", func(r *scoredRun) bool { return r.Verdict.StageRight })
	rankFound  = runShare("rank right", func(r *scoredRun) bool { return r.Verdict.Answer == rankRight })
	rankMissed = runShare("rank wrong", func(r *scoredRun) bool { return r.Verdict.Answer == rankWrong })
	called     = runShare("called", func(r *scoredRun) bool { return r.Verdict.Named })
)

func (r *row) windows() int {
	_, n := r.tally(true, func(*scoredWindow) bool { return true })
	return n
}

// largest returns the size of the largest candidate set.
func (r *row) largest() (most int) {
	r.faulty(func(w *scoredWindow) { most = max(most, r.routing(w).Candidates) })
	return most
}
