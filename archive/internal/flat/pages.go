package flat

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/bits"
	"slices"

	"github.com/sfstat/sfstat/internal/parquetformat"
)

// encoder turns the values of a column into the pages of a chunk.
type encoder struct {
	use        Encodings
	zstd       *compressor
	out, alt   []byte // pages of a chunk, by value and by dictionary
	raw, delta []byte // one page, encoded
	packed     []byte // one page, compressed
	words      []uint64
	levels     []uint32
}

func newEncoder(use Encodings) (*encoder, error) {
	z, err := newCompressor()
	return &encoder{use: use, zstd: z}, err
}

// chunk is the pages of n rows of a column, valid until the next call. Integers
// that repeat, as the ticks of a coarse clock do, are tried by dictionary too;
// what is smaller stays.
func (e *encoder) chunk(c Column, n int, d Data) (chunk, []byte) {
	k, b := e.pages(e.out[:0], n, c, d)
	e.out = b
	if c.Kind != Int64 {
		return k, b
	}
	dict, index := distinct(d.Ints)
	if dict == nil {
		return k, b
	}
	k2, b2 := e.pages(e.alt[:0], n, c, Data{Present: d.Present, Ints: dict, Index: index})
	if e.alt = b2; len(b2) < len(b) {
		return k2, b2
	}
	return k, b
}

// pages appends the pages of a chunk to b.
func (e *encoder) pages(b []byte, n int, c Column, d Data) (chunk, []byte) {
	k := chunk{kind: c.Kind, codec: parquetformat.CodecZstd, values: int64(n)}
	if d.Index != nil {
		b = e.dictionary(b, &k, d)
		k.dictSize = int64(len(b))
	}
	for from, at := 0, 0; from < n; {
		to := min(from+PageRows, n)
		count := to - from
		e.raw = e.raw[:0]
		if c.Nullable {
			count = e.putLevels(d.Present, from, to)
		}
		h := parquetformat.PageHeader{Kind: parquetformat.PageData, Values: int64(to - from)}
		e.values(&h, c.Kind, d, at, at+count)
		b = e.put(b, &k, h)
		k.nulls += int64(to - from - count)
		from, at = to, at+count
	}
	k.size = int64(len(b))
	return k, b
}

// put appends the page in e.packed under its header.
func (e *encoder) put(b []byte, k *chunk, h parquetformat.PageHeader) []byte {
	h.Size, h.CRC = int64(len(e.packed)), crc32.ChecksumIEEE(e.packed)
	at := len(b)
	b = appendHeader(b, &h)
	k.rawSize += int64(len(b)-at) + h.Raw
	k.encodings |= 1<<h.Encoding | 1<<parquetformat.EncRLE
	return append(b, e.packed...)
}

func (e *encoder) dictionary(b []byte, k *chunk, d Data) []byte {
	e.raw = e.raw[:0]
	for _, s := range d.Strings {
		e.raw = append(binary.LittleEndian.AppendUint32(e.raw, uint32(len(s))), s...)
	}
	entries := len(d.Strings)
	if d.Strings == nil {
		entries = len(d.Ints)
		for _, v := range d.Ints {
			e.raw = binary.LittleEndian.AppendUint64(e.raw, uint64(v))
		}
	}
	e.packed = e.zstd.whole(e.packed[:0], e.raw)
	return e.put(b, k, parquetformat.PageHeader{Kind: parquetformat.PageDictionary, Raw: int64(len(e.raw)), Values: int64(entries), Encoding: parquetformat.EncPlain})
}

// putLevels appends the definition levels of rows from … to to the page and
// counts the values that are present.
func (e *encoder) putLevels(present []bool, from, to int) (count int) {
	e.levels = e.levels[:0]
	for i := from; i < to; i++ {
		level := uint32(1)
		if present != nil && !present[i] {
			level = 0
		}
		e.levels = append(e.levels, level)
		count += int(level)
	}
	e.raw = appendHybrid(append(e.raw, 0, 0, 0, 0), e.levels, 1)
	binary.LittleEndian.PutUint32(e.raw, uint32(len(e.raw)-4))
	return count
}

// values completes the page in e.raw with values i … j of the column, in the
// encoding that compresses best, and compresses it into e.packed.
func (e *encoder) values(h *parquetformat.PageHeader, kind Kind, d Data, i, j int) {
	head := len(e.raw)
	switch {
	case i == j:
		h.Encoding = parquetformat.EncPlain
	case d.Index != nil:
		width := max(1, bits.Len(uint(max(len(d.Strings), len(d.Ints))-1)))
		e.raw = appendHybrid(append(e.raw, byte(width)), d.Index[i:j], width)
		h.Encoding = parquetformat.EncRLEDictionary
	case kind == Bool:
		e.raw = appendBools(e.raw, d.Bools[i:j])
		h.Encoding = parquetformat.EncPlain
	default:
		e.numbers(h, head, d, i, j)
		return
	}
	h.Raw = int64(len(e.raw))
	e.packed = e.zstd.whole(e.packed[:0], e.raw)
}

// numbers is values for columns of eight bytes a value: by byte planes, or,
// for integers that are like their neighbours, by differences.
func (e *encoder) numbers(h *parquetformat.PageHeader, head int, d Data, i, j int) {
	if d.Doubles == nil {
		e.delta = appendDelta(append(e.delta[:0], e.raw[:head]...), d.Ints[i:j])
		if e.use == Portable {
			e.packed = e.zstd.whole(e.packed[:0], e.delta)
			h.Encoding, h.Raw = parquetformat.EncDelta, int64(len(e.delta))
			return
		}
	}
	e.words = e.words[:0]
	if d.Doubles != nil {
		for _, v := range d.Doubles[i:j] {
			e.words = append(e.words, math.Float64bits(v))
		}
	} else {
		for _, v := range d.Ints[i:j] {
			e.words = append(e.words, uint64(v))
		}
	}
	e.raw = appendPlanes(e.raw, e.words)
	e.packed = e.zstd.planes(e.packed[:0], e.raw, j-i)
	h.Encoding, h.Raw = parquetformat.EncByteStreamSplit, int64(len(e.raw))
	n := len(e.packed)
	if d.Doubles != nil || len(e.delta) > max(n+1024, j-i) {
		return // no differences, or too many and too noisy to be compressed
	}
	e.packed = e.zstd.whole(e.packed, e.delta)
	if len(e.packed) < 2*n {
		e.packed = append(e.packed[:0], e.packed[n:]...)
		h.Encoding, h.Raw = parquetformat.EncDelta, int64(len(e.delta))
	} else {
		e.packed = e.packed[:n]
	}
}

// What a dictionary of integers may cost: sampled values of which more than
// half are distinct will not repeat enough, and more entries than maxDict are
// not worth their table.
const (
	dictSample = 1 << 10
	maxDict    = 1 << 15
)

// distinct is the sorted dictionary of v and the index of each value; nil when
// v hardly repeats.
func distinct(v []int64) (dict []int64, index []uint32) {
	sample := slices.Clone(v[:min(len(v), dictSample)])
	slices.Sort(sample)
	if len(v) < 64 || 2*len(slices.Compact(sample)) > dictSample {
		return nil, nil
	}
	limit := min(maxDict, len(v)/4)
	seen := make(map[int64]uint32)
	for _, x := range v {
		seen[x] = 0
		if len(seen) > limit {
			return nil, nil
		}
	}
	for x := range seen {
		dict = append(dict, x)
	}
	slices.Sort(dict)
	for i, x := range dict {
		seen[x] = uint32(i)
	}
	index = make([]uint32, len(v))
	for i, x := range v {
		index[i] = seen[x]
	}
	return dict, index
}
