package simulate_test

import (
	"fmt"
	"log"
	"os"

	"github.com/sfstat/sfstat/eval/simulate"
)

// A rank loses 120 ms in its host callbacks, after the last synchronisation point of the
// step: the others wait for it in the backward of the next one.
func Example() {
	spec := simulate.DefaultSpec()
	spec.Faults = []simulate.Fault{{Family: simulate.CallbackHost, Ranks: []int{2}, Delay: 120}}
	g, err := simulate.New(spec)
	if err != nil {
		log.Fatal(err)
	}
	w, err := g.Next()
	if err != nil {
		log.Fatal(err)
	}
	for s, stage := range w.Schema.Stages {
		row := w.Step(60)[s*len(w.Ranks):]
		fmt.Printf("%-24s rank 1 %4d ms   rank 2 %4d ms\n", stage, row[1]/1e6, row[2]/1e6)
	}
	if err := simulate.WriteTruth(os.Stdout, g.Truth().Rows()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// data.next_wait           rank 1   16 ms   rank 2   16 ms
	// model.fwd_loss_cpu_wall  rank 1   61 ms   rank 2   61 ms
	// model.backward_cpu_wall  rank 1  230 ms   rank 2  112 ms
	// callbacks.cpu_wall       rank 1    6 ms   rank 2  126 ms
	// optim.step_cpu_wall      rank 1   14 ms   rank 2   14 ms
	// run,family,ranks,seed,delay_ms,hidden_rank,seeded_stage,intermittent,accumulation,notes
	// sim-callback_host-120ms-r8-s0,callback_host,8,0,120,2,callbacks.cpu_wall,0,1,
}
