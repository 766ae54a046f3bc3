package report

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/diagnose/evidence"
)

// appendJSON appends a value as compact JSON. Structs, maps and strings stand as
// encoding/json has them, by their json tags, and what else names itself by its name.
// Besides:
//
//   - NaN and the infinities are null, at any depth;
//   - a list without items is [], never null;
//   - a piece of evidence is its kind and its fields in one object;
//   - a field with the tag embed has its fields among the others;
//   - a field with the tag null:"zero" is null when it is zero (an empty list
//     too), one with null:"negative" when it is less than 0, and one with
//     null:"without Other" when that field of the same struct is zero.
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
		if !finite(v.Float()) {
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
	begin := len(dst)
	if kind != "" {
		dst = fmt.Appendf(dst, `"kind":%q`, kind)
	}
	for name, field := range fieldsOf(v) {
		if len(dst) > begin {
			dst = append(dst, ',')
		}
		dst = append(strconv.AppendQuote(dst, name), ':')
		var err error
		if dst, err = appendJSON(dst, field); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// fieldsOf are the fields of a struct as JSON has them, with those of embedded
// structs in their place; one that is null is the zero Value.
func fieldsOf(v reflect.Value) func(yield func(string, reflect.Value) bool) {
	return func(yield func(string, reflect.Value) bool) { eachField(v, yield) }
}

func eachField(v reflect.Value, yield func(string, reflect.Value) bool) bool {
	for i := range v.NumField() {
		at, field := v.Type().Field(i), v.Field(i)
		name, option, _ := strings.Cut(at.Tag.Get("json"), ",")
		if at.Anonymous && name == "" || at.Tag.Get("embed") != "" {
			if k := field.Kind(); k == reflect.Pointer || k == reflect.Interface {
				field = field.Elem()
			}
			if field.IsValid() && !eachField(field, yield) {
				return false
			}
			continue
		}
		if name == "-" || !at.IsExported() || option == "omitempty" && (field.IsZero() || empty(field)) {
			continue
		}
		if name == "" {
			name = at.Name
		}
		if isNull(at.Tag.Get("null"), v, field) {
			field = reflect.Value{}
		}
		if !yield(name, field) {
			return false
		}
	}
	return true
}

// isNull reports whether a field of a struct stands for nothing by any rule of its tag.
func isNull(tag string, of, v reflect.Value) bool {
	for rule := range strings.SplitSeq(tag, ",") {
		other, without := strings.CutPrefix(rule, "without ")
		if rule == "zero" && isZero(v) || rule == "negative" && v.Int() < 0 || without && isZero(of.FieldByName(other)) {
			return true
		}
	}
	return false
}

func isZero(v reflect.Value) bool {
	if x, ok := v.Interface().(interface{ IsZero() bool }); ok {
		return x.IsZero()
	}
	return v.IsZero() || empty(v)
}

// empty reports whether v is a list or map without items.
func empty(v reflect.Value) bool {
	return (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0
}
