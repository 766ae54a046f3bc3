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

// merge adds what another window put down to the same ranks and groups.
func (l *ledger) merge(o *ledger) {
	for i := range o.charges {
		to, c := &l.charges[i], &o.charges[i]
		to.made = to.made || c.made
		to.explained += c.explained
		to.alone += c.alone
		to.excess += c.excess
		to.steps += c.steps
	}
	for g := range o.groups {
		l.groups[g].merge(&o.groups[g])
	}
	l.whole.merge(&o.whole)
}

// merge adds the charges of another window.
func (s *suspicion) merge(o *suspicion) {
	s.points += o.points
	s.charges += o.charges
	s.total += o.total
	s.late += o.late
	s.saved += o.saved
	for i, bin := range o.sizes {
		if bin.n > 0 {
			to := s.bin(o.least + uint64(i))
			to.n += bin.n
			to.largest = max(to.largest, bin.largest)
		}
	}
}

// clone is a copy that shares nothing.
func (l *ledger) clone() ledger {
	out := newLedger(l.ranks, len(l.groups))
	out.merge(l)
	return out
}
