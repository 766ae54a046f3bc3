// Command archives measures sfstat batch on half a year of simulated jobs and writes
// bin/archives.md: how fast it reads and judges them, whether a batch that was
// killed and resumed ends in the same bytes, and how many of the known faults, and of the
// known change of step time, it finds.
//
//	go run ./bench/archives -sfstat bin/sfstat [-python PYTHON] [-o bin/archives.md]
//	go run ./bench/archives -keep DIR     # only makes the archive
//
// The archive is a folder for each week, in it a Parquet file for each run, some of
// them with a fault of known kind, rank, host and week, which truth.csv lists. Half of the
// faults are on one host. From one day on, the steps of all runs are longer. The
// same arguments give the same bytes.
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"text/template"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/internal/table"
)

//go:embed page.md.tmpl
var pageText string

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "archives:", err)
		os.Exit(1)
	}
}

// archived is the archive to be made.
type archived struct {
	Windows, Faults, Ranks, Steps int
	Slower                        float64 // part by which steps are longer from day 120 on
	Bytes                         int64
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("archives", flag.ContinueOnError)
	a := archived{}
	flags.IntVar(&a.Windows, "windows", 100000, "windows in all")
	flags.IntVar(&a.Faults, "faults", 40, "runs with a fault")
	flags.IntVar(&a.Ranks, "ranks", 8, "ranks of each run, two on a host")
	flags.IntVar(&a.Steps, "steps", 20, "steps in each window")
	flags.Float64Var(&a.Slower, "slower", 0.03, "part by which steps are longer from day 120 on")
	keep := flags.String("keep", "", "make the archive in this `folder` and leave it there (default: a temporary one)")
	m := measuring{}
	flags.StringVar(&m.sfstat, "sfstat", "", "the `program` to measure; without it only the archive is made")
	flags.StringVar(&m.python, "python", "", "an `interpreter` with duckdb; without it DuckDB is not measured")
	large := flags.Int("large", 2000, "windows of 32 ranks × 120 steps to measure beside the archive")
	flags.IntVar(&m.Kills, "kills", 10, "how often a batch is killed")
	out := flags.String("o", "", "write the page here (default: standard output)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if a.Windows < perRun || *large < perRun || m.Kills < 0 || *keep == "" && m.sfstat == "" {
		return fmt.Errorf("needs -sfstat PROGRAM or -keep FOLDER, -windows %d or more and -kills 0 or more", perRun)
	}
	dir := *keep
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "archives"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	if m.sfstat == "" {
		return fleet(dir, a.plan(), simulate.Schedule{Windows: perRun, Steps: a.Steps})
	}
	p, err := m.page(dir, a, *large)
	if err != nil {
		return err
	}
	page := func(w io.Writer) error { return template.Must(template.New("page").Parse(pageText)).Execute(w, p) }
	if *out == "" {
		return page(stdout)
	}
	return atomicfile.WriteFile(*out, page)
}

// made makes the archive in a process of its own, because the peak memory of a child
// process includes that of its parent when it was started.
func (a *archived) made(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	said, err := exec.Command(self, "-keep", dir, "-windows", strconv.Itoa(a.Windows), "-faults", strconv.Itoa(a.Faults), "-ranks", strconv.Itoa(a.Ranks),
		"-steps", strconv.Itoa(a.Steps), "-slower", fmt.Sprint(a.Slower)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	a.Bytes, err = sizeOf(dir)
	return err
}

// page is what was measured of an archive.
type page struct {
	archived
	measuring
	found
	Runs         int
	Table, Large string
}

// Megabytes is the size of the archive.
func (p page) Megabytes() int64 { return p.Bytes / 1e6 }

// Percent writes a part of one.
func (page) Percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

// large measures archives of large windows, without faults and with one in every tenth
// run: a table.
func (m measuring) large(windows int) (string, error) {
	all := &table.Table{}
	for _, part := range []float64{0, 0.1} {
		a := archived{Windows: windows, Faults: int(part * float64(windows/perRun)), Ranks: 32, Steps: 120}
		costs, err := m.costsOf(a)
		if err != nil {
			return "", err
		}
		all.Columns = append(table.Words("runs with a fault"), costs.Columns...)
		for _, row := range costs.Rows {
			all.Add(append(table.Texts(fmt.Sprintf("%d of %d", a.Faults, windows/perRun)), row...)...)
		}
	}
	return inMarkdown(all), nil
}

func inMarkdown(t *table.Table) string {
	var out bytes.Buffer
	t.Markdown(&out)
	return out.String()
}

// costsOf makes an archive, measures it, and removes it.
func (m measuring) costsOf(a archived) (t *table.Table, err error) {
	if m.work, err = os.MkdirTemp("", "large"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(m.work)) }()
	m.dir = filepath.Join(m.work, "archive")
	if err := a.made(m.dir); err != nil {
		return nil, err
	}
	return m.costs(a.Windows)
}

// page measures an archive, and large windows beside it.
func (m measuring) page(dir string, a archived, large int) (p page, err error) {
	if err := a.made(dir); err != nil {
		return p, err
	}
	work, err := os.MkdirTemp("", "batch")
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	m.dir, m.work = dir, work
	costs, err := m.costs(a.Windows)
	if err != nil {
		return p, err
	}
	if err := m.kill(); err != nil {
		return p, err
	}
	jobs := a.plan()
	p = page{archived: a, measuring: m, Runs: len(jobs)}
	p.Table = inMarkdown(costs)
	if p.Large, err = m.large(large); err != nil {
		return p, err
	}
	p.found, err = compared(jobs, m.rows())
	return p, err
}
