package stages_test

import (
	"fmt"

	"github.com/sfstat/sfstat/ingest/stages"
	"github.com/sfstat/sfstat/trace/profile"
)

// Two ranks of three steps: forward takes 20 ms, backward 40 ms, on the host.
func Example() {
	const ms = 1_000_000
	var ranks []*profile.Rank
	for id := range 2 {
		r := &profile.Rank{ID: id, World: 2, Stages: []string{"forward", "backward"}}
		for step := range int64(3) {
			t := step * 100 * ms
			r.Steps = append(r.Steps, profile.Step{Index: step, Start: t, End: t + 100*ms, Spans: []profile.Span{
				{Stage: 0, Start: t, End: t + 20*ms}, {Stage: 1, Start: t + 30*ms, End: t + 70*ms},
			}})
		}
		ranks = append(ranks, r)
	}
	divided, err := stages.Divide(ranks, stages.Options{Run: "job"})
	if err != nil {
		panic(err)
	}
	w := divided.Windows[0]
	fmt.Println(w.Schema.Stages, w.Step(0))
	// Output: [forward backward] [20000000 20000000 40000000 40000000]
}
