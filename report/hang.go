package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/internal/table"
)

// Hang writes who is missing where a job stands still, and calls whose members
// disagree. CSV is one row per rank that is missing or waits.
func (o Output) Hang(jobs []Arrivals) error {
	return o.write(forms{
		"hang",
		func() any { return jobsJSON[hangJobJSON]{each(jobs, Arrivals.hangWire)} },
		func() *csvTable { return hangRows(jobs) },
		func() document { return jobsDocument(jobs, Arrivals.hangDocument) },
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
	Group    string            `json:"group" doc:"name of the process group"`
	Desc     *string           `json:"group_description" doc:"of the group"`
	Op       string            `json:"op" doc:"operation as recorded"`
	Seq      int64             `json:"seq" doc:"number of the call in the group"`
	Line     arrivals.Line     `json:"source_line" null:"zero" doc:"line of the program from which the others entered it"`
	Waiting  []int             `json:"waiting_ranks" doc:"ranks that entered it and wait"`
	Since    int64             `json:"since_ns" doc:"when the first of them entered, since 1970"`
	AtLeast  int64             `json:"waited_at_least_ns" doc:"time from then until the latest time in any dump"`
	Missing  []arrivals.Absent `json:"missing" doc:"ranks that did not enter"`
	Unknown  []int             `json:"ranks_without_dump" doc:"members without a dump, or with one that is older than the others'"`
	WaitsFor *int              `json:"waits_for" doc:"index in blocked of the call that the missing ranks wait in; null: none"`
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
	x := blockedJSON{Group: b.Group, Desc: optionalString(b.Desc), Op: b.Op, Seq: b.Seq, Line: b.Line, Waiting: b.Waiting, Since: b.Since,
		AtLeast: h.Dumped - b.Since, Missing: b.Missing, Unknown: slices.Clone(b.Unknown)}
	for _, a := range b.Missing {
		if a.Unrecorded {
			x.Unknown = append(x.Unknown, a.Rank)
		}
	}
	if b.WaitsFor >= 0 {
		x.WaitsFor = &b.WaitsFor
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

func hangRows(jobs []Arrivals) *csvTable {
	var rows []standing
	for _, j := range jobs {
		if j.Result.Hang == nil {
			continue
		}
		for _, b := range j.Result.Hang.Groups {
			for _, a := range b.Missing {
				rows = append(rows, standing{j.Run, b.Group, b.Op, b.Seq, a.Rank, a.Host, "missing", a.Op, a.Seq, a.Line, a.Enter})
			}
			for _, rank := range b.Waiting {
				rows = append(rows, standing{j.Run, b.Group, b.Op, b.Seq, rank, "", "waiting", b.Op, b.Seq, b.Line, b.Since})
			}
		}
	}
	return structRows(rows)
}

func (j Arrivals) hangDocument() document {
	h := j.Result.Hang
	if len(j.Ranks) == 0 && (len(j.Stacks) > 0 || j.Asked != nil) {
		return j.looked()
	}
	if h == nil && len(j.Mismatches) == 0 {
		what := fmt.Sprintf("%s: no hang: every call that a rank waits in was entered by all members with a dump.", j.Run)
		if j.MidStep {
			what = fmt.Sprintf("%s: no hang: some ranks had not entered their last call yet, but the dumps were written in the middle of a step.", j.Run)
		}
		return document{headline{what, evidence.Insufficient}, prose(j.facts())}
	}
	var d document
	if h != nil {
		for _, text := range hangHeadlines(h) {
			d = append(d, headline{text, evidence.Strong})
		}
		if why := hangWhy(h); why != "" {
			d = append(d, prose(why))
		}
		if at := j.stackOfMissing(); at != "" {
			d = append(d, prose(at))
		}
		d = append(d, prose("Next: "+j.hangNext()))
		d = append(d, hangTable(h))
	}
	if len(j.Stacks) > 0 {
		d = append(d, stackTable(j.Stacks))
	}
	if j.Asked != nil {
		d = append(d, j.answered()...)
	}
	for _, m := range j.Mismatches {
		d = append(d, mismatchBlocks(&m)...)
	}
	return append(d, prose(j.facts()))
}

// hangHeadline is who is missing and who waits.
func hangHeadline(h *arrivals.Hang) string {
	b := &h.Groups[0]
	if h.Loop {
		return fmt.Sprintf("Hang: %d groups wait for each other in a circle, %s of %s among them.", len(h.Groups), call(b.Op, b.Seq), groupName(b.Group, b.Desc))
	}
	if b.Missing[0].Unrecorded {
		return fmt.Sprintf("Hang: all ranks but %s wait in %s of %s; %s.", missingWords(b), call(b.Op, b.Seq), groupName(b.Group, b.Desc), waited(h, b))
	}
	return fmt.Sprintf("Hang: %s never entered %s of %s; %s.", missingWords(b), call(b.Op, b.Seq), groupName(b.Group, b.Desc), waited(h, b))
}

// hangHeadlines are one sentence for each group that ranks are missing from and wait for nobody.
func hangHeadlines(h *arrivals.Hang) (list []string) {
	list = []string{hangHeadline(h)}
	if h.Loop {
		return list
	}
	for i, r := range h.Roots() {
		switch {
		case r.In == &h.Groups[0]:
		case i > mostNamed:
			return append(list, fmt.Sprintf("And %s, below.", counted(len(h.Roots())-i, "rank")))
		default:
			list = append(list, fmt.Sprintf("%s never entered %s of %s; %s.", upper(rankAt(r.Rank, r.Host, nil)), call(r.In.Op, r.In.Seq), groupName(r.In.Group, r.In.Desc), waited(h, r.In)))
		}
	}
	return list
}

func call(op string, seq int64) string { return fmt.Sprintf("%s #%d", bareOp(op), seq) }

func missingWords(b *arrivals.Blocked) string {
	if len(b.Missing) == 1 {
		return rankAt(b.Missing[0].Rank, b.Missing[0].Host, nil)
	}
	return someRanks(missingRanks(b))
}

func missingRanks(b *arrivals.Blocked) []int {
	return each(b.Missing, func(a arrivals.Absent) int { return a.Rank })
}

// waited is since when the others wait. Dumps do not say when they were
// written, so that the latest time in any of them bounds it.
func waited(h *arrivals.Hang, b *arrivals.Blocked) string {
	who := counted(len(b.Waiting), "rank")
	if b.Since == 0 {
		return who + " waiting"
	}
	since := "since " + time.Unix(0, b.Since).UTC().Format("15:04:05 UTC on 2 January 2006")
	if d := h.Dumped - b.Since; d > int64(time.Second) {
		return fmt.Sprintf("%s waited for at least %s, %s", who, length(float64(d)), since)
	}
	return fmt.Sprintf("%s waiting %s", who, since)
}

func hangWhy(h *arrivals.Hang) string {
	b := &h.Groups[0]
	if b.Missing[0].Unrecorded {
		text := fmt.Sprintf("Nothing of %s was recorded: its process may have failed, or only its dump is lost.", missingWords(b))
		if w := entered(b.Line); w != "" {
			text += fmt.Sprintf(" The others entered the call from %s.", w)
		}
		return text
	}
	if len(b.Missing) != 1 {
		if w := entered(b.Line); w != "" {
			return fmt.Sprintf("The others entered it from %s.", w)
		}
		return ""
	}
	a := &b.Missing[0]
	text := fmt.Sprintf("Rank %d has no call of that group in its dump", a.Rank)
	if a.Op != "" {
		text = fmt.Sprintf("Rank %d last entered %s there", a.Rank, call(a.Op, a.Seq))
		if w := entered(a.Line); w != "" {
			text += ", from " + w
		}
	}
	if w := entered(b.Line); w != "" {
		text += fmt.Sprintf("; the others came from %s", w)
	}
	if a.In != "" {
		return text + fmt.Sprintf("; it waits in group %s.", a.In)
	}
	return text + "; it waits in no other group."
}

func (j Arrivals) hangNext() string {
	h := j.Result.Hang
	roots, of := each(h.Roots(), func(r arrivals.Root) int { return r.Rank }), "its host"
	if len(roots) > 1 {
		of = "their hosts"
	}
	who := someRanks(roots)
	if len(roots) == 1 {
		who = rankAt(roots[0], h.Roots()[0].Host, nil)
	}
	if j.stackOfMissing() != "" {
		return fmt.Sprintf("read that line; look for Xid errors in the kernel log of %s.", of)
	}
	return fmt.Sprintf("py-spy dump of %s; look for Xid errors in the kernel log of %s.", who, of)
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
	return document{headline{mismatchHeadline(m), evidence.Strong}, t.Tidy()}
}

// mismatchHeadline is what members of a call disagree on.
func mismatchHeadline(m *arrivals.Mismatch) string {
	few, call := m.Sides[len(m.Sides)-1], fmt.Sprintf("call #%d of %s", m.Seq, groupName(m.Group, m.Desc))
	switch {
	case m.Difference == arrivals.DifferentStates:
		return fmt.Sprintf("%s is %s on %s and %s on the others.", upper(call), few.State, someRanks(few.Ranks), m.Sides[0].State)
	case m.Difference == arrivals.UnfitTotals:
		return fmt.Sprintf("Desync: in %s (%s) the members do not receive in all what they send.", call, bareOp(few.Op))
	case m.Difference == arrivals.UnfitSizes:
		return fmt.Sprintf("Desync: in %s the output does not fit the input: %s entered %s.", call, someRanks(few.Ranks), side(&few, m.Difference))
	case len(m.Sides) == 1:
		return fmt.Sprintf("Desync: %s has an output of another type than its input: %s entered %s.", call, someRanks(few.Ranks), side(&few, m.Difference))
	}
	return fmt.Sprintf("Desync: %s differs in its %s: %s entered %s, the others %s.", call, m.Difference,
		someRanks(few.Ranks), side(&few, m.Difference), side(&m.Sides[0], m.Difference))
}

func side(s *arrivals.Side, d arrivals.Difference) string {
	return callOf(bareOp(s.Op), s.Sizes, s.Types, d.String())
}
