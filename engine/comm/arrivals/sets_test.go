package arrivals_test

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"testing"

	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/ingest/flightrecorder"
)

// TestSetsOfDumps: the points of two committed jobs are what they were.
func TestSetsOfDumps(t *testing.T) {
	for job, want := range map[string]string{
		"late": "48 points: b81bd606",
		"hang": "36 points: cfd4a931",
	} {
		var j arrivals.Job
		var dumps flightrecorder.Reader
		for id := range 4 {
			name := filepath.Join("../../../fixtures/flightrecorder", job, fmt.Sprintf("fr_trace_%d", id))
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			c, err := dumps.Read(f, name)
			f.Close()
			if err != nil {
				t.Fatal(err)
			}
			if err := j.Add(c); err != nil {
				t.Fatal(err)
			}
		}
		points, sum := 0, fnv.New32a()
		j.Analyze(arrivals.Options{EachPoint: func(p arrivals.Point) {
			points++
			fmt.Fprint(sum, p)
		}})
		if got := fmt.Sprintf("%d points: %08x", points, sum.Sum32()); got != want {
			t.Errorf("%s: %s, want %s", job, got, want)
		}
	}
}
