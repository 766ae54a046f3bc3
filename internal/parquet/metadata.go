package parquet

import (
	"cmp"
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
	r.Struct(field{2, m.schema(r)}, field{3, &m.Rows}, field{4, elements(func() { m.group(r) })}, field{5, elements(func() { m.keyValue(r) })})
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
func (m *Metadata) schema(r *thriftReader) elements {
	first, within := true, int64(0) // elements that are still within a group
	return func() {
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
	}
}

// Numbers of the format: what values stand for, as older writers say it, and how often they repeat.
const (
	convertedDecimal = 5
	convertedMillis  = 9
	convertedMicros  = 10

	optional = 1
)

// element reads a SchemaElement. Of its LogicalType, field 5 is DECIMAL, and 8 TIMESTAMP, whose field 2 is the
// union of the units.
func element(r *thriftReader) (c Leaf, children int64) {
	typ, repetition, converted := int64(math.MaxUint8), int64(0), int64(0)
	tick := func(ns int64) func() { return func() { c.Tick = ns; r.Struct() } }
	unit := func() { r.Struct(field{1, tick(1e6)}, field{2, tick(1e3)}, field{3, tick(1)}) }
	logical := func() {
		r.Struct(field{5, func() { c.Decimal = true; r.Struct() }}, field{8, func() { r.Struct(field{2, unit}) }})
	}
	r.Struct(field{1, &typ}, field{3, &repetition}, field{4, &c.Name}, field{5, &children}, field{6, &converted}, field{10, logical})
	c.Type, c.Nullable, c.Nested = typeOf(typ), repetition == optional, repetition > optional
	switch converted {
	case convertedDecimal:
		c.Decimal = true
	case convertedMillis:
		c.Tick = cmp.Or(c.Tick, 1e6)
	case convertedMicros:
		c.Tick = cmp.Or(c.Tick, 1e3)
	}
	return c, children
}

// typeOf keeps a number beyond all types unknown.
func typeOf(number int64) Type { return Type(min(uint64(number), math.MaxUint8)) }

func (m *Metadata) group(r *thriftReader) {
	g := Group{Rows: -1}
	r.Struct(field{1, elements(func() { g.chunk(r) })}, field{3, &g.Rows})
	if r.Err == nil && g.Rows < 0 {
		r.Fail("a row group without rows")
	}
	m.Groups = append(m.Groups, g)
}

// chunk reads a ColumnChunk, and its ColumnMetaData.
func (g *Group) chunk(r *thriftReader) {
	c, elsewhere := Chunk{Values: -1}, ""
	typ, dictionary := int64(math.MaxUint8), int64(0)
	r.Struct(field{1, &elsewhere}, field{3, func() {
		r.Struct(field{1, &typ}, field{4, &c.Codec}, field{5, &c.Values}, field{7, &c.Size}, field{9, &c.Offset}, field{11, &dictionary})
	}})
	if c.Type = typeOf(typ); dictionary > 0 && dictionary < c.Offset {
		c.Offset = dictionary
	}
	switch {
	case r.Err != nil:
	case elsewhere != "":
		r.Fail("a column in another file")
	case c.Values < 0 || c.Size < 0 || c.Offset < 0:
		r.Fail("a column without values, size or offset: encrypted files are not read")
	}
	g.Chunks = append(g.Chunks, c)
}

func (m *Metadata) keyValue(r *thriftReader) {
	var kv KeyValue
	r.Struct(field{1, &kv.Key}, field{2, &kv.Value})
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
