package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sfstat/sfstat/trace/input"
)

// Magic is how a Parquet file begins and ends.
const Magic = "PAR1"

// ErrNotParquet is in the error of Open when the input is no Parquet file.
var ErrNotParquet = errors.New("not a Parquet file")

// footer reads the bytes of the footer of a file of size bytes. It refuses a
// footer of more than limit bytes.
func footer(in io.ReaderAt, size, limit int64) ([]byte, error) {
	var head, tail [8]byte
	if n, err := in.ReadAt(head[:4], 0); n < 4 && err != nil && err != io.EOF {
		return nil, err
	}
	if string(head[:4]) != Magic {
		return nil, input.Bad(ErrNotParquet, "begins with %q, expected %q", head[:max(0, min(size, 4))], Magic)
	}
	if size < 12 {
		return nil, input.Bad(input.ErrTruncated, "only %d bytes: writing or copying it was cut off, get it again", size)
	}
	if n, err := in.ReadAt(tail[:], size-8); n < 8 {
		return nil, input.Bad(input.ErrTruncated, "reading the last bytes: %v", err)
	}
	if string(tail[4:]) != Magic {
		return nil, input.Bad(input.ErrTruncated, "begins as a Parquet file but does not end as one: writing or copying it was cut off, get it again")
	}
	n := int64(binary.LittleEndian.Uint32(tail[:4]))
	if n > size-12 || n > limit {
		return nil, input.Bad(input.ErrTooLarge, "a footer of %d bytes in a file of %d, at most %d are read", n, size, limit)
	}
	b := make([]byte, n)
	if m, err := in.ReadAt(b, size-8-n); int64(m) < n {
		return nil, input.Bad(input.ErrTruncated, "reading the footer: %v", err)
	}
	return b, nil
}

// Type is the physical type of a column.
type Type = format.Type

// The types whose values are read here.
const (
	TypeBoolean = format.Boolean
	TypeInt32   = format.Int32
	TypeInt64   = format.Int64
	TypeFloat   = format.Float
	TypeDouble  = format.Double
	TypeBytes   = format.ByteArray
)

// width returns how many bytes a number takes, 0 for other types.
func width(t Type) int {
	switch t {
	case TypeInt32, TypeFloat:
		return 4
	case TypeInt64, TypeDouble:
		return 8
	}
	return 0
}

// Leaf is a column that has values.
type Leaf struct {
	Name string
	Type Type
	// Tick is the nanoseconds that 1 stands for in a column of timestamps, 0
	// in other columns.
	Tick     int64
	Unsigned bool // integers of 64 bits
	Nullable bool
	Decimal  bool
	Nested   bool // within a group, or repeated
}

// metadata is what of the footer (FileMetaData) is read, by the format's numbers
// of its fields. Its counts are not negative, and every row group has a chunk
// for every leaf; beyond that nothing is checked against anything.
type metadata struct {
	Schema []format.SchemaElement `thrift:"2,required"`
	Rows   int64                  `thrift:"3,required"`
	Groups []group                `thrift:"4,required"`
	Meta   []format.KeyValue      `thrift:"5,optional"`

	leaves []Leaf // at least one
}

// group is one row group.
type group struct {
	Chunks []chunk `thrift:"1,required"` // by leaf
	Rows   int64   `thrift:"3,required"`
}

// chunk is the place of one column's values of one row group.
type chunk struct {
	File string `thrift:"1,optional"`
	Meta struct {
		Type       Type                    `thrift:"1,required"`
		Codec      format.CompressionCodec `thrift:"4,required"`
		Values     int64                   `thrift:"5,required"`
		Size       int64                   `thrift:"7,required"` // bytes in the file, page headers included
		Offset     int64                   `thrift:"9,required"` // of its first page of data
		Dictionary int64                   `thrift:"11,optional"`
	} `thrift:"3,required"`
}

// offset returns where the first page begins.
func (c *chunk) offset() int64 {
	if d := c.Meta.Dictionary; d > 0 && d < c.Meta.Offset {
		return d
	}
	return c.Meta.Offset
}

// maxLeaves bounds the columns of a file.
const maxLeaves = 1 << 14

// parseMetadata reads a footer.
func parseMetadata(b []byte) (*metadata, error) {
	m := new(metadata)
	if _, err := parse(b, m); err != nil {
		return nil, err
	}
	if err := m.findLeaves(); err != nil {
		return nil, err
	}
	what := ""
	if m.Rows < 0 || len(m.leaves) == 0 {
		what = "no columns, or no count of rows"
	}
	for _, g := range m.Groups {
		if g.Rows < 0 || len(g.Chunks) != len(m.leaves) {
			what = "a row group that has not the columns of the schema, or no rows"
		}
		for _, c := range g.Chunks {
			switch {
			case c.File != "":
				what = "a column in another file"
			case c.Meta.Values < 0 || c.Meta.Size < 0 || c.offset() < 0:
				what = "a column without values, size or offset: encrypted files are not read"
			}
		}
	}
	if what != "" {
		return nil, input.Bad(input.ErrFormat, "the footer has %s", what)
	}
	return m, nil
}

// findLeaves goes through the tree of columns, which is written depth first.
func (m *metadata) findLeaves() error {
	within := int64(0) // elements that are still within a group
	for i, e := range m.Schema {
		if i == 0 {
			continue
		}
		nested := within > 0
		if nested {
			within--
		}
		if n := int64(e.NumChildren.V); n > 0 {
			within += n
			continue
		}
		if e.Name == "" || len(m.leaves) == maxLeaves {
			return input.Bad(input.ErrFormat, "the footer has a column without a name, or too many columns")
		}
		leaf := Leaf{Name: e.Name, Type: -1, Nullable: e.RepetitionType.V == format.Optional, Nested: nested || e.RepetitionType.V > format.Optional}
		if e.Type.Valid {
			leaf.Type = e.Type.V
		}
		leaf.Decimal, leaf.Tick = meaning(e)
		leaf.Unsigned = leaf.Type == TypeInt64 && isUnsigned(e)
		m.leaves = append(m.leaves, leaf)
	}
	return nil
}

// meaning returns what the integers of a column stand for, which older writers say in another field.
func meaning(e format.SchemaElement) (decimal bool, tick int64) {
	switch logical := e.LogicalType.Value.(type) {
	case *format.DecimalType:
		return true, 0
	case *format.TimestampType:
		if logical.Unit.Value != nil {
			return false, int64(logical.Unit.Value.Duration())
		}
	}
	if e.ConvertedType.Valid {
		switch e.ConvertedType.V {
		case deprecated.Decimal:
			return true, 0
		case deprecated.TimestampMillis:
			return false, 1e6
		case deprecated.TimestampMicros:
			return false, 1e3
		}
	}
	return false, 0
}

// isUnsigned reports whether the integers of a column have no sign.
func isUnsigned(e format.SchemaElement) bool {
	if is, ok := e.LogicalType.Value.(*format.IntType); ok {
		return !is.IsSigned
	}
	return e.ConvertedType.Valid && e.ConvertedType.V == deprecated.Uint64
}

// maxDepth of nested values; Parquet's own are at most 6 deep.
const maxDepth = 16

var protocol thrift.CompactProtocol

// parse decodes the struct at the beginning of b and gives its length. The
// library makes room for what a list claims and follows nested values on the
// stack, so both are checked before.
func parse(b []byte, to any) (n int, err error) {
	r := protocol.NewReaderFromBytes(b)
	if err = pass(r, thrift.STRUCT, len(b), 0); err == nil {
		err = thrift.NewDecoder(protocol.NewReaderFromBytes(b)).Decode(to)
	}
	switch {
	case err == nil:
		return r.BytesRead(), nil
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return 0, input.Bad(input.ErrTruncated, "a header ends at byte %d", len(b))
	}
	return 0, input.Bad(input.ErrFormat, "byte %d of a header: %v", r.BytesRead(), err)
}

// leastElement is the fewest bytes of a struct in a list of Parquet's, leastChunk those of a column of a row group,
// which says its type, codec, sizes and place.
const leastElement, leastChunk = 3, 16

// pass reads over a value, in a struct of so many bytes.
func pass(r thrift.Reader, kind thrift.Type, size, depth int) (err error) {
	if depth > maxDepth {
		return errors.New("values nested too deep")
	}
	switch kind {
	case thrift.TRUE, thrift.FALSE: // a field that says it by its type
	case thrift.I8:
		_, err = r.ReadInt8()
	case thrift.I16:
		_, err = r.ReadInt16()
	case thrift.I32:
		_, err = r.ReadInt32()
	case thrift.I64:
		_, err = r.ReadInt64()
	case thrift.DOUBLE:
		_, err = r.ReadFloat64()
	case thrift.BINARY:
		_, err = r.ReadBytes()
	case thrift.STRUCT:
		for id := int16(0); ; {
			f, err := r.ReadField()
			if err != nil || f.Type == thrift.STOP {
				return err
			}
			if f.Delta { // to the field before
				f.ID += id
			}
			id = f.ID
			if f.Type == thrift.LIST {
				err = passList(r, id, size, depth+1)
			} else {
				err = pass(r, f.Type, size, depth+1)
			}
			if err != nil {
				return err
			}
		}
	case thrift.LIST: // in a list, of which Parquet has none
		return passList(r, 0, size, depth+1)
	default:
		err = errors.New("a value of a type that Parquet has not")
	}
	return err
}

// passList reads over the list that is a field of a struct. Few bytes of a header may stand for a large struct in memory: lists
// of those are held to what they can be.
func passList(r thrift.Reader, field int16, size, depth int) error {
	l, err := r.ReadList()
	if err != nil {
		return err
	}
	least, schema, columns := 1, depth == 1 && field == 2, depth == 2 && field == 1
	switch {
	case schema && l.Size > 2*maxLeaves:
		return fmt.Errorf("%d columns and groups of them, at most %d are read", l.Size, 2*maxLeaves)
	case l.Type == thrift.STRUCT && columns:
		least = leastChunk
	case l.Type == thrift.STRUCT:
		least = leastElement
	case l.Type == thrift.TRUE, l.Type == thrift.FALSE: // which take a byte in a list
		l.Type = thrift.I8
	}
	if int(l.Size) > (size-r.BytesRead())/least {
		return errors.New("a list that is longer than the header")
	}
	for range l.Size {
		if err := pass(r, l.Type, size, depth); err != nil {
			return err
		}
	}
	return nil
}
