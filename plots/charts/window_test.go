package charts

import (
	"bytes"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/plots"
	"github.com/sfstat/sfstat/trace"
)

// late is a window of three ranks and four steps in which rank 1 is 50 ms late
// into backward in step 12.
func late() *trace.Window {
	const ms = 1_000_000
	w := &trace.Window{Run: "job", FirstStep: 10, WorldSize: 3, Ranks: []trace.Rank{{ID: 0}, {ID: 1}, {ID: 2}},
		Schema: trace.Schema{Stages: []string{"data.next_wait", "model.backward_cpu_wall"}}}
	for step := range 4 {
		data, backward := []int64{5 * ms, 5 * ms, 5 * ms}, []int64{20 * ms, 20 * ms, 20 * ms}
		if step == 2 {
			data[1] += 50 * ms
			backward[0], backward[2] = 70*ms, 70*ms
		}
		w.Durations = append(w.Durations, slices.Concat(data, backward)...)
	}
	return w
}

func detail(t *testing.T) *frontier.Detail {
	t.Helper()
	_, d, err := frontier.NewSeries(frontier.Options{Cut: frontier.CutStep, SyncAfter: "model.backward_cpu_wall"}).AddDetailed(late())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestRankStep(t *testing.T) {
	want := []float64{0, 0, 0, 0, 0, 0, 50, 0, 0, 0, 0, 0}
	if got := rankStep(detail(t)).Values; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRankStage(t *testing.T) {
	want := []float64{5, 32.5, 17.5, 20, 5, 32.5}
	if got := rankStage(detail(t)).Values; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestShares(t *testing.T) {
	want := [][]float64{{5, 20}, {5, 20}, {55, 20}, {5, 20}}
	for i, bin := range shares(detail(t)).Panels[0].Bins {
		if !slices.Equal(bin.Values, want[i]) || bin.From != float64(10+i)-0.5 {
			t.Errorf("bin %d is %+v, want %v", i, bin, want[i])
		}
	}
}

func TestStep(t *testing.T) {
	d := detail(t)
	if got := worstStep(d); got != 2 {
		t.Fatalf("the worst step is %d, want 2", got)
	}
	lines := prefixes(d, 2).Panels[0].Lines
	last := lines[len(lines)-1]
	if last.Name != "rank 1, the last to arrive" || last.Points[1].Y != 55 || last.Points[2].Y != 75 {
		t.Errorf("got %+v", last)
	}
}

func TestBrief(t *testing.T) {
	for stage, want := range map[string]string{"model.backward_cpu_wall@1": "backward@1", "data.next_wait": "data.next", "callbacks.cpu_wall": "callbacks",
		"optim.step_cpu_wall": "optim.step", "model.": "", "x": "x"} {
		if got := brief(stage); got != want {
			t.Errorf("%q is %q, want %q", stage, got, want)
		}
	}
}

// TestAll draws every figure in every format.
func TestWindow(t *testing.T) {
	for _, named := range Window(detail(t)) {
		f, err := named.Of.Draw(plots.Page)
		if err != nil {
			t.Fatalf("%s: %v", named.Name, err)
		}
		for _, as := range []plots.Format{plots.PNG, plots.SVG, plots.PDF} {
			var b bytes.Buffer
			if err := f.Write(&b, as); err != nil || b.Len() == 0 {
				t.Errorf("%s as %s: %d bytes, %v", named.Name, as, b.Len(), err)
			}
		}
	}
}
