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

// arm is a size, a way of gathering and a way of recording, and what it costs.
type arm struct {
	Ranks        int
	Gather, What string
	Account      *overhead.Account
}

// overheadTable has the shape of the paper's Table 7.
func overheadTable(arms []arm) *table.Table {
	t := &table.Table{Title: "What recording costs a step: estimate and 95 % upper bound", Keys: 3,
		Columns: slices.Concat(table.Words("ranks", "gather", "recorded"), table.Heads(table.Integer, "paired runs"), table.Heads(table.Fine, "overhead"),
			table.Words("95 % interval"), table.Heads(table.Fine, "at most"))}
	for _, a := range arms {
		most, interval := table.None(), none
		if i := a.Account.Interval; i != nil && !math.IsInf(i.AtMost, 0) {
			most, interval = table.RealCell(i.AtMost), table.FinePercent(i.Lower)+" to "+table.FinePercent(i.Upper)
		}
		t.Add(append(table.Texts(strconv.Itoa(a.Ranks), a.Gather, a.What), table.WholeCell(a.Account.Blocks), table.RealCell(a.Account.Estimate.Value),
			table.TextCell(interval), most)...)
	}
	return beside(t, "table-7")
}

// why says what a bound that differs from the published one is made of.
func (a *arm) why() string {
	return says("overhead", table.FinePercent(a.Account.Estimate.Value), a.Account.Blocks)
}

// overheads is Table 7 of a campaign whose folder has measurements.
func (f *folder) overheads() ([]Artifact, error) {
	entries, err := os.ReadDir(filepath.Join(f.Path, campaign.OverheadName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	out := Artifact{Name: "table-7"}
	arms, inputs, err := f.pairedArms()
	if err != nil {
		return nil, err
	}
	out.Inputs = inputs
	for _, e := range entries {
		if e.IsDir() && e.Name() == campaign.PairedName {
			continue
		}
		path := filepath.Join(f.Path, campaign.OverheadName, e.Name())
		parts := overheadPattern.FindStringSubmatch(e.Name())
		if parts == nil {
			return nil, input.At(input.Pos{File: path}, input.Bad(input.ErrFormat, "the name is not RANKS-GATHER-ARM.csv, as 8-gloo-cpu.csv"))
		}
		ranks, err := strconv.Atoi(parts[1])
		if err != nil {
			return nil, err
		}
		account, err := readOverhead(path)
		if err != nil {
			return nil, err
		}
		from, err := f.From(path)
		if err != nil {
			return nil, err
		}
		from.Run = e.Name()
		arms, out.Inputs = append(arms, arm{ranks, parts[2], parts[3], account}), append(out.Inputs, from)
	}
	if len(arms) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(arms, func(a, b arm) int { return a.Ranks - b.Ranks })
	out.Table = overheadTable(arms)
	out.Table.Title = "Table 7. " + out.Table.Title
	why := map[string]string{}
	for i := range arms {
		why[rowName(out.Table, out.Table.Records()[i])] = arms[i].why()
	}
	out.Compare(func(row, _ string) string { return why[row] })
	return []Artifact{out}, nil
}

func readOverhead(path string) (*overhead.Account, error) {
	pairs, err := readPairs(path)
	if err != nil {
		return nil, err
	}
	a, err := examine(pairs)
	if err != nil {
		return nil, input.At(input.Pos{File: path}, err)
	}
	return a, nil
}

func readPairs(path string) ([]overhead.Measurement, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return overhead.ReadPairs(path, file)
}

func examine(pairs []overhead.Measurement) (*overhead.Account, error) {
	return overhead.Examine(pairs, overhead.ByFile, overhead.Options{Statistic: bootstrap.Mean})
}
