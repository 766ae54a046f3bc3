package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
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
func (m *measuring) costs(windows int) ([][]string, error) {
	table := [][]string{{"", "threads", "wall, s", "processor, s", "windows/s", "peak memory, MB"}}
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
		peak := "–"
		if p := peakOf(s); p > 0 {
			peak = strconv.FormatInt(p/1e6, 10)
		}
		table = append(table, []string{what, threads, fmt.Sprintf("%.1f", m.wall.Seconds()), fmt.Sprintf("%.1f", (s.UserTime() + s.SystemTime()).Seconds()),
			fmt.Sprintf("%.0f", float64(windows)/m.wall.Seconds()), peak})
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
	return table, nil
}

// kill kills a batch at random instants, resumes it each time, and compares its output
// with that of one that was never killed.
func (m *measuring) kill() error {
	rng := rand.New(rand.NewPCG(9, 9))
	out := filepath.Join(m.work, "killed.parquet")
	batch := func(ctx context.Context) error {
		return exec.CommandContext(ctx, m.sfstat, "batch", m.dir, "-o", out, "--resume", "--quiet").Run()
	}
	for range m.Kills {
		after := time.Duration(float64(m.wall) * (0.3 + rng.Float64()) / float64(m.Kills+1))
		ctx, stop := context.WithTimeout(context.Background(), after)
		err := batch(ctx)
		stop()
		if err != nil && ctx.Err() == nil {
			return err
		}
		if err != nil {
			m.Killed++
		}
	}
	if err := batch(context.Background()); err != nil {
		return err
	}
	whole, err := os.ReadFile(m.rows())
	if err != nil {
		return err
	}
	resumed, err := os.ReadFile(out)
	m.Same = err == nil && bytes.Equal(whole, resumed)
	return err
}
