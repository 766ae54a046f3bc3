package trainlog

import "slices"

const (
	// rowsOfPiece is how many rows lie in one piece of memory.
	rowsOfPiece = 1 << 12
	// maxOpen is the number of open pieces of a rank: rows in as many different pieces may be used at once.
	maxOpen = 4
)

// rows hold the logged steps of a rank in file order: step numbers, and times by column. They lie in pieces, which are
// freed one by one. All but the pieces read last are packed to a few bytes a row; an open piece takes 8 bytes a row and
// 8 for each column.
type rows struct {
	n, width int
	pieces   []piece
	open     []int // pieces that are not packed
	uses     int64
	spare    piece // memory of one that was
}

// piece is some rows. Steps are −1 that are counted from the one before; times are ns, by row and column, or notTimed.
type piece struct {
	steps, values []int64
	packed        []packedNumbers // steps, and columns; nil: none, or other than steps and values
	used          int64           // when it was read last
}

// piece returns an open piece.
func (r *rows) piece(k int) *piece {
	p := &r.pieces[k]
	if p.steps == nil {
		r.unpack(k)
	}
	r.uses++
	p.used = r.uses
	return p
}

// step returns the number of the step of a row.
func (r *rows) step(i int) int64 { return r.piece(i / rowsOfPiece).steps[i%rowsOfPiece] }

// number sets the number of the step of a row.
func (r *rows) number(i int, step int64) {
	p := r.piece(i / rowsOfPiece)
	p.steps[i%rowsOfPiece], p.packed = step, nil
}

// row returns the times of a row, by column, to be read before rows of mostOpen other pieces are.
func (r *rows) row(i int) []int64 {
	k := i % rowsOfPiece * r.width
	return r.piece(i / rowsOfPiece).values[k : k+r.width]
}

// change returns the times of a row to be written, likewise.
func (r *rows) change(i int) []int64 {
	row := r.row(i)
	r.pieces[i/rowsOfPiece].packed = nil
	return row
}

// append adds a row without times.
func (r *rows) append(step int64) {
	k := r.n / rowsOfPiece
	if r.n%rowsOfPiece == 0 {
		r.pieces = append(r.pieces, piece{})
		r.enter(k)
		r.pieces[k].steps = []int64{}
		if k > 0 {
			r.pieces[k] = r.room()
		}
	}
	p := r.piece(k)
	p.packed, p.steps = nil, append(p.steps, step)
	for range r.width {
		p.values = append(p.values, notTimed)
	}
	r.n++
}

// room returns memory for a piece.
func (r *rows) room() piece {
	p := r.spare
	r.spare = piece{}
	if cap(p.steps) < rowsOfPiece || cap(p.values) < rowsOfPiece*r.width {
		p = piece{steps: make([]int64, 0, rowsOfPiece), values: make([]int64, 0, rowsOfPiece*r.width)}
	}
	return piece{steps: p.steps[:0], values: p.values[:0]}
}

// enter counts a piece among the open ones, and packs the least recently read piece if they are too many.
func (r *rows) enter(k int) {
	if len(r.open) == maxOpen {
		oldest := 0
		for i, one := range r.open {
			if r.pieces[one].used < r.pieces[r.open[oldest]].used {
				oldest = i
			}
		}
		r.pack(r.open[oldest])
		r.open = slices.Delete(r.open, oldest, oldest+1)
	}
	r.open = append(r.open, k)
}

// pack packs a piece.
func (r *rows) pack(k int) {
	p := &r.pieces[k]
	if p.packed == nil {
		p.packed = append(make([]packedNumbers, 0, 1+r.width), pack(p.steps, 0, 1))
		for c := range r.width {
			p.packed = append(p.packed, pack(p.values, c, r.width))
		}
	}
	r.spare = piece{steps: p.steps, values: p.values}
	p.steps, p.values = nil, nil
}

// unpack opens a piece that is packed.
func (r *rows) unpack(k int) {
	r.enter(k)
	p, room := &r.pieces[k], r.room()
	n := p.packed[0].n
	p.steps, p.values = room.steps[:n], room.values[:n*r.width]
	p.packed[0].unpack(p.steps, 0, 1)
	for c := range r.width {
		p.packed[1+c].unpack(p.values, c, r.width)
	}
}

// move puts a row in the place of one before it.
func (r *rows) move(to, from int) {
	if to == from {
		return
	}
	row := r.row(from)
	copy(r.change(to), row)
	r.number(to, r.step(from))
}

// cut leaves the first n rows.
func (r *rows) cut(n int) {
	if n == r.n {
		return
	}
	r.n = n
	kept := (n + rowsOfPiece - 1) / rowsOfPiece
	r.pieces = r.pieces[:kept]
	r.open = slices.DeleteFunc(r.open, func(k int) bool { return k >= kept })
	if n%rowsOfPiece != 0 {
		p := r.piece(kept - 1)
		p.steps, p.values, p.packed = p.steps[:n%rowsOfPiece], p.values[:n%rowsOfPiece*r.width], nil
	}
}

// widen adds a column.
func (r *rows) widen() {
	for i := range r.pieces {
		p := &r.pieces[i]
		if p.packed != nil {
			p.packed = append(p.packed, packedNumbers{n: p.packed[0].n, first: notTimed})
		}
		if p.steps == nil {
			continue
		}
		values := make([]int64, 0, cap(p.steps)*(r.width+1))
		for k := range p.steps {
			values = append(append(values, p.values[k*r.width:(k+1)*r.width]...), notTimed)
		}
		p.values = values
	}
	r.width++
}

// free gives up the pieces that lie whole before a row. They are not read any more.
func (r *rows) free(before int) {
	whole := min(before/rowsOfPiece, len(r.pieces))
	clear(r.pieces[:whole])
	r.open = slices.DeleteFunc(r.open, func(k int) bool { return k < whole })
}
