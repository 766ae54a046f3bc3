//go:build linux

// Command archives measures sfstat batch on archives of simulated jobs, beside DuckDB on the
// same files, and writes a table: seconds, windows a second, peak memory.
//
//	go run ./bench/archives -sfstat bin/sfstat [-python PYTHON]
//	go run ./bench/archives -sfstat bin/sfstat -gigabytes 10    # only one archive, of about this size
//
// The archives are campaigns that the program itself makes: a Parquet file for each run. Some
// runs have a late rank, in all of their windows or in every tenth. That a batch finds it, and
// writes the same bytes on any number of threads and after it was killed, is held by the tests
// of package batch.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/report"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "archives:", err)
		os.Exit(1)
	}
}

// archive is one to be made.
type archive struct {
	name          string
	healthy, late int // runs
	windows       int // of a run
	every         int // of a late run, every n-th window is struck
	ranks, steps  int
}

// large returns runs of large windows.
func large(name string, healthy, late, windows, every int) archive {
	return archive{name, healthy, late, windows, every, 32, 120}
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("archives", flag.ContinueOnError)
	var m measuring
	flags.StringVar(&m.sfstat, "sfstat", "", "the `program` to measure")
	flags.StringVar(&m.python, "python", "", "an `interpreter` with duckdb; without it DuckDB is not measured")
	flags.IntVar(&m.rounds, "rounds", 5, "how often everything is timed")
	small := flags.Int("windows", 100000, "windows of 8 ranks × 20 steps, in runs of 20 of which eight in a hundred have a late rank")
	single := flags.Int("large", 1000, "windows of 32 ranks × 120 steps in single runs")
	gigabytes := flags.Float64("gigabytes", 0, "measure only an archive of about `N` gigabytes: ten runs of large windows, a tenth of which is struck")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if m.sfstat == "" || *small < 20 || *single < 1 || m.rounds < 1 {
		return errors.New("needs -sfstat PROGRAM, -windows 20 or more, and -large and -rounds 1 or more")
	}
	runs := *small / 20
	late := runs * 8 / 100
	archives := []archive{
		large("one run", 1, 0, *single, 0), large("a tenth with a fault", 0, 1, *single, 10), large("all with a fault", 0, 1, *single, 1),
		{"small windows", runs - late, late, 20, 1, 8, 20},
	}
	if *gigabytes > 0 {
		const runs, window = 10, 67e3 // bytes
		archives = []archive{large(fmt.Sprintf("%g GB", *gigabytes), 0, runs, int(*gigabytes*1e9/window/runs), 10)}
	}
	t := newCosts()
	for _, a := range archives {
		if err := m.measure(t, a); err != nil {
			return err
		}
	}
	return report.Output{W: stdout, Format: report.Markdown}.Tables(t)
}

// campaign returns the specification of the runs.
func (a archive) campaign() string {
	job := fmt.Sprintf("ranks: [%d], windows: %d, steps: %d", a.ranks, a.windows, a.steps)
	text := "name: archive\nrunner: simulator\ngroups:\n"
	if a.healthy > 0 {
		text += fmt.Sprintf("  - {name: healthy, families: [nofault], seeds: [0-%d], %s}\n", a.healthy-1, job)
	}
	if a.late > 0 {
		var struck []string
		for w := 0; w < a.windows; w += a.every {
			struck = append(struck, fmt.Sprint(w))
		}
		text += fmt.Sprintf("  - {name: late, families: [data], delays_ms: [60], seeds: [0-%d], %s, fault_windows: [%s]}\n",
			a.late-1, job, strings.Join(struck, ", "))
	}
	return text
}

// measure makes an archive, measures it, and removes it. The program makes it, since the peak
// memory of a child process includes that of its parent when it was started.
func (m *measuring) measure(t *table.Table, a archive) (err error) {
	folder, err := os.MkdirTemp("", "archives")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	maker := exec.Command(m.sfstat, "campaign", "run", "-", "-o", folder, "--quiet")
	maker.Stdin = strings.NewReader(a.campaign())
	if said, err := maker.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	m.runs, m.rows = filepath.Join(folder, "runs"), filepath.Join(folder, "rows.parquet")
	return m.costs(t, a)
}
