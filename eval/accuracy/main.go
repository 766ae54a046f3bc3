// Command accuracy measures how often the verdicts of a build of sfstat are right, on
// jobs whose truth is known, and compares two builds job by job.
//
//	go run ./eval/accuracy score -sfstat bin/sfstat -fixtures fixtures -windows 5 -o new.csv
//	go run ./eval/accuracy compare old.csv new.csv   # right in both, in one, in neither; what only the old one has
//	go run ./eval/accuracy table new.csv             # how many are right, by family, with intervals
//	go run ./eval/accuracy page new.csv              # the same as docs/accuracy.md
//
// score runs the program on every job and writes a row for each, and for each variant of
// its recording: what is true, what the verdict says, and what is wrong with it. One scorer
// (judge) serves all sources. Its exit status does not depend on the score.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/internal/parallel"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "accuracy:", err)
		os.Exit(1)
	}
}

// commands are what is made of tables, with those that they take.
var commands = map[string]struct {
	tables []string
	write  func(stdout io.Writer, tables [][]row) error
}{
	"compare": {[]string{"OLD.csv", "NEW.csv"}, func(w io.Writer, t [][]row) error { return writeComparison(w, t[0], t[1]) }},
	"table":   {[]string{"TABLE.csv"}, func(w io.Writer, t [][]row) error { return printTables(w, tablesOf(t[0], true)...) }},
	"page":    {[]string{"TABLE.csv"}, func(w io.Writer, t [][]row) error { return writePage(w, t[0]) }},
}

func run(args []string, stdout io.Writer) error {
	if len(args) > 0 && args[0] == "score" {
		return score(args[1:], stdout)
	}
	if len(args) == 0 || commands[args[0]].write == nil {
		return fmt.Errorf("%q: expected score, compare, table or page first", args)
	}
	command, paths := commands[args[0]], args[1:]
	if len(paths) != len(command.tables) {
		return fmt.Errorf("%q: expected %s", paths, strings.Join(command.tables, " "))
	}
	var tables [][]row
	for _, path := range paths {
		rows, err := readRows(path)
		if err != nil {
			return err
		}
		tables = append(tables, rows)
	}
	return command.write(stdout, tables)
}

// task scores a job, in all its variants.
type task func(program) ([]row, error)

// source is jobs that a flag asks for.
type source struct {
	flag, usage string
	tasks       func(value string) ([]task, error)
}

// sources are in the order of the table.
var sources = []source{
	{"scenarios", "composed jobs in this `folder`, each with packets.jsonl and truth.json", scenarios},
	{"composed", "`N` composed jobs of each family, or \"N FAMILY …\"", composedJobs},
	{"fixtures", "the recordings of this `folder`, fixtures in the repository", recordedJobs(true)},
	{"shared", "the recordings of this `folder` of shared data", recordedJobs(false)},
	{"jobs", "real jobs that eval/realjobs/jobs.py ran in this `folder`", realJobs},
	{"campaign", "the runs of this `folder` of sfstat campaign run or make paper", func(dir string) ([]task, error) { return truthTable(dir, "campaign") }},
	{"windows", "`N` simulated jobs of each kind that have a slow rank", countSource(simulatedJobs)},
	{"operators", "`N` simulated operator traces", countSource(traces)},
	{"comparisons", "`N` comparisons of simulated runs by sfstat compare", countSource(comparisons)},
}

// countSource returns a source whose flag is a number of jobs.
func countSource(of func(n int) []task) func(string) ([]task, error) {
	return func(value string) ([]task, error) {
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q: expected a number of jobs, one or more", value)
		}
		return of(n), nil
	}
}

func score(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("score", flag.ContinueOnError)
	sfstat := flags.String("sfstat", "bin/sfstat", "the `program` to score")
	values := make([]*string, len(sources))
	for i, s := range sources {
		values[i] = flags.String(s.flag, "", s.usage)
	}
	threads := flags.Int("threads", 0, "jobs scored at the same time; 0 is one for each core")
	out := flags.String("o", "", "write the table here as CSV (default: standard output)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q: expected flags only", flags.Arg(0))
	}
	var tasks []task
	for i, s := range sources {
		if *values[i] == "" {
			continue
		}
		list, err := s.tasks(*values[i])
		if err != nil {
			return fmt.Errorf("-%s: %w", s.flag, err)
		}
		tasks = append(tasks, list...)
	}
	rows, err := scoreAll(program(*sfstat), tasks, *threads)
	if err != nil {
		return err
	}
	if *out == "" {
		return writeRows(stdout, rows)
	}
	return atomicfile.WriteFile(*out, func(w io.Writer) error { return writeRows(w, rows) })
}

func scoreAll(p program, tasks []task, threads int) ([]row, error) {
	if len(tasks) == 0 {
		return nil, errors.New("no jobs: name at least one source")
	}
	rows, failed := make([][]row, len(tasks)), make([]error, len(tasks))
	parallel.Do(len(tasks), threads, func(i int) { rows[i], failed[i] = tasks[i](p) })
	return slices.Concat(rows...), errors.Join(failed...)
}
