package tables

import (
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/engine/overhead"
	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace/input"
)

// overheadPattern is the name of a file in the folder of overheads: RANKS-GATHER-ARM.csv, as
// 8-gloo-wall.csv, each a file of pairs as sfstat overhead reads it.
var overheadPattern = regexp.MustCompile(`^([1-9][0-9]{0,5})-([a-z0-9]+)-(wall|events|sample)\.csv$`)

// costed is a size, a way of gathering and an arm, and the steps that were timed without
// the recorder and under it.
type costed struct {
	Ranks  int
	Gather string
	Arm    campaign.Arm
	pairs  []overhead.Measurement
	path   string // where they lie
}

func (c *costed) names() []string { return []string{strconv.Itoa(c.Ranks), c.Gather, c.Arm.String()} }

// overheads returns Table 7 of a campaign whose folder has measurements.
func (e *Evaluation) overheads() ([]Artifact, error) {
	all, paired, err := e.costsOfRuns()
	if err != nil {
		return nil, err
	}
	files, measured, err := e.costsInFiles()
	if err != nil || len(all)+len(files) == 0 {
		return nil, err
	}
	all = append(all, files...)
	slices.SortStableFunc(all, func(a, b costed) int { return a.Ranks - b.Ranks })
	t := &table.Table{Title: "Table 7. What recording costs a step: estimate and 95 % upper bound", Keys: 3,
		Columns: slices.Concat(table.Words("ranks", "gather", "arm"), table.Heads(table.Integer, "paired runs"), table.Heads(table.Fine, "overhead"),
			table.Words("95 % interval"), table.Heads(table.Fine, "at most"), table.Heads(table.Fraction, "gate"), table.Words("standing"))}
	why := map[string]string{}
	for i := range all {
		a := &all[i]
		gate := campaign.Gate(a.Arm)
		account, err := overhead.Examine(a.pairs, overhead.ByFile, overhead.Options{Statistic: bootstrap.Mean, Gate: &gate})
		if err != nil {
			return nil, input.At(input.Pos{File: a.path}, err)
		}
		most, interval := table.NoFigure(), none
		if i := account.Interval; i != nil && !math.IsInf(i.AtMost, 0) {
			most, interval = table.RealCell(i.AtMost), table.FinePercent(i.Lower)+" to "+table.FinePercent(i.Upper)
		}
		t.Add(append(table.Texts(a.names()...),
			table.WholeCell(account.Blocks), table.RealCell(account.Estimate.Value), table.TextCell(interval), most,
			table.RealCell(gate), table.TextCell(account.Standing.String()))...)
		why[joinNames(a.names())] = countSentence("overhead", table.FinePercent(account.Estimate.Value), account.Blocks)
	}
	out := Artifact{Name: "table-7", Table: addPublished(t, "table-7"), Inputs: append(paired, measured...)}
	return []Artifact{out.CompareCells(func(c *Cell) string { return why[c.Row] })}, nil
}

// costsOfRuns returns the arms of the runs of a campaign. A run is a block.
func (e *Evaluation) costsOfRuns() (all []costed, inputs []campaign.Provenance, err error) {
	for i := range e.Tasks {
		t := &e.Tasks[i]
		if !t.HasArms() {
			continue
		}
		path := t.RoundsPath(e.Path)
		rounds, err := t.Rounds(e.Disk, e.Path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil, input.At(input.Pos{File: path}, input.Bad(input.ErrMissing,
				"the times of a run with arms that was done are gone: remove %s, and sfstat campaign run makes it anew", e.Row(t)))
		}
		if err != nil {
			return nil, nil, err
		}
		for _, r := range rounds {
			at := slices.IndexFunc(all, func(c costed) bool { return c.Ranks == t.Spec.Ranks && c.Arm == r.Arm })
			if at < 0 {
				at = len(all)
				all = append(all, costed{Ranks: t.Spec.Ranks, Gather: "gloo", Arm: r.Arm, path: filepath.Dir(path)})
			}
			all[at].pairs = append(all[at].pairs, overhead.Measurement{Pair: t.ID, Window: r.Number, Base: r.Base.Wall, With: r.With.Wall})
		}
		from, err := e.FileProvenance(path)
		if err != nil {
			return nil, nil, err
		}
		from.Run, from.Group, from.SpecHash = t.ID, t.Group, t.Hash
		inputs = append(inputs, from)
	}
	return all, inputs, nil
}

// costsInFiles returns the measurements that lie in the folder of overheads, a file each.
func (e *Evaluation) costsInFiles() (all []costed, inputs []campaign.Provenance, err error) {
	entries, err := disk.Or(e.Disk).ReadDir(filepath.Join(e.Path, campaign.OverheadName))
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
			return nil, nil, input.At(input.Pos{File: path}, input.Bad(input.ErrFormat, "the name is not RANKS-GATHER-ARM.csv with arm wall, events or sample, as 8-gloo-wall.csv"))
		}
		ranks, _ := strconv.Atoi(parts[1])    // at most six digits
		arm, _ := campaign.ParseArm(parts[3]) // one of them
		pairs, err := readPairs(e.Disk, path)
		if err != nil {
			return nil, nil, err
		}
		from, err := e.FileProvenance(path)
		if err != nil {
			return nil, nil, err
		}
		from.Run = entry.Name()
		all, inputs = append(all, costed{ranks, parts[2], arm, pairs, path}), append(inputs, from)
	}
	return all, inputs, nil
}

func readPairs(on disk.Disk, path string) ([]overhead.Measurement, error) {
	file, err := disk.Or(on).Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return overhead.ReadPairs(path, file)
}
