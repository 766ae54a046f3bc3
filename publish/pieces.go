package publish

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
)

// mostWhole is how many objects of a list are encoded at once.
const mostWhole = 64

// pieces encodes a value piece by piece: the JSON of an account for each of many windows takes several times as much as
// the accounts.
type pieces struct {
	layout
	compact bytes.Buffer
	encoder *json.Encoder
	known   map[reflect.Type]shape
}

// shape is what is known of a type.
type shape struct {
	fields []field
	itself bool // it says what its JSON is, or has fields that fieldsOf does not read as encoding/json does
}

func (p *pieces) shapeOf(t reflect.Type) shape {
	s, known := p.known[t]
	if !known {
		if s.itself = encodesItself(t); !s.itself && t.Kind() == reflect.Struct {
			s.fields = fieldsOf(t)
		}
		p.known[t] = s
	}
	return s
}

// encode writes a value.
func (p *pieces) encode(v reflect.Value) error {
	if !p.long(v) {
		return p.whole(v)
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return p.encode(v.Elem())
	case reflect.Slice:
		p.open('[')
		for i := range v.Len() {
			p.next(i)
			if err := p.encode(v.Index(i)); err != nil {
				return err
			}
		}
		p.close(']')
		return nil
	}
	p.open('{')
	n := 0
	for _, f := range p.shapeOf(v.Type()).fields {
		x := v.FieldByIndex(f.Index)
		if f.optional && empty(x) {
			continue
		}
		p.next(n)
		n++
		if err := p.whole(reflect.ValueOf(f.name)); err != nil {
			return err
		}
		p.out = append(p.out, ": "...)
		if err := p.encode(x); err != nil {
			return err
		}
	}
	p.close('}')
	return nil
}

// whole writes a value that is encoded at once.
func (p *pieces) whole(v reflect.Value) error {
	p.compact.Reset()
	var of any
	if v.IsValid() {
		of = v.Interface()
	}
	if err := p.encoder.Encode(of); err != nil {
		return err
	}
	p.in, p.at = bytes.TrimSuffix(p.compact.Bytes(), []byte("\n")), 0
	p.value()
	return nil
}

func (p *pieces) open(begin byte) {
	p.out = append(p.out, begin)
	p.depth++
}

// next begins the item of a number.
func (p *pieces) next(i int) {
	if i > 0 {
		p.out = append(p.out, ',')
	}
	p.line()
	if len(p.out) > piece {
		p.flush(1)
	}
}

// close ends an object or a list, which has items.
func (p *pieces) close(end byte) {
	p.depth--
	p.line()
	p.out = append(p.out, end)
}

// empty reports whether a field that may be left out is.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// long reports whether a value has a list of many objects.
func (p *pieces) long(v reflect.Value) bool {
	if !v.IsValid() || p.shapeOf(v.Type()).itself {
		return false
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return !v.IsNil() && p.long(v.Elem())
	case reflect.Slice:
		if t := v.Type().Elem(); t.Kind() != reflect.Struct || p.shapeOf(t).itself {
			return false
		}
		for i := range v.Len() {
			if v.Len() > mostWhole || p.long(v.Index(i)) {
				return true
			}
		}
	case reflect.Struct:
		for _, f := range p.shapeOf(v.Type()).fields {
			if p.long(v.FieldByIndex(f.Index)) {
				return true
			}
		}
	}
	return false
}

// encodesItself reports whether a type says what its JSON is, or has fields or embedded pointers that fieldsOf does not
// read as encoding/json does.
func encodesItself(t reflect.Type) bool {
	if t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return true
	}
	if t.Kind() != reflect.Struct {
		return false
	}
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous && f.Type.Kind() != reflect.Struct || !f.Anonymous && f.IsExported() && f.Tag.Get("json") == "" {
			return true
		}
	}
	return false
}
