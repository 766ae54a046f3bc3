package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/engine/overhead"
	"github.com/sfstat/sfstat/internal/robust"
)

// tell says what came out.
func (b *bench) tell(w io.Writer) error {
	fmt.Fprintf(w, "%d ranks, %d launches × %d rounds × %d steps under each arm; windows of %d steps\n", b.ranks, b.launches, b.rounds, b.steps, b.window)
	fmt.Fprintf(w, "load of the machine: %s before, %s after\n", b.before, load())
	if err := b.tellGPUs(w); err != nil {
		return err
	}
	for arm := CPU; arm < arms; arm++ {
		if err := b.tellArm(w, arm); err != nil {
			return fmt.Errorf("arm %v: %w", arm, err)
		}
	}
	fmt.Fprintf(w, "\na call of a stage takes %.0f ns of processor time (median of %d launches)\n", robust.Median(slices.Clone(b.calls)), len(b.calls))
	fmt.Fprintf(w, "the pairs are in %s/pairs-*.csv, for sfstat overhead --pairs\n", b.out)
	return nil
}

func (b *bench) tellGPUs(w io.Writer) error {
	if b.gpus == nil {
		_, err := fmt.Fprintf(w, "no GPU was watched: %v\n", b.noGPU)
		return err
	}
	_, left := pairsOf(b.chunks, CPU)
	fmt.Fprintf(w, "%d GPUs watched (%s): %d of %d rounds left out because one was throttled or counted memory errors\n",
		b.gpus.Count(), b.gpus.Name(0), left, b.launches*b.rounds)
	unseen := 0
	for i := range b.chunks {
		if slices.ContainsFunc(b.chunks[i].GPUs, func(s State) bool { return s.Samples == 0 }) {
			unseen++
		}
	}
	if unseen == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "%d of %d chunks hold no reading of some GPU, so how it was is not known: make -gpu-every shorter, or -steps more\n", unseen, len(b.chunks))
	return err
}

// tellArm gives the estimate and the recommended one-sided bound of the mean.
func (b *bench) tellArm(w io.Writer, arm Arm) error {
	pairs, _ := pairsOf(b.chunks, arm)
	a, err := overhead.Examine(measurements(pairs), overhead.ByFile, overhead.Options{Bootstrap: bootstrap.DefaultOptions(), Gate: &b.goal})
	if err != nil {
		return err
	}
	var step, thread, process float64 // ns
	for _, p := range pairs {
		step += p.base.Wall / float64(len(pairs))
		thread += (p.with.Thread - p.base.Thread) / float64(len(pairs))
		process += (p.with.Process - p.base.Process) / float64(len(pairs))
	}
	bound := "no upper bound from so few launches"
	if a.Interval != nil && !math.IsInf(a.Interval.AtMost, 0) {
		bound = fmt.Sprintf("at most %.3f %% at 95 %%", 100*a.Interval.AtMost)
	}
	_, err = fmt.Fprintf(w, "\n%v: %+.3f %% of a step of %.1f ms, %s; %v the goal of %.3g %%\n"+
		"  processor time of a step: %+.0f µs on the training thread, %+.0f µs in all threads (%.4f %% and %.4f %% of the step)\n",
		arm, 100*a.Estimate.Value, step/1e6, bound, a.Standing, 100*b.goal, thread/1e3, process/1e3, 100*thread/step, 100*process/step)
	return err
}

// load is the load average of the last minute where the system tells it.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
