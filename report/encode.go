package report

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/internal/table"
)

// encoder writes JSON as people and programs read it: two spaces a level, but an array of
// numbers and short strings on one line, so that a list of ranks is not a page; and nothing in
// it that steers a terminal. Strings stand as encoding/json has them, structs by the tags of
// their fields, and what else names itself by its name. Besides:
//
//   - NaN and the infinities are null, at any depth;
//   - a list without items is [], never null;
//   - a piece of evidence is its kind and its fields in one object.
type encoder struct {
	out   []byte
	depth int
}

// mostInline is how long a string may be, bytes, in an array on one line.
const mostInline = 48

func (e *encoder) text(s string) { e.out = append(e.out, s...) }

// open begins an object or an array of several lines, next one more of its items, and end ends it.
func (e *encoder) open(bracket byte) {
	e.out = append(e.out, bracket)
	e.depth++
}

func (e *encoder) next() {
	if c := e.out[len(e.out)-1]; c != '{' && c != '[' {
		e.text(",")
	}
	e.line()
}

func (e *encoder) end(bracket byte) {
	e.depth--
	if c := e.out[len(e.out)-1]; c != '{' && c != '[' {
		e.line()
	}
	e.out = append(e.out, bracket)
}

func (e *encoder) line() {
	e.out = append(append(e.out, '\n'), strings.Repeat("  ", e.depth)...)
}

// field writes a name and a value of an object.
func (e *encoder) field(name string, v reflect.Value) error {
	e.next()
	e.string(name)
	e.text(": ")
	return e.value(v)
}

func (e *encoder) value(v reflect.Value) error {
	if !v.IsValid() {
		e.text("null")
		return nil
	}
	if named, text, err := nameOf(v); named {
		e.string(text)
		return err
	}
	switch v.Kind() {
	case reflect.Interface:
		if x, ok := v.Interface().(evidence.Observation); ok {
			return e.object(v.Elem(), x.Kind())
		}
		return e.value(v.Elem())
	case reflect.Pointer:
		return e.value(v.Elem())
	case reflect.String:
		e.string(v.String())
		return nil
	case reflect.Slice, reflect.Array:
		return e.list(v)
	case reflect.Struct:
		if v.NumField() == 1 && v.Type().Field(0).Name == "Of" { // of package publish
			return e.value(v.Field(0))
		}
		return e.object(v, "")
	case reflect.Map:
		return e.mapped(v)
	}
	if v.CanFloat() && !table.Finite(v.Float()) {
		e.text("null")
		return nil
	}
	text, err := json.Marshal(v.Interface())
	e.out = append(e.out, text...)
	return err
}

// nameOf is the text of a value that names itself.
func nameOf(v reflect.Value) (named bool, text string, err error) {
	if k := v.Kind(); k == reflect.Interface || k == reflect.Pointer && v.IsNil() || !v.CanInterface() {
		return false, "", nil
	}
	switch x := v.Interface().(type) {
	case encoding.TextMarshaler:
		b, err := x.MarshalText()
		return true, string(b), err
	case fmt.Stringer:
		if v.Kind() == reflect.Struct {
			return false, "", nil
		}
		return true, x.String(), nil
	}
	return false, "", nil
}

// string writes a string, what steers a terminal as an escape.
func (e *encoder) string(s string) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string has JSON
	for _, r := range strings.TrimSuffix(out.String(), "\n") {
		if r < 0x7f || unicode.IsPrint(r) {
			e.out = append(e.out, string(r)...)
			continue
		}
		for _, half := range utf16.AppendRune(nil, r) {
			e.out = fmt.Appendf(e.out, `\u%04x`, half)
		}
	}
}

func (e *encoder) list(v reflect.Value) error {
	inline := true
	for i := range v.Len() {
		inline = inline && plain(v.Index(i))
	}
	if !inline {
		e.open('[')
	} else {
		e.text("[")
	}
	for i := range v.Len() {
		switch {
		case !inline:
			e.next()
		case i > 0:
			e.text(", ")
		}
		if err := e.value(v.Index(i)); err != nil {
			return err
		}
	}
	if !inline {
		e.end(']')
	} else {
		e.text("]")
	}
	return nil
}

// plain reports whether an item may stand in an array on one line.
func plain(v reflect.Value) bool {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		return true
	}
	if named, text, _ := nameOf(v); named {
		return len(text) <= mostInline
	}
	k := v.Kind()
	return k != reflect.Struct && k != reflect.Slice && k != reflect.Array && k != reflect.Map && (k != reflect.String || v.Len() <= mostInline)
}

// object writes a struct, behind its kind where it is evidence.
func (e *encoder) object(v reflect.Value, kind evidence.Kind) error {
	e.open('{')
	if kind != "" {
		e.next()
		e.text(`"kind": ` + strconv.Quote(string(kind)))
	}
	err := e.fields(v)
	e.end('}')
	return err
}

// fields writes the fields of a struct.
func (e *encoder) fields(v reflect.Value) error {
	fields := fieldsOf(v.Type())
	for i := range fields {
		f := &fields[i]
		x := f.in(v)
		if f.omitEmpty && (!x.IsValid() || isZero(x)) {
			continue
		}
		if err := e.field(f.name, x); err != nil {
			return err
		}
	}
	return nil
}

// mapped writes a map by its keys, in order.
func (e *encoder) mapped(v reflect.Value) error {
	e.open('{')
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	for _, k := range keys {
		if err := e.field(fmt.Sprint(k), v.MapIndex(k)); err != nil {
			return err
		}
	}
	e.end('}')
	return nil
}
