package csv

import (
	"errors"
	"fmt"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// brokenRows counts rows of a file that cannot be read, and are left out where other files have the other ranks: to the window they are missing.
// A file is refused where they are more than those that can be read.
type brokenRows struct {
	rows  int
	kept  int // rows that could be read
	first error
}

// keep counts a row that could be read.
func (b *brokenRows) keep() {
	if b != nil {
		b.kept++
	}
}

// isOfRow reports whether rows can be read behind an error.
func isOfRow(err error) bool {
	var row *ingest.RowError
	return errors.As(err, &row)
}

// leaveOut counts the row of an error, and reports whether the next one is to be read.
func (b *brokenRows) leaveOut(err error) bool {
	if b == nil || !isOfRow(err) {
		return false
	}
	if b.rows++; b.rows == 1 {
		b.first = err
	}
	return true
}

// note notes on the first of the windows of a file which rows are left out; the error is not nil where the file is refused.
func (b *brokenRows) note(windows []*trace.Window) error {
	switch {
	case b == nil || b.rows == 0:
		return nil
	case b.rows > b.kept || len(windows) == 0:
		return b.first
	}
	text := "the row is left out"
	if b.rows > 1 {
		text = fmt.Sprintf("this and %s more of %s rows are left out", thousands(b.rows-1), thousands(b.rows+b.kept))
	}
	w := windows[0]
	w.Notes = append(w.Notes, input.Note{Kind: input.NoteDamaged, Text: fmt.Sprintf("%v: %s", b.first, text)})
	return nil
}
