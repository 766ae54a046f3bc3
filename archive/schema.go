package archive

import (
	"reflect"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding"

	own "github.com/sfstat/sfstat/internal/parquet"
)

// newFile begins the file, whose columns are those of all windows so far.
// Durations are written as differences, as neighbouring rows are ranks in one
// step, or by dictionary where they repeat in the first row group.
func (a *Writer) newFile() *parquet.GenericWriter[any] {
	columns, names := stageColumns(a.meta.Stages)
	for i := firstStage; i < len(columns); i++ {
		columns[i].repeats = repeats(a.rows.ints[i-colWindow])
	}
	for _, channel := range a.meta.Channels {
		value, ready := channelColumns(names, channel)
		columns = append(columns, value, ready)
	}
	if a.meta.Epochs {
		columns = append(columns, epochsOf(names))
	}
	t := ordered{fields: make([]parquet.Field, len(columns))}
	options := []parquet.WriterOption{parquet.Compression(&zstd.Codec{}), parquet.CreatedBy("sfstat", "1", ""),
		parquet.DataPageStatistics(false)}
	for i, c := range columns {
		t.fields[i] = field{c.node(), c.name}
		if i < colWindow || i >= firstStage {
			options = append(options, parquet.SkipPageBounds(c.name))
		}
	}
	return parquet.NewGenericWriter[any](a.out, append(options, parquet.NewSchema("sfstat", t))...)
}

// repeats reports whether a dictionary of the values is small: at most a
// quarter of them are distinct, as with a coarse clock.
func repeats(values []int64) bool {
	const most = 1 << 15
	seen := make(map[int64]struct{})
	for _, v := range values {
		if seen[v] = struct{}{}; len(seen) > min(most, len(values)/4) {
			return false
		}
	}
	return true
}

func (c column) node() parquet.Node {
	var node parquet.Node
	var how encoding.Encoding
	switch c.typ {
	case own.TypeBytes:
		node, how = parquet.String(), &parquet.RLEDictionary
	case own.TypeDouble:
		node, how = parquet.Leaf(parquet.DoubleType), &parquet.ByteStreamSplit
	case own.TypeBoolean:
		node, how = parquet.Leaf(parquet.BooleanType), &parquet.Plain
	default:
		node, how = parquet.Leaf(parquet.Int64Type), &parquet.DeltaBinaryPacked
	}
	if c.repeats {
		how = &parquet.RLEDictionary
	}
	if c.nullable {
		node = parquet.Optional(node)
	}
	return parquet.Encoded(node, how)
}

// ordered is a table whose columns stand in the order of the fields; those of a
// parquet.Group stand by name.
type ordered struct {
	parquet.Group
	fields []parquet.Field
}

func (t ordered) Fields() []parquet.Field { return t.fields }

// GoType returns an empty struct: column writers do not ask for it, and not every name fits a struct.
func (t ordered) GoType() reflect.Type { return reflect.TypeFor[struct{}]() }

type field struct {
	parquet.Node
	name string
}

func (f field) Name() string                           { return f.name }
func (f field) Value(base reflect.Value) reflect.Value { return base }
