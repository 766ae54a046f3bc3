package trainlog

// rowsOfPiece is how many rows lie in one piece of memory.
const rowsOfPiece = 1 << 12

// rows are what was logged of the steps of a rank, in the order of the file: the number of each, and its times by column.
// They lie in pieces, which are not copied when there are more, and are given up one by one. A row takes 8 bytes, and 8 for each column.
type rows struct {
	n, width int
	pieces   []piece
}

// piece is some rows. Steps are −1 that are counted from the one before; times are ns, by row and column, or notTimed.
type piece struct{ steps, values []int64 }

// step returns the number of the step of a row.
func (r *rows) step(i int) int64 { return r.pieces[i/rowsOfPiece].steps[i%rowsOfPiece] }

// number sets the number of the step of a row.
func (r *rows) number(i int, step int64) { r.pieces[i/rowsOfPiece].steps[i%rowsOfPiece] = step }

// row returns the times of a row, by column.
func (r *rows) row(i int) []int64 {
	k := i % rowsOfPiece * r.width
	return r.pieces[i/rowsOfPiece].values[k : k+r.width]
}

// append adds a row without times.
func (r *rows) append(step int64) {
	if r.n%rowsOfPiece == 0 {
		r.pieces = append(r.pieces, piece{})
		if r.n > 0 {
			r.pieces[r.n/rowsOfPiece] = piece{make([]int64, 0, rowsOfPiece), make([]int64, 0, rowsOfPiece*r.width)}
		}
	}
	p := &r.pieces[r.n/rowsOfPiece]
	p.steps = append(p.steps, step)
	for range r.width {
		p.values = append(p.values, notTimed)
	}
	r.n++
}

// move puts a row in the place of one before it.
func (r *rows) move(to, from int) {
	r.number(to, r.step(from))
	copy(r.row(to), r.row(from))
}

// cut leaves the first n rows.
func (r *rows) cut(n int) {
	r.n = n
	r.pieces = r.pieces[:(n+rowsOfPiece-1)/rowsOfPiece]
	if n%rowsOfPiece != 0 {
		p := &r.pieces[n/rowsOfPiece]
		p.steps, p.values = p.steps[:n%rowsOfPiece], p.values[:n%rowsOfPiece*r.width]
	}
}

// widen adds a column.
func (r *rows) widen() {
	for i := range r.pieces {
		p := &r.pieces[i]
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
	for i := range min(before/rowsOfPiece, len(r.pieces)) {
		r.pieces[i] = piece{}
	}
}
