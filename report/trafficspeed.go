package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/publish"
	"github.com/sfstat/sfstat/trace/nccl"
)

// speedTable returns a table of one line per communicator, operation and size class that carries data, waiting left out. Calls
// that are bound by latency have no line: their bandwidth does not measure the link.
func speedTable(r *comm.Result) *table.Table {
	t := bandwidthColumns()
	t.Columns[6].Means = limitMeans(r)
	for _, i := range slowFirst(r) {
		c := &r.Speed.Cells[i]
		row := t.Cells(subjectName(r, c), workName(r, c), binarySize(c.Class), len(c.Calls), c.Transfer, c.Bus, nil, nil, peerComparison(c))
		if l := c.Limit; l.Bandwidth > 0 {
			row[6], row[7] = table.TextCell(fmt.Sprintf("%s %s", l.Source(), table.Number(l.Bandwidth))), table.RealCell(c.Efficiency)
		}
		row[8].Strong = c.Standing == comm.Slower
		t.Add(row...)
	}
	return capRows(t.Tidy(), mostRows, "json")
}

// limitMeans returns the meaning of the limits.
func limitMeans(r *comm.Result) string {
	if r.Speed.Theory.Benchmarks != nil {
		return "limit: what nccl-tests reached at that size on as many ranks and hosts, in GB/s, or else the narrowest link."
	}
	return "limit: the narrowest link that the log names, and its GB/s."
}

// slowFirst returns the cells worth a line, the ones slower than their peers first.
func slowFirst(r *comm.Result) (list []int) {
	for i := range r.Speed.Cells {
		if r.Speed.Cells[i].CarriesData() {
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(i, k int) int {
		return cmp.Compare(r.Speed.Cells[k].Standing/comm.Slower, r.Speed.Cells[i].Standing/comm.Slower)
	})
	return list
}

// peerComparison returns how a cell compares with its peers, "" without a result.
func peerComparison(c *comm.Cell) string {
	switch c.Standing {
	case comm.Slower:
		return fmt.Sprintf("%s of %s", table.Percent(c.Bus/c.PeerBus), table.Number(c.PeerBus))
	case comm.Usual:
		return ""
	}
	return c.Standing.String()
}

// messageTable returns a table of one line per pair of ranks that send each other messages, with their waits.
func messageTable(r *comm.Result) *table.Table {
	t := messageColumns()
	for _, m := range publish.MessagesOf(r) {
		t.Row(fmt.Sprintf("%d, %d", m.Low, m.High), m.Count, Size(m.Bytes), m.Waits[0], m.Waits[1], m.Moving)
	}
	return capRows(t.Tidy(), mostRows, "json")
}

// subjectName returns the communicator, or the two ranks.
func subjectName(r *comm.Result, c *comm.Cell) string {
	s := &r.Speed.Subjects[c.Subject]
	if !s.Edge {
		return r.Communicators[s.Communicator].ID
	}
	arrow := map[nccl.Op]string{nccl.Send: "→", nccl.Recv: "←", nccl.SendRecv: "↔"}[c.Op]
	return fmt.Sprintf("%d %s %d", r.Ranks[s.From].Rank, arrow, r.Ranks[s.To].Rank)
}

// workName returns the operation; between two ranks its purpose.
func workName(r *comm.Result, c *comm.Cell) string {
	s := &r.Speed.Subjects[c.Subject]
	if kind := r.Communicators[s.Communicator].Kind; s.Edge && kind != parallel.UnknownKind {
		return kind.String() + " " + r.WorkOf(c)
	}
	return r.WorkOf(c)
}

func bandwidthColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "communicator", Kind: table.Name},
		{Head: "operation", Kind: table.Text},
		{Head: "from", Kind: table.Text},
		{Head: "calls", Kind: table.Integer, Spare: true},
		{Head: "transfer %s", Kind: table.Length, Means: "transfer: from the last start to the last end, the median.", Spare: true},
		{Head: "bus GB/s", Kind: table.Real, Means: "bus: what each link of a ring carries."},
		{Head: "limit", Kind: table.Text},
		{Head: "of it", Kind: table.Fraction},
		{Head: "beside peers", Kind: table.Text, Means: "beside peers: share of their GB/s, where it is significantly slower."},
	}}
}

func messageColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "ranks", Kind: table.Text},
		{Head: "messages", Kind: table.Integer},
		{Head: "volume", Kind: table.Text},
		{Head: "first waits %s", Kind: table.Length, Means: "waits: until the other rank had entered too; in a pipeline most of it is by design."},
		{Head: "second waits %s", Kind: table.Length},
		{Head: "transfer %s", Kind: table.Length, Means: "transfer: with both ranks there."},
	}}
}
