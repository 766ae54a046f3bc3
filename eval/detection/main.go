// Command detection measures how often the verdict on an operator trace names
// the culprit, on simulated jobs whose culprit is known, beside two rules that
// see operators one by one, and writes docs/detection.md.
//
//	go run ./eval/detection -traces 2000 -seed 1 -o docs/detection.md
//	go run ./eval/detection -seed 1 -show 1234
//
// The second form prints one of the traces: its specification, what it hides
// and the verdict. Every trace is drawn from the seed and its number alone, so
// that the page is the same on any number of threads.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"go.yaml.in/yaml/v3"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/eval/internal/pages"
	"github.com/sfstat/sfstat/eval/simulate/pipeline"
	"github.com/sfstat/sfstat/internal/parallel"
	"github.com/sfstat/sfstat/report"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "detection:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer, stderr *os.File) error {
	flags := flag.NewFlagSet("detection", flag.ContinueOnError)
	traces := flags.Int("traces", 2000, "how many traces to simulate")
	seed := flags.Uint64("seed", 1, "of all draws")
	out := flags.String("o", "", "write the page here (default: standard output)")
	one := flags.Int("show", -1, "print this trace and its verdict instead")
	list := flags.Bool("list", false, "print a line for each trace; the page only with -o")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *one >= 0 {
		return show(stdout, *seed, *one)
	}
	if *traces < 1 {
		return fmt.Errorf("%d traces, expected one or more", *traces)
	}
	numbers := make([]int, *traces)
	for i := range numbers {
		numbers[i] = i
	}
	all, err := tryAll(*seed, numbers, progressOn(stderr))
	if err != nil {
		return err
	}
	if *list {
		if err := printTrials(stdout, all); err != nil || *out == "" {
			return err
		}
	}
	return pages.Write(*out, stdout, page{Traces: *traces, Seed: *seed, trials: all}.write)
}

// tryAll tries traces of a seed, by number, on all cores, and reports how many
// are done.
func tryAll(seed uint64, numbers []int, report func(done, of int)) (trials, error) {
	var done atomic.Int64
	return parallel.Map(len(numbers), func(k int) (*trial, error) {
		defer func() { report(int(done.Add(1)), len(numbers)) }()
		return try(seed, numbers[k])
	})
}

// progressOn shows progress where there is somebody to see it.
func progressOn(w *os.File) func(done, of int) {
	info, err := w.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return func(int, int) {}
	}
	return func(done, of int) {
		end := ""
		if done == of {
			end = "\n"
		}
		fmt.Fprintf(w, "\r%d of %d traces%s", done, of, end)
	}
}

// printTrials writes what -show can be asked about.
func printTrials(w io.Writer, all trials) error {
	for i, t := range all {
		line := fmt.Sprintf("%d\t%v\tspeeds differ by %g\t%v", i, t.grid, t.speeds, t.kind())
		if faulty(t) {
			line += fmt.Sprintf("\t%s\tcosts %.4f", sizeName(t.size), t.exposed)
		}
		for m, a := range t.answers {
			if a.fires {
				line += fmt.Sprintf("\t%s:%s", methodNames[m], map[bool]string{true: "right", false: "WRONG"}[a.right])
			}
		}
		if t.wrong {
			line += "\tINNOCENT CALLED"
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// show prints one trace: its specification, truth and verdict.
func show(w io.Writer, seed uint64, i int) error {
	spec, _ := draw(seed, i)
	o, truth, err := pipeline.Make(spec)
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(spec)
	if err != nil {
		return err
	}
	hidden := "nothing"
	for _, f := range truth.Faults {
		ops, err := json.Marshal(f.Ops)
		if err != nil {
			return err
		}
		hidden = fmt.Sprintf("%v on %d workers, first rank %d (dp=%d,pp=%d), %s, in steps %v", f.Kind, len(f.Workers), f.Workers[0].Rank,
			f.Workers[0].DP, f.Workers[0].PP, ops, f.Steps)
	}
	v, err := verdict(o)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s\nhides %s\n\n%s\n", text, hidden, report.Headline(&v.RunVerdict))
	for _, s := range v.Suspects {
		printSuspect(w, s)
	}
	return nil
}

func printSuspect(w io.Writer, s diagnose.Finding) {
	number := func(n *int) string {
		if n == nil {
			return none
		}
		return fmt.Sprint(*n)
	}
	fmt.Fprintf(w, "\n%v: %v, rank %s (%s), stage %s, op %s number %s, gain %.4f, explains %.4f\n",
		s.Confidence, s.Kind, number(s.Rank), s.Role, s.Stage, s.Op, number(s.Seq), s.Gain, s.Score)
	for _, e := range s.Evidence {
		fmt.Fprintf(w, "  %s\n", report.Evidence(e))
	}
}
