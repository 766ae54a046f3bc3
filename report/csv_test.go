package report

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strconv"
	"testing"

	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/internal/table"
)

// A CSV reader gets every stage back, and the advances of a window still add
// up to its makespan, to the nanosecond.
func TestCSVReadsBack(t *testing.T) {
	for _, c := range verdictCases {
		want := results(c.make())
		var out bytes.Buffer
		if err := to(&out, CSV, Style{}).Frontier(want); err != nil {
			t.Fatal(err)
		}
		records, err := csv.NewReader(&out).ReadAll() // refuses rows of another length
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		column := func(row []string, name string) string { return row[slices.Index(records[0], name)] }
		rows := records[1:]
		for _, r := range want {
			sum := int64(0)
			for i, s := range r.Stages {
				row := rows[i]
				if got := column(row, "stage"); got != table.Harmless(glyph.Visible(s.Name)) {
					t.Errorf("%s: stage %q where %q was written", c.name, got, s.Name)
				}
				n, err := strconv.ParseInt(column(row, "advance_ns"), 10, 64)
				if err != nil {
					t.Fatalf("%s: %v", c.name, err)
				}
				sum += n
			}
			if got := column(rows[0], "makespan_ns"); got != strconv.FormatInt(sum, 10) {
				t.Errorf("%s window %d: advances add up to %d, the makespan is %s", c.name, r.Window, sum, got)
			}
			rows = rows[max(1, len(r.Stages)):]
		}
		if len(rows) != 0 {
			t.Errorf("%s: %d rows too many", c.name, len(rows))
		}
	}
}
