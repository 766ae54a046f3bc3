package microbatch_test

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/microbatch"
)

// Two pipeline stages of four replicas: replica 2 of the first takes 30 % longer
// for every pass.
func Example() {
	in := microbatch.Input{Stages: 2, Microbatches: 3, Steps: 5, Replicas: 4}
	for i := range 2 * in.Stages * in.Microbatches * in.Steps * in.Replicas {
		stage, replica := i/(in.Microbatches*in.Steps*in.Replicas)%in.Stages, i%in.Replicas
		ns := int64(1_000_000 + 1_000*(i*7%11))
		if stage == 0 && replica == 2 {
			ns += ns * 3 / 10
		}
		in.X = append(in.X, ns)
	}
	r, err := microbatch.Analyze(in, 0.01)
	if err != nil {
		panic(err)
	}
	for w, l := range r.Workers {
		if l.Slow {
			fmt.Printf("stage %d, replica %d: %.1f times as long as its peers\n", w/in.Replicas, w%in.Replicas, l.Factor)
		}
	}
	// Output: stage 0, replica 2: 1.3 times as long as its peers
}
