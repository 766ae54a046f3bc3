package charts

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/plots"
)

const milli = 1_000_000

// two pairs of ranks, a group of all four, and a rank that never enters the last
// call of all.
func gathered() (*Arrivals, *arrivals.Result) {
	var m Arrivals
	m.Add(arrivals.Point{Group: 0, Name: "1", Desc: "tp", Ranks: []int{0, 2}, Enter: []int64{7 * milli, 5 * milli}})
	m.Add(arrivals.Point{Group: 1, Name: "2", Desc: "tp", Ranks: []int{3, 5}, Enter: []int64{0, 40 * milli}})
	m.Add(arrivals.Point{Group: 1, Name: "2", Desc: "tp", Ranks: []int{3, 5}, Enter: []int64{90 * milli, 91 * milli}})
	m.Add(arrivals.Point{Group: 2, Name: "0", Ranks: []int{5, 0, 3}, Enter: []int64{3 * milli, milli, 2 * milli}, Absent: []int{2}})
	return &m, &arrivals.Result{Ranks: []int{0, 2, 3, 5}, Hang: &arrivals.Hang{Groups: []arrivals.Blocked{{Missing: []arrivals.Absent{{Rank: 2}}}}}}
}

func TestDrawing(t *testing.T) {
	m, r := gathered()
	e := m.Drawing(r)
	nan := math.NaN()
	want := map[int][]float64{0: {-1, -1, 0, 40}, 1: {2, 0, 0, 1}, 2: {0, nan, 1, 2}} // [column][rank]
	same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
	for c, column := range want {
		for r, v := range column {
			if got := e.Values[r*len(e.Columns)+c]; !same(got, v) {
				t.Errorf("column %d, rank %s: %v, want %v", c, e.Rows[r].Name, got, v)
			}
		}
	}
	if blocks := []plots.Block{{Name: "tp", Note: ": 2"}, {Name: "group 0", Note: ": 1"}}; !slices.Equal(e.Blocks, blocks) || len(e.Columns) != 3 || e.Columns[2].Group != 1 {
		t.Errorf("columns %+v of %+v", e.Columns, e.Blocks)
	}
	for i, w := range e.Rows {
		if w.Culprit != (i == 1) {
			t.Errorf("rank %s: %+v, expected only rank 2 pointed at", w.Name, w)
		}
	}
	f, err := e.Draw(plots.Page)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := f.Write(&b, plots.SVG); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"tp: 2", "group 0: 1", "no entry", e.Found} {
		if !bytes.Contains(b.Bytes(), []byte(">"+text+"<")) {
			t.Errorf("the figure lacks %q", text)
		}
	}
}

// Of calls that share a column the longest counts, and one that was not entered
// shows whatever else is there.
func TestManyCalls(t *testing.T) {
	const calls = 10 * mostColumns
	var m Arrivals
	for i := range calls {
		p := arrivals.Point{Name: "0", Desc: "dp", Ranks: []int{0, 1}, Enter: []int64{int64(i) * milli, int64(i) * milli}}
		switch i {
		case 1234:
			p.Enter[1] += 50 * milli
		case calls - 1:
			p.Ranks, p.Enter, p.Absent = p.Ranks[:1], p.Enter[:1], []int{1}
		}
		m.Add(p)
	}
	drawn := m.Drawing(&arrivals.Result{Ranks: []int{0, 1}})
	row := drawn.Values[len(drawn.Columns):]
	if note := drawn.Blocks[0].Note; len(row) != mostColumns || note != ": 3600, the longest of 10 a column" || row[123] != 50 || row[122] != 0 || !math.IsNaN(row[mostColumns-1]) {
		t.Errorf("%d columns%s, %v there, %v before, %v at the end", len(row), note, row[123], row[122], row[len(row)-1])
	}
}

func TestWhoIsPointedAt(t *testing.T) {
	for name, c := range map[string]struct {
		of   arrivals.Result
		want []int
	}{
		"late":   {arrivals.Result{Late: []claim.Claim{{Ranks: []int{3}}, {Ranks: []int{1}}}, Set: &arrivals.Set{Ranks: []int{4}}}, []int{3, 1}},
		"a set":  {arrivals.Result{Set: &arrivals.Set{Ranks: []int{4, 5}}}, []int{4, 5}},
		"nobody": {arrivals.Result{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := culpritsOf(&c.of); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
