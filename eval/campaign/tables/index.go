package tables

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/internal/table"
)

// Index is the page of a campaign: its tables and figures, and what differs from
// the published figures.
type Index struct {
	Name    string
	Tables  []Artifact
	Figures []Picture
}

// Picture is a figure that lies in the folder of the page.
type Picture struct {
	File string // from the folder, with slashes
}

// Name is that of the file, without its ending.
func (p Picture) Name() string { return strings.TrimSuffix(path.Base(p.File), path.Ext(p.File)) }

// captions say which published figure a figure stands for, by how its name
// begins; the first that fits counts.
var captions = [][2]string{
	{"figure-3a", "StageFrontier, Figure 3a: how often each method has the delayed stage; marks are the published counts"},
	{"figure-3b", "StageFrontier, Figure 3b: mean share of the delayed stage by delay, and how often it is first"},
	{"detectability", "StageFrontier, E3: what is found by delay, for each family"},
	{"window-step", "StageFrontier, Figure 2: prefixes of the ranks and the frontier over one step"},
	{"window", "StageFrontier, Figure 1: what one window shows"},
	{"overhead-by-interval", "KAIR, Figure 5: what recording costs by sampling interval"},
	{"pause-by-workers", "KAIR, Figure 6: how long training pauses by sampled workers"},
	{"time-by-workers", "How long the comparison of completion times takes by workers (no figure of KAIR's: its Figure 6 is the pause of training)"},
	{"kair-distances", "KAIR, Figure 3: divergence of completion times of every two workers"},
	{"kair-operator", "KAIR, Figure 4: how often workers complete an operator, over time"},
	{"alignment-by-length", "How long an alignment takes by operations"},
	{"alignment", "F1 of pairs of call and kernel by method, of recordings"},
	{"operations", "NCCL Trace Profiler: calls by operation"},
	{"volumes", "NCCL Trace Profiler: volume by collective"},
	{"ranks", "NCCL Trace Profiler: volume by rank"},
	{"sizes", "NCCL Trace Profiler: message sizes"},
	{"bandwidth", "NCCL Trace Profiler, Figure 5.3: bus bandwidth by message size"},
	{"communicators", "NCCL Trace Profiler: volume by rank and communicator"},
	{"timeline", "NCCL Trace Profiler: kernels over time"},
}

// Caption says what the figure shows.
func (p Picture) Caption() string {
	for _, c := range captions {
		if strings.HasPrefix(p.Name(), c[0]) {
			return c[1] + " (" + p.Name() + ")"
		}
	}
	return p.Name()
}

// Cells are the figures that have a published twin, of all tables.
func (x *Index) Cells() []cell {
	var out []cell
	for i := range x.Tables {
		out = append(out, x.Tables[i].Cells...)
	}
	return out
}

// Differing are those that differ.
func (x *Index) Differing() []cell {
	return slices.DeleteFunc(x.Cells(), func(c cell) bool { return !c.Differs() })
}

// Same is how many do not.
func (x *Index) Same() int { return len(x.Cells()) - len(x.Differing()) }

// Difference is ours less the published figure: of counts in percentage points.
func (c cell) Difference() string {
	k, n, ok := fraction(c.Ours)
	p, q, ok2 := fraction(c.Published)
	if ok && ok2 {
		return fmt.Sprintf("%+.0f points", 100*(float64(k)/float64(n)-float64(p)/float64(q)))
	}
	a, err := strconv.ParseFloat(c.Ours, 64)
	b, err2 := strconv.ParseFloat(c.Published, 64)
	if err != nil || err2 != nil {
		return none
	}
	return fmt.Sprintf("%+.2f", a-b)
}

// Marked reports whether a cell of the table differs from its published twin. The row is as
// people see it.
func (a Artifact) Marked(row []string, column int) bool {
	t := a.Table
	key := strings.Join(row[:max(1, t.Keys)], ", ")
	return slices.ContainsFunc(a.Cells, func(c cell) bool {
		return c.Row == key && c.Column == t.Columns[column].Head && c.Differs()
	})
}

//go:embed index.html
var indexText string

var indexTemplate = template.Must(template.New("index").Parse(indexText))

// WriteHTML writes the page, which needs the files of the figures and nothing
// else.
func (x *Index) WriteHTML(w io.Writer) error { return indexTemplate.Execute(w, x) }

// WriteCSV writes the figures that have a published twin, a row for each.
func (x *Index) WriteCSV(w io.Writer) error {
	var rows [][]string
	for _, c := range x.Cells() {
		difference := ""
		if c.Differs() {
			difference = c.Difference()
		}
		rows = append(rows, []string{c.Artifact, c.Row, c.Column, c.Ours, c.Published, strconv.FormatBool(c.Differs()), difference, c.Reason})
	}
	return table.WriteCSV(w, []string{"table", "row", "figure", "ours", "published", "differs", "difference", "reason"}, rows)
}
