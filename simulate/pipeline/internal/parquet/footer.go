package parquet

import "encoding/binary"

// Physical types and other numbers of the format.
const (
	typeInt32 = 1
	typeInt64 = 2
	typeText  = 6
	codecZstd = 6
)

func (c *Column) typ() int32 {
	switch {
	case c.Int32 != nil:
		return typeInt32
	case c.Int64 != nil:
		return typeInt64
	}
	return typeText
}

// footer writes FileMetaData and ends the file.
func (f *file) footer(columns []Column, rows int) {
	var w thrift
	w.i32(1, 2)
	w.list(2, tStruct, 1+len(columns))
	w.element(func() {
		w.text(4, "sfstat")
		w.i32(5, int32(len(columns)))
	})
	for i := range columns {
		w.element(func() {
			w.i32(1, columns[i].typ())
			w.i32(3, 0) // required
			w.text(4, columns[i].Name)
			if columns[i].typ() == typeText {
				w.i32(6, 0)                                     // converted type UTF8
				w.object(10, func() { w.object(1, func() {}) }) // logical type STRING
			}
		})
	}
	w.i64(3, int64(rows))
	w.list(4, tStruct, len(f.groups))
	for i := range f.groups {
		w.element(func() { w.group(&f.groups[i], columns) })
	}
	w.text(6, "sfstat version 1")
	footer := append(w.b, 0)
	footer = binary.LittleEndian.AppendUint32(footer, uint32(len(footer)))
	f.put(append(footer, magic...))
}

// group writes a RowGroup.
func (w *thrift) group(g *group, columns []Column) {
	raw := int64(0)
	w.list(1, tStruct, len(g.chunks))
	for i, k := range g.chunks {
		raw += k.raw
		w.element(func() {
			w.i64(2, 0)
			w.object(3, func() { w.chunk(&columns[i], k, g.rows) })
		})
	}
	w.i64(2, raw)
	w.i64(3, int64(g.rows))
}

// chunk writes ColumnMetaData.
func (w *thrift) chunk(c *Column, k chunk, rows int) {
	encodings := []int32{plain}
	if k.dictionary > 0 {
		encodings = append(encodings, rleDictionary)
	}
	w.i32(1, c.typ())
	w.list(2, tI32, len(encodings))
	for _, e := range encodings {
		w.b = binary.AppendVarint(w.b, int64(e))
	}
	w.list(3, tBinary, 1)
	w.string(c.Name)
	w.i32(4, codecZstd)
	w.i64(5, int64(rows))
	w.i64(6, k.raw)
	w.i64(7, k.size)
	w.i64(9, k.data)
	if k.dictionary > 0 {
		w.i64(11, k.dictionary)
	}
}

// Type codes of Thrift's compact protocol.
const (
	tI32    = 5
	tI64    = 6
	tBinary = 8
	tList   = 9
	tStruct = 12
)

// thrift appends structs of the compact protocol to b.
type thrift struct {
	b    []byte
	last int16 // number of the field written before
}

// field begins a field; numbers ascend by less than 16.
func (w *thrift) field(id int16, typ byte) {
	w.b = append(w.b, byte(id-w.last)<<4|typ)
	w.last = id
}

func (w *thrift) i32(id int16, v int32) {
	w.field(id, tI32)
	w.b = binary.AppendVarint(w.b, int64(v))
}

func (w *thrift) i64(id int16, v int64) {
	w.field(id, tI64)
	w.b = binary.AppendVarint(w.b, v)
}

func (w *thrift) text(id int16, s string) {
	w.field(id, tBinary)
	w.string(s)
}

// string writes a string as a list element.
func (w *thrift) string(s string) {
	w.b = append(binary.AppendUvarint(w.b, uint64(len(s))), s...)
}

func (w *thrift) list(id int16, elem byte, n int) {
	w.field(id, tList)
	if n < 15 {
		w.b = append(w.b, byte(n)<<4|elem)
		return
	}
	w.b = binary.AppendUvarint(append(w.b, 0xf0|elem), uint64(n))
}

// object writes a struct as a field; element writes one as a list element.
func (w *thrift) object(id int16, fields func()) {
	w.field(id, tStruct)
	w.element(fields)
}

func (w *thrift) element(fields func()) {
	saved := w.last
	w.last = 0
	fields()
	w.b = append(w.b, 0)
	w.last = saved
}
