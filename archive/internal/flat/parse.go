package flat

import (
	"math"

	"github.com/sfstat/sfstat/internal/parquetformat"
)

// parseFooter reads FileMetaData. Whatever a list claims, no more is kept than
// the bytes of the footer can hold: an element that lacks what it must have
// ends the reading.
func parseFooter(b []byte) (*footer, error) {
	f := &footer{rows: -1}
	r := &parquetformat.Reader{B: b}
	r.Fields(func(id int16, kind parquetformat.Kind) {
		switch {
		case id == 2 && kind == parquetformat.List:
			f.parseSchema(r)
		case id == 3 && kind == parquetformat.I64:
			f.rows = r.Int()
		case id == 4 && kind == parquetformat.List:
			f.parseGroups(r)
		case id == 5 && kind == parquetformat.List:
			f.parseMeta(r)
		default:
			r.Skip(kind)
		}
	})
	if r.Err == nil && (f.rows < 0 || f.columns == nil) {
		r.Fail("no schema, or no count of rows")
	}
	// Only when all is read: the order of the fields is the writer's, and a
	// field that comes twice adds to what the first gave.
	for _, g := range f.groups {
		if r.Err == nil && !f.nested && len(g.chunks) != len(f.columns) {
			r.Fail("a row group that has not the columns of the schema")
		}
	}
	return f, r.Err
}

func (f *footer) parseSchema(r *parquetformat.Reader) {
	r.Structs(func(i, n int) {
		if n < 2 || n > MaxColumns+1 {
			r.Fail("a schema without columns, or with too many")
			return
		}
		c, children := Column{Kind: math.MaxUint8}, int64(0)
		r.Fields(func(id int16, kind parquetformat.Kind) {
			switch {
			case id == 1 && kind == parquetformat.I32:
				c.Kind = Kind(r.Int())
			case id == 3 && kind == parquetformat.I32:
				repetition := r.Int()
				c.Nullable = repetition == 1
				f.nested = f.nested || i > 0 && repetition > 1
			case id == 4 && kind == parquetformat.Binary:
				c.Name = string(r.Text())
			case id == 5 && kind == parquetformat.I32:
				children = r.Int()
			default:
				r.Skip(kind)
			}
		})
		if r.Err != nil {
			return
		}
		if i == 0 {
			f.nested = f.nested || children != int64(n-1)
			return
		}
		f.nested = f.nested || children != 0
		if c.Name == "" {
			r.Fail("a column without a name")
			return
		}
		f.columns = append(f.columns, c)
	})
}

func (f *footer) parseGroups(r *parquetformat.Reader) {
	r.Structs(func(_, _ int) {
		g := group{rows: -1}
		r.Fields(func(id int16, kind parquetformat.Kind) {
			switch {
			case id == 1 && kind == parquetformat.List:
				f.parseChunks(r, &g)
			case id == 3 && kind == parquetformat.I64:
				g.rows = r.Int()
			default:
				r.Skip(kind)
			}
		})
		if r.Err == nil && (g.rows < 0 || g.chunks == nil) {
			r.Fail("a row group without rows or columns")
		}
		f.groups = append(f.groups, g)
	})
}

func (f *footer) parseChunks(r *parquetformat.Reader, g *group) {
	r.Structs(func(_, _ int) {
		c := chunk{values: -1}
		r.Fields(func(id int16, kind parquetformat.Kind) {
			switch {
			case id == 1 && kind == parquetformat.Binary:
				r.Fail("a column in another file")
			case id == 3 && kind == parquetformat.Struct:
				c.parse(r)
			default:
				r.Skip(kind)
			}
		})
		if r.Err == nil && (c.values < 0 || c.size <= 0 || c.offset <= 0) {
			r.Fail("a column chunk without values, size or offset")
		}
		g.chunks = append(g.chunks, c)
	})
}

func (c *chunk) parse(r *parquetformat.Reader) {
	dictionary := int64(0)
	r.Fields(func(id int16, kind parquetformat.Kind) {
		switch {
		case id == 1 && kind == parquetformat.I32:
			c.kind = Kind(r.Int())
		case id == 4 && kind == parquetformat.I32:
			c.codec = int32(r.Int())
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

func (f *footer) parseMeta(r *parquetformat.Reader) {
	r.Structs(func(_, _ int) {
		var kv KeyValue
		r.Fields(func(id int16, kind parquetformat.Kind) {
			switch {
			case id == 1 && kind == parquetformat.Binary:
				kv.Key = string(r.Text())
			case id == 2 && kind == parquetformat.Binary:
				kv.Value = string(r.Text())
			default:
				r.Skip(kind)
			}
		})
		if r.Err == nil && kv.Key == "" {
			r.Fail("metadata without a key")
		}
		f.meta = append(f.meta, kv)
	})
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
			h.parseCounts(r)
		default:
			r.Skip(kind)
		}
	})
	if r.Err == nil && (h.raw < 0 || h.size < 0 || h.typ == pageData && h.values < 0) {
		r.Fail("a page without a size or a count of values")
	}
	return h, r.At, r.Err
}

// parseCounts reads the header of a data or dictionary page, which number
// their first fields alike.
func (h *pageHeader) parseCounts(r *parquetformat.Reader) {
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
