package frontier

import "github.com/sfstat/sfstat/trace"

// ledger is what was charged to ranks and their stages, over one window or over
// several. Charges of different windows add up, and so does the evidence that
// they are not chance: every synchronisation point is one draw under the null.
type ledger struct {
	ranks   []trace.Rank
	charges []charge    // [group][rank]
	groups  []suspicion // [group]
	total   float64     // Σ of what ranks are charged, all groups together
	saved   float64     // if no rank were late in any group
}

// cell is one rank in one group of rows.
type cell struct{ group, rank int }

// charge is what has been put down to a cell, if anything.
type charge struct {
	made             bool
	explained, alone float64
	excess           int64
	steps            int
}

func newLedger(ranks []trace.Rank, groups int) ledger {
	return ledger{ranks: ranks, charges: make([]charge, groups*len(ranks)), groups: make([]suspicion, groups)}
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
	l.groups[at.group].charge(explained)
}

// of is what has been put down to a cell.
func (l *ledger) of(at cell) *charge { return &l.charges[at.group*len(l.ranks)+at.rank] }

// cells are the cells to which something has been put down, and what.
func (l *ledger) cells(yield func(cell, *charge) bool) {
	for i := range l.charges {
		if c := &l.charges[i]; c.made && !yield(cell{i / len(l.ranks), i % len(l.ranks)}, c) {
			return
		}
	}
}
