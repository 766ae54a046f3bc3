package parquet

import (
	"math"

	"github.com/sfstat/sfstat/internal/parquetformat"
)

// chunk is the place of one column's values of one row group.
type chunk struct {
	typ    Type
	codec  int64
	values int64
	offset int64 // of its first page
	size   int64 // bytes in the file, page headers included
}

// group is one row group.
type group struct {
	rows   int64
	chunks []chunk // by leaf column
}

type footer struct {
	columns []Column // leaves, in order
	rows    int64
	groups  []group
}

// maxColumns bounds the leaf columns of a file.
const maxColumns = 1 << 14

// parseFooter reads FileMetaData. No more is kept than the bytes of the footer
// can hold: an element that lacks what it must have ends the reading.
func parseFooter(b []byte) (*footer, error) {
	f := &footer{rows: -1}
	r := &parquetformat.Reader{B: b}
	r.Fields(func(id int16, kind parquetformat.Kind) {
		switch {
		case id == 2 && kind == parquetformat.List:
			f.schema(r)
		case id == 3 && kind == parquetformat.I64:
			f.rows = r.Int()
		case id == 4 && kind == parquetformat.List:
			r.Structs(func(_, _ int) { f.group(r) })
		default:
			r.Skip(kind)
		}
	})
	if r.Err == nil && (f.rows < 0 || len(f.columns) == 0) {
		r.Fail("no columns, or no count of rows")
	}
	// Only when all is read: the order of the fields is the writer's, and a
	// field that comes twice adds to what the first gave.
	for _, g := range f.groups {
		if r.Err == nil && len(g.chunks) != len(f.columns) {
			r.Fail("a row group that has not the columns of the schema")
		}
	}
	return f, r.Err
}

// schema reads the tree of columns, which is written depth first, and keeps
// the leaves.
func (f *footer) schema(r *parquetformat.Reader) {
	first, within := true, int64(0) // elements that are still within a group
	r.Structs(func(_, _ int) {
		c, children := element(r)
		if first {
			first = false
			return
		}
		if within > 0 {
			within--
			c.nested = true
		}
		if children > 0 {
			if within += children; within > maxColumns {
				r.Fail("groups with too many columns")
			}
			return
		}
		if c.Name == "" || len(f.columns) == maxColumns {
			r.Fail("a column without a name, or too many columns")
		}
		f.columns = append(f.columns, c)
	})
}

// element reads a SchemaElement.
func element(r *parquetformat.Reader) (c Column, children int64) {
	c.Type = math.MaxUint8
	r.Fields(func(id int16, kind parquetformat.Kind) {
		switch {
		case id == 1 && kind == parquetformat.I32:
			c.Type = Type(min(uint64(r.Int()), math.MaxUint8))
		case id == 3 && kind == parquetformat.I32:
			repetition := r.Int()
			c.nullable, c.nested = repetition == 1, repetition > 1
		case id == 4 && kind == parquetformat.Binary:
			c.Name = string(r.Text())
		case id == 5 && kind == parquetformat.I32:
			children = r.Int()
		case id == 6 && kind == parquetformat.I32:
			switch r.Int() { // converted type
			case 5:
				c.decimal = true
			case 9:
				c.Tick = 1e6
			case 10:
				c.Tick = 1e3
			}
		case id == 10 && kind == parquetformat.Struct:
			logicalType(r, &c)
		default:
			r.Skip(kind)
		}
	})
	return c, children
}

// logicalType reads a LogicalType: the union's field 5 is DECIMAL, 8 is
// TIMESTAMP, whose field 2 is the union of the units.
func logicalType(r *parquetformat.Reader, c *Column) {
	r.Fields(func(id int16, kind parquetformat.Kind) {
		if id == 5 {
			c.decimal = true
		}
		if id != 8 || kind != parquetformat.Struct {
			r.Skip(kind)
			return
		}
		r.Fields(func(id int16, kind parquetformat.Kind) {
			if id != 2 || kind != parquetformat.Struct {
				r.Skip(kind)
				return
			}
			r.Fields(func(unit int16, kind parquetformat.Kind) {
				c.Tick = map[int16]int64{1: 1e6, 2: 1e3, 3: 1}[unit]
				r.Skip(kind)
			})
		})
	})
}

func (f *footer) group(r *parquetformat.Reader) {
	g := group{rows: -1}
	r.Fields(func(id int16, kind parquetformat.Kind) {
		switch {
		case id == 1 && kind == parquetformat.List:
			r.Structs(func(_, _ int) { g.chunk(r) })
		case id == 3 && kind == parquetformat.I64:
			g.rows = r.Int()
		default:
			r.Skip(kind)
		}
	})
	if r.Err == nil && g.rows < 0 {
		r.Fail("a row group without rows")
	}
	f.groups = append(f.groups, g)
}

// chunk reads a ColumnChunk.
func (g *group) chunk(r *parquetformat.Reader) {
	c := chunk{typ: math.MaxUint8, values: -1}
	r.Fields(func(id int16, kind parquetformat.Kind) {
		switch {
		case id == 1 && kind == parquetformat.Binary:
			r.Fail("a column in another file")
		case id == 3 && kind == parquetformat.Struct:
			c.metadata(r)
		default:
			r.Skip(kind)
		}
	})
	if r.Err == nil && (c.values < 0 || c.size < 0 || c.offset < 0) {
		r.Fail("a column without values, size or offset: encrypted files are not read")
	}
	g.chunks = append(g.chunks, c)
}

// metadata reads ColumnMetaData.
func (c *chunk) metadata(r *parquetformat.Reader) {
	dictionary := int64(0)
	r.Fields(func(id int16, kind parquetformat.Kind) {
		switch {
		case id == 1 && kind == parquetformat.I32:
			c.typ = Type(min(uint64(r.Int()), math.MaxUint8))
		case id == 4 && kind == parquetformat.I32:
			c.codec = r.Int()
		case id == 5 && kind == parquetformat.I64:
			c.values = r.Int()
		case id == 7 && kind == parquetformat.I64:
			c.size = r.Int()
		case id == 9 && kind == parquetformat.I64:
			c.offset = r.Int()
		case id == 11 && kind == parquetformat.I64:
			dictionary = r.Int()
		default:
			r.Skip(kind)
		}
	})
	if dictionary > 0 && dictionary < c.offset {
		c.offset = dictionary
	}
}

// pageHeader is the header of a page.
type pageHeader struct {
	typ        int64
	raw        int64 // bytes of the page, decompressed
	size       int64 // bytes that follow the header in the file
	crc        uint32
	checked    bool // there is a crc
	values     int64
	encoding   int64
	levels     int64 // encoding of the definition levels, version 1
	levelBytes int64 // bytes of the definition levels, version 2
	plain      bool  // version 2: the values are not compressed
}

// parsePageHeader reads a page header from the start of b; n is its length.
func parsePageHeader(b []byte) (h pageHeader, n int, err error) {
	h = pageHeader{typ: -1, raw: -1, size: -1, values: -1, levels: encRLE}
	r := &parquetformat.Reader{B: b}
	r.Fields(func(id int16, kind parquetformat.Kind) {
		switch {
		case id == 1 && kind == parquetformat.I32:
			h.typ = r.Int()
		case id == 2 && kind == parquetformat.I32:
			h.raw = r.Int()
		case id == 3 && kind == parquetformat.I32:
			h.size = r.Int()
		case id == 4 && kind == parquetformat.I32:
			h.crc, h.checked = uint32(r.Int()), true
		case (id == 5 || id == 7) && kind == parquetformat.Struct:
			h.counts(r)
		case id == 8 && kind == parquetformat.Struct:
			h.countsV2(r)
		default:
			r.Skip(kind)
		}
	})
	if r.Err == nil && (h.raw < 0 || h.size < 0 || h.raw > math.MaxInt32 || h.values < 0 && (h.typ == pageData || h.typ == pageDataV2)) {
		r.Fail("a page without a size or a count of values")
	}
	return h, r.At, r.Err
}

// counts reads the header of a data or dictionary page, which number their
// first fields alike.
func (h *pageHeader) counts(r *parquetformat.Reader) {
	r.Fields(func(id int16, kind parquetformat.Kind) {
		switch {
		case id == 1 && kind == parquetformat.I32:
			h.values = r.Int()
		case id == 2 && kind == parquetformat.I32:
			h.encoding = r.Int()
		case id == 3 && kind == parquetformat.I32:
			h.levels = r.Int()
		default:
			r.Skip(kind)
		}
	})
}

func (h *pageHeader) countsV2(r *parquetformat.Reader) {
	repetition := int64(0)
	r.Fields(func(id int16, kind parquetformat.Kind) {
		switch {
		case id == 1 && kind == parquetformat.I32:
			h.values = r.Int()
		case id == 4 && kind == parquetformat.I32:
			h.encoding = r.Int()
		case id == 5 && kind == parquetformat.I32:
			h.levelBytes = r.Int()
		case id == 6 && kind == parquetformat.I32:
			repetition = r.Int()
		case id == 7 && (kind == parquetformat.True || kind == parquetformat.False):
			h.plain = kind == parquetformat.False
		default:
			r.Skip(kind)
		}
	})
	if r.Err == nil && (repetition != 0 || h.levelBytes < 0) {
		r.Fail("a page with repetition levels in a column that is not repeated")
	}
}
