package parquet

import "math"

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
	s := &scanner{b: b}
	s.fields(func(id int16, typ byte) {
		switch {
		case id == 2 && typ == tList:
			f.schema(s)
		case id == 3 && typ == tI64:
			f.rows = s.int()
		case id == 4 && typ == tList:
			s.each(func() { f.group(s) })
		default:
			s.skip(typ)
		}
	})
	if s.err == nil && (f.rows < 0 || len(f.columns) == 0) {
		s.fail("no columns, or no count of rows")
	}
	return f, s.err
}

// schema reads the tree of columns, which is written depth first, and keeps
// the leaves.
func (f *footer) schema(s *scanner) {
	first, within := true, int64(0) // elements that are still within a group
	s.each(func() {
		c, children := element(s)
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
				s.fail("groups with too many columns")
			}
			return
		}
		if c.Name == "" || len(f.columns) == maxColumns {
			s.fail("a column without a name, or too many columns")
		}
		f.columns = append(f.columns, c)
	})
}

// element reads a SchemaElement.
func element(s *scanner) (c Column, children int64) {
	c.Type = math.MaxUint8
	s.fields(func(id int16, typ byte) {
		switch {
		case id == 1 && typ == tI32:
			c.Type = Type(min(uint64(s.int()), math.MaxUint8))
		case id == 3 && typ == tI32:
			repetition := s.int()
			c.nullable, c.nested = repetition == 1, repetition > 1
		case id == 4 && typ == tBinary:
			c.Name = string(s.text())
		case id == 5 && typ == tI32:
			children = s.int()
		case id == 6 && typ == tI32:
			switch s.int() { // converted type
			case 5:
				c.decimal = true
			case 9:
				c.Tick = 1e6
			case 10:
				c.Tick = 1e3
			}
		case id == 10 && typ == tStruct:
			logicalType(s, &c)
		default:
			s.skip(typ)
		}
	})
	return c, children
}

// logicalType reads a LogicalType: the union's field 5 is DECIMAL, 8 is
// TIMESTAMP, whose field 2 is the union of the units.
func logicalType(s *scanner, c *Column) {
	s.fields(func(id int16, typ byte) {
		if id == 5 {
			c.decimal = true
		}
		if id != 8 || typ != tStruct {
			s.skip(typ)
			return
		}
		s.fields(func(id int16, typ byte) {
			if id != 2 || typ != tStruct {
				s.skip(typ)
				return
			}
			s.fields(func(unit int16, typ byte) {
				c.Tick = map[int16]int64{1: 1e6, 2: 1e3, 3: 1}[unit]
				s.skip(typ)
			})
		})
	})
}

func (f *footer) group(s *scanner) {
	g := group{rows: -1}
	s.fields(func(id int16, typ byte) {
		switch {
		case id == 1 && typ == tList:
			s.each(func() { g.chunk(s) })
		case id == 3 && typ == tI64:
			g.rows = s.int()
		default:
			s.skip(typ)
		}
	})
	if s.err == nil && (g.rows < 0 || len(g.chunks) != len(f.columns)) {
		s.fail("a row group without rows, or with other columns than the schema")
	}
	f.groups = append(f.groups, g)
}

// chunk reads a ColumnChunk.
func (g *group) chunk(s *scanner) {
	c := chunk{typ: math.MaxUint8, values: -1}
	s.fields(func(id int16, typ byte) {
		switch {
		case id == 1 && typ == tBinary:
			s.fail("a column in another file")
		case id == 3 && typ == tStruct:
			c.metadata(s)
		default:
			s.skip(typ)
		}
	})
	if s.err == nil && (c.values < 0 || c.size < 0 || c.offset < 0) {
		s.fail("a column without values, size or offset: encrypted files are not read")
	}
	g.chunks = append(g.chunks, c)
}

// metadata reads ColumnMetaData.
func (c *chunk) metadata(s *scanner) {
	dictionary := int64(0)
	s.fields(func(id int16, typ byte) {
		switch {
		case id == 1 && typ == tI32:
			c.typ = Type(min(uint64(s.int()), math.MaxUint8))
		case id == 4 && typ == tI32:
			c.codec = s.int()
		case id == 5 && typ == tI64:
			c.values = s.int()
		case id == 7 && typ == tI64:
			c.size = s.int()
		case id == 9 && typ == tI64:
			c.offset = s.int()
		case id == 11 && typ == tI64:
			dictionary = s.int()
		default:
			s.skip(typ)
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
	s := &scanner{b: b}
	s.fields(func(id int16, typ byte) {
		switch {
		case id == 1 && typ == tI32:
			h.typ = s.int()
		case id == 2 && typ == tI32:
			h.raw = s.int()
		case id == 3 && typ == tI32:
			h.size = s.int()
		case id == 4 && typ == tI32:
			h.crc, h.checked = uint32(s.int()), true
		case (id == 5 || id == 7) && typ == tStruct:
			h.counts(s)
		case id == 8 && typ == tStruct:
			h.countsV2(s)
		default:
			s.skip(typ)
		}
	})
	if s.err == nil && (h.raw < 0 || h.size < 0 || h.raw > math.MaxInt32 || h.values < 0 && (h.typ == pageData || h.typ == pageDataV2)) {
		s.fail("a page without a size or a count of values")
	}
	return h, s.at, s.err
}

// counts reads the header of a data or dictionary page, which number their
// first fields alike.
func (h *pageHeader) counts(s *scanner) {
	s.fields(func(id int16, typ byte) {
		switch {
		case id == 1 && typ == tI32:
			h.values = s.int()
		case id == 2 && typ == tI32:
			h.encoding = s.int()
		case id == 3 && typ == tI32:
			h.levels = s.int()
		default:
			s.skip(typ)
		}
	})
}

func (h *pageHeader) countsV2(s *scanner) {
	repetition := int64(0)
	s.fields(func(id int16, typ byte) {
		switch {
		case id == 1 && typ == tI32:
			h.values = s.int()
		case id == 4 && typ == tI32:
			h.encoding = s.int()
		case id == 5 && typ == tI32:
			h.levelBytes = s.int()
		case id == 6 && typ == tI32:
			repetition = s.int()
		case id == 7 && (typ == tTrue || typ == tFalse):
			h.plain = typ == tFalse
		default:
			s.skip(typ)
		}
	})
	if s.err == nil && (repetition != 0 || h.levelBytes < 0) {
		s.fail("a page with repetition levels in a column that is not repeated")
	}
}
