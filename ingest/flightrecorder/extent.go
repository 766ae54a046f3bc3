package flightrecorder

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
)

// check is what speaks against a dump being whole.
type check struct {
	broken bool
	faults int             // entries and values that no recorder writes
	keys   map[string]bool // of dicts, those that are no field: whether they are one with a byte changed

	has      uint64 // fields of the first entry
	id, time int64  // of the entry before
	seq      map[int64]int64
	compared bool
}

// conditional are the fields that entries of one dump may have or not.
const conditional = 1<<fFrames | 1<<fSeq

// mostBack is by how much a clock may be set back between two entries, ns.
const mostBack = 3600 * 1_000_000_000

// checkEntry looks for what the recorder never writes: other keys than in the first entry, numbers and times that
// go back, a state that is none.
func (d *decoder) checkEntry(v value, e *record) {
	c := &d.check
	has := uint64(0)
	for f := range e {
		if e[f].kind != null {
			has |= 1 << f
		}
	}
	id, numbered := number(e[fRecord])
	at, timed := number(e[fCreated])
	if !c.compared {
		c.has, c.id, c.time, c.compared, c.seq = has, id-1, at, true, map[int64]int64{}
	}
	wrong := (has^c.has)&^conditional != 0 || numbered && id <= c.id || timed && at < c.time-mostBack
	if state := d.text(e[fState]); state != nil {
		wrong = wrong || stateOf(state) == comms.StateUnknown
	}
	if seq, ok := number(e[fCollectiveSeq]); ok && e[fIsP2P].x == 0 {
		group := numberOr(e[fGroupID], -1)
		wrong = wrong || seq < c.seq[group]
		c.seq[group] = max(seq, c.seq[group])
	}
	for key := range d.pairs(v) {
		wrong = wrong || d.isDamagedField(key)
	}
	if c.id, c.time = max(c.id, id), at; wrong {
		c.faults++
	}
}

// isDamagedField reports whether a key is a field with one byte changed.
func (d *decoder) isDamagedField(key value) bool {
	if key.key != noField || key.kind != text {
		return key.kind != text
	}
	name := d.text(key)
	is, known := d.check.keys[string(name)]
	if !known {
		for _, f := range fieldNames {
			is = is || differInOneByte(string(name), f)
		}
		if d.check.keys == nil || len(d.check.keys) > mostKeys {
			d.check.keys = map[string]bool{}
		}
		d.check.keys[string(name)] = is
	}
	return is
}

// checkKey counts a key that is a field with one byte changed.
func (d *decoder) checkKey(key value) {
	if d.isDamagedField(key) {
		d.check.faults++
	}
}

// checkKeys counts those of a dict.
func (d *decoder) checkKeys(v value) {
	for key := range d.pairs(v) {
		d.checkKey(key)
	}
}

// mostKeys is how many names of keys are remembered.
const mostKeys = 1 << 10

// differInOneByte reports whether two texts differ in one byte.
func differInOneByte(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	n := 0
	for i := range len(a) {
		if a[i] != b[i] {
			n++
		}
	}
	return n == 1
}

// partial returns the container of the last entry of a dump that breaks off within it, −1 for none: it
// has fewer fields than the first.
func (d *decoder) partial() int64 {
	entries, n := d.head[fEntries], d.length(d.head[fEntries])
	if !d.check.broken || n == 0 {
		return -1
	}
	var first, last value
	i := 0
	for v := range d.itemsOf(entries) {
		if i == 0 {
			first = v
		}
		last = v
		i++
	}
	if last.kind != dict {
		return -1
	}
	var a, b record
	d.read(first, &a)
	d.read(last, &b)
	for f := range b {
		if n > 1 && a[f].kind != null && b[f].kind == null {
			return last.x
		}
	}
	if n == 1 && b[fState].kind == null {
		return last.x
	}
	return -1
}

// operations are what collectives are called, of which a name may have one byte changed.
var operations = [...]string{"all_reduce", "allreduce", "all_gather", "allgather", "_allgather_base", "_all_gather_base", "reduce_scatter",
	"_reduce_scatter_base", "all_to_all", "broadcast", "barrier", "reduce", "gather", "scatter", "send", "recv"}

// tellExtent notes how much of the dump there is.
func (d *decoder) tellExtent(root value) {
	c, p := &d.check, &d.out.Processes[0]
	for _, o := range d.called {
		_, name, _ := strings.Cut(o.name, ":")
		name, _, _ = strings.Cut(name, " ")
		if slices.ContainsFunc(operations[:], func(known string) bool { return differInOneByte(name, known) }) {
			c.faults++
		}
	}
	d.checkKeys(root)
	calls := len(d.out.Calls)
	switch {
	case c.broken:
		p.Extent = comms.CutOff
		d.note(input.NoteTruncated, fmt.Sprintf("the dump ends in the middle, behind its entry %d: what came before is used", calls))
	case c.faults > 0:
		p.Extent = comms.Damaged
		d.note(input.NoteDamaged, fmt.Sprintf("the dump is damaged: %d of its entries or values are none that a recorder writes; the rest is used", c.faults))
	case calls == 0:
		p.Extent = comms.NoEntries
		d.note(input.NoteNoEntries, "the dump has no entries: the ring was empty, or not recorded")
	}
}
