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
		json:     func() any { return jobsOf("sfstat.hang/1", each(jobs, Arrivals.hanging), o.Problems) },
		rows:     func() *publish.Rows { return publish.HangRows(each(jobs, Arrivals.hanging)) },
		document: func() document { return jobsDocument(jobs, Arrivals.hangDocument) },
	})
}

func (j Arrivals) hanging() publish.HangJob { return publish.HangJobOf(j.Run, j.Result) }

func (j Arrivals) hangDocument() document {
	h := j.Result.Hang
	if len(j.Ranks) == 0 && (len(j.Stacks) > 0 || j.Asked != nil) {
		return j.looked()
	}
	if h == nil && len(j.Mismatches) == 0 && len(j.Ranks) == 0 && len(j.Recovered) > 0 {
		return document{headline{text: say("recovered", j), level: evidence.Insufficient}, prose(say("why recovered", j))}
	}
	if h == nil && len(j.Mismatches) == 0 {
		return document{headline{text: say("no hang", j), level: evidence.Insufficient}, prose(say("arrivals facts", j))}
	}
	var d document
	if h != nil && h.Groups[0].GaveUp && len(h.Groups[0].Missing) == 0 && len(j.Mismatches) > 0 {
		h = nil // what they entered differently is why
	}
	if h != nil {
		d = hangHeads(h)
		d = put(d, prose(say("why hang", standstill{h, &h.Groups[0]})), prose(j.stackOfMissing()), prose("Next: "+j.hangNext()), hangTable(h))
	}
	d = put(d, stackTable(j.Stacks), j.answered())
	for _, m := range j.Mismatches {
		d = append(d, mismatchBlocks(&m)...)
	}
	return put(d, prose(say("arrivals facts", j)), prose(notedWords(slices.Concat(j.Recovered, j.Noted))))
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

// standstill is a call that not all members entered, in a job that stands still.
type standstill struct {
	*arrivals.Hang
	*arrivals.Blocked
}

// hangHeadlines are one sentence for each group that ranks are missing from and wait for nobody.
func hangHeadlines(h *arrivals.Hang) (list []string) {
	list = []string{say("hang", standstill{h, &h.Groups[0]})}
	if h.Loop {
		return list
	}
	for i, r := range h.Roots() {
		switch {
		case r.In == &h.Groups[0]:
		case i > mostNamed:
			return append(list, fmt.Sprintf("And %s, below.", table.Counted(len(h.Roots())-i, "rank")))
		default:
			list = append(list, upper(rankAt(r.Rank, r.Host, nil))+" "+say("never entered", standstill{h, r.In}))
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
		return say("next hang of nobody", &j.Result.Hang.Groups[0])
	}
	who := ranksWord(each(roots, func(r arrivals.Root) int { return r.Rank }))
	if len(roots) == 1 {
		who = rankAt(roots[0].Rank, roots[0].Host, nil)
	}
	return say("next hang", struct {
		At, Who, Ended string
		Several        bool
		In             *arrivals.Blocked
	}{j.stackOfMissing(), who, j.Ended[roots[0].Rank], len(roots) > 1, roots[0].In})
}

func hangTable(h *arrivals.Hang) *table.Table {
	t := tableOf("hang")
	for i := range h.Groups {
		b := &h.Groups[i]
		row := t.Cells(b.Group, call(b.Op, b.Seq), rankItems(missingRanks(b), 0), rankItems(b.Waiting, 0), entered(b.Line), rankItems(b.Unknown, 0), nil)
		if b.WaitsFor >= 0 {
			row[6] = table.TextCell(h.Groups[b.WaitsFor].Group)
		}
		t.Add(row...)
	}
	return t.Tidy()
}

func mismatchBlocks(m *arrivals.Mismatch) document {
	t := tableOf("mismatch")
	for _, s := range m.Sides {
		t.Row(rankItems(s.Ranks, 0), bareOp(s.Op), s.Sizes, s.Types, entered(s.Line))
	}
	return document{headline{text: say("mismatch", m), level: evidence.Strong}, t.Tidy()}
}

func side(s *arrivals.Side, d arrivals.Difference) string {
	return callOf(bareOp(s.Op), s.Sizes, s.Types, d.String())
}
