package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"maps"
	"strings"
)

// agree compares the advances of DuckDB with those of sfstat frontier, on a small run.
func (m *measuring) agree() error {
	if m.python == "" {
		return nil
	}
	a := archived{Windows: 3, PerRun: 3, Every: 1, Faults: 1, Ranks: 4, Steps: 6}
	return m.of(&a, func() error {
		_, said, err := m.query("frontier", "1")
		if err != nil {
			return err
		}
		_, table, err := measured(m.sfstat, "frontier", m.dir, "--cut", "step", "--model-fit", "none", "--format", "csv", "--quiet")
		if err != nil {
			return err
		}
		rows, err := csv.NewReader(bytes.NewReader(table)).ReadAll()
		if err != nil {
			return err
		}
		ours, theirs := accounts(rows), make(map[string][]string)
		for line := range strings.Lines(string(said)) {
			if f := strings.Fields(line); len(f) > 2 {
				theirs[f[1]] = f[2 : 2+(len(f)-2)/2]
			}
		}
		if len(ours) != a.Windows || !maps.EqualFunc(ours, theirs, func(a, b []string) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
			return fmt.Errorf("advances of sfstat frontier: %v, of DuckDB: %v", ours, theirs)
		}
		return nil
	})
}

// accounts are the advances of the stages of every window, but for what is not in a
// stage.
func accounts(rows [][]string) map[string][]string {
	at := make(map[string]int)
	for i, name := range rows[0] {
		at[name] = i
	}
	out := make(map[string][]string)
	for _, r := range rows[1:] {
		if window := r[at["window"]]; r[at["stage"]] != "step.other_cpu_wall" {
			out[window] = append(out[window], r[at["advance_ns"]])
		}
	}
	return out
}
