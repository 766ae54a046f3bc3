package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/engine/comm/suspects"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace/nccl"
)

// speedTable is one line per communicator, operation and size class that carries data, waiting left out. What
// is bound by latency has no line: its bandwidth says nothing of the link.
func speedTable(r *comm.Result) *table.Table {
	t := tableOf("bandwidth")
	t.Columns[6].Means = limitMeans(r)
	for _, i := range slowFirst(r) {
		c := &r.Speed.Cells[i]
		row := t.Cells(subjectName(r, c), workName(r, c), binarySize(c.Class), len(c.Calls), c.Transfer, c.Bus, nil, nil, besidePeers(c))
		if l := c.Limit; l.Bandwidth > 0 {
			row[6], row[7] = table.TextCell(fmt.Sprintf("%s %s", l.Source(), table.Number(l.Bandwidth))), table.RealCell(c.Efficiency)
		}
		row[8].Strong = c.Standing == comm.Slower
		t.Add(row...)
	}
	return capped(t.Tidy(), mostRows, "json")
}

// limitMeans says what limits are of.
func limitMeans(r *comm.Result) string {
	if r.Speed.Theory.Benchmarks != nil {
		return "limit: what nccl-tests reached at that size on as many ranks and hosts, in GB/s, or else the narrowest link."
	}
	return "limit: the narrowest link that the log names, and its GB/s."
}

// slowFirst is the cells worth a line, those that are slower than their peers first.
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

// besidePeers is how a cell compares with its peers, "" where nothing is to be said.
func besidePeers(c *comm.Cell) string {
	switch c.Standing {
	case comm.Slower:
		return fmt.Sprintf("%s of %s", table.Percent(c.Bus/c.PeerBus), table.Number(c.PeerBus))
	case comm.Usual:
		return ""
	}
	return c.Standing.String()
}

// messageTable is one line per pair of ranks that send each other messages: who waited for whom.
func messageTable(r *comm.Result) *table.Table {
	t := tableOf("message")
	for _, m := range messagesOf(r) {
		t.Row(fmt.Sprintf("%d, %d", m.Low, m.High), m.Count, Size(m.Bytes), m.Waits[0], m.Waits[1], m.Moving)
	}
	return capped(t.Tidy(), mostRows, "json")
}

type messageJSON struct {
	Low    int      `json:"low_rank" doc:"the lower rank"`
	High   int      `json:"high_rank" doc:"the higher rank"`
	Count  int      `json:"messages" doc:"messages, or exchanges both ways at once, of which both kernels are known"`
	Bytes  int64    `json:"bytes" doc:"bytes of them; of exchanges those of the larger direction"`
	Waits  [2]int64 `json:"waited_ns" doc:"how long the lower and the higher rank were there before the other, over all"`
	Last   [2]int   `json:"last" doc:"how often each of the two entered last"`
	Moving int64    `json:"transfer_ns" doc:"from the later start to the end, over all"`
}

// messagesOf is the pairs of ranks, ascending.
func messagesOf(r *comm.Result) []messageJSON {
	out := []messageJSON{}
	at := map[[2]int]int{}
	for i := range r.Transfers {
		t := &r.Transfers[i]
		if !t.Certain {
			continue
		}
		key := [2]int{r.Ranks[t.Parts[0].Rank].Rank, r.Ranks[t.Parts[1].Rank].Rank}
		n, known := at[key]
		if !known {
			n = len(out)
			at[key], out = n, append(out, messageJSON{Low: key[0], High: key[1]})
		}
		m := &out[n]
		m.Count++
		m.Bytes += t.Bytes
		m.Last[t.Last]++
		m.Waits[1-t.Last] += t.Begin - t.Parts[1-t.Last].Start
		m.Moving += max(t.End-t.Begin, 0)
	}
	slices.SortFunc(out, func(a, b messageJSON) int { return cmp.Or(cmp.Compare(a.Low, b.Low), cmp.Compare(a.High, b.High)) })
	return out
}

type bandwidthJSON struct {
	Communicator string `json:"communicator" doc:"id of the communicator; of a pair of ranks, the first that they were seen to send on"`
	Op           string `json:"op" doc:"operation; Send/Recv for messages between two ranks"`
	From         int64  `json:"from_bytes" doc:"messages from this size to below twice as much, as logged"`
	*comm.Cell
	Link  string `json:"limit_link" before:"limit_gbps" doc:"class of the narrowest link, as NCCL names it, or nccl-tests where --limit has the operation; empty where neither is known"`
	Ranks []int  `json:"ranks" before:"beside_peers" doc:"ranks of the communicator, or the two that send each other messages"`
	Way   string `json:"way" enum:"forth back both" null:"zero" before:"beside_peers" doc:"of messages: from the lower rank to the higher, back, or both at once; null: a communicator"`
}

type slowJSON struct {
	Communicator string `json:"communicator" doc:"id of the communicator; of a pair of ranks, the first that they were seen to send on"`
	comm.Suspect
}

func bandwidthsOf(r *comm.Result) (cells []bandwidthJSON, slow []slowJSON) {
	cells, slow = []bandwidthJSON{}, []slowJSON{}
	for i := range r.Speed.Cells {
		cells = append(cells, bandwidthOf(r, &r.Speed.Cells[i]))
	}
	for _, s := range r.Speed.Suspects {
		slow = append(slow, slowJSON{communicatorID(r, s.Subject), s})
	}
	return cells, slow
}

// communicatorID is that of a subject: of a pair of ranks, the first that they were seen to send on.
func communicatorID(r *comm.Result, subject int) string {
	return r.Communicators[r.Speed.Subjects[subject].Communicator].ID
}

// subjectName is the communicator, or the two ranks.
func subjectName(r *comm.Result, c *comm.Cell) string {
	s := &r.Speed.Subjects[c.Subject]
	if !s.Edge {
		return r.Communicators[s.Communicator].ID
	}
	arrow := map[nccl.Op]string{nccl.Send: "→", nccl.Recv: "←", nccl.SendRecv: "↔"}[c.Op]
	return fmt.Sprintf("%d %s %d", r.Ranks[s.From].Rank, arrow, r.Ranks[s.To].Rank)
}

// workName is the operation; between two ranks what for.
func workName(r *comm.Result, c *comm.Cell) string {
	s := &r.Speed.Subjects[c.Subject]
	if kind := r.Communicators[s.Communicator].Kind; s.Edge && kind != parallel.UnknownKind {
		return kind.String() + " " + r.WorkOf(c)
	}
	return r.WorkOf(c)
}

func bandwidthOf(r *comm.Result, c *comm.Cell) bandwidthJSON {
	j := bandwidthJSON{Communicator: communicatorID(r, c.Subject), Op: r.WorkOf(c), From: 1 << c.Class, Cell: c, Ranks: r.RanksOf(c.Subject)}
	if r.Speed.Subjects[c.Subject].Edge {
		j.Way = map[nccl.Op]string{nccl.Send: "forth", nccl.Recv: "back", nccl.SendRecv: "both"}[c.Op]
	}
	if c.Limit.Bandwidth > 0 {
		j.Link = c.Limit.Source()
	}
	return j
}

type latenessJSON struct {
	Rank int `json:"rank" doc:"rank"`
	suspects.Lateness
	Own *int64 `json:"own_ns" doc:"own delay: how much later than the median rank it arrives because more time passed since its last kernel of NCCL; null where dumps of the Inspector do not show it"`
}

// latenessOf is how the ranks come to collectives; ranks that met none are left out.
func latenessOf(r *comm.Result) []latenessJSON {
	out := []latenessJSON{}
	all, _ := suspects.LatenessOf(r)
	for _, l := range all {
		if l.Of > 0 {
			j := latenessJSON{r.Ranks[l.Rank].Rank, l, &l.Own}
			if r.Timeless || r.Sampled {
				j.Own = nil
			}
			out = append(out, j)
		}
	}
	return out
}
