package communication

import (
	"math"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/comm/volume"
	"github.com/sfstat/sfstat/eval/campaign/tables"
	"github.com/sfstat/sfstat/trace/nccl"
)

// The theory column of the thesis, to the last digit, in units of 10⁹ bytes; in those of 2³⁰ no row comes out.
func TestTable51(t *testing.T) {
	for _, row := range published().Theory {
		got := row.Model.ThesisBytes(row.Stage)
		if math.Abs(got/1e9-row.Theory) > 0.005 {
			t.Errorf("%s: %.4f GB, published %.2f", row.Row, got/1e9, row.Theory)
		}
		if math.Abs(got/(1<<30)-row.Theory) < 0.005 {
			t.Errorf("%s: %.4f GiB is the published value too", row.Row, got/(1<<30))
		}
		var logged, sent float64
		for _, f := range row.Model.Flows(row.Stage, volume.SendsAndReceives) {
			logged, sent = logged+f.Logged, sent+f.Sent
		}
		t.Logf("%s: thesis's formula %.4f GB (published %.2f, observed %.2f); ours: %.2f GB logged, %.2f GB sent",
			row.Row, got/1e9, row.Theory, row.Observed, logged/1e9, sent/1e9)
	}
}

// Calls and bytes of chapter 5 and of Tables 4.1 and 4.2, to the digit: every count and every volume; percentages that differ have
// a reason that their own figures give. Nothing else of the published numbers goes into ours, but layers and microbatches
// of the two tables.
func TestPublishedCallsAndBytes(t *testing.T) {
	layouts, why := LayoutTable()
	list := []tables.Artifact{{Name: "nccl-layouts", Table: layouts}, {Name: "nccl-operations", Table: OperationTable()}}
	compared, equal := 0, 0
	for _, a := range list {
		for _, c := range a.CompareCells(reasons(why)).Cells {
			compared++
			switch {
			case !c.Differs():
				equal++
			case c.Column != "calls %" && c.Column != "GB %", c.Reason == "":
				t.Errorf("%s, %s, %s: %s, published %s: %s", c.Artifact, c.Row, c.Column, c.Ours, c.Published, c.Reason)
			}
		}
	}
	if compared != 202 || equal < 185 {
		t.Errorf("%d of %d cells are equal, want 202 compared and at least 185 equal", equal, compared)
	}
	t.Logf("%d of %d equal", equal, compared)
}

// Without the skipped iterations the counts are others: the gradients' norm has an AllReduce in each, a sharded optimizer gathers
// parameters.
func TestSkippedIterationsShow(t *testing.T) {
	for name, op := range map[string]nccl.Op{"TP=4": nccl.AllReduce, "DP=4, sharded optimizer": nccl.AllGather} {
		j := published().layoutNamed(name).Model
		before := amounts(&j)[op].kernels
		j.Skipped = 4
		if after := amounts(&j)[op].kernels; after != before+4*6 {
			t.Errorf("%s: %d with six updates, %d without", name, after, before)
		}
	}
}

func TestTable51Observed(t *testing.T) {
	theory, why := TheoryTable(nil)
	var differ []string
	for _, c := range (tables.Artifact{Name: "nccl-theory", Table: theory}).CompareCells(reasons(why)).Cells {
		if !c.Differs() {
			continue
		}
		differ = append(differ, c.Row+" "+c.Column)
		if c.Reason == "" {
			t.Errorf("%s, %s: %s, published %s, and no reason", c.Row, c.Column, c.Ours, c.Published)
		}
	}
	if want := []string{"PP=4, edge observed", "PP=4, mid observed", "PP=4, mid ratio", "EP=4 ratio"}; !slices.Equal(differ, want) {
		t.Errorf("%q differ, want %q", differ, want)
	}
}
