package report

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/internal/table"
)

// csvTable is rows of CSV under a head.
type csvTable struct {
	head []string
	rows [][]string
}

// write writes them in one piece.
func (r *csvTable) write(w io.Writer) error { return table.WriteCSV(w, r.head, r.rows) }

// rowsJSON are rows of CSV that are no list of the JSON: all fields of each are columns.
type rowsJSON[T any] struct {
	Rows []T `json:"rows"`
}

// rowsOf are the rows of CSV of a document's JSON, or of a rowsJSON.
func (p *published) rowsOf(v any) *csvTable {
	list, columns := p.list, p.columns
	if _, ok := fieldOf(reflect.TypeOf(v), "rows"); ok && list != "rows" {
		list, columns = "rows", ""
	}
	return itemsOf(reflect.TypeOf(v), list, columns).of(v)
}

// itemTable is a table with a row for each item of a list in the JSON of a value.
type itemTable struct {
	head  []string
	lists []listAt // from the value to the items
	cells []func(item) string
}

// listAt is a list of the struct before it on the way.
type listAt struct {
	field  field
	always bool // without items it still has a row, of what stands around it
}

// item is an item of a list.
type item struct {
	around []reflect.Value // the structs on the way to it and itself, the outermost first
}

// itemsOf is a table of a list, named by the way there, as "jobs.places.ranks"; an item of a list before the last that has none of the next
// still has a row where that list is marked, as "windows.stages?".
//
// A column is the field of its name, of the item or else of the nearest struct around it. What stands behind = is where it is taken from:
// a field of a field (rate.lower), or a field that is called otherwise in JSON. Without columns all fields of the items are.
//
// It panics on a name that the types do not have.
func itemsOf(of reflect.Type, list, columns string) *itemTable {
	t, on := &itemTable{}, way{of}
	for _, name := range strings.Split(list, ".") {
		name, always := strings.CutSuffix(name, "?")
		f, ok := fieldOf(on[len(on)-1], name)
		if !ok || f.of.Kind() != reflect.Slice {
			panic(fmt.Sprintf("%v: %s has no list %q", of, list, name))
		}
		t.lists = append(t.lists, listAt{f, always})
		on = append(on, f.of.Elem())
	}
	if columns == "" {
		columns = strings.Join(each(fieldsOf(on[len(on)-1]), func(f field) string { return f.name }), " ")
	}
	for _, c := range strings.Fields(columns) {
		name, from, renamed := strings.Cut(c, "=")
		if !renamed {
			from = name
		}
		cell := on.cell(from)
		if cell == nil {
			panic(fmt.Sprintf("%v: column %q of %s is nowhere", of, c, list))
		}
		t.head, t.cells = append(t.head, name), append(t.cells, cell)
	}
	return t
}

// of is the rows of v.
func (t *itemTable) of(v any) *csvTable {
	out := &csvTable{head: t.head}
	t.descend(out, item{around: []reflect.Value{reflect.ValueOf(v)}})
	return out
}

func (t *itemTable) descend(out *csvTable, x item) {
	depth := len(x.around) - 1
	if depth == len(t.lists) {
		t.row(out, x)
		return
	}
	l, n := &t.lists[depth], 0
	items := l.field.in(x.around[depth])
	if items.IsValid() {
		n = items.Len()
	}
	for i := range n {
		t.descend(out, item{append(slices.Clip(x.around), items.Index(i))})
	}
	if l.always && n == 0 {
		t.row(out, x)
	}
}

func (t *itemTable) row(out *csvTable, x item) {
	row := make([]string, len(t.cells))
	for i, cell := range t.cells {
		row[i] = cell(x)
	}
	out.rows = append(out.rows, row)
}

// way is the types of the structs on the way to an item.
type way []reflect.Type

// cell is what prints a column; nil where the structs have no such field.
func (w way) cell(column string) func(item) string {
	get, t := w.field(column)
	if t == nil {
		return nil
	}
	return func(x item) string { return cellText(get(x)) }
}

// field is the field of that path, from the innermost struct that has its first name, and its type; nil where there is none.
func (w way) field(path string) (get func(item) reflect.Value, t reflect.Type) {
	names := strings.Split(path, ".")
	depth := len(w) - 1
	for ; depth >= 0; depth-- {
		if _, ok := fieldOf(w[depth], names[0]); ok {
			break
		}
	}
	if depth < 0 {
		return nil, nil
	}
	t = w[depth]
	fields := make([]field, len(names))
	for i, name := range names {
		f, ok := fieldOf(t, name)
		if !ok {
			return nil, nil
		}
		fields[i], t = f, f.of
	}
	return func(x item) (v reflect.Value) {
		if depth >= len(x.around) {
			return v
		}
		v = x.around[depth]
		for _, f := range fields {
			v = f.in(v)
		}
		return v
	}, t
}

// fieldOf is a field of a struct, or of what points to one.
func fieldOf(t reflect.Type, name string) (f field, ok bool) {
	if t.Kind() != reflect.Struct && t.Kind() != reflect.Pointer {
		return f, false
	}
	fields := fieldsOf(t)
	i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
	if i < 0 {
		return f, false
	}
	return fields[i], true
}

// cellText is a value in base units: nanoseconds, fractions, the items of a list
// between spaces; "" for what is null.
func cellText(v reflect.Value) string {
	if !v.IsValid() || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil() {
		return ""
	}
	switch x := v.Interface().(type) {
	case evidence.Observation:
		return evidenceName(x)
	case fmt.Stringer:
		return table.Harmless(glyph.Visible(x.String()))
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return cellText(v.Elem())
	case reflect.String:
		return table.Harmless(glyph.Visible(v.String()))
	case reflect.Float64:
		if !table.Finite(v.Float()) {
			return ""
		}
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case reflect.Slice:
		items := make([]string, v.Len())
		for i := range items {
			items[i] = cellText(v.Index(i))
		}
		return strings.Join(items, " ")
	}
	return fmt.Sprint(v.Interface())
}

// evidenceName is the kind of evidence, what is lacking by its reason.
func evidenceName(e evidence.Observation) string {
	if l, ok := e.(evidence.Lack); ok {
		return string(l.Kind()) + ":" + string(l.Reason)
	}
	return string(e.Kind())
}
