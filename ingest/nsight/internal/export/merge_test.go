package export_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/fixtures/nsighttest"
	"github.com/sfstat/sfstat/ingest/nsight/internal/export"
)

// jumbled returns an export with so many calls and kernels, whose starts at gives, of which the rows come in that order.
func jumbled(n int64, at func(int64) int64) nsighttest.Export {
	e := small(nsighttest.Of2024)
	p := &e.Processes[0]
	p.Calls, p.Work = nil, nil
	for i := range n {
		p.Calls = append(p.Calls, nsighttest.Call{Start: at(i), End: at(i) + 10, Correlation: i + 1, Name: "cudaLaunchKernel"})
		p.Work = append(p.Work, nsighttest.Work{Start: at(i) + 5*(i%2), End: at(i) + 600, Correlation: i + 1, Name: "k"})
	}
	return e
}

// TestMerge: tables that are read side by side come as if they were sorted, also where threads write their rows a
// little late, rows start at once, and the rows of one process come behind those of another; where rows come far too late, or too many
// series behind each other, that is said.
func TestMerge(t *testing.T) {
	type came struct {
		table              int
		start, correlation int64
	}
	through := func(f *export.File, how func(*export.File, []string, export.Row, func(int) error) error) (all []came, err error) {
		var start, correlation int64
		err = how(f, append(slices.Clone(tables), "no such table"), export.Row{"start": &start, "correlationId": &correlation}, func(table int) error {
			all = append(all, came{table, start, correlation})
			return nil
		})
		return all, err
	}
	anew := func(at ...int64) func(int64) int64 { // rows by time, which begins anew at some of them
		return func(i int64) int64 {
			begin := int64(0)
			for _, a := range at {
				if a <= i {
					begin = a
				}
			}
			return 1000 * (i - begin)
		}
	}
	for name, c := range map[string]struct {
		rows    int64
		at      func(int64) int64
		ordered bool
	}{
		"in order":               {5000, anew(), true},
		"at once":                {5000, func(i int64) int64 { return 1000 * (i / 3) }, true},
		"a little late":          {5000, func(i int64) int64 { return 1000*i - 40_000*((i+1)%7/6) + 50_000 }, true},
		"two processes":          {5000, anew(2500), true},
		"the second late in it":  {5000, func(i int64) int64 { return 1000 * (i%2500 + i/2500*1200) }, true},
		"three of uneven length": {9000, anew(5000, 8500), true},
		"a short one at the end": {5000, anew(4900), true},
		"mixed":                  {5000, func(i int64) int64 { return 1000 * (i * 2239 % 5000) }, false},
		"too many":               {70_000, func(i int64) int64 { return 1000 * (70_000 - i) }, false},
	} {
		f := open(t, write(t, jumbled(c.rows, c.at)))
		want, err := through(f, (*export.File).Timeline)
		if err != nil || len(want) < int(2*c.rows) {
			t.Fatalf("%s: %d rows, %v", name, len(want), err)
		}
		got, err := through(f, (*export.File).Merge)
		if c.ordered && (err != nil || !slices.Equal(got, want)) {
			t.Errorf("%s: %d rows of %d, %v", name, len(got), len(want), err)
		}
		if !c.ordered && !errors.Is(err, export.ErrUnordered) {
			t.Errorf("%s: %v, expected that rows are out of order", name, err)
		}
	}
	failed := errors.New("enough")
	f := open(t, write(t, jumbled(10, func(i int64) int64 { return i })))
	if err := f.Merge(tables, export.Row{"start": new(int64)}, func(int) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("%v, expected what the caller says", err)
	}
}
