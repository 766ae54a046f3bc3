package flat

import (
	"encoding/binary"

	"github.com/sfstat/sfstat/internal/parquetformat"
)

// chunk is the place of one column's values of one row group.
type chunk struct {
	kind      Kind
	codec     int32
	encodings uint32 // bit set by encoding number
	values    int64
	offset    int64 // of the dictionary page where there is one, else of the first data page
	dictSize  int64 // bytes of the dictionary page
	size      int64 // bytes in the file, page headers included
	rawSize   int64
	nulls     int64
	min, max  int64 // written where the column has Bounds
}

// group is one row group.
type group struct {
	rows   int64
	chunks []chunk // by column
}

// footer is the metadata of a file that is written.
type footer struct {
	columns []Column
	rows    int64
	groups  []group
	meta    []KeyValue
}

// appendTo appends the footer as FileMetaData.
func (f *footer) appendTo(b []byte) []byte {
	w := &parquetformat.Writer{B: b}
	w.I32(1, 2)
	w.List(2, parquetformat.Struct, 1+len(f.columns))
	w.Element(func() {
		w.Text(4, "sfstat")
		w.I32(5, int32(len(f.columns)))
	})
	for _, c := range f.columns {
		w.Element(func() { c.appendTo(w) })
	}
	w.I64(3, f.rows)
	w.List(4, parquetformat.Struct, len(f.groups))
	for i := range f.groups {
		w.Element(func() { f.appendGroup(w, i) })
	}
	w.List(5, parquetformat.Struct, len(f.meta))
	for _, kv := range f.meta {
		w.Element(func() {
			w.Text(1, kv.Key)
			w.Text(2, kv.Value)
		})
	}
	w.Text(6, "sfstat version 1")
	w.List(7, parquetformat.Struct, len(f.columns)) // bounds are in the order of the type
	for range f.columns {
		w.Element(func() { w.Object(1, func() {}) })
	}
	return append(w.B, 0)
}

func (c Column) appendTo(w *parquetformat.Writer) {
	w.I32(1, int32(c.Kind))
	repetition := int32(0)
	if c.Nullable {
		repetition = 1
	}
	w.I32(3, repetition)
	w.Text(4, c.Name)
	if c.Kind == String {
		w.I32(6, 0)                                     // converted type UTF8
		w.Object(10, func() { w.Object(1, func() {}) }) // logical type STRING
	}
}

func (f *footer) appendGroup(w *parquetformat.Writer, i int) {
	g := &f.groups[i]
	var raw, size int64
	w.List(1, parquetformat.Struct, len(g.chunks))
	for c := range g.chunks {
		raw, size = raw+g.chunks[c].rawSize, size+g.chunks[c].size
		w.Element(func() {
			w.I64(2, 0)
			w.Object(3, func() { g.chunks[c].appendTo(w, f.columns[c]) })
		})
	}
	w.I64(2, raw)
	w.I64(3, g.rows)
	w.I64(5, g.chunks[0].offset)
	w.I64(6, size)
}

func (c *chunk) appendTo(w *parquetformat.Writer, column Column) {
	w.I32(1, int32(c.kind))
	n := 0
	for e := range int32(32) {
		n += int(c.encodings >> e & 1)
	}
	w.List(2, parquetformat.I32, n)
	for e := range int32(32) {
		if c.encodings>>e&1 != 0 {
			w.Int(int64(e))
		}
	}
	w.List(3, parquetformat.Binary, 1)
	w.String(column.Name)
	w.I32(4, c.codec)
	w.I64(5, c.values)
	w.I64(6, c.rawSize)
	w.I64(7, c.size)
	w.I64(9, c.offset+c.dictSize)
	if c.dictSize > 0 {
		w.I64(11, c.offset)
	}
	if column.Bounds || c.nulls > 0 {
		w.Object(12, func() { c.appendStatistics(w, column) })
	}
}

func (c *chunk) appendStatistics(w *parquetformat.Writer, column Column) {
	if c.nulls > 0 {
		w.I64(3, c.nulls)
	}
	if column.Bounds && column.Kind == Int64 && c.nulls == 0 {
		w.Text(5, string(binary.LittleEndian.AppendUint64(nil, uint64(c.max))))
		w.Text(6, string(binary.LittleEndian.AppendUint64(nil, uint64(c.min))))
	}
}

// appendHeader appends the header of a page of version 1.
func appendHeader(b []byte, h *parquetformat.PageHeader) []byte {
	w := &parquetformat.Writer{B: b}
	w.I32(1, int32(h.Kind))
	w.I32(2, int32(h.Raw))
	w.I32(3, int32(h.Size))
	w.I32(4, int32(h.CRC))
	if h.Kind == parquetformat.PageDictionary {
		w.Object(7, func() {
			w.I32(1, int32(h.Values))
			w.I32(2, parquetformat.EncPlain)
		})
	} else {
		w.Object(5, func() {
			w.I32(1, int32(h.Values))
			w.I32(2, int32(h.Encoding))
			w.I32(3, parquetformat.EncRLE)
			w.I32(4, parquetformat.EncRLE)
		})
	}
	return append(w.B, 0)
}
