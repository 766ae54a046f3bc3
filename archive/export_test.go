package archive

import "io"

// NewSmallWriter is NewWriter with row groups of so many values, 0: as many as they have.
func NewSmallWriter(w io.Writer, values int) *Writer {
	a := NewWriter(w)
	if values > 0 {
		a.values = values
	}
	return a
}
