package charts

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/plots"
	"github.com/sfstat/sfstat/trace/nccl"
)

const run = "../../fixtures/comm/run"

func read(t *testing.T, paths ...string) *comm.Result {
	t.Helper()
	found, _, err := auto.ReadComm(paths, auto.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := comm.Analyze(found, comm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// What there is decides what is drawn.
func TestAll(t *testing.T) {
	for name, tt := range map[string]struct {
		paths []string
		drawn int
	}{"all": {[]string{run}, 7}, "a log": {[]string{run + "/nccl.node0.4000.log"}, 5}, "an export": {[]string{run + "/node1.sqlite"}, 1}} {
		drawn := 0
		for _, c := range Communication(read(t, tt.paths...)) {
			switch _, err := c.Of.Draw(plots.Column); {
			case err == nil:
				drawn++
			case !errors.Is(err, plots.ErrNothing):
				t.Errorf("%s: %s: %v", name, c.Name, err)
			}
		}
		if drawn != tt.drawn {
			t.Errorf("%s: %d figures, want %d", name, drawn, tt.drawn)
		}
	}
}

// By hand from fixtures/comm/make: every rank calls 24·2 MiB for tensors, 3·(24 + 20) MiB for gradients and 3·4 bytes on all
// ranks. Rank 2 comes 0.3 ms late to its eight calls for tensors of a step, and rank 3 waits in each for it.
func TestValues(t *testing.T) {
	r := read(t, run)
	m := communicatorMap(r)
	want := map[string][]float64{"0-3": {12, 12, 12, 12}, "TP 0-1": {24 << 21, 24 << 21, 0, 0}, "TP 2-3": {0, 0, 24 << 21, 24 << 21},
		"DP 0,2": {132 << 20, 0, 132 << 20, 0}, "DP 1,3": {0, 132 << 20, 0, 132 << 20}}
	if len(m.Rows) != len(want) {
		t.Errorf("rows %v", m.Rows)
	}
	for i, row := range m.Rows {
		for k := range 4 {
			if got := m.Values[4*i+k] * 1e6; want[row.Name] == nil || math.Abs(got-want[row.Name][k]) > 1e-3 {
				t.Errorf("%s of rank %d: %v bytes, want %v", row.Name, k, got, want[row.Name])
			}
		}
	}
	if m.Value.Unit != "MB" || !slices.Contains(m.Text, "138") || !slices.Contains(m.Text, "50.3") || !slices.Contains(m.Text, "") {
		t.Errorf("cells in %s: %q", m.Value.Unit, m.Text)
	}
	for _, line := range bandwidthChart(r).Panels[0].Lines {
		for _, p := range line.Points {
			if p.X < 4096 {
				t.Errorf("%s: a message of %v bytes is drawn", line.Name, p.X)
			}
		}
	}
	benchmarked(t)
	l := timeline(r)
	if len(l.Tracks) != 4 || len(l.Series) != 1 || l.X.To < 5 || l.X.To > 7 {
		t.Fatalf("%d tracks, series %v, until %v ms", len(l.Tracks), l.Series, l.X.To)
	}
	waits := func(rank int) (late int) {
		for _, s := range laneOf(t, l.Tracks[rank], "TP").Spans {
			if wait := s.Busy - s.From; math.Abs(wait-0.3) < 0.03 {
				late++
			} else if wait > 0.03 || wait < 0 {
				t.Errorf("rank %d waits %v ms", rank, wait)
			}
		}
		return late
	}
	for rank, want := range []int{0, 0, 0, 8} {
		if got := waits(rank); got != want {
			t.Errorf("rank %d waits %d times for 0.3 ms, want %d", rank, got, want)
		}
		if n := len(laneOf(t, l.Tracks[rank], "DP").Spans); n != 2 {
			t.Errorf("rank %d reduces gradients %d times in a step, want 2", rank, n)
		}
	}
}

func laneOf(t *testing.T, track []plots.Lane, name string) plots.Lane {
	t.Helper()
	for _, l := range track {
		if l.Name == name {
			return l
		}
	}
	t.Fatalf("no lane %s in %v", name, track)
	return plots.Lane{}
}

// benchmarked: beside the calls stands what nccl-tests reached of the same on as many ranks and hosts, and nothing else of it.
func benchmarked(t *testing.T) {
	found, _, err := auto.ReadComm([]string{run}, auto.Options{})
	if err != nil {
		t.Fatal(err)
	}
	of := func(op nccl.Op, hosts int, bytes int64, bus float64) nccl.Benchmark {
		return nccl.Benchmark{Op: op, Ranks: 2, Hosts: hosts, Bytes: bytes, Bus: bus}
	}
	tests := comm.NewBenchmarks([]nccl.Benchmark{of(nccl.AllReduce, 1, 8, 0.1), of(nccl.AllReduce, 1, 1<<20, 60), of(nccl.AllReduce, 1, 1<<22, 80),
		of(nccl.AllReduce, 3, 1<<20, 60), of(nccl.AllReduce, 3, 1<<22, 80), of(nccl.AllGather, 1, 1<<20, 60), of(nccl.AllGather, 1, 1<<22, 80)})
	r, err := comm.Analyze(found, comm.Options{Theory: comm.Theory{Benchmarks: tests}})
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.DeleteFunc(bandwidthChart(r).Panels[0].Lines, func(l plots.Line) bool { return l.Unjoined })
	if len(lines) != 1 || lines[0].Name != "AllReduce test, 2 ranks, 1 host" || !slices.Equal(lines[0].Points, []plots.Point{{X: 1 << 20, Y: 60}, {X: 1 << 22, Y: 80}}) {
		t.Errorf("curves %+v", lines)
	}
}
