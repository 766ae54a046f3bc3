package flat

import "encoding/binary"

// chunk is the place of one column's values of one row group.
type chunk struct {
	kind      Kind
	codec     int32
	encodings uint32 // bit set by encoding number
	values    int64
	offset    int64 // of the dictionary page where there is one, else of the first data page
	dictSize  int64 // bytes of the dictionary page; known while writing only
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

// footer is the metadata of a file.
type footer struct {
	columns []Column
	nested  bool
	rows    int64
	groups  []group
	meta    []KeyValue
}

// appendTo appends the footer as FileMetaData.
func (f *footer) appendTo(b []byte) []byte {
	w := &thriftWriter{b: b}
	w.i32(1, 2)
	w.list(2, tStruct, 1+len(f.columns))
	w.element(func() {
		w.text(4, "sfstat")
		w.i32(5, int32(len(f.columns)))
	})
	for _, c := range f.columns {
		w.element(func() { c.appendTo(w) })
	}
	w.i64(3, f.rows)
	w.list(4, tStruct, len(f.groups))
	for i := range f.groups {
		w.element(func() { f.appendGroup(w, i) })
	}
	w.list(5, tStruct, len(f.meta))
	for _, kv := range f.meta {
		w.element(func() {
			w.text(1, kv.Key)
			w.text(2, kv.Value)
		})
	}
	w.text(6, "sfstat version 1")
	w.list(7, tStruct, len(f.columns)) // bounds are in the order of the type
	for range f.columns {
		w.element(func() { w.object(1, func() {}) })
	}
	return append(w.b, 0)
}

func (c Column) appendTo(w *thriftWriter) {
	w.i32(1, int32(c.Kind))
	repetition := int32(0)
	if c.Nullable {
		repetition = 1
	}
	w.i32(3, repetition)
	w.text(4, c.Name)
	if c.Kind == String {
		w.i32(6, 0)                                     // converted type UTF8
		w.object(10, func() { w.object(1, func() {}) }) // logical type STRING
	}
}

func (f *footer) appendGroup(w *thriftWriter, i int) {
	g := &f.groups[i]
	var raw, size int64
	w.list(1, tStruct, len(g.chunks))
	for c := range g.chunks {
		raw, size = raw+g.chunks[c].rawSize, size+g.chunks[c].size
		w.element(func() {
			w.i64(2, 0)
			w.object(3, func() { g.chunks[c].appendTo(w, f.columns[c]) })
		})
	}
	w.i64(2, raw)
	w.i64(3, g.rows)
	w.i64(5, g.chunks[0].offset)
	w.i64(6, size)
}

func (c *chunk) appendTo(w *thriftWriter, column Column) {
	w.i32(1, int32(c.kind))
	n := 0
	for e := range int32(32) {
		n += int(c.encodings >> e & 1)
	}
	w.list(2, tI32, n)
	for e := range int32(32) {
		if c.encodings>>e&1 != 0 {
			w.b = binary.AppendVarint(w.b, int64(e))
		}
	}
	w.list(3, tBinary, 1)
	w.bytes(column.Name)
	w.i32(4, c.codec)
	w.i64(5, c.values)
	w.i64(6, c.rawSize)
	w.i64(7, c.size)
	w.i64(9, c.offset+c.dictSize)
	if c.dictSize > 0 {
		w.i64(11, c.offset)
	}
	if column.Bounds || c.nulls > 0 {
		w.object(12, func() { c.appendStatistics(w, column) })
	}
}

func (c *chunk) appendStatistics(w *thriftWriter, column Column) {
	if c.nulls > 0 {
		w.i64(3, c.nulls)
	}
	if column.Bounds && column.Kind == Int64 && c.nulls == 0 {
		w.text(5, string(binary.LittleEndian.AppendUint64(nil, uint64(c.max))))
		w.text(6, string(binary.LittleEndian.AppendUint64(nil, uint64(c.min))))
	}
}

// pageHeader is the header of a page.
type pageHeader struct {
	typ      int64
	raw      int64 // bytes of the page, decompressed
	size     int64 // bytes that follow the header in the file
	crc      uint32
	checked  bool // there is a crc
	values   int64
	encoding int64
	levels   int64 // encoding of the definition levels
}

func (h *pageHeader) appendTo(b []byte) []byte {
	w := &thriftWriter{b: b}
	w.i32(1, int32(h.typ))
	w.i32(2, int32(h.raw))
	w.i32(3, int32(h.size))
	w.i32(4, int32(h.crc))
	if h.typ == pageDictionary {
		w.object(7, func() {
			w.i32(1, int32(h.values))
			w.i32(2, encPlain)
		})
	} else {
		w.object(5, func() {
			w.i32(1, int32(h.values))
			w.i32(2, int32(h.encoding))
			w.i32(3, encRLE)
			w.i32(4, encRLE)
		})
	}
	return append(w.b, 0)
}
