package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/csv"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/eval/simulate"
)

// record is a row of a CSV file, by the names of its columns.
type record map[string]string

// readCSV reads a table with a head.
func readCSV(name string, text []byte) ([]record, error) {
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err == nil && len(lines) == 0 {
		err = fmt.Errorf("empty, expected a table")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var out []record
	for _, line := range lines[1:] {
		r := record{}
		for i, column := range lines[0] {
			r[column] = line[i]
		}
		out = append(out, r)
	}
	return out, nil
}

// ranks returns the numbers in a cell.
func (r record) ranks(column string) (out []int, err error) {
	for _, word := range strings.Fields(r[column]) {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil, fmt.Errorf("%s %q: expected ranks, with spaces between them", column, r[column])
		}
		out = append(out, n)
	}
	return out, nil
}

// number returns the number in a cell, 0 where it is empty.
func (r record) number(column string) (float64, error) {
	if r[column] == "" {
		return 0, nil
	}
	x, err := strconv.ParseFloat(r[column], 64)
	if err != nil {
		return 0, fmt.Errorf("%s %q: expected a number", column, r[column])
	}
	return x, nil
}

// corpusText lists recordings whose truth is written in prose, or planted by the program
// that made them. A job with several faults has several rows.
//
//go:embed corpus.csv
var corpusText []byte

// fixtureSource is the source of recordings in the repository; all others are in the
// folder of shared data.
const fixtureSource = "fixtures"

// corpus returns the jobs of the list that lie in a folder.
func corpus(dir string, fixtures bool) ([]task, error) {
	records, err := readCSV("corpus.csv", corpusText)
	if err != nil {
		return nil, err
	}
	var jobs []job
	for i, r := range records {
		if (r["source"] == fixtureSource) != fixtures {
			continue
		}
		kind, faults, err := r.faults()
		if err != nil {
			return nil, fmt.Errorf("corpus.csv: row %d: %w", i+2, err)
		}
		as := row{Source: r["source"], Family: r["family"], Job: r["job"]}
		at := slices.IndexFunc(jobs, func(j job) bool { return j.as == as })
		if at < 0 {
			at = len(jobs)
			jobs = append(jobs, job{as: as, truth: truth{kind: kind}, path: filepath.Join(dir, r["path"])})
		}
		jobs[at].truth.faults = append(jobs[at].truth.faults, faults...)
	}
	var out []task
	for _, j := range jobs {
		out = append(out, func(p program) ([]row, error) { return []row{p.score(j)}, nil })
	}
	return out, nil
}

// faults reads a row of the list: one fault, or none where nobody is slow.
func (r record) faults() (kind, []fault, error) {
	k, f := kind(r["kind"]), fault{due: r["due"] == "yes", from: -1}
	if k == healthy || k == uneven || k == quiet {
		return k, nil, nil
	}
	var err error
	if f.ranks, err = r.ranks("ranks"); err != nil {
		return k, nil, err
	}
	saves, err := r.number("saves")
	if err != nil {
		return k, nil, err
	}
	if saves > 0 {
		f.saves = &saves
	}
	if f.hides, err = r.number("hides_ms"); err != nil {
		return k, nil, err
	}
	f.hides *= simulate.NsPerMilli
	if r["stages"] != "" {
		f.stages = strings.Split(r["stages"], "|")
	}
	if !slices.Contains([]kind{late, hidden, everyone, turns, hang}, k) {
		k, err = operators, f.what.UnmarshalText([]byte(k))
	}
	return k, []fault{f}, err
}

// truthTables are the folders of the shared data, and those of the fixtures, that have a
// truth table.
var truthTables = map[bool]struct {
	source  string
	folders []string
}{false: {"ddp", []string{"ddp"}}, true: {fixtureSource, []string{"ddp", "real/e3", "real/e9", "real/nofault"}}}

// recordedJobs returns all jobs of the folder of fixtures, or of shared data.
func recordedJobs(fixtures bool) func(dir string) ([]task, error) {
	return func(dir string) ([]task, error) {
		out, err := corpus(dir, fixtures)
		for _, folder := range truthTables[fixtures].folders {
			list, failed := truthTable(filepath.Join(dir, filepath.FromSlash(folder)), truthTables[fixtures].source)
			out, err = append(out, list...), cmp.Or(err, failed)
		}
		return out, err
	}
}
