// Command ksruntime measures how long the comparison of completion times takes, by number of
// workers, and writes the measurements for sfstat campaign plots to draw
// (KAIR's Figure 6), or the figure itself:
//
//	go run ./eval/ksruntime -o CAMPAIGN/measured/time-by-workers.csv
//	go run ./eval/ksruntime -figure workers.png
//
// A worker has 8 steps of 125 completions with 5 % of noise; one is 3 % slow. A
// row is the median of some runs, its interval the shortest and the longest of
// them: times of one machine under what load it had, no statement about others.
package main

import (
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/sfstat/sfstat/engine/ks"
	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/plots"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "ksruntime:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("ksruntime", flag.ContinueOnError)
	out := flags.String("o", "", "write the measurements here (default: standard output)")
	figure := flags.String("figure", "", "draw them here: .png, .svg or .pdf")
	most := flags.Int("most", 2048, "up to this many workers")
	times := flags.Int("times", 5, "how often each is measured")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *most < smallest || *times < 1 {
		return fmt.Errorf("-most %d, -times %d: expected %d and 1 at least", *most, *times, smallest)
	}
	rows, err := measure(*most, *times)
	if err != nil {
		return err
	}
	write := func(w io.Writer) error { return csv.NewWriter(w).WriteAll(rows) }
	if *out == "" {
		err = write(stdout)
	} else {
		err = atomicfile.WriteFile(*out, write)
	}
	if err != nil || *figure == "" {
		return err
	}
	return draw(*figure, rows)
}

// smallest is the least number of workers.
const smallest = 8

// mostTested is up to how many workers the test is measured; beyond, it takes
// seconds each time.
const mostTested = 512

// series are what is measured.
var series = []struct {
	name string
	most int
	o    ks.Options
}{
	{"distances and scores", 1 << 30, ks.Options{}},
	{"with the test", mostTested, ks.DefaultOptions()},
}

// kind is the file that the measurements are for.
func kind() (*campaign.Measured, error) {
	i := slices.IndexFunc(campaign.MeasuredKinds, func(m campaign.Measured) bool { return m.Name == "time-by-workers" })
	if i < 0 {
		return nil, errors.New("time-by-workers is no longer drawn")
	}
	return &campaign.MeasuredKinds[i], nil
}

// measure gives the rows of the file, the first the header.
func measure(most, times int) ([][]string, error) {
	m, err := kind()
	if err != nil {
		return nil, err
	}
	rows := [][]string{m.Head()}
	for _, s := range series {
		for n := smallest; n <= min(most, s.most); n *= 2 {
			seconds, err := timesOf(workers(n), s.o, times)
			if err != nil {
				return nil, err
			}
			row := []string{s.name, strconv.Itoa(n)}
			for _, v := range []float64{seconds[len(seconds)/2], seconds[0], seconds[len(seconds)-1]} {
				row = append(row, strconv.FormatFloat(v, 'g', 4, 64))
			}
			rows = append(rows, append(row, strconv.Itoa(times)))
		}
	}
	return rows, nil
}

// timesOf is how long an analysis takes, in s, ascending.
func timesOf(ws []ks.Worker, o ks.Options, times int) ([]float64, error) {
	var out []float64
	for range times {
		begin := time.Now()
		if _, err := ks.Analyze(ws, o); err != nil {
			return nil, err
		}
		out = append(out, time.Since(begin).Seconds())
	}
	slices.Sort(out)
	return out, nil
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

// draw draws the rows as sfstat campaign plots does.
func draw(path string, rows [][]string) error {
	m, err := kind()
	if err != nil {
		return err
	}
	as, err := plots.FormatOf(path)
	if err != nil {
		return err
	}
	lines, err := m.Lines(path, rows)
	if err != nil {
		return err
	}
	f, err := m.Chart(lines).Draw(plots.Column)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(path, func(w io.Writer) error { return f.Write(w, as) })
}
