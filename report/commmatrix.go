package report

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/publish"
)

// CommMatrix writes how many bytes each rank sends each other, by algorithm. CSV is one row per pair and route.
func (o Output) CommMatrix(r *comm.Result) error {
	sent, unplaced := comm.SentBetween(r)
	return o.write(forms{
		json:     func() any { return publish.CommMatrixOf(sent, unplaced, problemsOf(o.Problems)) },
		rows:     func() *publish.Rows { return publish.CommMatrixOf(sent, unplaced, nil).Rows() },
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
	t := matrixDocumentColumns()
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

// squareTable returns a table with a row for each sender and a column for each receiver.
func squareTable(ranks []int, bytes map[[2]int]float64) *table.Table {
	t := squareColumns()
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

// heaviestTable returns a table of the pairs that send most.
func heaviestTable(sent []comm.Sent) *table.Table {
	ordered := slices.Clone(sent)
	slices.SortStableFunc(ordered, func(a, b comm.Sent) int { return int(max(min(b.Bytes-a.Bytes, 1), -1)) })
	t := heaviestColumns()
	for _, x := range ordered {
		t.Row(x.From, x.To, x.Route.String(), x.Calls, Size(int64(x.Bytes)))
	}
	return capRows(t, mostRows, "json")
}

func matrixDocumentColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "route", Kind: table.Text},
		{Head: "volume", Kind: table.Text},
	}}
}

func squareColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "rank", Kind: table.ID},
	}}
}

func heaviestColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "from", Kind: table.ID},
		{Head: "to", Kind: table.ID},
		{Head: "route", Kind: table.Text},
		{Head: "calls", Kind: table.Integer},
		{Head: "volume", Kind: table.Text},
	}}
}
