package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/sfstat/sfstat/internal/table"
)

// measuring is what is measured where, and what came of killing it.
type measuring struct {
	sfstat, python string
	dir, work      string // the archive; outputs
	wall           time.Duration
	Kills          int // attempted
	Killed         int // that hit a running batch
	Same           bool
}

// rows is the output of the whole archive.
func (m *measuring) rows() string { return filepath.Join(m.work, "all.parquet") }

func sizeOf(dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}

// durations is what DuckDB sums: all columns that hold times of stages.
const durations = `import duckdb, sys
db = duckdb.connect(config={"threads": int(sys.argv[1])})
files = sys.argv[2] + "/*/*.parquet"
names = [n for n, t, *_ in db.sql(f"DESCRIBE SELECT * FROM '{files}'").fetchall() if t == "BIGINT" and n not in ("window", "step", "rank", "epoch_ns")]
columns = ", ".join(f'sum("{n}")' for n in names)
db.sql(f"SELECT {columns} FROM '{files}'").fetchall()`

// costs measures batch and DuckDB with one thread and with two: the rows of a table.
func (m *measuring) costs(windows int) (*table.Table, error) {
	t := &table.Table{Columns: append(table.Words("", "threads", "wall, s", "processor, s"), table.Heads(table.Integer, "windows/s", "peak memory, MB")...)}
	add := func(what, threads, program string, args ...string) error {
		began := time.Now()
		cmd := exec.Command(program, args...)
		cmd.Env = append(os.Environ(), "GOMAXPROCS="+threads)
		said, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", program, err, said)
		}
		m.wall = time.Since(began)
		s := cmd.ProcessState
		peak := table.None()
		if p := peakOf(s); p > 0 {
			peak = table.WholeCell(p / 1e6)
		}
		t.Add(append(table.Texts(what, threads, fmt.Sprintf("%.1f", m.wall.Seconds()), fmt.Sprintf("%.1f", (s.UserTime()+s.SystemTime()).Seconds())),
			table.WholeCell(int(math.Round(float64(windows)/m.wall.Seconds()))), peak)...)
		return nil
	}
	for _, threads := range []string{"1", "2"} {
		if m.python != "" {
			if err := add("DuckDB: the sum of all durations", threads, m.python, "-c", durations, threads, m.dir); err != nil {
				return nil, err
			}
		}
		if err := add("`sfstat batch`", threads, m.sfstat, "batch", m.dir, "-o", m.rows(), "--threads", threads, "--quiet"); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// kill kills a batch at random instants, takes it up again each time, and compares what
// it ends in with what was never killed. Where it ends before it was killed often enough,
// another begins, and is killed sooner.
func (m *measuring) kill() error {
	whole, err := os.ReadFile(m.rows())
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(9, 9))
	out := filepath.Join(m.work, "killed.parquet")
	m.Same = true
	for most := m.wall / time.Duration(m.Kills+1); ; most /= 2 {
		if err := m.killed(out, most, rng); err != nil {
			return err
		}
		resumed, err := os.ReadFile(out)
		if err != nil {
			return err
		}
		m.Same = m.Same && bytes.Equal(whole, resumed)
		if m.Killed >= m.Kills {
			return nil
		}
		if most < time.Millisecond {
			return fmt.Errorf("only %d of %d kills hit a batch at work: make a larger archive", m.Killed, m.Kills)
		}
		if err := os.Remove(out); err != nil {
			return err
		}
	}
}

// killed brings a batch to its end, killed as often as is still to be, each time after
// 0.3 to 1.3 times most.
func (m *measuring) killed(out string, most time.Duration, rng *rand.Rand) error {
	for {
		ctx, stop := context.Background(), context.CancelFunc(func() {})
		if m.Killed < m.Kills {
			ctx, stop = context.WithTimeout(ctx, time.Duration(float64(most)*(0.3+rng.Float64())))
		}
		err := exec.CommandContext(ctx, m.sfstat, "batch", m.dir, "-o", out, "--resume", "--quiet").Run()
		late := ctx.Err() != nil
		stop()
		if err == nil || !late {
			return err
		}
		m.Killed++
	}
}
