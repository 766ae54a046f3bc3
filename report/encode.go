package report

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/internal/table"
)

// appendJSON appends a value as compact JSON. Maps and strings stand as encoding/json
// has them, structs by the tags of their fields, and what else names itself by its name.
// Besides:
//
//   - NaN and the infinities are null, at any depth;
//   - a list without items is [], never null;
//   - a piece of evidence is its kind and its fields in one object.
func appendJSON(dst []byte, v reflect.Value) ([]byte, error) {
	if !v.IsValid() {
		return append(dst, "null"...), nil
	}
	if named, text, err := nameOf(v); named {
		if err != nil {
			return dst, err
		}
		return appendString(dst, text)
	}
	switch v.Kind() {
	case reflect.Interface:
		if e, ok := v.Interface().(evidence.Observation); ok {
			return appendObject(dst, v.Elem(), e.Kind())
		}
		return appendJSON(dst, v.Elem())
	case reflect.Pointer:
		return appendJSON(dst, v.Elem())
	case reflect.Float32, reflect.Float64:
		if !table.Finite(v.Float()) {
			return append(dst, "null"...), nil
		}
		text, err := json.Marshal(v.Float())
		return append(dst, text...), err
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.AppendInt(dst, v.Int(), 10), nil
	case reflect.String:
		return appendString(dst, v.String())
	case reflect.Slice, reflect.Array:
		return appendList(dst, v)
	case reflect.Struct:
		return appendObject(dst, v, "")
	}
	text, err := json.Marshal(v.Interface())
	return append(dst, text...), err
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

func appendString(dst []byte, s string) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(s)
	return append(dst, bytes.TrimSuffix(out.Bytes(), []byte{'\n'})...), err
}

func appendList(dst []byte, v reflect.Value) (_ []byte, err error) {
	dst = append(dst, '[')
	for i := range v.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendJSON(dst, v.Index(i)); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

// appendObject appends a struct, behind its kind where it is evidence.
func appendObject(dst []byte, v reflect.Value, kind evidence.Kind) ([]byte, error) {
	dst = append(dst, '{')
	if kind != "" {
		dst = fmt.Appendf(dst, `"kind":%q`, kind)
	}
	dst, err := appendFields(dst, v)
	return append(dst, '}'), err
}

// appendFields appends the fields of a struct, behind others where dst does not end
// in the brace that begins an object.
func appendFields(dst []byte, v reflect.Value) (_ []byte, err error) {
	fields := fieldsOf(v.Type())
	for i := range fields {
		f := &fields[i]
		x := f.in(v)
		if f.omitEmpty && (!x.IsValid() || isZero(x)) {
			continue
		}
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(strconv.AppendQuote(dst, f.name), ':')
		if dst, err = appendJSON(dst, x); err != nil {
			return dst, err
		}
	}
	return dst, nil
}
