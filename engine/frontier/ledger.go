package frontier

import "github.com/sfstat/sfstat/trace"

// ledger is what was charged to ranks and their stages, over one window or over
// several. Charges of different windows add up, and so does the evidence that
// they are not chance: every synchronisation point is one draw under the null.
type ledger struct {
	ranks   []trace.Rank
	charges []charge    // [1 + group][rank]
	groups  []suspicion // [group]
	whole   suspicion   // all groups together
}

// cell is one rank in one group of rows; group −1 is the rank as a whole.
type cell struct{ group, rank int }

const wholeRank = -1

// charge is what has been put down to a cell, if anything.
type charge struct {
	made             bool
	explained, alone float64
	excess           int64
	steps            int
}

func newLedger(ranks []trace.Rank, groups int) ledger {
	return ledger{ranks: ranks, charges: make([]charge, (1+groups)*len(ranks)), groups: make([]suspicion, groups)}
}

// add puts a charge down to a cell. main says that the cell is why the rank
// was late at this synchronisation point.
func (l *ledger) add(at cell, excess int64, explained, alone float64, main bool) {
	c := l.of(at)
	c.made = true
	c.explained += explained
	c.alone += alone
	if main {
		c.steps++
		c.excess += excess
	}
	of := &l.whole
	if at.group != wholeRank {
		of = &l.groups[at.group]
	}
	of.charge(explained)
}

// of is what has been put down to a cell.
func (l *ledger) of(at cell) *charge { return &l.charges[(1+at.group)*len(l.ranks)+at.rank] }

// cells are the cells to which something has been put down, and what.
func (l *ledger) cells(yield func(cell, *charge) bool) {
	for i := range l.charges {
		if c := &l.charges[i]; c.made && !yield(cell{i/len(l.ranks) - 1, i % len(l.ranks)}, c) {
			return
		}
	}
}
