// Command archives measures sfstat batch on simulated jobs and writes bin/archives.md:
// how fast it reads and judges them beside DuckDB, whether other numbers of threads and
// a batch that was killed and resumed give the same bytes, and how many of the
// known faults, and of the known change of step time, it finds.
//
//	go run ./bench/archives -sfstat bin/sfstat [-python PYTHON] [-o bin/archives.md]
//	go run ./bench/archives -sfstat bin/sfstat -gigabytes 10    # only the cost of so large an archive
//	go run ./bench/archives -keep DIR                           # only makes the archive
//
// The archive is half a year: a folder for each week, in it a Parquet file for each run, some
// of them with a fault of known kind, rank, host and week, which truth.csv lists. Half
// of the faults are on one host. From one day on, the steps of all runs are longer. The
// same arguments give the same bytes. Beside it are single runs of large windows.
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

// archived is an archive to be made.
type archived struct {
	Name                   string
	Windows, PerRun, Every int // in all; in a run; of the windows of a run with a fault, each such has it
	Faults, Ranks, Steps   int
	Slower                 float64 // part by which steps are longer from day 120 on
	Bytes                  int64
}

// oneRun is a run with large windows, every n-th of them with a fault; 0: none.
func oneRun(name string, windows, every int) archived {
	return archived{Name: name, Windows: windows, PerRun: windows, Every: every, Faults: min(1, every), Ranks: 32, Steps: 120}
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("archives", flag.ContinueOnError)
	a := archived{Name: "small windows"}
	flags.IntVar(&a.Windows, "windows", 100000, "windows in all")
	flags.IntVar(&a.PerRun, "per-run", 20, "windows of a run")
	flags.IntVar(&a.Faults, "faults", 40, "runs with a fault")
	flags.IntVar(&a.Every, "every", 1, "every N-th window of such a run has it")
	flags.IntVar(&a.Ranks, "ranks", 8, "ranks of each run, two on a host")
	flags.IntVar(&a.Steps, "steps", 20, "steps in each window")
	flags.Float64Var(&a.Slower, "slower", 0.03, "part by which steps are longer from day 120 on")
	keep := flags.String("keep", "", "make the archive in this `folder` and leave it there, measure nothing")
	m := measuring{}
	flags.StringVar(&m.sfstat, "sfstat", "", "the `program` to measure")
	flags.StringVar(&m.python, "python", "", "an `interpreter` with duckdb; without it DuckDB is not measured")
	large := flags.Int("large", 1000, "windows of 32 ranks × 120 steps in single runs, which are measured beside the archive")
	gigabytes := flags.Float64("gigabytes", 0, "measure only an archive of about `N` gigabytes: ten runs of such windows, a tenth of which has a fault")
	flags.IntVar(&m.Rounds, "rounds", 5, "how often everything is timed")
	flags.IntVar(&m.Kills, "kills", 10, "how often a batch of each archive is killed")
	out := flags.String("o", "", "write the page here (default: standard output)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if a.PerRun < 1 || a.Windows < a.PerRun || *large < 1 || m.Kills < 0 || m.Rounds < 1 || (*keep == "") == (m.sfstat == "") {
		return errors.New("needs -sfstat PROGRAM or -keep FOLDER, -windows as large as -per-run, -rounds 1 or more and -kills 0 or more")
	}
	if *keep != "" {
		return a.fleet(*keep)
	}
	if *gigabytes > 0 {
		return m.whole(stdout, *gigabytes)
	}
	p, err := m.page(a, *large)
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
	said, err := exec.Command(self, "-keep", dir, "-windows", strconv.Itoa(a.Windows), "-per-run", strconv.Itoa(a.PerRun), "-faults", strconv.Itoa(a.Faults),
		"-every", strconv.Itoa(a.Every), "-ranks", strconv.Itoa(a.Ranks), "-steps", strconv.Itoa(a.Steps), "-slower", fmt.Sprint(a.Slower)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	a.Bytes, err = sizeOf(dir)
	return err
}

// of makes an archive, measures it, and removes it.
func (m *measuring) of(a *archived, measure func() error) (err error) {
	folder, err := os.MkdirTemp("", "archives")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	m.dir, m.work = filepath.Join(folder, "archive"), folder
	if err := a.made(m.dir); err != nil {
		return err
	}
	return measure()
}

// whole measures an archive of so many gigabytes alone.
func (m *measuring) whole(stdout io.Writer, gigabytes float64) error {
	const runs, window = 10, 67e3 // bytes
	a := oneRun(fmt.Sprintf("%g GB", gigabytes), int(gigabytes*1e9/window/runs), 10)
	a.Windows, a.Faults = runs*a.PerRun, runs
	t := newCosts()
	err := m.of(&a, func() error { return m.costs(t, a) })
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%d MB\n\n%s", a.Bytes/1e6, inMarkdown(t))
	return err
}

func inMarkdown(t *table.Table) string {
	var out bytes.Buffer
	t.Markdown(&out)
	return out.String()
}

// page is what was measured of the archives.
type page struct {
	archived
	measuring
	found
	Runs  int
	Table string
}

// Megabytes is the size of the archive.
func (p page) Megabytes() int64 { return p.Bytes / 1e6 }

// Percent writes a part of one.
func (page) Percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

// page measures an archive, and single runs of large windows beside it.
func (m *measuring) page(a archived, large int) (page, error) {
	if err := m.agree(); err != nil {
		return page{}, err
	}
	t := newCosts()
	measure := func(a archived) error {
		if err := m.costs(t, a); err != nil {
			return err
		}
		return m.same()
	}
	for _, one := range []archived{oneRun("one run", large, 0), oneRun("a tenth with a fault", large, 10), oneRun("all with a fault", large, 1)} {
		if err := m.of(&one, func() error { return measure(one) }); err != nil {
			return page{}, err
		}
	}
	jobs, p := a.plan(), page{}
	err := m.of(&a, func() (err error) {
		if err = measure(a); err == nil {
			p.found, err = compared(jobs, m.rows())
		}
		return err
	})
	p.archived, p.measuring, p.Runs, p.Table = a, *m, len(jobs), inMarkdown(t)
	return p, err
}
