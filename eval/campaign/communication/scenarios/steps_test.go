package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/internal/largedata"
	"github.com/sfstat/sfstat/trace/comms"
)

// iterations is the true iteration of each line of each process, by pid: −1 before the first and after the last.
func iterations(t *testing.T, dir string) map[int64]map[int64]int {
	var f struct {
		Ranks  []struct{ PID int64 }
		Fields []string `json:"call_fields"`
		Calls  map[string][][]any
	}
	decodeTruth(t, dir, &f)
	column := map[string]int{}
	for i, name := range f.Fields {
		column[name] = i
	}
	of := map[int64]map[int64]int{}
	for k, r := range f.Ranks {
		of[r.PID] = map[int64]int{}
		for _, c := range f.Calls[strconv.Itoa(k)] {
			of[r.PID][int64(c[column["line"]].(float64))] = int(c[column["iter"]].(float64))
		}
	}
	return of
}

// share is the part of the calls with a place that were truly made there; steps count from the first that was recorded.
func share(t *testing.T, dir string, c *comms.Record) (right float64, steps *comm.Steps) {
	t.Helper()
	r, err := comm.Analyze(c, comm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	truth, s := iterations(t, dir), comm.StepsOf(r)
	n, good, first := 0, 0, 0
	if s.Source == comm.ByMarks && len(s.Names) > 0 {
		_, _ = fmt.Sscanf(s.Names[0], "iteration %d", &first)
		first = max(first-1, 0)
	}
	for i := range r.Ranks {
		for _, c := range r.Ranks[i].Calls {
			x := &r.Calls[c]
			want, known := truth[r.Recorded.Processes[x.Process].PID][x.Line]
			if !known {
				continue
			}
			p := s.Places[c]
			if p.Era == comm.EraUnknown {
				continue
			}
			n++
			if p.Step == want || p.Step >= 0 && p.Step+first == want {
				good++
			}
		}
	}
	return float64(good) / float64(max(n, 1)), s
}

// Calls are placed in the iterations that they were made in: by marks, and of logs alone by repetition, where there are three iterations or more
// and no lines are lost. Layers and microbatches of fewer are not taken for steps, but in the job that was cut inside its first.
func TestSteps(t *testing.T) {
	repeats := map[string]int{"clock3": 8, "dp4": 10, "dp4_zero1": 10, "multinode": 3, "v27": 4, "window": 5, "window_nolaunch_n2101": 5, "window_nolaunch_n2102": 5,
		"tp4sp_large": 12}
	dirs, _ := filepath.Glob(filepath.Join(largedata.Need(t, "data/nccl"), "dev*", "*"))
	for _, dir := range dirs {
		name := filepath.Base(dir)
		found, _, err := auto.ReadComm([]string{dir}, auto.Options{})
		if err != nil {
			t.Fatal(err)
		}
		marked, a := share(t, dir, found)
		alone, b := share(t, dir, readLogs(t, dir))
		t.Logf("%s: %.4f in %d steps by marks; logs alone %.4f in %d", name, marked, len(a.Names), alone, len(b.Names))
		if a.Source == comm.ByMarks && marked < 0.97 || b.Source == comm.ByRepetition && alone < 0.97 && name != "tp4sp_large" || len(b.Names) != repeats[name] {
			t.Errorf("%s: %.4f by marks, %.4f in %d steps by repetition, want %d", name, marked, alone, len(b.Names), repeats[name])
		}
	}
}
