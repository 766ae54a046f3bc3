package timeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/sfstat/sfstat/trace"
)

// late returns a job of three ranks and three stages; rank 1 takes 40 ms longer in the first, and the others wait for it at the end of the last.
func late(epochs bool) *trace.Window {
	w := &trace.Window{Run: "job", WorldSize: 3, Schema: trace.Schema{Stages: []string{"data", "forward", "backward"}}, Ranks: []trace.Rank{{ID: 0, Host: "a"}, {ID: 1, Host: "a"}, {ID: 2, Host: "b"}}}
	if epochs {
		w.Epochs = []int64{5e18, 5e18 + 2e6, 5e18}
	}
	for t := range 30 {
		var rows [3][3]float64
		last := 0.0
		for r := range 3 {
			jitter := func(k int) float64 { return 0.31 * math.Sin(float64(t*7+r*5+k*3)) }
			rows[r] = [3]float64{15 + jitter(0), 60 + jitter(1), 80 + jitter(2)}
			if r == 1 {
				rows[r][0] += 40
			}
			last = max(last, rows[r][0]+rows[r][1])
		}
		for s := range 3 {
			for r := range 3 {
				v := rows[r][s]
				if s == 2 {
					v += last - rows[r][0] - rows[r][1]
				}
				w.Durations = append(w.Durations, int64(v*1e6))
			}
		}
	}
	return w
}

// TestTimeline: slices of a track follow or contain one another, waits are those of ranks that are early, each with an arrow from the
// late rank that ends where the wait does.
func TestTimeline(t *testing.T) {
	for _, epochs := range []bool{false, true} {
		w := late(epochs)
		var out bytes.Buffer
		writer := New(&out)
		if err := writer.Write(w); err != nil {
			t.Fatal(err)
		}
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
		var doc struct{ TraceEvents []event }
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		count := make(map[string]int)
		ends := make(map[[2]int]float64)
		waits := make(map[string]float64) // ends by rank and step
		for _, e := range doc.TraceEvents {
			count[e.Phase+" "+e.Name]++
			switch {
			case e.Phase == "X" && e.Name == "wait for rank 1":
				waits[fmt.Sprintf("%d %.3f", e.Process, *e.Start+*e.Length)] = *e.Length
			case e.Phase == "X":
				track := [2]int{e.Process, e.Thread}
				if *e.Start < ends[track]-1e-3 {
					t.Fatalf("epochs %v: %s of rank %d begins at %v, before %v", epochs, e.Name, e.Process, *e.Start, ends[track])
				}
				ends[track] = *e.Start + *e.Length
			case e.Phase == "s" && e.Process != 1:
				t.Errorf("an arrow from rank %d", e.Process)
			}
		}
		for _, e := range doc.TraceEvents {
			if e.Phase == "f" && waits[fmt.Sprintf("%d %.3f", e.Process, *e.Start)] < 30e3 {
				t.Errorf("epochs %v: an arrow to rank %d at %v, where no wait of about 40 ms ends", epochs, e.Process, *e.Start)
			}
		}
		for name, want := range map[string]int{"M process_name": 3, "M thread_name": 6, "X data": 90, "X backward": 90, "X step 7": 3, "X wait for rank 1": 60, "s arrives last": 60, "f arrives last": 60} {
			if count[name] != want {
				t.Errorf("epochs %v: %d of %q, want %d", epochs, count[name], name, want)
			}
		}
	}
}

// TestEmpty: a timeline of nothing is one.
func TestEmpty(t *testing.T) {
	var out bytes.Buffer
	if err := New(&out).Close(); err != nil || !json.Valid(out.Bytes()) {
		t.Errorf("%v: %q", err, out.String())
	}
}
