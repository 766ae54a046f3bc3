package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// askBenchstat asks benchstat whether step times differ: of every step as a sample, and of
// every run.
func askBenchstat(program, dir string, times [2][][]int64, blank row) ([]row, error) {
	var out []row
	for _, of := range []struct {
		name    string
		samples func([]int64) []int64
	}{
		{"benchstat, steps", func(steps []int64) []int64 { return steps }},
		{"benchstat, runs", func(steps []int64) []int64 { return []int64{mean(steps)} }},
	} {
		args := []string{"-format", "csv"}
		for side, runs := range times {
			var text bytes.Buffer
			for _, steps := range runs {
				for _, ns := range of.samples(steps) {
					fmt.Fprintf(&text, "BenchmarkStep 1 %d ns/op\n", ns)
				}
			}
			path := filepath.Join(dir, []string{"base", "new"}[side])
			if err := os.WriteFile(path, text.Bytes(), 0o666); err != nil {
				return nil, err
			}
			args = append(args, path)
		}
		text, err := output(program, nil, args...)
		if err != nil {
			return nil, err
		}
		change, err := benchstatChange(text)
		if err != nil {
			return nil, err
		}
		r := blank
		r.Variant = of.name
		r.called(change, *r.TrueGain)
		out = append(out, r)
	}
	return out, nil
}

func mean(list []int64) int64 {
	sum := int64(0)
	for _, x := range list {
		sum += x
	}
	return sum / int64(len(list))
}

// benchstatChange reads the result on the one benchmark in benchstat's CSV, and returns it in
// the words of sfstat compare.
func benchstatChange(text []byte) (string, error) {
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord = -1
	records, err := r.ReadAll()
	if err != nil {
		return "", fmt.Errorf("benchstat: %w", err)
	}
	at := -1
	for _, record := range records {
		for i, head := range record {
			if head == "vs base" {
				at = i
			}
		}
		if at < 0 || len(record) <= at || !strings.HasPrefix(record[0], "Step") {
			continue
		}
		switch record[at][:1] {
		case "+":
			return "regression", nil
		case "-":
			return "improvement", nil
		}
		return "none_shown", nil
	}
	return "", fmt.Errorf("benchstat compares no benchmark Step:\n%s", text)
}
