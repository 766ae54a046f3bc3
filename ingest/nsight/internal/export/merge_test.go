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
// little late and rows start at once; where a row comes far too late that is said.
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
	for name, c := range map[string]struct {
		at      func(int64) int64
		ordered bool
	}{
		"in order":      {func(i int64) int64 { return 1000 * i }, true},
		"at once":       {func(i int64) int64 { return 1000 * (i / 3) }, true},
		"a little late": {func(i int64) int64 { return 1000*i - 40_000*((i+1)%7/6) + 50_000 }, true},
		"backwards":     {func(i int64) int64 { return 1000 * (5000 - i) }, false},
		"two processes": {func(i int64) int64 { return 1000 * (i % 2500) }, false},
	} {
		f := open(t, write(t, jumbled(5000, c.at)))
		want, err := through(f, (*export.File).Timeline)
		if err != nil || len(want) < 10_000 {
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

// TestThose: of rows by a value, and by what such rows of another table hold, none is lost, and others are left out; so many
// values are no condition.
func TestThose(t *testing.T) {
	e := jumbled(60, func(i int64) int64 { return 1000 * i })
	for i := range e.Processes[0].Work {
		e.Processes[0].Work[i].Name = []string{"a", "b", "c"}[i%3]
	}
	f := open(t, write(t, e))
	names := map[string]int64{}
	var id int64
	var text string
	if err := f.Scan("StringIds", export.Row{"id": &id, "value": &text}, func() error { names[text] = id; return nil }); err != nil {
		t.Fatal(err)
	}
	var name, correlation int64
	byName := func(ids ...int64) export.Those { return export.Those{Column: "demangledName|shortName", Values: ids} }
	count := func(table string, those export.Those) (n int) {
		row := export.Row{"correlationId": &correlation}
		if table == tables[1] {
			row["demangledName|shortName"] = &name
		}
		if err := f.ScanThose(table, those, row, func() error {
			n++
			if len(those.Values) == 1 && name != those.Values[0] {
				t.Errorf("a kernel of name %d among those of %d", name, those.Values[0])
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	some, many := byName(names["b"]), byName(make([]int64, 20_000)...)
	for want, got := range map[int]int{
		20: count(tables[1], some), 40: count(tables[1], byName(names["a"], names["c"])), 0: count(tables[1], byName()), 60: count(tables[1], many),
	} {
		if got != want {
			t.Errorf("%d kernels, expected %d", got, want)
		}
	}
	if n := count(tables[0], export.Those{Column: "correlationId", In: tables[1], Of: &some}); n != 20 {
		t.Errorf("%d calls of 20 kernels", n)
	}
	for _, all := range []export.Those{{Column: "correlationId", In: "no such table", Of: &some}, {Column: "correlationId", In: tables[1], Of: &many}} {
		if n := count(tables[0], all); n != 60 {
			t.Errorf("%d calls where nothing tells which, expected all 60", n)
		}
	}
}
