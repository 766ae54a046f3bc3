package pipeline_test

import (
	"fmt"
	"log"

	"github.com/sfstat/sfstat/eval/simulate/pipeline"
)

// The backward passes of one worker take half again as long. Its neighbours
// wait for gradients, the other replicas for the reduction.
func Example() {
	spec := pipeline.DefaultSpec()
	spec.Layout = pipeline.Layout{DP: 2, PP: 2, TP: 1, Chunks: 1, Microbatches: 8, Buckets: 1}
	spec.Steps = pipeline.Steps{Count: 2, First: 100, Every: 10}
	spec.Faults = []pipeline.Fault{{
		Kind:  pipeline.SlowWorker,
		Where: pipeline.Where{DP: new(1), PP: new(0), Op: "backward-compute"},
		Size:  pipeline.Size{Factor: 1.5},
		When:  pipeline.When{From: 1},
	}}
	o, truth, err := pipeline.Make(spec)
	if err != nil {
		log.Fatal(err)
	}
	wait, transfer := o.Waits()
	for i, name := range o.Names {
		if name == "grads-reduce-scatter" {
			for row := range wait {
				if o.Name[row] == int32(i) && o.Ranks[o.Rank[row]].Role.Group() == "pp=0" {
					fmt.Printf("step %d, rank %d: %s waits %4d ms, takes %d ms\n", o.Steps[o.Step[row]], o.Rank[row], name, wait[row]/1e6, transfer[row]/1e6)
				}
			}
		}
	}
	for _, op := range truth.Faults[0].Ops {
		fmt.Printf("rank %d: %s takes %d ms longer\n", truth.Faults[0].Workers[0].Rank, op.Op, op.Extra/1e6)
	}
	// Output:
	// step 100, rank 0: grads-reduce-scatter waits    0 ms, takes 218 ms
	// step 110, rank 0: grads-reduce-scatter waits 1279 ms, takes 218 ms
	// step 100, rank 1: grads-reduce-scatter waits   29 ms, takes 218 ms
	// step 110, rank 1: grads-reduce-scatter waits    0 ms, takes 218 ms
	// rank 1: backward-compute takes 191 ms longer
}
