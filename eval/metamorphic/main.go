// Command metamorphic changes recordings in ways of which it is known what they may do to a verdict, and
// compares the verdicts before and after.
//
//	go run ./eval/metamorphic -o metamorphic.csv           # all recordings × all changes
//	go run ./eval/metamorphic -only 'fixtures/ddp/.*' -v   # some, with every cell
//
// No truth is needed: a permutation of ranks permutes the verdict, compression leaves it, a cut file takes
// certainty and accuses nobody. changes lists what is done, rules what a verdict may become. What fails today is
// listed in known.yaml; the exit status is 0 only if exactly that fails.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/internal/parallel"
	"github.com/sfstat/sfstat/report"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "metamorphic:", err)
		os.Exit(1)
	}
}

// options are the flags of the command.
type options struct {
	fixtures, shared, out string
	only                  *regexp.Regexp
	threads               int
	verbose               bool
	format                report.Format
}

func parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("metamorphic", flag.ContinueOnError)
	flags.StringVar(&o.fixtures, "fixtures", "fixtures", "recordings in the repository, in this `folder`")
	flags.StringVar(&o.shared, "shared", sharedFolder(), "shared data, in this `folder`; left out where it is not there")
	flags.StringVar(&o.out, "o", "", "write a row for each recording and change to this `file` (CSV)")
	flags.IntVar(&o.threads, "threads", 0, "recordings at the same time; 0: one for each core")
	flags.BoolVar(&o.verbose, "v", false, "print every cell")
	markdown := flags.Bool("markdown", false, "print the table as Markdown")
	only := flags.String("only", "", "recordings whose names match this `regexp`")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("%q: expected flags only", flags.Arg(0))
	}
	if *markdown {
		o.format = report.Markdown
	}
	o.only, err = regexp.Compile(*only)
	return o, err
}

// sharedFolder returns where the shared data lie, as the tests look for them.
func sharedFolder() string {
	dir := os.Getenv("SFSTAT_SHARED")
	if dir == "" {
		dir = "../shared"
	}
	return filepath.Join(dir, "data")
}

func run(args []string, stdout io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "metamorphic")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	all, missing, err := o.recordings(folder)
	if err != nil {
		return err
	}
	done, err := tryAll(all, changes, o.threads)
	if err != nil {
		return err
	}
	listed, err := readKnown()
	if err != nil {
		return err
	}
	if o.out != "" {
		if err := atomicfile.WriteFile(o.out, func(w io.Writer) error { return writeOutcomes(w, done) }); err != nil {
			return err
		}
	}
	if err := writePage(stdout, done, listed, o); err != nil {
		return err
	}
	for _, m := range missing {
		fmt.Fprintln(stdout, m)
	}
	return listed.unexpectedCells(done, changes)
}

// recordings returns the recordings to try, and a line for each root that is not there. Generated ones are written into a folder.
func (o *options) recordings(generated string) (all []*recording, missing []string, err error) {
	roots, err := corpora()
	if err != nil {
		return nil, nil, err
	}
	for _, root := range []struct{ name, path string }{{"fixtures", o.fixtures}, {"shared", o.shared}} {
		c := roots[root.name]
		if !exists(root.path) {
			missing = append(missing, fmt.Sprintf("NOT RUN: the recordings of %s, which is not here: set SFSTAT_SHARED", root.path))
			continue
		}
		list, err := c.findRecordings(root.name, root.path)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, list...)
	}
	made, err := generatedIn(generated)
	if err != nil {
		return nil, nil, err
	}
	all = slices.DeleteFunc(append(all, made...), func(r *recording) bool { return !o.only.MatchString(r.name) })
	if len(all) == 0 {
		return nil, nil, errors.New("no recording")
	}
	return all, missing, nil
}

// tryAll makes every change of every recording, in their orders.
func tryAll(all []*recording, changes []change, threads int) ([]outcome, error) {
	cells, failed := make([][]outcome, len(all)), make([]error, len(all))
	parallel.Do(len(all), threads, func(i int) { cells[i], failed[i] = tryOne(all[i], changes) })
	return slices.Concat(cells...), errors.Join(failed...)
}

func tryOne(r *recording, changes []change) (out []outcome, err error) {
	s, err := load(r)
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		if s.base.refused != "" {
			out = append(out, outcome{recording: r.name, kind: r.kind, change: c.name, state: refusedBefore, why: firstLine(s.base.refused)})
			continue
		}
		cell, err := c.try(s)
		if err != nil {
			return nil, err
		}
		out = append(out, cell)
	}
	return out, nil
}
