package parquet

import (
	"io"
	"math"
)

// Type is the physical type of a column, by its number in the format.
type Type uint8

// The types whose values are read here.
const (
	TypeBoolean Type = 0
	TypeInt32   Type = 1
	TypeInt64   Type = 2
	TypeFloat   Type = 4
	TypeDouble  Type = 5
	TypeBytes   Type = 6 // BYTE_ARRAY
)

var typeNames = [...]string{"BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"}

func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return "of an unknown type"
}

// Leaf is a column that has values.
type Leaf struct {
	Name string
	Type Type
	// Tick is the nanoseconds that 1 stands for in a column of timestamps, 0
	// in other columns.
	Tick     int64
	Nullable bool
	Decimal  bool
	Nested   bool // within a group, or repeated
}

// Chunk is the place of one column's values of one row group.
type Chunk struct {
	Type   Type
	Codec  int64
	Values int64
	Offset int64 // of its first page
	Size   int64 // bytes in the file, page headers included
}

// Group is one row group.
type Group struct {
	Rows   int64
	Chunks []Chunk // by leaf
}

// KeyValue is one entry of a file's key-value metadata.
type KeyValue struct{ Key, Value string }

// Metadata is what the footer of a file says. Its counts are not negative, and
// every row group has a chunk for every leaf; beyond that nothing is checked
// against anything.
type Metadata struct {
	Leaves []Leaf // at least one
	Rows   int64
	Groups []Group
	Meta   []KeyValue
}

// maxLeaves bounds the columns of a file.
const maxLeaves = 1 << 14

// readMetadata reads the footer of a file of size bytes. It refuses one of
// more than limit bytes.
func readMetadata(in io.ReaderAt, size, limit int64) (*Metadata, error) {
	b, err := footer(in, size, limit)
	if err != nil {
		return nil, err
	}
	return parseMetadata(b)
}

// parseMetadata reads FileMetaData. Whatever a list claims, no more is kept
// than the bytes can hold: an element that lacks what it must have ends the
// reading.
func parseMetadata(b []byte) (*Metadata, error) {
	m := &Metadata{Rows: -1}
	r := &thriftReader{B: b}
	r.Fields(func(id int16, kind thriftKind) {
		switch {
		case id == 2 && kind == thriftList:
			m.schema(r)
		case id == 3 && kind == thriftI64:
			m.Rows = r.Int()
		case id == 4 && kind == thriftList:
			r.Structs(func(_, _ int) { m.group(r) })
		case id == 5 && kind == thriftList:
			r.Structs(func(_, _ int) { m.keyValue(r) })
		default:
			r.Skip(kind)
		}
	})
	if r.Err == nil && (m.Rows < 0 || len(m.Leaves) == 0) {
		r.Fail("no columns, or no count of rows")
	}
	// Only when all is read: the order of the fields is the writer's, and a
	// field that comes twice adds to what the first gave.
	for _, g := range m.Groups {
		if r.Err == nil && len(g.Chunks) != len(m.Leaves) {
			r.Fail("a row group that has not the columns of the schema")
		}
	}
	return m, r.Err
}

// schema reads the tree of columns, which is written depth first, and keeps
// the leaves.
func (m *Metadata) schema(r *thriftReader) {
	first, within := true, int64(0) // elements that are still within a group
	r.Structs(func(_, _ int) {
		c, children := element(r)
		if first {
			first = false
			return
		}
		if within > 0 {
			within--
			c.Nested = true
		}
		if children > 0 {
			if within += children; within > maxLeaves {
				r.Fail("groups with too many columns")
			}
			return
		}
		if c.Name == "" || len(m.Leaves) == maxLeaves {
			r.Fail("a column without a name, or too many columns")
			return
		}
		m.Leaves = append(m.Leaves, c)
	})
}

// element reads a SchemaElement.
func element(r *thriftReader) (c Leaf, children int64) {
	c.Type = math.MaxUint8
	r.Fields(func(id int16, kind thriftKind) {
		switch {
		case id == 1 && kind == thriftI32:
			c.Type = typeOf(r.Int())
		case id == 3 && kind == thriftI32:
			repetition := r.Int()
			c.Nullable, c.Nested = repetition == 1, repetition > 1
		case id == 4 && kind == thriftBinary:
			c.Name = string(r.Text())
		case id == 5 && kind == thriftI32:
			children = r.Int()
		case id == 6 && kind == thriftI32:
			switch r.Int() { // converted type
			case 5:
				c.Decimal = true
			case 9:
				c.Tick = 1e6
			case 10:
				c.Tick = 1e3
			}
		case id == 10 && kind == thriftStruct:
			c.logicalType(r)
		default:
			r.Skip(kind)
		}
	})
	return c, children
}

// typeOf keeps a number beyond all types unknown.
func typeOf(number int64) Type { return Type(min(uint64(number), math.MaxUint8)) }

// logicalType reads a LogicalType: the union's field 5 is DECIMAL, 8 is
// TIMESTAMP, whose field 2 is the union of the units.
func (c *Leaf) logicalType(r *thriftReader) {
	r.Fields(func(id int16, kind thriftKind) {
		if id == 5 {
			c.Decimal = true
		}
		if id != 8 || kind != thriftStruct {
			r.Skip(kind)
			return
		}
		r.Fields(func(id int16, kind thriftKind) {
			if id != 2 || kind != thriftStruct {
				r.Skip(kind)
				return
			}
			r.Fields(func(unit int16, kind thriftKind) {
				c.Tick = map[int16]int64{1: 1e6, 2: 1e3, 3: 1}[unit]
				r.Skip(kind)
			})
		})
	})
}

func (m *Metadata) group(r *thriftReader) {
	g := Group{Rows: -1}
	r.Fields(func(id int16, kind thriftKind) {
		switch {
		case id == 1 && kind == thriftList:
			r.Structs(func(_, _ int) { g.chunk(r) })
		case id == 3 && kind == thriftI64:
			g.Rows = r.Int()
		default:
			r.Skip(kind)
		}
	})
	if r.Err == nil && g.Rows < 0 {
		r.Fail("a row group without rows")
	}
	m.Groups = append(m.Groups, g)
}

// chunk reads a ColumnChunk.
func (g *Group) chunk(r *thriftReader) {
	c := Chunk{Type: math.MaxUint8, Values: -1}
	r.Fields(func(id int16, kind thriftKind) {
		switch {
		case id == 1 && kind == thriftBinary:
			r.Fail("a column in another file")
		case id == 3 && kind == thriftStruct:
			c.metadata(r)
		default:
			r.Skip(kind)
		}
	})
	if r.Err == nil && (c.Values < 0 || c.Size < 0 || c.Offset < 0) {
		r.Fail("a column without values, size or offset: encrypted files are not read")
	}
	g.Chunks = append(g.Chunks, c)
}

// metadata reads ColumnMetaData.
func (c *Chunk) metadata(r *thriftReader) {
	dictionary := int64(0)
	r.Fields(func(id int16, kind thriftKind) {
		switch {
		case id == 1 && kind == thriftI32:
			c.Type = typeOf(r.Int())
		case id == 4 && kind == thriftI32:
			c.Codec = r.Int()
		case id == 5 && kind == thriftI64:
			c.Values = r.Int()
		case id == 7 && kind == thriftI64:
			c.Size = r.Int()
		case id == 9 && kind == thriftI64:
			c.Offset = r.Int()
		case id == 11 && kind == thriftI64:
			dictionary = r.Int()
		default:
			r.Skip(kind)
		}
	})
	if dictionary > 0 && dictionary < c.Offset {
		c.Offset = dictionary
	}
}

func (m *Metadata) keyValue(r *thriftReader) {
	var kv KeyValue
	r.Fields(func(id int16, kind thriftKind) {
		switch {
		case id == 1 && kind == thriftBinary:
			kv.Key = string(r.Text())
		case id == 2 && kind == thriftBinary:
			kv.Value = string(r.Text())
		default:
			r.Skip(kind)
		}
	})
	if r.Err == nil && kv.Key == "" {
		r.Fail("metadata without a key")
	}
	m.Meta = append(m.Meta, kv)
}

// width is the bytes of a number, 0 for other types.
func (t Type) width() int {
	switch t {
	case TypeInt32, TypeFloat:
		return 4
	case TypeInt64, TypeDouble:
		return 8
	}
	return 0
}
