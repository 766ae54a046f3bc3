package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/internal/table"
)

// measuring is what is measured where, and how its outputs compare.
type measuring struct {
	sfstat, python string
	dir, work      string // the archive; outputs
	Rounds         int
	wall           float64 // s, of the last batch
	Kills          int     // attempted of each archive
	Killed         int     // that hit a running batch
	Compared       int     // outputs, with that of two threads
	Other          int     // of these, with other bytes
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

// queries are those of DuckDB.
//
//go:embed frontier.py
var queries string

// cost is what a program took: seconds and bytes.
type cost struct{ wall, processor, peak float64 }

// query asks DuckDB. The start of it and of Python counts as memory, not as time.
func (m *measuring) query(what, threads string) (cost, []byte, error) {
	c, out, err := measured(m.python, "-c", queries, threads, what, m.dir)
	if err == nil {
		if _, err = fmt.Sscan(string(out), &c.wall, &c.processor); err != nil {
			err = fmt.Errorf("%s: %w: DuckDB printed %.100q", what, err, out)
		}
	}
	return c, out, err
}

func (m *measuring) batch(threads string) (cost, error) {
	c, _, err := measured(m.sfstat, "batch", m.dir, "-o", m.rows(), "--threads", threads, "--quiet")
	m.wall = c.wall
	return c, err
}

func measured(program string, args ...string) (cost, []byte, error) {
	cmd := exec.Command(program, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	began := time.Now()
	out, err := cmd.Output()
	if err != nil {
		return cost{}, nil, fmt.Errorf("%s: %w: %s", program, err, said.Bytes())
	}
	s := cmd.ProcessState
	return cost{time.Since(began).Seconds(), (s.UserTime() + s.SystemTime()).Seconds(), float64(peakOf(s))}, out, nil
}

func newCosts() *table.Table {
	t := &table.Table{Columns: table.Words("archive", "threads", "", "wall, s", "processor, s")}
	t.Columns = append(t.Columns, table.Heads(table.Integer, "windows/s")...)
	t.Columns = append(t.Columns, table.Words("wall, × frontier", "processor, × frontier")...)
	t.Columns = append(t.Columns, table.Heads(table.Integer, "peak memory, MB")...)
	return t
}

// costs measures batch and DuckDB by turns, and adds a row of medians for each.
func (m *measuring) costs(t *table.Table, a archived) error {
	for _, threads := range []string{"1", "2"} {
		var columns, frontier, batch []cost
		for range m.Rounds {
			if m.python != "" {
				for what, to := range map[string]*[]cost{"columns": &columns, "frontier": &frontier} {
					c, _, err := m.query(what, threads)
					if err != nil {
						return err
					}
					*to = append(*to, c)
				}
			}
			c, err := m.batch(threads)
			if err != nil {
				return err
			}
			batch = append(batch, c)
		}
		add := func(what string, of []cost) {
			if len(of) > 0 {
				t.Add(append(table.Texts(a.Name, threads, what), cells(of, frontier, a.Windows)...)...)
			}
		}
		add("DuckDB: all columns", columns)
		add("DuckDB: the frontier", frontier)
		add("sfstat batch", batch)
	}
	return nil
}

// cells are the medians of costs, and of their ratios to those of the frontier, which
// may be none.
func cells(of, frontier []cost, windows int) []table.Cell {
	ratios := make([]cost, len(frontier))
	for i, f := range frontier {
		ratios[i] = cost{wall: of[i].wall / f.wall, processor: of[i].processor / f.processor}
	}
	m, r := medians(of), medians(ratios)
	known := func(format string, x float64) table.Cell {
		if x == 0 {
			return table.None()
		}
		return table.TextCell(fmt.Sprintf(format, x))
	}
	return []table.Cell{known("%.2f", m.wall), known("%.2f", m.processor), table.WholeCell(int(float64(windows) / m.wall)),
		known("%.2f", r.wall), known("%.2f", r.processor), known("%.0f", m.peak/1e6)}
}

func medians(of []cost) (m cost) {
	median := func(field func(cost) float64) float64 {
		values := make([]float64, len(of))
		for i, c := range of {
			values[i] = field(c)
		}
		return robust.Median(values)
	}
	if len(of) == 0 {
		return m
	}
	return cost{median(func(c cost) float64 { return c.wall }), median(func(c cost) float64 { return c.processor }), median(func(c cost) float64 { return c.peak })}
}
