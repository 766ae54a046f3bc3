package report

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/internal/table"
)

// Hang writes who is missing where a job stands still, and calls whose members
// disagree. CSV is one row per rank that is missing or waits.
func (o Output) Hang(jobs []Arrivals) error {
	return o.write(forms{
		schema:   "hang",
		json:     func() any { return jobsJSON[hangJobJSON]{each(jobs, Arrivals.hangWire)} },
		rows:     func() any { return hangRows(jobs) },
		document: func() document { return jobsDocument(jobs, Arrivals.hangDocument) },
	})
}

type hangJobJSON struct {
	Run        string              `json:"run" doc:"name of the folder, or of the run whose packets lie in it"`
	Ranks      []int               `json:"ranks" doc:"ranks that left a dump"`
	Missing    []int               `json:"missing_ranks" doc:"members of groups that left no dump"`
	Hang       bool                `json:"hang" doc:"the job stands still"`
	Loop       bool                `json:"loop" doc:"groups wait for each other in a circle"`
	Roots      []int               `json:"root_ranks" doc:"ranks that did not enter a call and wait in no other: the others wait for them"`
	Blocked    []blockedJSON       `json:"blocked" doc:"in the order in which groups block one another"`
	Mismatches []arrivals.Mismatch `json:"mismatches" doc:"calls that ranks of a group disagree on, the first of each group"`
	Stacks     []arrivals.Stack    `json:"stacks" doc:"where main threads are by py-spy, that of most ranks first"`
	Asked      *arrivals.Asked     `json:"ras" doc:"what NCCL answered of its counts; null: nobody asked"`
}

type blockedJSON struct {
	*arrivals.Blocked
	AtLeast int64 `json:"waited_at_least_ns" before:"missing" doc:"time from then until the latest time in any dump"`
	Unknown []int `json:"ranks_without_dump" before:"waits_for" doc:"members without a dump, or with one that is older than the others'"`
}

func (j Arrivals) hangWire() hangJobJSON {
	out := hangJobJSON{Run: j.Run, Ranks: j.Ranks, Missing: j.Missing, Hang: j.Result.Hang != nil, Roots: []int{}, Blocked: []blockedJSON{}, Mismatches: j.Mismatches, Stacks: j.Stacks, Asked: j.Asked}
	if h := j.Result.Hang; h != nil {
		out.Loop = h.Loop
		out.Roots = each(h.Roots(), func(r arrivals.Root) int { return r.Rank })
		for _, b := range h.Groups {
			out.Blocked = append(out.Blocked, blockedFrom(h, &b))
		}
	}
	return out
}

func blockedFrom(h *arrivals.Hang, b *arrivals.Blocked) blockedJSON {
	x := blockedJSON{b, h.Dumped - b.Since, slices.Clone(b.Unknown)}
	for _, a := range b.Missing {
		if a.Unrecorded {
			x.Unknown = append(x.Unknown, a.Rank)
		}
	}
	return x
}

// standing is a rank in a job that stands still.
type standing struct {
	Run      string        `json:"run"`
	Group    string        `json:"group"`
	Op       string        `json:"op"`
	Seq      int64         `json:"seq"`
	Rank     int           `json:"rank"`
	Host     string        `json:"host"`
	State    string        `json:"state"`
	LastOp   string        `json:"last_op"`
	LastSeq  int64         `json:"last_seq" null:"negative"`
	LastLine arrivals.Line `json:"last_line"`
	Enter    int64         `json:"last_enter_ns" null:"zero"`
}

func hangRows(jobs []Arrivals) (rows rowsJSON[standing]) {
	for _, j := range jobs {
		if j.Result.Hang == nil {
			continue
		}
		for _, b := range j.Result.Hang.Groups {
			for _, a := range b.Missing {
				rows.Rows = append(rows.Rows, standing{j.Run, b.Group, b.Op, b.Seq, a.Rank, a.Host, "missing", a.Op, a.Seq, a.Line, a.Enter})
			}
			for _, rank := range b.Waiting {
				rows.Rows = append(rows.Rows, standing{j.Run, b.Group, b.Op, b.Seq, rank, "", "waiting", b.Op, b.Seq, b.Line, b.Since})
			}
		}
	}
	return rows
}

func (j Arrivals) hangDocument() document {
	h := j.Result.Hang
	if len(j.Ranks) == 0 && (len(j.Stacks) > 0 || j.Asked != nil) {
		return j.looked()
	}
	if h == nil && len(j.Mismatches) == 0 {
		return document{headline{say("no hang", j), evidence.Insufficient}, prose(say("arrivals facts", j))}
	}
	var d document
	if h != nil {
		for _, text := range hangHeadlines(h) {
			d = append(d, headline{text, evidence.Strong})
		}
		d = put(d, prose(say("why hang", standstill{h, &h.Groups[0]})), prose(j.stackOfMissing()), prose("Next: "+j.hangNext()), hangTable(h))
	}
	d = put(d, stackTable(j.Stacks), j.answered())
	for _, m := range j.Mismatches {
		d = append(d, mismatchBlocks(&m)...)
	}
	return append(d, prose(say("arrivals facts", j)))
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

func call(op string, seq int64) string { return fmt.Sprintf("%s #%d", bareOp(op), seq) }

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
	who := ranksWord(each(roots, func(r arrivals.Root) int { return r.Rank }))
	if len(roots) == 1 {
		who = rankAt(roots[0].Rank, roots[0].Host, nil)
	}
	return say("next hang", struct {
		At, Who string
		Several bool
	}{j.stackOfMissing(), who, len(roots) > 1})
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
	return document{headline{say("mismatch", m), evidence.Strong}, t.Tidy()}
}

func side(s *arrivals.Side, d arrivals.Difference) string {
	return callOf(bareOp(s.Op), s.Sizes, s.Types, d.String())
}
