package report

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/publish"
)

// Hang writes who is missing where a job stands still, and calls whose members
// disagree. CSV is one row per rank that is missing or waits.
func (o Output) Hang(jobs []Arrivals) error {
	return o.write(forms{
		json:     func() any { return jobsOf("sfstat.hang/1", each(jobs, Arrivals.hangJob), o.Problems) },
		rows:     func() *publish.Rows { return publish.HangRows(each(jobs, Arrivals.hangJob)) },
		document: func() document { return jobsDocument(jobs, Arrivals.hangDocument) },
	})
}

// hangJob returns the job as sfstat hang publishes it.
func (j Arrivals) hangJob() publish.HangJob { return publish.HangJobOf(j.Run, j.Result) }

func (j Arrivals) hangDocument() document {
	h := j.Result.Hang
	if len(j.Ranks) == 0 && (len(j.Stacks) > 0 || j.Asked != nil) {
		return j.lookedDocument()
	}
	if h == nil && len(j.Mismatches) == 0 && len(j.Ranks) == 0 && len(j.Recovered) > 0 {
		return document{headline{text: sayRecovered(j), level: evidence.Insufficient}, prose(whyRecovered)}
	}
	if h == nil && len(j.Mismatches) == 0 {
		return document{headline{text: sayNoHang(j), level: evidence.Insufficient}, prose(sayArrivalFacts(j.Result))}
	}
	var d document
	if h != nil && h.Groups[0].GaveUp && len(h.Groups[0].Missing) == 0 && len(j.Mismatches) > 0 {
		h = nil // what they entered differently is why
	}
	if h != nil {
		d = hangHeads(h)
		d = put(d, prose(sayWhyHang(&h.Groups[0])), prose(j.stackOfMissing()), prose("Next: "+j.hangNext()), hangTable(h))
	}
	d = put(d, stackTable(j.Stacks), j.countersDocument())
	for _, m := range j.Mismatches {
		d = append(d, mismatchBlocks(&m)...)
	}
	return put(d, prose(sayArrivalFacts(j.Result)), prose(notedWords(slices.Concat(j.Recovered, j.Noted))))
}

// hangHeads returns the headlines of a hang, as sure as it is who is missing.
func hangHeads(h *arrivals.Hang) (d document) {
	sure := evidence.Strong
	if roots := h.Roots(); len(roots) == 0 || roots[0].May {
		sure = evidence.Ambiguous
	}
	for _, text := range hangHeadlines(h) {
		d = append(d, headline{text: text, level: sure})
	}
	return d
}

// hangHeadlines returns a sentence for each group whose missing ranks wait for nobody.
func hangHeadlines(h *arrivals.Hang) (list []string) {
	list = []string{sayStandstill(h, &h.Groups[0])}
	if h.Loop {
		return list
	}
	for i, r := range h.Roots() {
		switch {
		case r.In == &h.Groups[0]:
		case i > mostNamed:
			return append(list, fmt.Sprintf("And %s, below.", table.Counted(len(h.Roots())-i, "rank")))
		default:
			list = append(list, upper(rankAt(r.Rank, r.Host, nil))+" "+sayNotEntered(h, r.In))
		}
	}
	return list
}

func call(op string, seq int64) string {
	if seq == 0 {
		return bareOp(op)
	}
	return fmt.Sprintf("%s #%d", bareOp(op), seq)
}

func missingWords(b *arrivals.Blocked) string {
	if len(b.Missing) == 1 {
		return rankAt(b.Missing[0].Rank, b.Missing[0].Host, nil)
	}
	return ranksWord(missingRanks(b))
}

func missingRanks(b *arrivals.Blocked) []int {
	return each(b.Missing, func(a arrivals.Absent) int { return a.Rank })
}

func (j Arrivals) hangNext() string {
	roots := j.Result.Hang.Roots()
	if len(roots) == 0 {
		return sayNextOfNobody(&j.Result.Hang.Groups[0])
	}
	who := ranksWord(each(roots, func(r arrivals.Root) int { return r.Rank }))
	if len(roots) == 1 {
		who = rankAt(roots[0].Rank, roots[0].Host, nil)
	}
	return sayNextOfHang(hangSuspects{who: who, ended: j.Ended[roots[0].Rank] != "", at: j.stackOfMissing() != "", several: len(roots) > 1, in: roots[0].In})
}

func hangTable(h *arrivals.Hang) *table.Table {
	t := hangColumns()
	for i := range h.Groups {
		b := &h.Groups[i]
		row := t.Cells(b.Group, call(b.Op, b.Seq), rankItems(missingRanks(b), 0), rankItems(b.Waiting, 0), lineWithCall(b.Line), rankItems(b.Unknown, 0), nil)
		if b.WaitsFor >= 0 {
			row[6] = table.TextCell(h.Groups[b.WaitsFor].Group)
		}
		t.Add(row...)
	}
	return t.Tidy()
}

func mismatchBlocks(m *arrivals.Mismatch) document {
	t := mismatchColumns()
	for _, s := range m.Sides {
		t.Row(rankItems(s.Ranks, 0), bareOp(s.Op), s.Sizes, s.Types, lineWithCall(s.Line))
	}
	return document{headline{text: sayMismatch(m), level: evidence.Strong}, t.Tidy()}
}

func side(s *arrivals.Side, d arrivals.Difference) string {
	return callOf(bareOp(s.Op), s.Sizes, s.Types, d.String())
}

func hangColumns() *table.Table {
	return &table.Table{Caption: "In the order in which groups block one another.", Columns: []table.Column{
		{Head: "group", Kind: table.Name},
		{Head: "call", Kind: table.Name},
		{Head: "missing", Kind: table.List},
		{Head: "waiting", Kind: table.List},
		{Head: "entered from", Kind: table.Name},
		{Head: "no dump of", Kind: table.List, Spare: true},
		{Head: "behind", Kind: table.Name, Means: "behind: the group in which what is missing waits."},
	}}
}

func mismatchColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "ranks", Kind: table.List},
		{Head: "call", Kind: table.Name},
		{Head: "sizes", Kind: table.Name},
		{Head: "types", Kind: table.Name},
		{Head: "entered from", Kind: table.Name},
	}}
}
