// Command accuracy measures how often the verdicts of a build of sfstat are right, on
// jobs whose truth is known, and compares two builds job by job.
//
//	go run ./eval/accuracy score -sfstat bin/sfstat -scenarios DIR -o new.csv
//	go run ./eval/accuracy compare old.csv new.csv
//
// score writes a row for each job and variant: what is true, what the verdict says, and
// what is wrong with it. Its exit status does not depend on the score.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/internal/parallel"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "accuracy:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	if len(args) == 0 {
		return errors.New("no command: expected score or compare")
	}
	switch args[0] {
	case "score":
		return score(args[1:], stdout)
	case "compare":
		if len(args) != 3 {
			return fmt.Errorf("%d tables, expected two: compare OLD.csv NEW.csv", len(args)-1)
		}
		old, err := readRows(args[1])
		if err != nil {
			return err
		}
		new, err := readRows(args[2])
		if err != nil {
			return err
		}
		return compareRows(old, new).write(stdout)
	}
	return fmt.Errorf("%q is no command: expected score or compare", args[0])
}

// task scores a job, in all its variants.
type task func(program) ([]row, error)

func score(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("score", flag.ContinueOnError)
	sfstat := flags.String("sfstat", "bin/sfstat", "the `program` to score")
	folder := flags.String("scenarios", "", "composed jobs in this `folder`, each with packets.jsonl and truth.json")
	threads := flags.Int("threads", 0, "jobs scored at the same time; 0 is one for each core")
	out := flags.String("o", "", "write the table here as CSV (default: standard output)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var tasks []task
	if *folder != "" {
		list, err := scenarios(*folder)
		if err != nil {
			return err
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
