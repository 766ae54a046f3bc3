package sqlite

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// Kinds of pages of a table.
const (
	leaf     = 13
	interior = 5
)

// deepest bounds the levels of a tree: of four children each they hold more pages than a file has.
const deepest = 20

// Rows goes through the rows of a table.
type Rows struct {
	// ID is the number of the row at hand, which ascends unless rows are sorted.
	ID int64

	db      *DB
	table   *Table
	path    []node // from the root of the tree to the leaf at hand
	visited uint32 // pages, of which each belongs to one tree and one row
	record  record
	err     error
	begun   bool

	sorted []place // not nil: rows in this order
	shown  int     // of them
}

// node is a page of the tree.
type node struct {
	number uint32
	bytes  []byte
	begin  int // of its header
	cells  int
	next   int // cell
}

// place is a row by the value that it is sorted by, and its leaf and cell.
type place struct {
	by   int64
	page uint32
	cell uint16
}

// Rows begins to go through a table.
func (db *DB) Rows(t *Table) *Rows { return &Rows{db: db, table: t, ID: math.MinInt64} }

// Sorted is the rows in the order of a column, by the integers that of makes of its values; equal ones stay in the order
// of the file.
func (db *DB) Sorted(t *Table, column int, of func(Value) int64) (*Rows, error) {
	r := db.Rows(t)
	out := &Rows{db: db, table: t, begun: true, sorted: []place{}, path: make([]node, 1)}
	for r.Next() {
		last := &r.path[len(r.path)-1]
		out.sorted = append(out.sorted, place{of(r.Value(column)), last.number, uint16(last.next - 1)})
	}
	slices.SortStableFunc(out.sorted, func(a, b place) int { return cmp.Compare(a.by, b.by) })
	return out, r.Err()
}

// Err is why Next ended before the last row.
func (r *Rows) Err() error { return r.err }

// Next goes to the next row.
func (r *Rows) Next() bool {
	if r.err != nil {
		return false
	}
	if r.sorted != nil {
		return r.nextSorted()
	}
	if !r.begun {
		r.begun = true
		r.enter(r.table.root)
	}
	for r.err == nil && len(r.path) > 0 {
		at := &r.path[len(r.path)-1]
		switch {
		case at.bytes[at.begin] == leaf && at.next < at.cells:
			before := r.ID
			at.next++
			if r.row(at, at.next-1); r.err == nil && r.ID <= before && before != math.MinInt64 {
				r.err = damaged("row %d follows row %d", r.ID, before)
			}
			return r.err == nil
		case at.bytes[at.begin] == interior && at.next <= at.cells:
			at.next++
			r.enter(r.child(at, at.next-1))
		default:
			r.path = r.path[:len(r.path)-1]
		}
	}
	return false
}

func (r *Rows) nextSorted() bool {
	if r.shown == len(r.sorted) {
		return false
	}
	to, at := r.sorted[r.shown], &r.path[0]
	if r.shown++; at.number != to.page {
		if *at, r.err = r.db.node(to.page, at.bytes); r.err != nil {
			return false
		}
	}
	r.row(at, int(to.cell))
	return r.err == nil
}

// enter goes down to a page.
func (r *Rows) enter(number uint32) {
	if r.err != nil {
		return
	}
	if r.err = r.visit(number); r.err != nil {
		return
	}
	if len(r.path) == deepest {
		r.err = damaged("the tree above page %d has more than %d levels", number, deepest)
		return
	}
	var buffer []byte
	if n := len(r.path); n < cap(r.path) { // what was used at this level before
		buffer = r.path[: n+1 : cap(r.path)][n].bytes
	}
	at, err := r.db.node(number, buffer)
	if err != nil {
		r.err = err
		return
	}
	r.path = append(r.path, at)
}

// visit counts a page.
func (r *Rows) visit(number uint32) error {
	if r.visited++; r.visited > r.db.pages {
		return damaged("page %d is visited after as many as the file has", number)
	}
	return nil
}

// node reads a page of a table, into a buffer if it is not nil.
func (db *DB) node(number uint32, buffer []byte) (node, error) {
	if buffer == nil {
		buffer = make([]byte, db.page)
	}
	n := node{number: number, bytes: buffer}
	if err := db.read(number, buffer); err != nil {
		return n, err
	}
	if number == 1 {
		n.begin = headerSize
	}
	kind := n.bytes[n.begin]
	if kind != leaf && kind != interior {
		return n, damaged("page %d is of kind %d, expected one of a table", number, kind)
	}
	n.cells = int(binary.BigEndian.Uint16(n.bytes[n.begin+3:]))
	if n.pointers()+2*n.cells > db.usable {
		return n, damaged("page %d has %d cells", number, n.cells)
	}
	return n, nil
}

// pointers is where the offsets of the cells begin.
func (n *node) pointers() int {
	if n.bytes[n.begin] == interior {
		return n.begin + 12
	}
	return n.begin + 8
}

// cell is the bytes of the page from a cell on.
func (r *Rows) cell(n *node, i int) []byte {
	at := int(binary.BigEndian.Uint16(n.bytes[n.pointers()+2*i:]))
	if at < n.pointers()+2*n.cells || at > r.db.usable-4 {
		r.err = damaged("cell %d of page %d is at byte %d", i, n.number, at)
		return nil
	}
	return n.bytes[at:r.db.usable]
}

// child is the i-th page below an interior one; the last is named in its header.
func (r *Rows) child(n *node, i int) uint32 {
	if i == n.cells {
		return binary.BigEndian.Uint32(n.bytes[n.begin+8:])
	}
	if cell := r.cell(n, i); cell != nil {
		return binary.BigEndian.Uint32(cell)
	}
	return 0
}

// row reads the i-th row of a leaf.
func (r *Rows) row(n *node, i int) {
	cell := r.cell(n, i)
	if cell == nil {
		return
	}
	size, a := varint(cell)
	id, b := varint(cell[a:])
	if a == 0 || b == 0 {
		r.err = damaged("cell %d of page %d is cut short", i, n.number)
		return
	}
	if r.ID = int64(id); size > MostBytes {
		r.err = ErrTooLarge
		return
	}
	payload, err := r.payload(cell[a+b:], int(size))
	if err == nil {
		err = r.record.parse(payload)
	}
	if err != nil {
		r.err = err
	}
}

// payload is the content of a row: as much of it as the format keeps in the cell, the rest on pages of
// their own.
func (r *Rows) payload(cell []byte, size int) ([]byte, error) {
	most := r.db.usable - 35
	here := size
	if size > most {
		least := (r.db.usable-12)*32/255 - 23
		if here = least + (size-least)%(r.db.usable-4); here > most {
			here = least
		}
	}
	if here > len(cell) || here < size && here+4 > len(cell) {
		return nil, damaged("row %d is longer than its page", r.ID)
	}
	if here == size {
		return cell[:size], nil
	}
	whole := append(r.record.long[:0], cell[:here]...)
	page := make([]byte, r.db.page)
	for next := binary.BigEndian.Uint32(cell[here:]); len(whole) < size; next = binary.BigEndian.Uint32(page) {
		if err := r.visit(next); err != nil {
			return nil, err
		}
		if err := r.db.read(next, page); err != nil {
			return nil, err
		}
		whole = append(whole, page[4:4+min(size-len(whole), r.db.usable-4)]...)
	}
	r.record.long = whole
	return whole, nil
}

// Value is the value of a column of the row at hand.
func (r *Rows) Value(column int) Value {
	at := r.table.at[column]
	if at < 0 {
		return Value{Kind: Integer, Int: r.ID}
	}
	return r.record.value(at)
}
