package report

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/internal/table"
)

// CommMatrix writes how many bytes each rank sends each other, by algorithm. CSV is one row per pair and route.
func (o Output) CommMatrix(r *comm.Result) error {
	sent, unplaced := comm.SentBetween(r)
	return o.write(forms{
		schema:   "comm-matrix",
		json:     func() any { return matrixOf(sent, unplaced) },
		document: func() document { return matrixDocument(sent, unplaced) },
	})
}

func matrixDocument(sent []comm.Sent, unplaced float64) document {
	if len(sent) == 0 {
		return document{prose("No bytes between ranks: no calls with sizes, on communicators whose ranks are known.")}
	}
	bytes, ranks := map[[2]int]float64{}, []int{}
	byRoute := map[comm.Route]float64{}
	for _, x := range sent {
		bytes[[2]int{x.From, x.To}] += x.Bytes
		byRoute[x.Route] += x.Bytes
		ranks = append(ranks, x.From, x.To)
	}
	slices.Sort(ranks)
	ranks = slices.Compact(ranks)
	pairs := section("Most bytes", heaviestTable(sent))
	if len(ranks) <= mostSquare {
		pairs = section("From, to", squareTable(ranks, bytes))
	}
	t := tableOf("matrix document")
	for _, route := range []comm.Route{comm.OnRing, comm.OnTree, comm.Direct} {
		if byRoute[route] > 0 {
			t.Row(route.String(), Size(int64(byRoute[route])))
		}
	}
	more := prose("")
	if unplaced > 0 {
		more = prose(Size(int64(unplaced)) + " more go to ranks that left no log.")
	}
	return put(prose("Bytes from each rank to each other, over the whole recording; rings and trees in the order of ranks."), pairs,
		section("By algorithm", t), more)
}

// squareTable is a row for each sender and a column for each receiver.
func squareTable(ranks []int, bytes map[[2]int]float64) *table.Table {
	t := tableOf("square")
	for _, to := range ranks {
		t.Columns = append(t.Columns, table.Column{Head: fmt.Sprintf("to %d", to), Kind: table.Amount})
	}
	for _, from := range ranks {
		row := t.Cells(from)
		for _, to := range ranks {
			c := table.Cell{}
			if b := bytes[[2]int{from, to}]; b > 0 {
				c = table.TextCell(Size(int64(b)))
			}
			row = append(row, c)
		}
		t.Add(row...)
	}
	return t
}

// heaviestTable is the pairs that send most.
func heaviestTable(sent []comm.Sent) *table.Table {
	ordered := slices.Clone(sent)
	slices.SortStableFunc(ordered, func(a, b comm.Sent) int { return int(max(min(b.Bytes-a.Bytes, 1), -1)) })
	t := tableOf("heaviest")
	for _, x := range ordered {
		t.Row(x.From, x.To, x.Route.String(), x.Calls, Size(int64(x.Bytes)))
	}
	return capped(t, mostRows, "json")
}

type matrixJSON struct {
	Sent     []sentJSON `json:"sent" doc:"pairs of ranks and routes"`
	Unplaced int64      `json:"unplaced_bytes" doc:"bytes to ranks that left no log"`
}

type sentJSON struct {
	From  int        `json:"from_rank" doc:"sender, rank of the job"`
	To    int        `json:"to_rank" doc:"receiver, rank of the job"`
	Route comm.Route `json:"route" doc:"by what algorithm"`
	Calls int64      `json:"calls" doc:"calls of the sender"`
	Bytes int64      `json:"bytes" doc:"bytes sent"`
}

func matrixOf(sent []comm.Sent, unplaced float64) matrixJSON {
	return matrixJSON{each(sent, func(x comm.Sent) sentJSON { return sentJSON{x.From, x.To, x.Route, x.Calls, int64(x.Bytes)} }), int64(unplaced)}
}
