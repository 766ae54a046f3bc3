package trainlog

import (
	"slices"

	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

const (
	// thousand is the factor between units, and about by how much it may be missed: ranks that do the same differ by less than twice.
	thousand, about = 1000, 2
	// minUnitSteps is the number of steps that show a rank's times to differ by a unit.
	minUnitSteps = 8
)

// unifyUnits finds ranks whose times, printed without a unit, are a thousand times as long as on most ranks, and reads
// them in the smaller unit. Proof is a part longer than the step that contains it, or the step itself, which ends on all
// ranks together. Without proof the logs are refused, since the rank would be reported late.
func (j *job) unifyUnits() error {
	if len(j.tracks) < 2 {
		return nil
	}
	for c := range j.b.columns {
		column := int32(c)
		usual := make([]int64, len(j.tracks))
		for r, t := range j.tracks {
			usual[r] = t.median(column)
		}
		known := slices.DeleteFunc(slices.Clone(usual), func(v int64) bool { return v <= 0 })
		if len(known) < 2 {
			continue
		}
		slices.Sort(known)
		least := known[(len(known)-1)/2]
		var longer []int
		for r, v := range usual {
			if j.tracks[r].assumed && v > thousand/about*least && v < about*thousand*least {
				longer = append(longer, r)
			}
		}
		if len(longer) == 0 {
			continue
		}
		ranks := make([]int, len(longer))
		for i, r := range longer {
			ranks[i] = j.tracks[r].rank
		}
		name := j.b.columns[c].of
		for _, r := range longer {
			if t := j.tracks[r]; name != ofStep && !j.b.exceedsStep(t, column) {
				return input.Bad(input.ErrFormat, "the times of %s are a thousand times as long on %s as on the others, as milliseconds are beside seconds: write the unit behind them (\"%s: 12.5ms\")", name, trace.Ranks(ranks), name)
			}
		}
		for _, r := range longer {
			j.tracks[r].divide(column, thousand)
		}
		j.note(input.NoteUnits, "the times of %s are a thousand times as long on %s as on the others: they are read in the smaller unit", name, trace.Ranks(ranks))
	}
	return nil
}

// median returns the median of the times of a column, −1 where there are too few to tell its unit.
func (t *track) median(column int32) int64 {
	at := slices.Index(t.columns, column)
	if at < 0 {
		return -1
	}
	all := make([]int64, 0, t.n)
	for i := range t.n {
		if v := t.row(i)[at]; v != notTimed {
			all = append(all, v)
		}
	}
	if len(all) < minUnitSteps {
		return -1
	}
	return robust.UpperTime(all)
}

// exceedsStep reports whether a part is longer than the whole step in most steps.
func (b *Builder) exceedsStep(t *track, column int32) bool {
	whole := slices.IndexFunc(t.columns, func(c int32) bool { return c >= 0 && b.columns[c].of == ofStep })
	at := slices.Index(t.columns, column)
	if whole < 0 || at < 0 {
		return false
	}
	longer := 0
	for i := range t.n {
		if row := t.row(i); row[whole] >= 0 && row[at] > row[whole] {
			longer++
		}
	}
	return 2*longer > t.n
}

// divide divides the times of a column.
func (t *track) divide(column int32, by int64) {
	at := slices.Index(t.columns, column)
	for i := range t.n {
		if row := t.row(i); row[at] != notTimed {
			t.change(i)[at] /= by
		}
	}
}
