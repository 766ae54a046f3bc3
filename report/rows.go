package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/diagnose/evidence"
)

// csvTable is rows of CSV under a head.
type csvTable struct {
	head []string
	rows [][]string
}

// write writes them in one piece.
func (r *csvTable) write(w io.Writer) error {
	var out strings.Builder
	rows := csv.NewWriter(&out)
	_ = rows.Write(r.head) // a strings.Builder does not fail
	_ = rows.WriteAll(r.rows)
	_, err := io.WriteString(w, out.String())
	return err
}

// harmless keeps a spreadsheet from taking a name for a formula.
func harmless(s string) string {
	if s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	return s
}

// structRows has a row for each struct, its fields as JSON names them.
func structRows[T any](rows []T) *csvTable {
	out, layout := &csvTable{}, layoutOf(reflect.TypeFor[T]())
	for _, f := range layout {
		out.head = append(out.head, f.name)
	}
	for i := range rows {
		row, of := make([]string, len(layout)), reflect.ValueOf(&rows[i]).Elem()
		for k, f := range layout {
			row[k] = cellText(f.in(of))
		}
		out.rows = append(out.rows, row)
	}
	return out
}

// itemRows has a row for each item of a list in the JSON of a result. The list is named by the way there, as "jobs.places.ranks"; an item
// of a list before the last that has none of the next still has a row where that list is marked, as "windows.stages?".
//
// A column is the field of its name, of the item or else of the nearest struct around it. What stands behind = is where it is taken from:
// a field of a field (rate.lower), the length of a list (len:ranks), the position of an item in its list (at:stages), counted from 0, or from 1
// (nth:suspects), or whether a list has the field before the @ (name@routing_set).
func itemRows(v any, list, columns string) *csvTable {
	out, at := &csvTable{}, itemReader{layouts: make(map[reflect.Type][]fieldAt)}
	for _, c := range strings.Fields(columns) {
		name, from, renamed := strings.Cut(c, "=")
		if !renamed {
			from = name
		}
		out.head, at.columns = append(out.head, name), append(at.columns, from)
	}
	at.descend([]reflect.Value{reflect.ValueOf(v)}, nil, strings.Split(list, "."))
	out.rows = at.rows
	return out
}

// itemReader walks down to the items of a list.
type itemReader struct {
	columns []string
	layouts map[reflect.Type][]fieldAt
	rows    [][]string
}

// step is a list on the way to an item, and which of its items leads there.
type step struct {
	list string
	at   int
}

func (r *itemReader) descend(around []reflect.Value, way []step, lists []string) {
	if len(lists) == 0 {
		row := make([]string, len(r.columns))
		for i, c := range r.columns {
			row[i] = r.cell(around, way, c)
		}
		r.rows = append(r.rows, row)
		return
	}
	name, always := strings.CutSuffix(lists[0], "?")
	items := r.find(around[len(around)-1:], name)
	for i := 0; items.IsValid() && i < items.Len(); i++ {
		r.descend(append(slices.Clip(around), items.Index(i)), append(slices.Clip(way), step{name, i}), lists[1:])
	}
	if always && (!items.IsValid() || items.Len() == 0) {
		r.descend(around, way, nil)
	}
}

// cell is one column of the item around which the structs stand.
func (r *itemReader) cell(around []reflect.Value, way []step, column string) string {
	position := func(list string, from int) string {
		i := slices.IndexFunc(way, func(s step) bool { return s.list == list })
		if i < 0 {
			return ""
		}
		return strconv.Itoa(way[i].at + from)
	}
	if list, ok := strings.CutPrefix(column, "at:"); ok {
		return position(list, 0)
	}
	if list, ok := strings.CutPrefix(column, "nth:"); ok {
		return position(list, 1)
	}
	if list, ok := strings.CutPrefix(column, "len:"); ok {
		return strconv.Itoa(r.find(around, list).Len())
	}
	if name, list, ok := strings.Cut(column, "@"); ok {
		one := r.find(around, name)
		if !one.IsValid() {
			return ""
		}
		return strconv.FormatBool(slices.Contains(r.find(around, list).Interface().([]string), one.String()))
	}
	path := strings.Split(column, ".")
	v := r.find(around, path[0])
	for _, name := range path[1:] {
		v = r.find([]reflect.Value{v}, name)
	}
	return cellText(v)
}

// find is the field of that name of the innermost struct that has one, the zero
// Value where it is null.
func (r *itemReader) find(around []reflect.Value, name string) reflect.Value {
	for _, v := range slices.Backward(around) {
		for v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if !v.IsValid() {
			continue
		}
		layout, known := r.layouts[v.Type()]
		if !known {
			layout = layoutOf(v.Type())
			r.layouts[v.Type()] = layout
		}
		if i := slices.IndexFunc(layout, func(f fieldAt) bool { return f.name == name }); i >= 0 {
			return layout[i].in(v)
		}
	}
	return reflect.Value{}
}

// fieldAt is where a struct has a field of its JSON.
type fieldAt struct {
	name, null string
	index      []int
}

func (f fieldAt) in(v reflect.Value) reflect.Value {
	field, err := v.FieldByIndexErr(f.index)
	if err != nil || isNull(f.null, field) {
		return reflect.Value{}
	}
	return field
}

// layoutOf are the fields of a type of structs, as eachField has them of a value,
// and those that only CSV has, by their csv tag.
func layoutOf(t reflect.Type) (out []fieldAt) {
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			name = f.Tag.Get("csv")
		}
		if name != "" {
			out = append(out, fieldAt{name, f.Tag.Get("null"), f.Index})
		}
	}
	return out
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
		return harmless(Visible(x.String()))
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return cellText(v.Elem())
	case reflect.String:
		return harmless(Visible(v.String()))
	case reflect.Float64:
		if !finite(v.Float()) {
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
