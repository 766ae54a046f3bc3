package flat

import "math"

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
