package report

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/diagnose/crosscheck"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/publish"
)

// Sources writes what several recorders tell of one run. CSV is one row per
// source and stage.
func (o Output) Sources(c *crosscheck.Comparison) error {
	return o.writeWhole(forms{
		json:     func() any { return publish.SourcesOf(c, sourcesHeadline(c)) },
		rows:     func() *publish.Rows { return publish.SourceRows(c) },
		document: func() document { return sourcesDocument(c) },
	})
}

func sourcesDocument(c *crosscheck.Comparison) document {
	level := evidence.Insufficient
	if !c.Agree() {
		level = evidence.Supported
	}
	d := document{headline{text: sourcesHeadline(c), level: level}, prose(saySourcesBasis(c))}
	if len(c.Doubts) > 0 {
		d = append(d, heading("Read with care"), bullets(c.Doubts))
	}
	d = append(d, heading("Sources"), sourceTable(c), heading("Shares of exposed time"), shareTable(c))
	return append(d, heading("Stages to look into"), routeTerms(c))
}

// sourcesHeadline returns the answer in one sentence.
func sourcesHeadline(c *crosscheck.Comparison) string {
	var odd []string
	for _, a := range c.Accounts[1:] {
		if !a.Held.SameRouting {
			odd = append(odd, a.Name)
		}
	}
	return saySources(c, strings.Join(odd, ", "))
}

// letter returns the letter of a source: A to Z, then A2.
func letter(i int) string {
	name := string(rune('A' + i%26))
	if i >= 26 {
		name += strconv.Itoa(i/26 + 1)
	}
	return name
}

// sourceTable returns a table of one line per source.
func sourceTable(c *crosscheck.Comparison) *table.Table {
	t := sourceColumns()
	for i := range c.Accounts {
		a := &c.Accounts[i]
		row := t.Cells(letter(i), a.Name, a.Format, Size(a.Bytes), nil, a.Recorded, nil, nil, nil)
		if h := a.Held; h != nil {
			if h.Size > 0 {
				row[4] = table.TextCell(table.Number(h.Size))
			}
			row[6], row[7] = table.RealCell(h.Difference), table.TextCell(length(float64(h.Longest)))
			row[8] = table.TextCell(map[bool]string{true: "the same", false: "other stages"}[h.SameRouting])
		}
		t.Add(row...)
	}
	return t.Tidy()
}

// shareTable returns a table of one line per stage, one column per source.
func shareTable(c *crosscheck.Comparison) *table.Table {
	t := shareColumns()
	for i := range c.Accounts {
		t.Columns = append(t.Columns, table.Column{Head: letter(i), Kind: table.Unit})
	}
	for s, stage := range c.Stages {
		row := t.Cells(stage)
		for i := range c.Accounts {
			cell := table.RealCell(c.Accounts[i].Share[s])
			if slices.Contains(c.Accounts[i].Lacks, stage) {
				cell = table.Cell{}
			}
			row = append(row, cell)
		}
		t.Add(row...)
	}
	return t
}

func routeTerms(c *crosscheck.Comparison) terms {
	var t terms
	for i := range c.Accounts {
		t = append(t, glyph.Term{Name: letter(i), Text: strings.Join(c.Accounts[i].Routing, ", ")})
	}
	return t
}

func sourceColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Kind: table.Text},
		{Head: "source", Kind: table.Name},
		{Head: "format", Kind: table.Text, Spare: true},
		{Head: "size", Kind: table.Text},
		{Head: "× first", Kind: table.Text},
		{Head: "steps", Kind: table.Integer, Spare: true},
		{Head: "share differs", Kind: table.Unit, Means: "share differs: the largest difference of a stage's share from the first source's."},
		{Head: "time differs", Kind: table.Text, Means: "time differs: the largest difference of a stage's time on a rank in a step."},
		{Head: "routing", Kind: table.Text},
	}}
}

func shareColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "stage", Kind: table.Name},
	}}
}
