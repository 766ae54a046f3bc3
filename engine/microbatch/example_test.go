package microbatch_test

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/microbatch"
)

// Two pipeline stages of four replicas: replica 2 of the first takes 30 % longer
// for every pass.
func Example() {
	in := microbatch.Input{Stages: 2, Microbatches: 3, Steps: 5, Replicas: 4}
	for w := range in.Stages * in.Replicas {
		var passes []int64
		for i := range in.Microbatches * in.Steps {
			ns := int64(1_000_000 + 1_000*(w+i*7%11))
			if w == 2 {
				ns += ns * 3 / 10
			}
			passes = append(passes, ns)
		}
		in.Forward, in.Backward = append(in.Forward, passes), append(in.Backward, passes)
	}
	r := microbatch.Analyze(in, 0.01)
	for w, l := range r.Workers {
		if l.Slow {
			fmt.Printf("stage %d, replica %d: %.1f times as long as its peers\n", w/in.Replicas, w%in.Replicas, l.Factor)
		}
	}
	// Output: stage 0, replica 2: 1.3 times as long as its peers
}
