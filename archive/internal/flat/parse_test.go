package flat

import (
	"errors"
	"testing"

	"github.com/sfstat/sfstat/internal/parquetformat"
	"github.com/sfstat/sfstat/trace"
)

// TestSchemaTwice: a footer may say anything twice. A second schema behind the
// row groups has columns that no row group has.
func TestSchemaTwice(t *testing.T) {
	footer := func(schemas int) []byte {
		var w parquetformat.Writer
		schema := func() {
			w.List(2, parquetformat.Struct, 2)
			w.Element(func() { w.Text(4, "root"); w.I32(5, 1) })
			w.Element(func() { w.I32(1, 2); w.I32(3, 0); w.Text(4, "x") })
		}
		schema()
		w.I64(3, 1)
		w.List(4, parquetformat.Struct, 1)
		w.Element(func() {
			w.List(1, parquetformat.Struct, 1)
			w.Element(func() {
				w.Object(3, func() { w.I32(1, 2); w.I64(5, 1); w.I64(7, 30); w.I64(9, 4) })
			})
			w.I64(3, 1)
		})
		if schemas == 2 {
			schema()
		}
		return append(w.B, 0)
	}
	if f, err := parseFooter(footer(1)); err != nil || len(f.columns) != 1 {
		t.Fatalf("one schema: %v", err)
	}
	if _, err := parseFooter(footer(2)); !errors.Is(err, trace.ErrFormat) {
		t.Errorf("two schemas: %v, expected %v", err, trace.ErrFormat)
	}
}
