//go:build linux

package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/internal/table"
)

// measuring is what is measured, and how often.
type measuring struct {
	sfstat, python string
	rounds         int
	runs, rows     string // the folder of the archive; the output of a batch
}

// cost is what a program took: seconds and megabytes.
type cost struct{ wall, processor, peak float64 }

// queries are those of DuckDB.
//
//go:embed frontier.py
var queries string

// query asks DuckDB. The start of it and of Python counts as memory, not as time.
func (m *measuring) query(what, threads string) (cost, error) {
	c, out, err := measure(m.python, "-c", queries, threads, what, m.runs)
	if err == nil {
		if _, err = fmt.Sscan(string(out), &c.wall, &c.processor); err != nil {
			err = fmt.Errorf("%s: %w: DuckDB printed %.100q", what, err, out)
		}
	}
	return c, err
}

func (m *measuring) batch(threads string) (cost, error) {
	c, _, err := measure(m.sfstat, "batch", m.runs, "-o", m.rows, "--threads", threads, "--quiet")
	return c, err
}

func measure(program string, args ...string) (cost, []byte, error) {
	cmd := exec.Command(program, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	began := time.Now()
	out, err := cmd.Output()
	if err != nil {
		return cost{}, nil, fmt.Errorf("%s: %w: %s", program, err, said.Bytes())
	}
	s := cmd.ProcessState
	kilobytes := s.SysUsage().(*syscall.Rusage).Maxrss
	return cost{time.Since(began).Seconds(), (s.UserTime() + s.SystemTime()).Seconds(), float64(kilobytes<<10) / 1e6}, out, nil
}

func newCosts() *table.Table {
	return &table.Table{Columns: append(append(table.Words("archive", "threads", ""), table.Heads(table.Hundredths, "wall, s", "processor, s")...),
		table.Heads(table.Integer, "windows/s", "peak memory, MB")...)}
}

// costs measures batch and DuckDB by turns, and adds a row of medians for each.
func (m *measuring) costs(t *table.Table, a archive) error {
	programs := []struct {
		name string
		run  func(threads string) (cost, error)
	}{
		{"DuckDB: all columns", func(threads string) (cost, error) { return m.query("columns", threads) }},
		{"DuckDB: the frontier", func(threads string) (cost, error) { return m.query("frontier", threads) }},
		{"sfstat batch", m.batch},
	}
	if m.python == "" {
		programs = programs[2:]
	}
	for _, threads := range []string{"1", "2"} {
		taken := make([][]cost, len(programs))
		for range m.rounds {
			for i, p := range programs {
				c, err := p.run(threads)
				if err != nil {
					return err
				}
				taken[i] = append(taken[i], c)
			}
		}
		for i, p := range programs {
			c := medians(taken[i])
			windows := float64((a.healthy + a.late) * a.windows)
			t.Row(a.name, threads, p.name, c.wall, c.processor, int(windows/c.wall), int(c.peak))
		}
	}
	return nil
}

func medians(of []cost) cost {
	median := func(field func(cost) float64) float64 {
		var values []float64
		for _, c := range of {
			values = append(values, field(c))
		}
		return robust.Median(values)
	}
	return cost{median(func(c cost) float64 { return c.wall }), median(func(c cost) float64 { return c.processor }), median(func(c cost) float64 { return c.peak })}
}
