package simulate

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/internal/largedata"
	"github.com/sfstat/sfstat/trace"
)

// packet is the part of a recorded packet that is compared.
type packet struct {
	Window    int       `json:"window"`
	Rank      int       `json:"rank"`
	Stages    []string  `json:"stages"`
	FirstStep int       `json:"first_step"`
	Durations [][]int64 `json:"durations_ns"`
	Side      map[string]struct {
		MS []float64 `json:"ms"`
	} `json:"side"`
}

func readPackets(t *testing.T, path string) []packet {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var packets []packet
	for dec := json.NewDecoder(bufio.NewReader(f)); dec.More(); {
		var p packet
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		packets = append(packets, p)
	}
	return packets
}

// imitate is the spec of a simulated run that should look like a real one.
func imitate(row TruthRow, packets []packet) Spec {
	s := DefaultSpec()
	s.Run, s.Seed, s.Ranks, s.Accumulation = row.Run, row.Seed, row.Ranks, row.Accumulation
	s.Schedule = Schedule{Windows: 1, Steps: len(packets[0].Durations), Warmup: 4, Gap: 4}
	for _, p := range packets {
		s.Schedule.Windows = max(s.Schedule.Windows, p.Window+1)
	}
	if row.Ranks == 32 { // four times the processes on the same machine
		s.Work = []WorkFactor{{Factor: 1.14}}
		s.Stages[2].SyncPoints[0] = SyncPoint{Transfer: Dist{92, 15, Normal}, Exit: Dist{9, 5, Gamma}}
	}
	if row.Notes == "roles" {
		s.Layout = []Axis{{"dp", 4}, {"pp", 2}}
		s.Work = []WorkFactor{{Where: map[string]int{"pp": 1}, Factor: 1.4, Stages: []string{StageData, StageForward, StageCallbacks, StageOptimizer}}}
	}
	if row.Family != NoFault {
		f := Fault{Family: row.Family.(Family), Ranks: []int{row.HiddenRank}, Delay: row.Delay}
		if row.Intermittent {
			f.Every = 10
		}
		if row.Notes == "aba" {
			f.Windows = []int{1}
		}
		s.Faults = []Fault{f}
	}
	return s
}

// cell is one set of durations that is compared by its quantiles: a stage in a
// window, on the hidden rank, on ranks of one role or on the others, in the
// steps of one phase of an intermittent fault.
type cell struct {
	run    string
	window int
	stage  string
	who    string
	phase  string
}

// collect sorts durations into cells. The first step of a window is left out:
// what came before it is not recorded.
func collect(into map[cell]*values, row TruthRow, p packet) {
	who := "others"
	switch {
	case p.Rank == row.HiddenRank:
		who = "hidden"
	case row.Notes == "roles" && p.Rank >= row.Ranks/2:
		who = "pp=1"
	}
	seen := make(map[cell]bool)
	for step, durations := range p.Durations[1:] {
		phase := ""
		if row.Intermittent {
			phase = [...]string{"strike", "after", "rest"}[min(2, (step+1)%10)]
		}
		for s, d := range durations {
			c := cell{row.Run, p.Window, p.Stages[s], who, phase}
			if into[c] == nil {
				into[c] = &values{}
			}
			into[c].ms = append(into[c].ms, float64(d)/NsPerMilli)
			if !seen[c] {
				into[c].ranks, seen[c] = into[c].ranks+1, true
			}
		}
	}
}

// values are the durations of a cell, from a number of ranks.
type values struct {
	ms    []float64
	ranks int
}

// disturbed is a real run in which the machine stood still for 100 ms and more
// in a quarter of the steps.
const disturbed = "e3-forward_host-r32-s0"

// TestAgainstRealRuns: with the truth of each real run, the simulated one has
// the medians of the real one in every stage, on the hidden rank and on the
// others, within 6 % + 1 ms (backward: 4 % and what its transfer makes the
// median vary); and its spread within a factor of 3.
func TestAgainstRealRuns(t *testing.T) {
	dir := largedata.Need(t, "data/ddp")
	f, err := os.Open(filepath.Join(dir, "truth.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := ReadTruth("truth.csv", f)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) < 30 {
		t.Fatalf("%d real runs, expected at least 30", len(rows))
	}
	for _, row := range rows {
		t.Run(row.Run, func(t *testing.T) {
			packets := readPackets(t, filepath.Join(dir, row.Run+".jsonl"))
			real, made := make(map[cell]*values), make(map[cell]*values)
			for _, p := range packets {
				collect(real, row, p)
			}
			windows, truth := generate(t, imitate(row, packets))
			for _, w := range windows {
				for r := range w.Ranks {
					collect(made, row, simulated(w, r))
				}
			}
			compare(t, real, made)
			if got := truth.Rows()[0]; row.Notes == "" && got != row {
				t.Errorf("truth is %+v, the real run's %+v", got, row)
			}
			last := windows[len(windows)-1]
			if want := packets[len(packets)-1].FirstStep; last.FirstStep != int64(want) {
				t.Errorf("the last window begins at step %d, the real one at %d", last.FirstStep, want)
			}
			compareSide(t, packets, windows[0])
		})
	}
}

// simulated is a rank of a window as a packet.
func simulated(w *trace.Window, r int) packet {
	p := packet{Window: int(w.Index), Rank: r, Stages: w.Schema.Stages}
	part := w.Part(r)
	p.Durations = slices.Collect(slices.Chunk(part.Durations, len(w.Schema.Stages)))
	return p
}

func compare(t *testing.T, real, made map[cell]*values) {
	t.Helper()
	if len(real) != len(made) {
		t.Errorf("%d kinds of stages in the real run, %d in the simulated one", len(real), len(made))
	}
	for c, r := range real {
		m := made[c]
		if m == nil || len(m.ms) != len(r.ms) {
			t.Errorf("%+v: not as many durations as in the real run", c)
			continue
		}
		want, got := slices.Sorted(slices.Values(r.ms)), slices.Sorted(slices.Values(m.ms))
		relative, absolute := 0.06, 1.0
		if strings.HasPrefix(c.stage, StageBackward) {
			// The transfer varies by 6.5 ms from step to step, for all ranks
			// alike: three deviations of the difference of two medians.
			steps := float64(len(want) / r.ranks)
			relative, absolute = 0.04, 1+3*1.25*6.5*math.Sqrt(2/steps)
		}
		if c.run == disturbed {
			relative = 0.25
		}
		if a, b := quantile(got, 0.5), quantile(want, 0.5); math.Abs(a-b) > relative*b+absolute {
			t.Errorf("%+v: median %.2f ms, %.2f in the real run", c, a, b)
		}
		if len(want) < 100 || c.run == disturbed {
			continue // too few for a spread
		}
		a, b := quantile(got, 0.9)-quantile(got, 0.1), quantile(want, 0.9)-quantile(want, 0.1)
		if a < b/3-0.1 || a > b*3+0.1 {
			t.Errorf("%+v: 80 %% lie within %.2f ms, within %.2f in the real run", c, a, b)
		}
	}
}

func quantile(sorted []float64, p float64) float64 { return sorted[int(p*float64(len(sorted)-1))] }

// compareSide: the device times of forward tell the same.
func compareSide(t *testing.T, packets []packet, w *trace.Window) {
	t.Helper()
	const name = "model.fwd_loss_cuda_event_ms"
	samples := make(map[int][]float64)
	for _, s := range w.Side[0].Samples {
		samples[s.Rank] = append(samples[s.Rank], s.Value)
	}
	for _, p := range packets {
		if p.Window == 0 && fmt.Sprint(samples[p.Rank]) != fmt.Sprint(p.Side[name].MS) {
			t.Errorf("rank %d: device times %v, %v in the real run", p.Rank, samples[p.Rank], p.Side[name].MS)
		}
	}
}
