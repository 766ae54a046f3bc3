// Command verdicts measures how often the verdict on windows names the rank and
// the stage that are slow, on simulated jobs whose fault is known, and what it
// calls in healthy ones, and writes docs/verdict-evaluation.md.
//
//	go run ./eval/verdicts -seeds 100 -o docs/verdict-evaluation.md
//
// Every job is drawn from its cell and its seed alone, so that the page is the
// same on any number of threads.
package main

import (
	"flag"
	"fmt"
	"io"

	"github.com/sfstat/sfstat/eval/internal/pages"
	"github.com/sfstat/sfstat/internal/parallel"
)

func main() { pages.Main("verdicts", run) }

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("verdicts", flag.ContinueOnError)
	seeds := flags.Int("seeds", 100, "jobs in a cell")
	out := flags.String("o", "", "write the page here (default: standard output)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *seeds < 1 {
		return fmt.Errorf("%d seeds, expected one or more", *seeds)
	}
	p := page{Seeds: *seeds}
	for _, part := range []struct {
		cells []cell
		into  *[]score
	}{{borderCells(), &p.borders}, {strikeCells(), &p.strikes}, {timingCells(), &p.timings}} {
		scores, err := measure(part.cells, *seeds)
		if err != nil {
			return err
		}
		*part.into = scores
	}
	return pages.Write(*out, stdout, pages.Fill(pageText, p))
}

// measure tries all seeds of all cells on all processors. Cells that differ in
// the fault alone and stand together share the healthy job.
func measure(cells []cell, seeds int) ([]score, error) {
	var starts []int // of the cells of one healthy job
	for i, c := range cells {
		if i == 0 || c.healthy() != cells[i-1].healthy() {
			starts = append(starts, i)
		}
	}
	starts = append(starts, len(cells))
	trials, err := parallel.Map((len(starts)-1)*seeds, func(n int) ([]trial, error) {
		k := n / seeds
		return try(cells[starts[k]:starts[k+1]], uint64(n%seeds))
	})
	if err != nil {
		return nil, err
	}
	out := make([]score, len(cells))
	for n, list := range trials {
		for i, t := range list {
			at := starts[n/seeds] + i
			out[at].cell = cells[at]
			out[at].add(t)
		}
	}
	return out, nil
}
