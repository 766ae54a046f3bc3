package publish

import (
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/internal/table"
)

// Rows are rows of CSV under a head.
type Rows struct {
	Head  []string
	cells [][]string
}

// rowsUnder returns no rows yet, under names between spaces.
func rowsUnder(head string) *Rows { return &Rows{Head: strings.Fields(head)} }

// rowsOf returns a row for each item of a list of structs; all their fields are columns.
func rowsOf[T any](items []T) *Rows {
	fields := fieldsOf(reflect.TypeFor[T]())
	r := &Rows{Head: convert(fields, func(f field) string { return f.name })}
	for _, x := range items {
		v := reflect.ValueOf(x)
		r.cells = append(r.cells, convert(fields, func(f field) string { return cell(v.FieldByIndex(f.Index)) }))
	}
	return r
}

// add adds a row.
func (r *Rows) add(values ...any) {
	row := make([]string, len(values))
	for i, v := range values {
		row[i] = cell(reflect.ValueOf(v))
	}
	r.cells = append(r.cells, row)
}

// Write writes them in one piece.
func (r *Rows) Write(w io.Writer) error { return table.WriteCSV(w, r.Head, r.cells) }

// cell returns a value in base units: nanoseconds, fractions, the items of a list
// between spaces; "" for what is null.
func cell(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Invalid:
		return ""
	case reflect.Pointer:
		return cell(v.Elem())
	case reflect.String:
		return table.Harmless(glyph.Visible(v.String()))
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case reflect.Slice:
		items := make([]string, v.Len())
		for i := range items {
			items[i] = cell(v.Index(i))
		}
		return strings.Join(items, " ")
	case reflect.Struct:
		if e, ok := v.Interface().(Evidence[evidence.Observation]); ok {
			return evidenceName(e.Of)
		}
		return table.Harmless(glyph.Visible(fmt.Sprint(v.Interface())))
	}
	return fmt.Sprint(v.Interface())
}

// evidenceName returns the kind of evidence; of what is lacking also its reason.
func evidenceName(e evidence.Observation) string {
	if l, ok := e.(evidence.Lack); ok {
		return string(l.Kind()) + ":" + string(l.Reason)
	}
	return string(e.Kind())
}
