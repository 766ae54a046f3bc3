package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sfstat/sfstat/diagnose/runs"
	"github.com/sfstat/sfstat/trace"
)

// peerSamples are the step times of comparisons as Go benchmarks: of every step,
// and of every run.
type peerSamples struct {
	n           int
	steps, mean [2]bytes.Buffer
}

func (s *peerSamples) add(side int, windows []*trace.Window, list []*runs.Run) {
	for i, w := range windows {
		for t := range w.Steps() {
			fmt.Fprintf(&s.steps[side], "BenchmarkC%d 1 %d ns/op\n", s.n, w.WallOf(t)[0])
		}
		fmt.Fprintf(&s.mean[side], "BenchmarkC%d 1 %.0f ns/op\n", s.n, list[i].Values[runs.Measure{Kind: runs.StepTime}])
	}
}

func (s *peerSamples) next() { s.n++ }

// ask counts what benchstat calls, steps first.
func (s *peerSamples) ask(program string) ([]cell, error) {
	var out []cell
	for _, of := range []*[2]bytes.Buffer{&s.steps, &s.mean} {
		c, err := s.askAbout(program, of)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func (s *peerSamples) askAbout(program string, of *[2]bytes.Buffer) (c cell, err error) {
	folder, err := os.MkdirTemp("", "comparison")
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	args := []string{"-format", "csv"}
	for side := range of {
		path := filepath.Join(folder, []string{"base", "new"}[side])
		if err := os.WriteFile(path, of[side].Bytes(), 0o600); err != nil {
			return c, err
		}
		args = append(args, path)
	}
	text, err := exec.Command(program, args...).Output()
	if err != nil {
		return c, fmt.Errorf("%s: %w", program, err)
	}
	c, err = calls(text)
	if err == nil && c.of != s.n {
		err = fmt.Errorf("%s compares %d benchmarks, expected %d", program, c.of, s.n)
	}
	return c, err
}

// calls counts the benchmarks of benchstat's CSV, and those whose column "vs base"
// is a change.
func calls(text []byte) (c cell, err error) {
	c.held = -1 // it has no interval of the change
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord = -1
	records, err := r.ReadAll()
	if err != nil {
		return c, err
	}
	at := -1
	for _, record := range records {
		for i, head := range record {
			if head == "vs base" {
				at = i
			}
		}
		if at < 0 || len(record) <= at || !strings.HasPrefix(record[0], "C") {
			continue
		}
		c.of++
		if change := record[at]; strings.HasPrefix(change, "+") || strings.HasPrefix(change, "-") {
			c.called++
		}
	}
	return c, nil
}
