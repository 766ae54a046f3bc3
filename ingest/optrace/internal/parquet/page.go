package parquet

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"

	"github.com/sfstat/sfstat/internal/parquetformat"
	"github.com/sfstat/sfstat/trace"
)

// page decodes one page: a dictionary, or at most rows values.
func (r *columnReader) page(h parquetformat.PageHeader, body []byte, rows int) error {
	switch {
	case h.Kind == parquetformat.PageDictionary && !r.has:
		return r.dictionary(h, body, rows)
	case h.Kind != parquetformat.PageData && h.Kind != parquetformat.PageDataV2:
		return trace.Bad(trace.ErrFormat, "a page of type %d, expected data", h.Kind)
	case h.Values > int64(rows):
		return trace.Bad(trace.ErrTooLarge, "a page of %d values where the row group has %d rows left", h.Values, rows)
	}
	dst := r.rest[:h.Values]
	var levels, src []byte
	var err error
	if h.Kind == parquetformat.PageDataV2 {
		levels, src, err = r.splitV2(h, body)
	} else {
		levels, src, err = r.splitV1(h, body)
	}
	if err != nil {
		return err
	}
	count := len(dst)
	var present []uint32
	if r.column.Nullable && len(levels) > 0 && !allPresent(levels, len(dst)) {
		present = r.scratch(len(dst))
		if err := parquetformat.DecodeHybrid(present, withSlack(levels), 1); err != nil {
			return err
		}
		count = 0
		for _, l := range present {
			count += int(l)
		}
		present = slices.Clone(present) // the values may need the scratch too
	}
	if err := r.values(dst[:count], h.Encoding, src); err != nil {
		return err
	}
	if count < len(dst) {
		r.spread(dst, present, count)
	}
	r.rest = r.rest[len(dst):]
	return nil
}

// allPresent recognises definition levels that are one run of ones.
func allPresent(levels []byte, rows int) bool {
	run, n := binary.Uvarint(levels)
	return n > 0 && n == len(levels)-1 && run == uint64(rows)<<1 && levels[n] == 1
}

func (r *columnReader) scratch(n int) []uint32 {
	r.f.index = slices.Grow(r.f.index[:0], n)[:n]
	return r.f.index
}

// splitV1 decompresses a page of version 1 and parts levels from values.
func (r *columnReader) splitV1(h parquetformat.PageHeader, body []byte) (levels, src []byte, err error) {
	if src, err = r.decompress(body, h.Raw, r.most(h.Values)); err != nil || !r.column.Nullable {
		return nil, src, err
	}
	if h.Levels != parquetformat.EncRLE {
		return nil, nil, trace.Bad(trace.ErrFormat, "levels in encoding %s, expected RLE", nameOf(encodingNames[:], h.Levels))
	}
	if len(src) < 4 || int64(binary.LittleEndian.Uint32(src)) > int64(len(src)-4) {
		return nil, nil, trace.Bad(trace.ErrTruncated, "a page ends in the levels that say which rows are null")
	}
	n := 4 + int(binary.LittleEndian.Uint32(src))
	return src[4:n], src[n:], nil
}

// splitV2 is splitV1 for version 2, where the levels are not compressed.
func (r *columnReader) splitV2(h parquetformat.PageHeader, body []byte) (levels, src []byte, err error) {
	if h.LevelBytes > int64(len(body)) || h.LevelBytes > h.Raw {
		return nil, nil, trace.Bad(trace.ErrTruncated, "a page ends in the levels that say which rows are null")
	}
	levels, body = body[:h.LevelBytes], body[h.LevelBytes:]
	raw := h.Raw - h.LevelBytes
	if h.Plain {
		if int64(len(body)) != raw {
			return nil, nil, errRaw()
		}
		return levels, body, nil
	}
	src, err = r.decompress(body, raw, r.most(h.Values))
	return levels, src, err
}

// maxTextPage bounds a page of strings.
const maxTextPage = 64 << 20

// most is how long a page of so many values can be: no encoding of numbers
// takes more than nine bytes for a value and a header.
func (r *columnReader) most(values int64) int64 {
	if r.column.Type == Text {
		return maxTextPage
	}
	return 16*values + 1024
}

func errRaw() error {
	return trace.Bad(trace.ErrFormat, "a page does not decompress to the bytes that it claims")
}

// decompress gives the page's bytes, with slack after them.
func (r *columnReader) decompress(body []byte, raw, most int64) ([]byte, error) {
	f := r.f
	if raw > most {
		return nil, trace.Bad(trace.ErrTooLarge, "a page of %d bytes, expected at most %d", raw, most)
	}
	if r.codec == parquetformat.CodecNone {
		if int64(len(body)) != raw {
			return nil, errRaw()
		}
		return body, nil // there is slack after every chunk
	}
	if int64(cap(f.raw)) < raw+parquetformat.Slack {
		f.raw = make([]byte, raw+parquetformat.Slack)
	}
	dst := f.raw[:raw]
	ok := false
	switch r.codec {
	case parquetformat.CodecSnappy:
		if n, err := snappy.DecodedLen(body); err == nil && int64(n) == raw {
			_, err = snappy.Decode(dst, body)
			ok = err == nil
		}
	case parquetformat.CodecGzip:
		if z, err := gzip.NewReader(bytes.NewReader(body)); err == nil {
			_, err = io.ReadFull(z, dst)
			ok = err == nil
		}
	case parquetformat.CodecZstd:
		if f.zstd == nil {
			z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true),
				zstd.WithDecoderMaxWindow(uint64(max(f.lim.Window, zstd.MinWindowSize))))
			if err != nil {
				return nil, err
			}
			f.zstd = z
		}
		out, err := f.zstd.DecodeAll(body, dst[:0:raw])
		ok = err == nil && int64(len(out)) == raw
	default:
		return nil, trace.Bad(trace.ErrFormat, "compression %s, expected none, snappy, gzip or zstd: write the file again with one of these",
			nameOf(codecNames[:], r.codec))
	}
	if !ok {
		return nil, errRaw()
	}
	return dst, nil
}

// dictionary decodes the dictionary page of a chunk.
func (r *columnReader) dictionary(h parquetformat.PageHeader, body []byte, rows int) error {
	if h.Values < 0 || h.Values > int64(max(rows, maxStrings)) {
		return trace.Bad(trace.ErrTooLarge, "a dictionary of %d values for %d rows", h.Values, rows)
	}
	src, err := r.decompress(body, h.Raw, r.most(h.Values))
	if err != nil {
		return err
	}
	r.has = true
	r.dict = slices.Grow(r.dict[:0], int(h.Values))[:h.Values]
	return r.plain(r.dict, src)
}

// values decodes the values that are not null.
func (r *columnReader) values(dst []int64, encoding int64, src []byte) error {
	typ := r.column.Type
	switch {
	case len(dst) == 0:
		return nil
	case encoding == parquetformat.EncRLEDictionary || encoding == parquetformat.EncPlainDictionary:
		return r.lookUp(dst, src)
	case encoding == parquetformat.EncPlain:
		return r.plain(dst, src)
	case encoding == parquetformat.EncDelta && (typ == Int32 || typ == Int64):
		_, err := parquetformat.DecodeDelta(dst, withSlack(src))
		if typ == Int32 {
			for i, v := range dst {
				dst[i] = int64(int32(v))
			}
		}
		return err
	case encoding == parquetformat.EncDeltaLength && typ == Text:
		return r.deltaLength(dst, src)
	case encoding == parquetformat.EncByteStreamSplit && typ != Text:
		return decodePlanes(dst, src, typ)
	}
	return trace.Bad(trace.ErrFormat, "encoding %s of %s: write the file again without it", nameOf(encodingNames[:], encoding), typ)
}

// withSlack copies src when nothing readable follows it.
func withSlack(src []byte) []byte {
	if cap(src)-len(src) >= parquetformat.Slack {
		return src
	}
	return append(make([]byte, 0, len(src)+parquetformat.Slack), src...)
}

func (r *columnReader) plain(dst []int64, src []byte) error {
	if r.column.Type != Text {
		return decodePlain(dst, src, r.column.Type)
	}
	for i := range dst {
		if len(src) < 4 || int64(binary.LittleEndian.Uint32(src)) > int64(len(src)-4) {
			return trace.Bad(trace.ErrTruncated, "a page ends in a string")
		}
		n := 4 + int(binary.LittleEndian.Uint32(src))
		at, err := r.intern(src[4:n])
		if err != nil {
			return err
		}
		dst[i], src = at, src[n:]
	}
	return nil
}

// deltaLength decodes DELTA_LENGTH_BYTE_ARRAY: all lengths, then all strings.
func (r *columnReader) deltaLength(dst []int64, src []byte) error {
	src, err := parquetformat.DecodeDelta(dst, withSlack(src))
	if err != nil {
		return err
	}
	for i, n := range dst {
		if n < 0 || n > int64(len(src)) {
			return trace.Bad(trace.ErrTruncated, "a page ends in a string")
		}
		if dst[i], err = r.intern(src[:n]); err != nil {
			return err
		}
		src = src[n:]
	}
	return nil
}

// lookUp decodes positions in the dictionary.
func (r *columnReader) lookUp(dst []int64, src []byte) error {
	if len(src) == 0 {
		return trace.Bad(trace.ErrTruncated, "a page without the width of its indices")
	}
	index := r.scratch(len(dst))
	if err := parquetformat.DecodeHybrid(index, withSlack(src[1:]), int(src[0])); err != nil {
		return err
	}
	for i, x := range index {
		if int(x) >= len(r.dict) {
			return trace.Bad(trace.ErrFormat, "entry %d of a dictionary that has %d", x, len(r.dict))
		}
		dst[i] = r.dict[x]
	}
	return nil
}
