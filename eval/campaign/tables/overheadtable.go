package tables

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/engine/overhead"
	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace/input"
)

// overheadPattern is the name of a file in the folder of overheads: RANKS-GATHER-ARM.csv, as
// 8-gloo-cpu.csv, each a file of pairs as sfstat overhead reads it.
var overheadPattern = regexp.MustCompile(`^([1-9][0-9]{0,5})-([a-z0-9]+)-([a-z0-9]+)\.csv$`)

// arm is a size, a way of gathering and a way of recording, and the steps that were timed
// without the recorder and with it.
type arm struct {
	Ranks        int
	Gather, What string
	pairs        []overhead.Measurement
	path         string // where they lie
}

func (a *arm) names() []string { return []string{strconv.Itoa(a.Ranks), a.Gather, a.What} }

// overheads is Table 7 of a campaign whose folder has measurements.
func (e *Evaluation) overheads() ([]Artifact, error) {
	arms, paired, err := e.pairedArms()
	if err != nil {
		return nil, err
	}
	files, measured, err := e.fileArms()
	if err != nil || len(arms)+len(files) == 0 {
		return nil, err
	}
	arms = append(arms, files...)
	slices.SortStableFunc(arms, func(a, b arm) int { return a.Ranks - b.Ranks })
	t := &table.Table{Title: "Table 7. What recording costs a step: estimate and 95 % upper bound", Keys: 3,
		Columns: slices.Concat(table.Words("ranks", "gather", "recorded"), table.Heads(table.Integer, "paired runs"), table.Heads(table.Fine, "overhead"),
			table.Words("95 % interval"), table.Heads(table.Fine, "at most"))}
	why := map[string]string{}
	for i := range arms {
		a := &arms[i]
		account, err := overhead.Examine(a.pairs, overhead.ByFile, overhead.Options{Statistic: bootstrap.Mean})
		if err != nil {
			return nil, input.At(input.Pos{File: a.path}, err)
		}
		most, interval := table.None(), none
		if i := account.Interval; i != nil && !math.IsInf(i.AtMost, 0) {
			most, interval = table.RealCell(i.AtMost), table.FinePercent(i.Lower)+" to "+table.FinePercent(i.Upper)
		}
		t.Add(append(table.Texts(a.names()...),
			table.WholeCell(account.Blocks), table.RealCell(account.Estimate.Value), table.TextCell(interval), most)...)
		why[listed(a.names())] = says("overhead", table.FinePercent(account.Estimate.Value), account.Blocks)
	}
	out := Artifact{Name: "table-7", Table: beside(t, "table-7"), Inputs: append(paired, measured...)}
	return []Artifact{out.Compared(func(c *Cell) string { return why[c.Row] })}, nil
}

// pairedArms are the paired runs of a campaign. A run is a block.
func (e *Evaluation) pairedArms() (arms []arm, inputs []campaign.Provenance, err error) {
	for i := range e.Tasks {
		t := &e.Tasks[i]
		if !t.Paired {
			continue
		}
		path := t.Pairs(e.Path)
		pairs, err := readPairs(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil, input.At(input.Pos{File: path}, input.Bad(input.ErrMissing,
				"the times of a paired run that was done are gone: remove %s, and sfstat campaign run makes it anew", e.Row(t)))
		}
		if err != nil {
			return nil, nil, err
		}
		for k := range pairs {
			pairs[k].Pair = t.ID
		}
		what := "cpu"
		if t.Spec.Side.Every > 0 {
			what = "events"
		}
		at := slices.IndexFunc(arms, func(a arm) bool { return a.Ranks == t.Spec.Ranks && a.What == what })
		if at < 0 {
			at = len(arms)
			arms = append(arms, arm{Ranks: t.Spec.Ranks, Gather: "gloo", What: what, path: filepath.Dir(path)})
		}
		arms[at].pairs = append(arms[at].pairs, pairs...)
		from, err := e.From(path)
		if err != nil {
			return nil, nil, err
		}
		from.Run, from.Group, from.SpecHash = t.ID, t.Group, t.Hash
		inputs = append(inputs, from)
	}
	return arms, inputs, nil
}

// fileArms are the measurements that lie in the folder of overheads, a file each.
func (e *Evaluation) fileArms() (arms []arm, inputs []campaign.Provenance, err error) {
	entries, err := os.ReadDir(filepath.Join(e.Path, campaign.OverheadName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	for _, entry := range entries {
		if entry.IsDir() && entry.Name() == campaign.PairedName {
			continue
		}
		path := filepath.Join(e.Path, campaign.OverheadName, entry.Name())
		parts := overheadPattern.FindStringSubmatch(entry.Name())
		if parts == nil {
			return nil, nil, input.At(input.Pos{File: path}, input.Bad(input.ErrFormat, "the name is not RANKS-GATHER-ARM.csv, as 8-gloo-cpu.csv"))
		}
		ranks, _ := strconv.Atoi(parts[1]) // at most six digits
		pairs, err := readPairs(path)
		if err != nil {
			return nil, nil, err
		}
		from, err := e.From(path)
		if err != nil {
			return nil, nil, err
		}
		from.Run = entry.Name()
		arms, inputs = append(arms, arm{ranks, parts[2], parts[3], pairs, path}), append(inputs, from)
	}
	return arms, inputs, nil
}

func readPairs(path string) ([]overhead.Measurement, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return overhead.ReadPairs(path, file)
}
