package flat

import (
	"encoding/binary"
	"math"
)

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

// parseFooter reads FileMetaData. Whatever a list claims, no more is kept than
// the bytes of the footer can hold: an element that lacks what it must have
// ends the reading.
func parseFooter(b []byte) (*footer, error) {
	f := &footer{rows: -1}
	r := &thriftReader{b: b}
	r.fields(func(id int16, typ byte) {
		switch {
		case id == 2 && typ == tList:
			f.parseSchema(r)
		case id == 3 && typ == tI64:
			f.rows = r.int()
		case id == 4 && typ == tList:
			f.parseGroups(r)
		case id == 5 && typ == tList:
			f.parseMeta(r)
		default:
			r.skip(typ)
		}
	})
	if r.err == nil && (f.rows < 0 || f.columns == nil) {
		r.fail("no schema, or no count of rows")
	}
	return f, r.err
}

func (f *footer) parseSchema(r *thriftReader) {
	_, n := r.list()
	if n < 2 || n > MaxColumns+1 {
		r.fail("a schema without columns, or with too many")
		return
	}
	for i := range n {
		c, children := Column{Kind: math.MaxUint8}, int64(0)
		r.fields(func(id int16, typ byte) {
			switch {
			case id == 1 && typ == tI32:
				c.Kind = Kind(r.int())
			case id == 3 && typ == tI32:
				repetition := r.int()
				c.Nullable = repetition == 1
				f.nested = f.nested || i > 0 && repetition > 1
			case id == 4 && typ == tBinary:
				c.Name = string(r.text())
			case id == 5 && typ == tI32:
				children = r.int()
			default:
				r.skip(typ)
			}
		})
		if r.err != nil {
			return
		}
		if i == 0 {
			f.nested = f.nested || children != int64(n-1)
			continue
		}
		f.nested = f.nested || children != 0
		if c.Name == "" {
			r.fail("a column without a name")
			return
		}
		f.columns = append(f.columns, c)
	}
}

func (f *footer) parseGroups(r *thriftReader) {
	_, n := r.list()
	for ; n > 0 && r.err == nil; n-- {
		g := group{rows: -1}
		r.fields(func(id int16, typ byte) {
			switch {
			case id == 1 && typ == tList:
				f.parseChunks(r, &g)
			case id == 3 && typ == tI64:
				g.rows = r.int()
			default:
				r.skip(typ)
			}
		})
		if r.err == nil && (g.rows < 0 || g.chunks == nil) {
			r.fail("a row group without rows or columns")
		}
		f.groups = append(f.groups, g)
	}
}

func (f *footer) parseChunks(r *thriftReader, g *group) {
	_, n := r.list()
	if !f.nested && n != len(f.columns) {
		r.fail("a row group that has not the columns of the schema")
	}
	for ; n > 0 && r.err == nil; n-- {
		c := chunk{values: -1}
		r.fields(func(id int16, typ byte) {
			switch {
			case id == 1 && typ == tBinary:
				r.fail("a column in another file")
			case id == 3 && typ == tStruct:
				c.parse(r)
			default:
				r.skip(typ)
			}
		})
		if r.err == nil && (c.values < 0 || c.size <= 0 || c.offset <= 0) {
			r.fail("a column chunk without values, size or offset")
		}
		g.chunks = append(g.chunks, c)
	}
}

func (c *chunk) parse(r *thriftReader) {
	dictionary := int64(0)
	r.fields(func(id int16, typ byte) {
		switch {
		case id == 1 && typ == tI32:
			c.kind = Kind(r.int())
		case id == 4 && typ == tI32:
			c.codec = int32(r.int())
		case id == 5 && typ == tI64:
			c.values = r.int()
		case id == 7 && typ == tI64:
			c.size = r.int()
		case id == 9 && typ == tI64:
			c.offset = r.int()
		case id == 11 && typ == tI64:
			dictionary = r.int()
		default:
			r.skip(typ)
		}
	})
	if dictionary > 0 && dictionary < c.offset {
		c.offset = dictionary
	}
}

func (f *footer) parseMeta(r *thriftReader) {
	_, n := r.list()
	for ; n > 0 && r.err == nil; n-- {
		var kv KeyValue
		r.fields(func(id int16, typ byte) {
			switch {
			case id == 1 && typ == tBinary:
				kv.Key = string(r.text())
			case id == 2 && typ == tBinary:
				kv.Value = string(r.text())
			default:
				r.skip(typ)
			}
		})
		if r.err == nil && kv.Key == "" {
			r.fail("metadata without a key")
		}
		f.meta = append(f.meta, kv)
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

// parsePageHeader reads a page header from the start of b; n is its length.
func parsePageHeader(b []byte) (h pageHeader, n int, err error) {
	h = pageHeader{typ: -1, raw: -1, size: -1, values: -1, levels: encRLE}
	r := &thriftReader{b: b}
	r.fields(func(id int16, typ byte) {
		switch {
		case id == 1 && typ == tI32:
			h.typ = r.int()
		case id == 2 && typ == tI32:
			h.raw = r.int()
		case id == 3 && typ == tI32:
			h.size = r.int()
		case id == 4 && typ == tI32:
			h.crc, h.checked = uint32(r.int()), true
		case (id == 5 || id == 7) && typ == tStruct:
			h.parseCounts(r)
		default:
			r.skip(typ)
		}
	})
	if r.err == nil && (h.raw < 0 || h.size < 0 || h.typ == pageData && h.values < 0) {
		r.fail("a page without a size or a count of values")
	}
	return h, r.at, r.err
}

// parseCounts reads the header of a data or dictionary page, which number
// their first fields alike.
func (h *pageHeader) parseCounts(r *thriftReader) {
	r.fields(func(id int16, typ byte) {
		switch {
		case id == 1 && typ == tI32:
			h.values = r.int()
		case id == 2 && typ == tI32:
			h.encoding = r.int()
		case id == 3 && typ == tI32:
			h.levels = r.int()
		default:
			r.skip(typ)
		}
	})
}
