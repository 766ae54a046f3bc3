// Package parquet writes flat tables as Parquet files (Apache parquet-format
// 2.11): required columns of integers and strings, zstd, repeated values by
// dictionary. It is a writer for tables that this program makes; there is no
// reader.
package parquet

import (
	"encoding/binary"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Column is one column of a table. Exactly one of its slices is set, and has
// the table's rows.
type Column struct {
	Name  string
	Int32 []int32 // by dictionary
	Int64 []int64 // plain
	// Text and Of are strings by position.
	Text []string
	Of   []int32
}

func (c *Column) rows() int { return max(len(c.Int32), len(c.Int64), len(c.Of)) }

// Sizes of what a reader holds at once.
const (
	groupRows = 1 << 20
	pageRows  = 1 << 16
)

// Write writes a table. Columns of different lengths are a mistake of the
// caller.
func Write(w io.Writer, columns []Column) error {
	rows := columns[0].rows()
	for i := range columns {
		if columns[i].rows() != rows {
			panic("parquet: columns of different lengths")
		}
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return err
	}
	defer enc.Close()
	f := &file{w: w, zstd: enc}
	f.put([]byte(magic))
	for from := 0; from < rows; from += groupRows {
		to := min(from+groupRows, rows)
		g := group{rows: to - from}
		for i := range columns {
			g.chunks = append(g.chunks, f.chunk(&columns[i], from, to))
		}
		f.groups = append(f.groups, g)
	}
	f.footer(columns, rows)
	return f.err
}

const magic = "PAR1"

// file is what has been written so far. The first error of the output ends it.
type file struct {
	w      io.Writer
	at     int64
	err    error
	zstd   *zstd.Encoder
	groups []group
	page   []byte
	packed []byte
}

type group struct {
	rows   int
	chunks []chunk
}

// chunk is the place of a column's part of a group.
type chunk struct {
	dictionary, data int64 // offsets; dictionary is 0 when there is none
	raw, size        int64
}

func (f *file) put(b []byte) {
	if f.err == nil {
		var n int
		n, f.err = f.w.Write(b)
		f.at += int64(n)
	}
}

// Page types and encodings of the format.
const (
	dataPage       = 0
	dictionaryPage = 2

	plain         = 0
	levels        = 3 // RLE
	rleDictionary = 8
)

// chunk writes rows from … to−1 of a column.
func (f *file) chunk(c *Column, from, to int) chunk {
	var k chunk
	if c.Int64 != nil {
		k.data = f.at
		for at := from; at < to; at += pageRows {
			values := c.Int64[at:min(at+pageRows, to)]
			f.page = f.page[:0]
			for _, v := range values {
				f.page = binary.LittleEndian.AppendUint64(f.page, uint64(v))
			}
			f.writePage(&k, dataPage, plain, len(values))
		}
		return k
	}
	column := c.Of
	if c.Int32 != nil {
		column = c.Int32
	}
	index, distinct := indices(column[from:to])
	f.page = f.page[:0]
	for _, v := range distinct {
		if c.Int32 != nil {
			f.page = binary.LittleEndian.AppendUint32(f.page, uint32(v))
		} else {
			f.page = binary.LittleEndian.AppendUint32(f.page, uint32(len(c.Text[v])))
			f.page = append(f.page, c.Text[v]...)
		}
	}
	k.dictionary = f.at
	f.writePage(&k, dictionaryPage, plain, len(distinct))
	k.data = f.at
	width := 0
	for 1<<width < len(distinct) {
		width++
	}
	for at := 0; at < len(index); at += pageRows {
		values := index[at:min(at+pageRows, len(index))]
		f.page = appendIndices(f.page[:0], values, width)
		f.writePage(&k, dataPage, rleDictionary, len(values))
	}
	return k
}

// indices are the positions of values in the list of distinct ones.
func indices(values []int32) (index, distinct []int32) {
	index = make([]int32, len(values))
	at := make(map[int32]int32)
	last, lastAt := int32(0), int32(-1)
	for i, v := range values {
		if lastAt < 0 || v != last {
			k, ok := at[v]
			if !ok {
				k = int32(len(distinct))
				at[v] = k
				distinct = append(distinct, v)
			}
			last, lastAt = v, k
		}
		index[i] = lastAt
	}
	return index, distinct
}

// appendIndices appends one run of the hybrid encoding: bit-packed, or, where
// there is nothing to tell apart, repeated.
func appendIndices(b []byte, values []int32, width int) []byte {
	b = append(b, byte(width))
	if width == 0 {
		return binary.AppendUvarint(b, uint64(len(values))<<1)
	}
	groups := (len(values) + 7) / 8
	b = binary.AppendUvarint(b, uint64(groups)<<1|1)
	var bits uint64
	n := 0
	for i := range groups * 8 {
		if i < len(values) {
			bits |= uint64(values[i]) << n
		}
		for n += width; n >= 8; n -= 8 {
			b = append(b, byte(bits))
			bits >>= 8
		}
	}
	return b
}

// writePage compresses and writes f.page.
func (f *file) writePage(k *chunk, typ, encoding int32, values int) {
	f.packed = f.zstd.EncodeAll(f.page, f.packed[:0])
	var h thrift
	h.i32(1, typ)
	h.i32(2, int32(len(f.page)))
	h.i32(3, int32(len(f.packed)))
	if typ == dictionaryPage {
		h.object(7, func() {
			h.i32(1, int32(values))
			h.i32(2, encoding)
		})
	} else {
		h.object(5, func() {
			h.i32(1, int32(values))
			h.i32(2, encoding)
			h.i32(3, levels)
			h.i32(4, levels)
		})
	}
	header := append(h.b, 0)
	f.put(header)
	f.put(f.packed)
	k.raw += int64(len(header) + len(f.page))
	k.size += int64(len(header) + len(f.packed))
}
