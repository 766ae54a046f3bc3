// Command ksruntime measures how long the comparison of completion times takes, by number of
// workers, and writes the measurements for sfstat campaign plots to draw
// (KAIR's Figure 6):
//
//	go run ./eval/ksruntime -o CAMPAIGN/measured/time-by-workers.csv
//
// A worker has 8 steps of 125 completions with 5 % of noise; one is 3 % slow. A
// row is the median of some runs, its interval the shortest and the longest of
// them: times of one machine under what load it had, no statement about others.
package main

import (
	"encoding/csv"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/sfstat/sfstat/engine/ks"
	"github.com/sfstat/sfstat/eval/internal/pages"
	"github.com/sfstat/sfstat/eval/internal/runtimes"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "ksruntime:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("ksruntime", flag.ContinueOnError)
	out := flags.String("o", "", "write the measurements here (default: standard output)")
	most := flags.Int("most", 2048, "up to this many workers")
	times := flags.Int("times", 5, "how often each is measured")
	if err := flags.Parse(args); err != nil {
		return err
	}
	begin := time.Now()
	rows, err := runtimes.Measurement{Kind: "time-by-workers", Least: smallest, Most: *most, Times: *times, Log: stderr,
		Clock: func() (time.Duration, error) { return time.Since(begin), nil }}.Rows(series)
	if err != nil {
		return err
	}
	return pages.Write(*out, stdout, func(w io.Writer) error { return csv.NewWriter(w).WriteAll(rows) })
}

// smallest is the least number of workers.
const smallest = 8

// mostTested is up to how many workers the test is measured; beyond, it takes
// seconds each time.
const mostTested = 512

// series are what is measured.
var series = []runtimes.Series{
	{Name: "distances and scores", Prepare: analysis(ks.Options{})},
	{Name: "with the test", Most: mostTested, Prepare: analysis(ks.DefaultOptions())},
}

func analysis(o ks.Options) func(int) func() error {
	return func(n int) func() error {
		all := workers(n)
		return func() error {
			_, err := ks.Analyze(all, o)
			return err
		}
	}
}

// workers are n peers that all begin a step together.
func workers(n int) []ks.Worker {
	const steps, perStep, length = 8, 125, 10_000_000 // an operator takes 10 ms
	out := make([]ks.Worker, n)
	for w := range out {
		r := rand.New(rand.NewPCG(1, uint64(w)))
		slower := 1.0
		if w == n/2 {
			slower = 1.03
		}
		for s := range steps {
			start := int64(s) * 2 * perStep * length
			step := ks.Step{Start: start}
			at := start
			for range perStep {
				at += int64(length * slower * (1 + 0.05*(2*r.Float64()-1)))
				step.Done = append(step.Done, at)
			}
			out[w].Steps = append(out[w].Steps, step)
		}
	}
	return out
}
