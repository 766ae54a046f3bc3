package tables

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/disk"
)

// runCase is a run and what it hides.
type runCase struct {
	Run          string
	Family       fmt.Stringer // what is wrong, by the first fault: a simulate.Family, a pipeline.Kind or a named; nil: nothing
	Ranks        int
	Seed         uint64
	Delay        simulate.Millis
	Intermittent bool
	Accumulation int
	Notes        string
	Hidden       []hiddenRank // none: a healthy run
}

// named is a family that somebody calls so, by its place among those of a table.
type named struct {
	place int
	name  string
}

func (n named) String() string { return n.name }

// family returns the name of what is wrong.
func (c *runCase) family() string {
	if c.Family == nil {
		return simulate.NoFault.String()
	}
	return c.Family.String()
}

// hiddenRank is one rank that is delayed in one stage. Stages are the grouped
// ones, without accumulation index.
type hiddenRank struct {
	Rank  int
	Stage string
}

// ReadTruth reads a truth table.
func ReadTruth(on disk.Disk, path string) ([]simulate.TruthRow, error) {
	f, err := disk.Or(on).Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return simulate.ReadTruth(path, f)
}

// cases groups the rows of a truth table by run.
func cases(rows []simulate.TruthRow) map[string]*runCase {
	out := make(map[string]*runCase)
	for _, r := range rows {
		c := out[r.Run]
		if c == nil {
			c = &runCase{Run: r.Run, Family: r.Family, Ranks: r.Ranks, Seed: r.Seed, Delay: r.Delay,
				Intermittent: r.Intermittent, Accumulation: r.Accumulation, Notes: r.Notes, Hidden: []hiddenRank{}}
			out[r.Run] = c
		}
		if r.HiddenRank >= 0 {
			c.Hidden = append(c.Hidden, hiddenRank{r.HiddenRank, r.Stage})
		}
	}
	return out
}

// hasNote reports whether the notes of the run have a word.
func (c *runCase) hasNote(what string) bool { return slices.Contains(strings.Fields(c.Notes), what) }

// hasArrivals reports whether the run says when ranks entered their
// collectives.
func (c *runCase) hasArrivals() bool { return c.hasNote("arrivals") }

// faulty reports whether the n-th window of the run, from 0, holds the fault.
func (c *runCase) faulty(n int) bool {
	return len(c.Hidden) > 0 && (!c.hasNote("aba") || n%2 == 1)
}

// isSeeded reports whether a stage is delayed on some rank.
func (c *runCase) isSeeded(stage string) bool {
	return slices.ContainsFunc(c.Hidden, func(h hiddenRank) bool { return h.Stage == stage })
}

// hides reports whether a rank is delayed in some stage.
func (c *runCase) hides(rank int) bool {
	return slices.ContainsFunc(c.Hidden, func(h hiddenRank) bool { return h.Rank == rank })
}

// healthy reports whether the run hides nothing.
func (c *runCase) healthy() bool { return len(c.Hidden) == 0 }
