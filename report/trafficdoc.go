package report

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/engine/comm/suspects"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
)

// trafficDocument begins with the answer and why, and what to do next; then who, what and how fast; at last how it was found.
func trafficDocument(r *comm.Result) document {
	v := diagnose.Communication(r)
	sure, clocks := prose(""), clockTable(r)
	if len(v.Findings) > 0 {
		sure = prose(fmt.Sprintf("Confidence: %v. %s", v.Confidence, confidenceMeaning(v.Confidence)))
	}
	if len(clocks.Rows) < 2 {
		clocks = nil
	}
	return put(headline{text: Headline(&v), level: v.Confidence}, sure, prose(trafficBasis(r)), prose(strategyWords(r)), evidenceBlocks(&v), nextBlocks(&v),
		section("Ranks", commRankTable(r)),
		section("Communicators", communicatorTable(r)),
		section("Bandwidth", speedTable(r)),
		section("Sends and receives", messageTable(r)),
		section("Operations", operationTable(r)),
		section("Message sizes", sizeTable(r)),
		modelBlocks(r),
		section("Clocks", clocks),
		section("How it was found", trafficNotes(r)),
		section("NCCL warned "+table.Counted(len(r.Recorded.Warnings), "time"), warningsOf(r)),
		section("Lines not understood", unparsedLines(r)))
}

func trafficBasis(r *comm.Result) string {
	j := trafficSources{unmatched: r.Unmatched, leftover: r.Leftover}
	for i := range r.Ranks {
		j.pairs, j.certain = j.pairs+r.Ranks[i].Pairs, j.certain+r.Ranks[i].Certain
	}
	var inputs []string
	logs, dumps := r.Sources(comms.SourceNCCLLog), r.Sources(comms.SourceInspector)
	if logs > 0 {
		inputs = append(inputs, table.Counted(logs, "log file"))
	}
	if dumps > 0 {
		inputs = append(inputs, table.Counted(dumps, "dump")+" of NCCL's Inspector")
	}
	if n := r.Sources(comms.SourceNsight); n > 0 || dumps == 0 {
		inputs = append(inputs, table.Counted(n, "export"))
	}
	j.inputs = strings.Join(inputs, ", ")
	for _, n := range r.Notes {
		if n.Kind == comm.NoteDisjoint {
			j.sets = setsWords(n.Sets)
		}
	}
	return sayTrafficBasis(&j)
}

// operationTable returns a table of one line per operation.
func operationTable(r *comm.Result) *table.Table {
	t := operationColumns()
	uses := operationsByCalls(r)
	var total int64
	for _, u := range uses {
		total += u.Bytes
	}
	for _, u := range uses {
		share := table.Cell{}
		if total > 0 {
			share = table.RealCell(float64(u.Bytes) / float64(total))
		}
		t.Row(u.Op.String(), u.Calls, Size(u.Bytes), share, share)
	}
	return t
}

// sizeTable returns a table of calls by message size, in powers of 16.
func sizeTable(r *comm.Result) *table.Table {
	t := sizeColumns()
	var classes [17]int64
	total := int64(0)
	for i := range r.Calls {
		if b := r.Calls[i].Bytes; b > 0 {
			classes[(bits.Len64(uint64(b))-1)/4]++
			total++
		}
	}
	for k, n := range classes {
		if n > 0 {
			share := table.RealCell(float64(n) / float64(total))
			t.Row(binarySize(4*k), binarySize(4*k+4), n, share, share)
		}
	}
	return t
}

// binarySize writes a power of two of bytes.
func binarySize(power int) string {
	return fmt.Sprintf("%d %s", 1<<(power%10), [...]string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}[min(power/10, 6)])
}

// commRankTable returns a table of one line per rank.
func commRankTable(r *comm.Result) *table.Table {
	t := commRankColumns()
	late, _ := suspects.LatenessOf(r)
	for i := range r.Ranks {
		k, l := &r.Ranks[i], &late[i]
		row := t.Cells(k.Rank, k.Host, len(k.Calls), k.Pairs, nil, nil, nil, nil, nil, nil)
		if k.Pairs > 0 {
			row[4] = table.RealCell(float64(k.Certain) / float64(k.Pairs))
		}
		if l.Of > 0 {
			row[5], row[6] = table.RealCell(float64(l.Last)/float64(l.Of)), table.RealCell(float64(l.Caused))
			if !r.Timeless && !r.Sampled { // else it is not known
				row[7] = table.RealCell(float64(l.Own))
			}
			row[8], row[9] = table.RealCell(float64(l.Waited)), table.RealCell(float64(l.Moving))
		}
		t.Add(row...)
	}
	return capRows(t.Tidy(), mostRows, "json")
}

// communicatorTable returns a table of one line per communicator, with its use and the evidence for its kind.
func communicatorTable(r *comm.Result) *table.Table {
	t := communicatorColumns()
	notes := map[string]int{}
	for i := range r.Communicators {
		c := &r.Communicators[i]
		if c.NRanks == 1 && c.Signature.Calls == 0 {
			continue
		}
		_, bytes := c.Total()
		row := t.Cells(c.ID, c.Kind.String(), rankText(c), opTexts(c), Size(bytes), c.PerStep, c.Burstiness)
		if why := strings.Join(communicatorEvidence(c), "; "); why != "" && len(notes) < table.MostFootnotes {
			if notes[why] == 0 {
				t.Footnotes = append(t.Footnotes, why)
				notes[why] = len(t.Footnotes)
			}
			row[1].Note = notes[why]
		}
		t.Add(row...)
	}
	return capRows(t.Tidy(), mostRows, "json")
}

// rankText returns the ranks, or their number.
func rankText(c *parallel.Communicator) string {
	if c.Alone || len(c.Ranks) == 0 {
		return fmt.Sprintf("of %d", c.NRanks)
	}
	text := trace.RankList(c.Ranks)
	if len(c.Ranks) < c.NRanks {
		text += fmt.Sprintf(" (%d of %d)", len(c.Ranks), c.NRanks)
	}
	return text
}

// opTexts returns the operations with their calls.
func opTexts(c *parallel.Communicator) []string {
	return each(c.Ops, func(u parallel.OpUse) string { return fmt.Sprintf("%v %d", u.Op, u.Calls) })
}

// clockTable returns a table of one line per host.
func clockTable(r *comm.Result) *table.Table {
	t := clockColumns()
	seen := map[int]bool{}
	for _, c := range r.Clocks {
		if seen[c.Number] {
			continue
		}
		seen[c.Number] = true
		row := t.Cells(r.ProfileOf(c.Rank), nil, nil, nil, nil)
		if c.Known {
			row[1], row[2] = table.RealCell(float64(c.Offset)), table.RealCell(c.Drift*1e6)
			row[3], row[4] = table.RealCell(float64(c.Residual)), table.WholeCell(c.Points)
		}
		t.Add(row...)
	}
	return capRows(t, mostRows, "json")
}

// mostWarnings is how many different warnings text and Markdown show.
const mostWarnings = 8

// warningsOf returns the warnings of NCCL, each text once.
func warningsOf(r *comm.Result) (b bullets) {
	counts := map[string]int{}
	for _, w := range r.Recorded.Warnings {
		counts[w.Text]++
	}
	for _, w := range r.Recorded.Warnings {
		n := counts[w.Text]
		if n == 0 {
			continue
		}
		counts[w.Text] = 0
		if len(b) < mostWarnings {
			b = append(b, fmt.Sprintf("%s, %s, the first in %s:%d", w.Text, table.Counted(n, "time"), r.Recorded.Sources[w.Source].Name, w.Line))
		}
	}
	return b
}

// unparsedLines returns the lines that begin like NCCL's and could not be read, by reason, and the unused ones.
func unparsedLines(r *comm.Result) (b bullets) {
	for _, x := range r.Recorded.Unread {
		b = append(b, fmt.Sprintf("%s: %s, the first in %s:%d: %s", table.Counted(int(x.Count), "line"), x.Reason, r.Recorded.Sources[x.Source].Name, x.Line, x.Text))
	}
	if n := r.Recorded.Strays; n > 0 {
		b = append(b, table.Counted(int(n), "call")+" whose line lost its head, of no process that can be told")
	}
	if n := r.Recorded.Untied; n > 0 {
		b = append(b, table.Counted(int(n), "tuning line")+" whose call is not in the log")
	}
	return b
}

func operationColumns() *table.Table {
	return &table.Table{Caption: "volume: elements × element size, as logged, over all ranks.", Columns: []table.Column{
		{Head: "operation", Kind: table.Text},
		{Head: "calls", Kind: table.Integer},
		{Head: "volume", Kind: table.Text},
		{Kind: table.Bar},
		{Head: "share", Kind: table.Fraction},
	}}
}

func sizeColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "from", Kind: table.Text},
		{Head: "below", Kind: table.Text},
		{Head: "calls", Kind: table.Integer},
		{Kind: table.Bar},
		{Head: "share", Kind: table.Fraction},
	}}
}

func commRankColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "rank", Kind: table.ID},
		{Head: "host", Kind: table.Name},
		{Head: "calls", Kind: table.Integer},
		{Head: "matched", Kind: table.Integer},
		{Head: "certain", Kind: table.Fraction, Spare: true},
		{Head: "last", Kind: table.Fraction, Means: "last: share of its collectives that it was the last to enter."},
		{Head: "caused %s", Kind: table.Length, Means: "caused: how long the others waited for it alone."},
		{Head: "own %s", Kind: table.Length, Means: "own: its own delay beyond the median rank, not inherited from others."},
		{Head: "waited %s", Kind: table.Length},
		{Head: "transfer %s", Kind: table.Length, Means: "transfer: time in collectives after the last rank had entered."},
	}}
}

func communicatorColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "communicator", Kind: table.Name},
		{Head: "kind", Kind: table.Text},
		{Head: "ranks", Kind: table.Text},
		{Head: "operations", Kind: table.List},
		{Head: "volume", Kind: table.Text},
		{Head: "a step", Kind: table.Real, Means: "a step: calls of one rank with at least 16 KiB.", Spare: true},
		{Head: "bursts", Kind: table.Real, Means: "bursts: −1 for evenly spaced calls, 1 for calls all at once.", Spare: true},
	}}
}

func clockColumns() *table.Table {
	return &table.Table{Caption: "ahead: offset from the first clock at the start of its recording. gains: drift, 0 where it is within the error.", Columns: []table.Column{
		{Head: "export", Kind: table.Name},
		{Head: "ahead %s", Kind: table.Length},
		{Head: "gains ppm", Kind: table.Real},
		{Head: "residual %s", Kind: table.Length},
		{Head: "collectives", Kind: table.Integer},
	}}
}
