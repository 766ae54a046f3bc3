package parquet

import (
	"encoding/binary"
)

// thriftWriter appends the fields of a struct to B. Fields are written in ascending
// order of their numbers.
type thriftWriter struct {
	B    []byte
	last int16 // number of the field written before
}

func (w *thriftWriter) field(id int16, kind thriftKind) {
	if d := id - w.last; d > 0 && d <= 15 {
		w.B = append(w.B, byte(d)<<4|byte(kind))
	} else {
		w.B = binary.AppendVarint(append(w.B, byte(kind)), int64(id))
	}
	w.last = id
}

// I32 writes a field of 32 bits.
func (w *thriftWriter) I32(id int16, v int32) {
	w.field(id, thriftI32)
	w.Int(int64(v))
}

// I64 writes a field of 64 bits.
func (w *thriftWriter) I64(id int16, v int64) {
	w.field(id, thriftI64)
	w.Int(v)
}

// Text writes a field of text or bytes.
func (w *thriftWriter) Text(id int16, s string) {
	w.field(id, thriftBinary)
	w.String(s)
}

// Int writes a number as a list element.
func (w *thriftWriter) Int(v int64) { w.B = binary.AppendVarint(w.B, v) }

// String writes text or bytes as a list element.
func (w *thriftWriter) String(s string) {
	w.B = append(binary.AppendUvarint(w.B, uint64(len(s))), s...)
}

// List begins a field that is a list; n elements follow.
func (w *thriftWriter) List(id int16, elem thriftKind, n int) {
	w.field(id, thriftList)
	if n < 15 {
		w.B = append(w.B, byte(n)<<4|byte(elem))
	} else {
		w.B = binary.AppendUvarint(append(w.B, 0xf0|byte(elem)), uint64(n))
	}
}

// Object writes a field that is a struct.
func (w *thriftWriter) Object(id int16, fields func()) {
	w.field(id, thriftStruct)
	w.Element(fields)
}

// Element writes a struct as a list element.
func (w *thriftWriter) Element(fields func()) {
	saved := w.last
	w.last = 0
	fields()
	w.B = append(w.B, 0)
	w.last = saved
}
