package report

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/bandwidth"
	"github.com/sfstat/sfstat/traffic"
)

// leastClass is the smallest class of messages worth a line about bandwidth: 16 KiB; what is less is bound by latency.
const leastClass = 14

// speedTable is one line per communicator, operation and size class that carries data, waiting left out. What
// is bound by latency has no line: its bandwidth says nothing of the link.
func speedTable(r *traffic.Result) *table {
	t := &table{columns: []column{{head: "communicator", kind: kindName}, {head: "operation", kind: kindText}, {head: "from", kind: kindText},
		{head: "calls", kind: kindInteger, spare: true}, {head: "transfer %s", kind: kindLength, spare: true, means: "transfer: from the last start to the last end, the median."},
		{head: "bus GB/s", kind: kindReal, means: "bus: what each link of a ring carries."}, {head: "limit", kind: kindText, means: "limit: the narrowest link that the log names, and its GB/s."},
		{head: "of it", kind: kindFraction}, {head: "beside peers", kind: kindText}}}
	slow := map[int]string{}
	for _, s := range r.Speed.Suspects {
		for _, e := range s.Evidence {
			slow[e.Cell] = fmt.Sprintf("%s of %s GB/s", percent(r.Speed.Cells[e.Cell].Bus/e.Bus), real3(e.Bus))
		}
	}
	for i := range r.Speed.Cells {
		c := &r.Speed.Cells[i]
		if c.Class < leastClass || c.Bound == bandwidth.ByLatency {
			continue
		}
		row := []cell{textCell(r.Communicators[c.Subject].ID), textCell(c.Op.String()), textCell(binarySize(c.Class)),
			wholeCell(len(c.Calls)), realCell(float64(c.Transfer)), realCell(c.Bus), {}, {}, textCell(slow[i])}
		if l := r.Speed.Subjects[c.Subject].Limit; l.Bandwidth > 0 {
			row[6], row[7] = textCell(fmt.Sprintf("%v %s", l.Link, real3(l.Bandwidth))), realCell(c.Efficiency)
		}
		row[8].strong = slow[i] != ""
		t.rows = append(t.rows, row)
	}
	return t.tidy().clip()
}

type bandwidthJSON struct {
	Communicator string  `json:"communicator"`
	Op           string  `json:"op"`
	From         int64   `json:"from_bytes"`
	Calls        int     `json:"calls"`
	Transfer     int64   `json:"transfer_ns"`
	Wait         int64   `json:"wait_ns"`
	Algorithm    number  `json:"algorithm_gbps"`
	Bus          number  `json:"bus_gbps"`
	Link         string  `json:"limit_link"`
	Limit        *number `json:"limit_gbps"`
	Efficiency   *number `json:"efficiency"`
	Bound        string  `json:"bound_by"`
	SlowCalls    int     `json:"slow_calls"`
}

type slowJSON struct {
	Communicator string `json:"communicator"`
	Ratio        number `json:"ratio"`
	P            number `json:"p"`
	Cost         int64  `json:"cost_ns"`
}

func bandwidthsOf(r *traffic.Result) (cells []bandwidthJSON, slow []slowJSON) {
	cells, slow = []bandwidthJSON{}, []slowJSON{}
	for i := range r.Speed.Cells {
		c := &r.Speed.Cells[i]
		cells = append(cells, bandwidthOf(c, r.Communicators[c.Subject].ID, r.Speed.Subjects[c.Subject].Limit))
	}
	for _, s := range r.Speed.Suspects {
		slow = append(slow, slowJSON{r.Communicators[s.Subject].ID, number(s.Ratio), number(s.P), s.Cost})
	}
	return cells, slow
}

func bandwidthOf(c *bandwidth.Cell, id string, l bandwidth.Limit) bandwidthJSON {
	j := bandwidthJSON{Communicator: id, Op: c.Op.String(), From: 1 << c.Class, Calls: len(c.Calls), Transfer: c.Transfer, Wait: c.Wait,
		Algorithm: number(c.Algorithm), Bus: number(c.Bus), Bound: c.Bound.String(), SlowCalls: len(c.Slow)}
	if l.Bandwidth > 0 {
		j.Link, j.Limit, j.Efficiency = l.Link.String(), known(l.Bandwidth), known(c.Efficiency)
	}
	return j
}

type latenessJSON struct {
	Rank    int   `json:"rank"`
	Met     int   `json:"collectives"`
	Last    int   `json:"last"`
	Caused  int64 `json:"caused_ns"`
	Typical int64 `json:"usually_ns"`
	Waited  int64 `json:"waited_ns"`
	Moving  int64 `json:"moving_ns"`
}

// latenessOf is how the ranks come to collectives; ranks that met none are left out.
func latenessOf(r *traffic.Result) []latenessJSON {
	out := []latenessJSON{}
	all, _ := r.Lateness()
	for _, l := range all {
		if l.Met > 0 {
			out = append(out, latenessJSON{r.Ranks[l.Rank].Rank, l.Met, l.Last, l.Caused, l.Typical, l.Waited, l.Moving})
		}
	}
	return out
}
