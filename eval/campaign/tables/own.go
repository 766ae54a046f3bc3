package tables

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/eval/simulate/pipeline"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/trace/input"
)

// ownColumns are the columns of a truth.csv beside somebody's own recordings, under the names that they may have. The
// first three must be there.
var ownColumns = [][]string{{"run"}, {"rank", "hidden_rank"}, {"stage", "seeded_stage"}, {"family"}, {"delay_ms"}, {"ranks"}, {"seed"}, {"notes"}, {"intermittent"}}

const neededColumns = 3

// ownGroup is what the group of somebody's own runs is called.
const ownGroup = "runs"

// ownRun is a run of such a table.
type ownRun struct {
	runCase
	line int64 // of its first row
}

// ownTruth is such a table, as it is read.
type ownTruth struct {
	path  string
	runs  []*ownRun
	names []string // of families that are nobody else's
	at    []int    // [column of ownColumns] among those that are there; −1: it is not
}

// readOwn reads the runs of a truth table, in the order of their first rows.
func readOwn(on disk.Disk, path string) ([]*ownRun, error) {
	text, err := disk.ReadFile(disk.Or(on), path)
	if err != nil {
		return nil, err
	}
	t := &ownTruth{path: path}
	columns, err := t.columns(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	rows := int64(1)
	err = input.Table(path, bytes.NewReader(text), columns, func(cells []string) error {
		rows++
		return t.add(rows, cells)
	})
	if err == nil && len(t.runs) == 0 {
		err = input.At(input.Pos{File: path}, input.Bad(input.ErrEmpty, "the table has no rows: expected one for each run and rank that is delayed, and one without rank for each healthy run"))
	}
	return t.runs, err
}

// columns finds which columns are there.
func (t *ownTruth) columns(r io.Reader) (there []string, err error) {
	in := csv.NewReader(r)
	in.TrimLeadingSpace = true
	header, err := in.Read()
	if err != nil {
		return nil, input.At(input.Pos{File: t.path}, input.Bad(input.ErrEmpty, "no header, expected run,rank,stage and, where known, family,delay_ms,ranks,seed,notes,intermittent"))
	}
	header[0] = strings.TrimPrefix(header[0], "\ufeff")
	for i, names := range ownColumns {
		k := slices.IndexFunc(names, func(name string) bool { return slices.Contains(header, name) })
		switch {
		case k >= 0:
			t.at = append(t.at, len(there))
			there = append(there, names[k])
		case i < neededColumns:
			return nil, input.At(input.Pos{File: t.path, Line: 1}, input.Bad(input.ErrMissing,
				"the header %s has no column %s: expected run,rank,stage and, where known, family,delay_ms,ranks,seed,notes,intermittent", strings.Join(header, ","), names[0]))
		default:
			t.at = append(t.at, -1)
		}
	}
	return there, nil
}

// add takes a row.
func (t *ownTruth) add(line int64, cells []string) error {
	cell := func(column int) string {
		if k := t.at[column]; k >= 0 {
			return strings.Clone(strings.TrimSpace(cells[k]))
		}
		return ""
	}
	c, err := t.parse(cell)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(t.runs, func(r *ownRun) bool { return r.Run == c.Run })
	if i < 0 {
		t.runs = append(t.runs, &ownRun{*c, line})
		return nil
	}
	r := t.runs[i]
	switch {
	case r.healthy() || c.healthy():
		return input.Bad(input.ErrDuplicate, "run %s stands in line %d too, and one of the rows has no rank: a healthy run has one row", c.Run, r.line)
	case slices.Contains(r.Hidden, c.Hidden[0]):
		return input.Bad(input.ErrDuplicate, "run %s has rank %d and stage %q in line %d too", c.Run, c.Hidden[0].Rank, c.Hidden[0].Stage, r.line)
	}
	r.Hidden = append(r.Hidden, c.Hidden...)
	return nil
}

// parse reads the cells of a row.
func (t *ownTruth) parse(cell func(column int) string) (c *runCase, err error) {
	c = &runCase{Run: cell(0), Notes: cell(7), Hidden: []hiddenRank{}}
	if c.Run == "" || !filepath.IsLocal(c.Run) {
		return nil, input.Bad(input.ErrMissing, "column run is %q, expected the name of a file or folder beside the table, with or without its ending", c.Run)
	}
	count := func(column int, bits int) (n uint64) {
		text := cell(column)
		if text == "" || err != nil {
			return 0
		}
		if n, err = strconv.ParseUint(text, 10, bits); err != nil {
			err = input.Bad(input.ErrType, "column %s is %q, expected a whole number from 0 or nothing", ownColumns[column][0], text)
		}
		return n
	}
	rank := int(count(1, 31))
	c.Ranks, c.Seed, c.Intermittent = int(count(5, 31)), count(6, 64), count(8, 1) > 0
	if err != nil {
		return nil, err
	}
	if text := cell(4); text != "" {
		ms, wrong := strconv.ParseFloat(text, 64)
		if wrong != nil || !(ms >= 0 && ms <= simulate.MaxMillis) {
			return nil, input.Bad(input.ErrType, "column delay_ms is %q, expected milliseconds, 0 or more", text)
		}
		c.Delay = simulate.Millis(ms)
	}
	switch struck := cell(1) != ""; {
	case struck:
		c.Hidden = append(c.Hidden, hiddenRank{rank, cell(2)})
	case cell(2) != "":
		return nil, input.Bad(input.ErrMissing, "stage is %q and rank is empty, expected the rank that is delayed there, or neither of a healthy run", cell(2))
	}
	c.Family = t.family(cell(3), c.healthy())
	if c.Family == simulate.NoFault != c.healthy() {
		return nil, input.Bad(input.ErrFormat, "family is %q and rank is %q, expected a family with a rank, and none with none", cell(3), cell(1))
	}
	return c, nil
}

// family returns the family of a name: that of a simulated one, or somebody's own.
func (t *ownTruth) family(name string, healthy bool) fmt.Stringer {
	switch {
	case healthy && (name == "" || name == "healthy"):
		return simulate.NoFault
	case name == "":
		name = "fault"
	}
	if f, err := simulate.ParseFamily(name); err == nil {
		return f
	}
	if k, err := pipeline.ParseKind(name); err == nil {
		return k
	}
	i := slices.Index(t.names, name)
	if i < 0 {
		i = len(t.names)
		t.names = append(t.names, name)
	}
	return named{i, name}
}

// openOwn scores recordings that lie beside a truth.csv.
func openOwn(on disk.Disk, dir string, by *gates.Gates) (*Evaluation, error) {
	path := filepath.Join(dir, campaign.TruthName)
	runs, err := readOwn(on, path)
	if err != nil {
		return nil, err
	}
	e := &Evaluation{Folder: &campaign.Folder{Disk: on, Name: filepath.Base(dir), Path: dir}, gates: by, own: true, cases: map[string]*runCase{}}
	for _, r := range runs {
		e.cases[r.Run] = &r.runCase
	}
	scorer := newScorer(e.cases, by)
	for _, r := range runs {
		at, err := recordingOf(on, dir, r.Run)
		if err != nil {
			return nil, input.At(input.Pos{File: path, Line: r.line}, err)
		}
		if err := e.scoreOwn(scorer, r.Run, at); err != nil {
			return nil, err
		}
	}
	e.score = scorer.Score()
	for i := range e.score.Runs {
		e.score.Runs[i].task = &e.Tasks[i]
	}
	return e, nil
}

// scoreOwn scores the recording of a run, and notes what was not read of it.
func (e *Evaluation) scoreOwn(s *Scorer, run, at string) error {
	in, err := auto.Open([]string{at}, auto.Options{Disk: e.Disk, Joined: true})
	if err != nil {
		return err
	}
	defer in.Close()
	some := false
	for j, err := range in.Jobs() {
		if err != nil {
			return err
		}
		for _, r := range j.Recordings() {
			if err := s.Add(run, r); err != nil {
				return input.At(input.Pos{File: at}, err)
			}
			some = true
		}
	}
	for _, p := range in.Problems() {
		e.Unread = append(e.Unread, fmt.Sprintf("%s: %v", p.Path, p.Err))
	}
	if !some {
		return input.At(input.Pos{File: at}, input.Bad(input.ErrEmpty, "nothing is recorded in it, and %s has run %s", campaign.TruthName, run))
	}
	if names := s.close(run); len(names) > 1 {
		return input.At(input.Pos{File: at}, input.Bad(input.ErrDuplicate, "recordings of %d runs in it (%s), expected one: give each a file or folder, and a row in %s", len(names), strings.Join(names, ", "), campaign.TruthName))
	}
	name, err := filepath.Rel(e.Path, at)
	if err != nil {
		return err
	}
	hash, err := hashOf(e.Disk, at)
	e.Tasks = append(e.Tasks, campaign.Task{ID: run, Group: ownGroup})
	e.rows = append(e.rows, campaign.Provenance{Run: run, Group: ownGroup, Input: filepath.ToSlash(name), InputHash: hash})
	return err
}

// notRecordings are the endings of what may stand beside recordings under their names.
var notRecordings = []string{".yaml", ".yml", ".md", ".txt"}

// recordingOf returns where a run is recorded: a file or folder of its name in the folder or in runs/, with or without
// an ending, an operator trace also as trace-RUN.
func recordingOf(on disk.Disk, dir, run string) (string, error) {
	for _, folder := range []string{dir, filepath.Join(dir, "runs")} {
		path := filepath.Join(folder, run)
		if found, err := campaign.Exists(on, path); found || err != nil {
			return path, err
		}
		parent, name := filepath.Split(filepath.Join(folder, run))
		entries, err := disk.Or(on).ReadDir(parent)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		var found []string
		for _, entry := range entries {
			file := entry.Name()
			if (strings.HasPrefix(file, name+".") || strings.HasPrefix(file, "trace-"+name+".")) && !slices.Contains(notRecordings, filepath.Ext(file)) {
				found = append(found, file)
			}
		}
		switch len(found) {
		case 0:
		case 1:
			return filepath.Join(parent, found[0]), nil
		default:
			return "", input.Bad(input.ErrDuplicate, "run %s: %s are all of that name, expected one: put them into a folder %s", run, strings.Join(found, ", "), run)
		}
	}
	return "", input.Bad(input.ErrMissing, "run %s: no file or folder of that name in %s: expected %s, or %s with an ending such as .jsonl or .parquet", run, dir, run, run)
}

// hashOf returns the SHA-256 of a file's bytes, or that of the names and hashes of a folder's files, one a line.
func hashOf(on disk.Disk, path string) (string, error) {
	if info, err := disk.Or(on).Stat(path); err != nil || !info.IsDir() {
		return campaign.FileHash(on, path)
	}
	h := sha256.New()
	err := filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		hash, err := campaign.FileHash(on, file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(path, file)
		fmt.Fprintf(h, "%s %s\n", filepath.ToSlash(name), hash)
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), err
}
