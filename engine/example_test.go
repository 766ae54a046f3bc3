package engine_test

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/blame"
	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/ks"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/trace"
)

const ms = 1_000_000

// recorded returns a window of 20 steps of four ranks. Rank 2 takes 20 ms longer in forward, and the others wait for it in backward.
func recorded() *trace.Window {
	w := &trace.Window{Run: "job", WorldSize: 4, Schema: trace.Schema{Stages: []string{"data.next_wait", "model.forward", "model.backward"}}}
	for rank := range 4 {
		w.Ranks = append(w.Ranks, trace.Rank{ID: rank})
	}
	for step := range int64(20) {
		data, forward, backward := make([]int64, 4), make([]int64, 4), make([]int64, 4)
		last := int64(0)
		for r := range int64(4) {
			data[r], forward[r] = 10*ms, 50*ms+(step*7+r*3)%5*ms/10
			if r == 2 {
				forward[r] += 20 * ms
			}
			last = max(last, data[r]+forward[r])
		}
		for r := range data {
			backward[r] = last + 30*ms - data[r] - forward[r]
		}
		w.Durations = append(append(append(w.Durations, data...), forward...), backward...)
	}
	return w
}

// must returns the first of two results, the second of which is no error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

const data, forward, backward = 0, 1, 2 // stages of the window

// at returns what a stage of a step takes a rank, ns.
func duration(w *trace.Window, step, stage, rank int) int64 {
	return w.Step(step)[stage*len(w.Ranks)+rank]
}

// graph returns the operators of a step: of each rank its stages, one after the other, whose numbers are 10 · rank + stage. All
// take part in the collective at the end of backward.
func graph(w *trace.Window, step int, high map[[2]int]blame.Flag) (g blame.Graph) {
	for r := range w.Ranks {
		begin := int64(0)
		for k := range w.Schema.Stages {
			op := blame.Op{ID: int64(10*r + k), Rank: r, Start: begin, End: begin + duration(w, step, k, r)}
			switch k {
			case forward:
				op.Length = high[[2]int{step, r}]
			case backward:
				op.Collective, op.Lateness = 1, high[[2]int{step, r}]
			}
			if k > 0 {
				g.Edges = append(g.Edges, blame.Edge{From: op.ID - 1, To: op.ID})
			}
			g.Ops, begin = append(g.Ops, op), op.End
		}
	}
	return g
}

// One window goes through the engines: the account of exposed time, who is late, completion times, outliers of a stage, the way
// back from the last operator, and what the delay costs.
func Example() {
	w := recorded()

	// StageFrontier: the advances of the stages add up to the exposed time.
	account := must(frontier.Analyze(w, frontier.Options{})).Main
	for _, s := range account.Stages {
		fmt.Printf("%s: %.1f ms a step exposed\n", s.Name, float64(s.Advance)/float64(account.Steps)/ms)
	}

	// Who is late, how sure that is, and what fixing it saves.
	late := must(delay.Analyze(&delay.Run{Steps: points.WindowSteps(w)}, delay.Options{}))
	f := late.Claims[0]
	fmt.Printf("%v %d is %v in %s, %v: fixing it saves %.0f %%\n", f.Kind, f.Ranks[0], f.Cause, late.Stages[f.Parts[0].Stage].Name, f.Certainty, 100*f.Saves.Alone)

	// Kolmogorov-Smirnov: whose forward pass is complete at other times of the step.
	workers := make([]ks.Worker, len(w.Ranks))
	series := zscore.Series{Quantity: zscore.Duration, Workers: []int{0, 1, 2, 3}}
	var pairs []bootstrap.Pair
	for step := range w.Steps() {
		for r := range workers {
			workers[r].Steps = append(workers[r].Steps, ks.Step{Done: []int64{duration(w, step, data, r) + duration(w, step, forward, r)}})
		}
		series.X = append(series.X, w.Step(step)[forward*len(w.Ranks):backward*len(w.Ranks)]...)
		with := duration(w, step, data, 2) + duration(w, step, forward, 2) + duration(w, step, backward, 2)
		spared := duration(w, step, forward, 2) - max(duration(w, step, forward, 0), duration(w, step, forward, 1), duration(w, step, forward, 3))
		pairs = append(pairs, bootstrap.Pair{Block: step, Base: float64(with - spared), With: float64(with)})
	}
	completion := must(ks.Analyze(workers, ks.Options{Window: 1}))
	first := completion.Scores[completion.Ranking[0]]
	fmt.Printf("worker %d completes %d ms later than its peers\n", first.Worker, first.Later/ms)

	// z-scores: which forward passes are outliers among those of the ranks.
	outliers := must(zscore.Analyze([]zscore.Series{series}, zscore.Options{})).Outliers
	fmt.Printf("the largest outlier is worker %d's, %d ms\n", outliers[0].Worker, outliers[0].Effect/ms)

	// Blame: from the end of the last step back to what made it late.
	high := make(map[[2]int]blame.Flag) // by step and rank
	for _, o := range outliers {
		high[[2]int{o.Step, o.Worker}] = blame.High
	}
	cause := must(blame.Analyze(graph(w, w.Steps()-1, high), []int64{backward}, blame.Options{})).Causes[0]
	fmt.Printf("%v %d, along %v\n", cause.Kind, cause.Op, cause.Path)

	// Bootstrap: what a step takes, beside what it would take until the last of the others, with an interval of 95 %.
	mean := must(bootstrap.Analyze(pairs, bootstrap.Options{})).EstimateOf(bootstrap.Mean)
	fmt.Printf("the delay makes a step %.1f %% longer (%.1f to %.1f %%)\n", 100*mean.Value, 100*mean.Intervals[0].Lower, 100*mean.Intervals[0].Upper)
	// Output:
	// data.next_wait: 10.0 ms a step exposed
	// model.forward: 70.2 ms a step exposed
	// model.backward: 30.0 ms a step exposed
	// rank 2 is late in model.forward, strong: fixing it saves 18 %
	// worker 2 completes 20 ms later than its peers
	// the largest outlier is worker 2's, 20 ms
	// op 21, along [2 22 21]
	// the delay makes a step 22.0 % longer (21.9 to 22.1 %)
}
