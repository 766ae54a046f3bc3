package csv

import (
	"github.com/sfstat/sfstat/internal/parallel"
	"github.com/sfstat/sfstat/trace/input"
)

// rowPrefetch splits text into rows while those before are understood, on another thread: of a large table each
// takes half of the time. Begun by the first row, it ends by end.
type rowPrefetch struct {
	rows
	batches chan batch
	stop    chan struct{}
	busy    parallel.Group
	now     batch // what is given at the moment
	given   int   // rows of it
	pos     input.Pos
}

// batch is rows that follow one another, and the error that ends the table.
type batch struct {
	cells [][]string
	pos   []input.Pos
	err   error
	after input.Pos // of the table then
	atEnd bool
}

// inBatch is how many rows are handed over at a time, cellsInBatch how many cells they have but
// for the last of them, and batchesAhead how many times at most.
const inBatch, cellsInBatch, batchesAhead = 512, 128 << 10, 4

func newAhead(of rows) *rowPrefetch { return &rowPrefetch{rows: of} }

func (a *rowPrefetch) begin() {
	a.batches, a.stop = make(chan batch, batchesAhead), make(chan struct{})
	a.busy.Go(func() {
		defer close(a.batches)
		for {
			b := a.read()
			select {
			case a.batches <- b:
			case <-a.stop:
				return
			}
			if b.err != nil {
				return
			}
		}
	})
}

func (a *rowPrefetch) read() batch { return readBatch(a.rows) }

// rowsAtOnce is for how many rows room is made at a time: most tables are small.
const rowsAtOnce = 64

// readBatch reads as many rows as are handed over at a time.
func readBatch(in rows) batch {
	b := batch{cells: make([][]string, 0, rowsAtOnce), pos: make([]input.Pos, 0, rowsAtOnce)}
	var room []string // for cells of the next rows
	for read := 0; len(b.cells) < inBatch && read < cellsInBatch; {
		cells, err := in.Next()
		if err != nil {
			b.err, b.after, b.atEnd = err, in.Pos(), in.AtEnd()
			return b
		}
		if cap(room)-len(room) < len(cells) {
			room = make([]string, 0, min(rowsAtOnce*len(cells), cellsInBatch+len(cells)))
		}
		from := len(room)
		room = append(room, cells...)
		read += len(cells)
		b.cells, b.pos = append(b.cells, room[from:len(room):len(room)]), append(b.pos, in.Pos())
	}
	return b
}

// hasNext reports whether there is a row that was not given.
func (a *rowPrefetch) hasNext() bool {
	for a.given == len(a.now.cells) && a.now.err == nil {
		if a.batches == nil {
			a.begin()
		}
		b, ok := <-a.batches
		if !ok {
			a.busy.Wait() // hands a panic on
		}
		a.now, a.given = b, 0
	}
	return a.given < len(a.now.cells)
}

func (a *rowPrefetch) Next() ([]string, error) {
	if !a.hasNext() {
		a.pos = a.now.after
		return nil, a.now.err
	}
	cells := a.now.cells[a.given]
	a.pos = a.now.pos[a.given]
	a.given++
	return cells, nil
}

func (a *rowPrefetch) Pos() input.Pos {
	if a.batches == nil { // at the header
		return a.rows.Pos()
	}
	return a.pos
}

func (a *rowPrefetch) AtEnd() bool { return !a.hasNext() && a.now.atEnd }

// end waits until nothing is read any more.
func (a *rowPrefetch) end() {
	if a.batches == nil {
		return
	}
	close(a.stop)
	for range a.batches { // makes room
	}
	a.busy.Wait()
}
