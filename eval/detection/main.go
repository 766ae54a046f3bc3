// Command detection measures how often the verdict on an operator trace names
// the culprit, on simulated jobs whose culprit is known, beside two rules that
// see operators one by one, and writes docs/detection.md.
//
//	go run ./eval/detection -traces 2000 -seed 1 -o docs/detection.md
//
// Every trace is drawn from the seed and its number alone, so
// that the page is the same on any number of threads.
package main

import (
	"flag"
	"fmt"
	"io"

	"github.com/sfstat/sfstat/eval/internal/pages"
	"github.com/sfstat/sfstat/internal/parallel"
)

func main() { pages.Main("detection", run) }

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("detection", flag.ContinueOnError)
	traces := flags.Int("traces", 2000, "how many traces to simulate")
	seed := flags.Uint64("seed", 1, "of all draws")
	out := flags.String("o", "", "write the page here (default: standard output)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *traces < 1 {
		return fmt.Errorf("%d traces, expected one or more", *traces)
	}
	numbers := make([]int, *traces)
	for i := range numbers {
		numbers[i] = i
	}
	all, err := tryAll(*seed, numbers)
	if err != nil {
		return err
	}
	return pages.Write(*out, stdout, pages.Fill(pageText, page{Traces: *traces, Seed: *seed, trials: all}))
}

// tryAll tries traces of a seed, by number, on all cores.
func tryAll(seed uint64, numbers []int) (trials, error) {
	return parallel.Map(len(numbers), func(k int) (*trial, error) { return try(seed, numbers[k]) })
}
