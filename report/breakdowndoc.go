package report

import (
	"fmt"
	"strings"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/breakdown"
	"github.com/sfstat/sfstat/internal/table"
)

// breakdownDocument tells every run from its own headline on.
func breakdownDocument(b Breakdowns) document {
	if len(b.Runs) == 0 {
		return document{headline{"No device time could be divided.", evidence.Insufficient}}
	}
	var d document
	for _, r := range b.Runs {
		level := evidence.Insufficient
		if len(r.Marks) > 0 {
			level = evidence.Supported
		}
		rows := b.rowsOf(r)
		d = append(d, headline{breakdownHeadline(r), level}, prose(breakdownBasis(r)), heading("Share of the time"), sharesTable(b, rows))
		if b.PerStep {
			d = append(d, heading("Time"), lengthsTable(b, rows))
		} else {
			d = append(d, heading("Time per step"), lengthsTable(b, rows))
		}
		if len(r.Marks) > 0 {
			d = append(d, heading("Who stands out"), markBullets(r))
		}
		d = append(d, heading("How this was read"), bullets(breakdownNotes(r)))
	}
	return d
}

// whole adds up the ranks.
func whole(r *breakdown.Result) (t breakdown.Times) {
	for i := range r.Ranks {
		t.Span += r.Ranks[i].Span
		for c := range t.In {
			t.In[c] += r.Ranks[i].In[c]
		}
	}
	return t
}

// breakdownHeadline is the answer in one sentence.
func breakdownHeadline(r *breakdown.Result) string {
	t := whole(r)
	if t.Span == 0 {
		return "Nothing ran on the device in the steps that were recorded."
	}
	who := "The device"
	if n := len(r.Ranks); n > 1 {
		who = fmt.Sprintf("The devices of %s", counted(n, "rank"))
	}
	share := func(c breakdown.Category) string { return table.Percent(t.Share(c)) }
	s := fmt.Sprintf("%s computed for %s of the time and idled for %s", who, share(breakdown.Compute), share(breakdown.Idle))
	switch {
	case t.In[breakdown.Communication] == 0:
		s += "; there was no communication"
	default:
		s += fmt.Sprintf("; communication that no compute covers took %s, %s of all communication", share(breakdown.ExposedComm), table.Percent(t.Exposed()))
	}
	if len(r.Marks) == 0 {
		return s + "."
	}
	first := r.Marks[0]
	return fmt.Sprintf("%s. Rank %d stands out: %s is %s of its time, %s of its peers'.", s, r.Ranks[first.Rank].ID, first.Category, table.Percent(first.Share), table.Percent(first.Peers))
}

// breakdownBasis is "gen8 · 10 steps from 0 to 9 · 8 ranks · 208 ms per step".
func breakdownBasis(r *breakdown.Result) string {
	var parts []string
	if r.Run != "" {
		parts = append(parts, r.Run)
	}
	steps, all := 0, 0
	var first, last int64
	for i := range r.Ranks {
		list := r.Ranks[i].Steps
		all += len(list)
		if i == 0 {
			steps, first, last = len(list), list[0].Step, list[len(list)-1].Step
		}
	}
	span := fmt.Sprintf("step %d", first)
	if steps > 1 {
		span = fmt.Sprintf("%s from %d to %d", counted(steps, "step"), first, last)
	}
	parts = append(parts, span, counted(len(r.Ranks), "rank"))
	if t := whole(r); t.Span > 0 {
		parts = append(parts, length(float64(t.Span)/float64(all))+" per step")
	}
	return strings.Join(parts, " · ")
}

// whose are the columns that say whose a row is, and its cells.
func (b Breakdowns) whose() []table.Column {
	out := []table.Column{{Head: "rank", Kind: table.ID}}
	if b.PerStep {
		out = append(out, table.Column{Head: "step", Kind: table.ID})
	}
	return out
}

func (r dividedRow) whose() []table.Cell {
	out := []table.Cell{table.WholeCell(r.rank().ID)}
	if r.step != nil {
		out = append(out, table.WholeCell(r.step.Step))
	}
	return out
}

// shownCategories are the columns of the tables, and what they are called.
var shownCategories = [...]struct {
	breakdown.Category
	head string
}{{breakdown.Compute, "compute"}, {breakdown.Communication, "comm"}, {breakdown.Memory, "memory"}, {breakdown.Idle, "idle"}, {breakdown.ExposedComm, "exposed"}}

// sharesTable is the parts of the time.
func sharesTable(b Breakdowns, rows []dividedRow) *table.Table {
	t := &table.Table{Columns: b.whose(), Footnotes: []string{"stands out among its peers"},
		Caption: "exposed: communication that no compute covers. of comm: its part of communication. What runs beside something else counts in both columns."}
	for _, c := range shownCategories {
		t.Columns = append(t.Columns, table.Column{Head: c.head, Kind: table.Fraction})
	}
	t.Columns = append(t.Columns, table.Column{Head: "of comm", Kind: table.Fraction})
	marked := false
	for _, r := range rows {
		cells := r.whose()
		for _, c := range shownCategories {
			one := table.RealCell(r.times().Share(c.Category))
			if r.mark(c.Category) != nil {
				one.Note, one.Strong, marked = 1, true, true
			}
			cells = append(cells, one)
		}
		t.Add(append(cells, table.RealCell(r.times().Exposed()))...)
	}
	if !marked {
		t.Footnotes = nil
	}
	return t.Tidy()
}

// lengthsTable is the time itself, of all steps their mean.
func lengthsTable(b Breakdowns, rows []dividedRow) *table.Table {
	t := &table.Table{OneUnit: true, Columns: append(b.whose(), table.Column{Head: "step %s", Kind: table.Length})}
	for _, c := range shownCategories {
		t.Columns = append(t.Columns, table.Column{Head: c.head + " %s", Kind: table.Length})
	}
	for _, r := range rows {
		n := 1.0
		if r.step == nil {
			n = float64(len(r.rank().Steps))
		}
		cells := append(r.whose(), table.RealCell(float64(r.times().Span)/n))
		for _, c := range shownCategories {
			cells = append(cells, table.RealCell(float64(r.times().In[c.Category])/n))
		}
		t.Add(cells...)
	}
	return t.Tidy()
}

// maxMarks is how many marks text tells one by one.
const maxMarks = 8

func markBullets(r *breakdown.Result) bullets {
	var b bullets
	for i, m := range r.Marks {
		if i == maxMarks {
			b = append(b, fmt.Sprintf("and %d more, which json and csv have", len(r.Marks)-maxMarks))
			break
		}
		b = append(b, fmt.Sprintf("rank %d: %s is %s of its time, %s of its peers'; %s in a healthy run",
			r.Ranks[m.Rank].ID, m.Category, table.Percent(m.Share), table.Percent(m.Peers), pValue(m.P)))
	}
	return append(b, "Shares name no cause: who waits for a late rank communicates longer than it does. sfstat diagnose tells them apart.")
}

// breakdownNotes are what the figures rest on, as sentences; never nil.
func breakdownNotes(r *breakdown.Result) []string {
	notes := []string{"The time of a rank lasts from its first work on the device in these steps to its last; streams are merged before they are summed"}
	t, steps := whole(r), int64(0)
	for i := range r.Ranks {
		steps += r.Ranks[i].Whole().Span
	}
	if steps > t.Span {
		notes = append(notes, fmt.Sprintf("The steps are longer: before its first work and after its last nothing ran for %s in all, %s of the steps",
			length(float64(steps-t.Span)), table.Percent(float64(steps-t.Span)/float64(steps))))
	}
	switch {
	case len(r.Ranks) == 1:
		notes = append(notes, "One rank: it can be compared with none")
	case r.Tests == 0:
		notes = append(notes, fmt.Sprintf("Fewer than %d ranks of a role: whether one of them stands out cannot be told from chance", breakdown.MinPeers))
	default:
		notes = append(notes, fmt.Sprintf("Ranks were compared with their peers in %s: in a healthy run any of them is marked with probability %s or less; differences below %s are not marked",
			counted(r.Tests, "comparison"), percentOf(r.Option.Alpha), percentOf(r.Option.Least)))
	}
	return append(notes, texts(r.Notes)...)
}
