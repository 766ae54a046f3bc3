package main

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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

// ranks are the numbers in a cell.
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

// number is that in a cell, 0 where it is empty.
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

// corpus are the jobs of the list that lie in a folder.
func corpus(dir string, fixtures bool) ([]task, error) {
	records, err := readCSV("corpus.csv", corpusText)
	if err != nil {
		return nil, err
	}
	var jobs []recording
	for i, r := range records {
		if (r["source"] == fixtureSource) != fixtures {
			continue
		}
		kind, f, err := r.fault()
		if err != nil {
			return nil, fmt.Errorf("corpus.csv: row %d: %w", i+2, err)
		}
		k := key{source: r["source"], family: r["family"], job: r["job"]}
		at := slices.IndexFunc(jobs, func(j recording) bool { return j.key == k })
		if at < 0 {
			at = len(jobs)
			jobs = append(jobs, recording{key: k, truth: truth{kind: kind}, path: filepath.Join(dir, r["path"])})
		}
		if f != nil {
			jobs[at].truth.faults = append(jobs[at].truth.faults, *f)
		}
	}
	return tasksOf(jobs), nil
}

// fault reads a row of the list; the fault is nil where nobody is slow.
func (r record) fault() (kind, *fault, error) {
	k := kind(r["kind"])
	f := &fault{due: r["due"] == "yes", from: -1}
	var err error
	if f.ranks, err = r.ranks("ranks"); err != nil {
		return k, nil, err
	}
	if r["saves"] != "" {
		saves, err := r.number("saves")
		if err != nil {
			return k, nil, err
		}
		f.saves = &saves
	}
	if r["stages"] != "" {
		f.stages = strings.Split(r["stages"], "|")
	}
	switch k {
	case healthy, uneven, quiet:
		return k, nil, nil
	case late, everyone, turns, hang:
		return k, f, nil
	}
	if err := f.what.UnmarshalText([]byte(k)); err != nil {
		return k, nil, err
	}
	return operators, f, nil
}

// recording is a job that lies in files, and its truth.
type recording struct {
	key
	truth
	path string
}

// tasksOf scores recordings as they lie there.
func tasksOf(jobs []recording) []task {
	var out []task
	for _, j := range jobs {
		out = append(out, func(p program) ([]row, error) { return []row{p.score(j.key, j.truth, nil, j.path)}, nil })
	}
	return out
}

// score is the row of one job.
func (p program) score(k key, t truth, packets []byte, paths ...string) row {
	v, err := p.diagnose(packets, paths...)
	if err != nil {
		return newRow(k, t).failed(err)
	}
	return newRow(k, t).judged(v, judge(t, v))
}

// namedTruth is truth.json of a real job in the shared data.
type namedTruth struct {
	Rank  *int   `json:"rank"` // null: nobody is slow
	Stage string `json:"stage"`
}

// namedJobs are the folders that have such a truth.json.
func namedJobs(dir, source string) ([]task, error) {
	return eachTruth(dir, source, func(path string, t *truth) error {
		var named namedTruth
		err := readJSON(path, &named)
		if named.Rank == nil {
			t.kind = healthy
			return err
		}
		t.kind, t.faults = late, []fault{{ranks: []int{*named.Rank}, stages: []string{named.Stage}, due: true, from: -1}}
		return err
	})
}

// generatedLogs are folders of logs and exports of NCCL, made by a generator. Most have
// too few steps to say that nobody is slow.
func generatedLogs(dir, source string) ([]task, error) {
	return eachTruth(dir, source, func(path string, t *truth) error {
		var made struct {
			Config struct {
				Straggler int `json:"straggler"` // −1: nobody
			} `json:"config"`
		}
		err := readJSON(path, &made)
		t.kind = quiet
		if rank := made.Config.Straggler; rank >= 0 {
			t.kind, t.faults = late, []fault{{ranks: []int{rank}, due: true, from: -1}}
		}
		return err
	})
}

// eachTruth are the folders in a folder that have a truth.json.
func eachTruth(dir, source string, read func(path string, t *truth) error) ([]task, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*", "truth.json"))
	if err != nil {
		return nil, err
	}
	var jobs []recording
	for _, path := range paths {
		folder := filepath.Dir(path)
		j := recording{key: key{source: source, family: filepath.Base(dir), job: filepath.Base(folder)}, path: folder}
		if err := read(path, &j.truth); err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return tasksOf(jobs), nil
}

// shared are all jobs of the folder of shared data.
func shared(dir string) ([]task, error) {
	out, err := corpus(dir, false)
	if err != nil {
		return nil, err
	}
	for _, from := range []func() ([]task, error){
		func() ([]task, error) { return truthTable(filepath.Join(dir, "ddp"), "ddp") },
		func() ([]task, error) { return truthTable(filepath.Join(dir, "fr"), "fr") },
		func() ([]task, error) { return truthTable(filepath.Join(dir, "kineto", "gloo8"), "kineto") },
		func() ([]task, error) { return namedJobs(filepath.Join(dir, "realjobs"), "realjobs") },
		func() ([]task, error) { return generatedLogs(filepath.Join(dir, "nccl", "dev"), "nccl") },
		func() ([]task, error) { return generatedLogs(filepath.Join(dir, "nccl", "dev2"), "nccl") },
	} {
		list, err := from()
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}

// fixtures are all jobs of the folder of fixtures.
func fixtures(dir string) ([]task, error) {
	out, err := corpus(dir, true)
	if err != nil {
		return nil, err
	}
	for _, folder := range []string{"ddp", "real/e3", "real/e9", "real/nofault"} {
		list, err := truthTable(filepath.Join(dir, folder), fixtureSource)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}
