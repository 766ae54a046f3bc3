package parquet

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/parquet-go/parquet-go/format"

	"github.com/sfstat/sfstat/trace/input"
)

// page is a page of data or of a dictionary as it lies in the file.
type page struct {
	format.PageHeader
	values     int64 // nulls among them
	encoding   format.Encoding
	levels     format.Encoding // of version 1
	levelBytes int             // of version 2
	stored     bool            // version 2: the values are not compressed
	body       []byte
}

// nextPage takes a page from the front of a column chunk, whose checksum fits
// where there is one, and gives what follows.
func nextPage(chunk []byte) (p page, rest []byte, err error) {
	n, err := parse(chunk, &p.PageHeader)
	if err != nil {
		return p, nil, err
	}
	rest = chunk[n:]
	if size := int64(p.CompressedPageSize); size < 0 || size > int64(len(rest)) {
		return p, nil, input.Bad(input.ErrTruncated, "a page of %d bytes where the column has %d left", size, len(rest))
	}
	p.body, rest = rest[:p.CompressedPageSize], rest[p.CompressedPageSize:]
	if p.CRC != 0 && crc32.ChecksumIEEE(p.body) != uint32(p.CRC) {
		return p, nil, input.Bad(input.ErrFormat, "a page is damaged: its checksum does not fit, copy the file again from its source")
	}
	data, old, v2 := &p.DataPageHeader.V, &p.DictionaryPageHeader.V, &p.DataPageHeaderV2.V
	switch p.Type {
	case format.DataPage:
		p.values, p.encoding, p.levels = int64(data.NumValues), data.Encoding, data.DefinitionLevelEncoding
	case format.DictionaryPage:
		p.values = int64(old.NumValues)
	case format.DataPageV2:
		p.values, p.encoding, p.levelBytes = int64(v2.NumValues), v2.Encoding, int(v2.DefinitionLevelsByteLength)
		p.stored = v2.IsCompressed.Valid && !v2.IsCompressed.V
	}
	if p.UncompressedPageSize < 0 || p.values < 0 || p.levelBytes < 0 || v2.RepetitionLevelsByteLength != 0 {
		return p, nil, input.Bad(input.ErrFormat, "a page without a size or a count of values, or with repetition levels in a column that is not repeated")
	}
	return p, rest, nil
}

// split decompresses a page and parts the levels, which say what rows are null,
// from the values. Levels of version 2 are not compressed.
func (c *Cursor) split(p *page, s *scratch) (levels, src []byte, err error) {
	raw := int64(p.UncompressedPageSize)
	if p.Type == format.DataPageV2 {
		n := p.levelBytes
		if n > len(p.body) || int64(n) > raw {
			return nil, nil, errLevels()
		}
		src, err = c.decompress(p, p.body[n:], raw-int64(n), s)
		return p.body[:n], src, err
	}
	if src, err = c.decompress(p, p.body, raw, s); err != nil || !c.leaf.Nullable {
		return nil, src, err
	}
	if p.levels != format.RLE {
		return nil, nil, input.Bad(input.ErrFormat, "levels in encoding %s, expected RLE", p.levels)
	}
	levels, src, ok := cutPrefixed(src)
	if !ok {
		return nil, nil, errLevels()
	}
	return levels, src, nil
}

// cutPrefixed takes bytes that their number comes before.
func cutPrefixed(b []byte) (part, rest []byte, ok bool) {
	if len(b) < 4 || int64(binary.LittleEndian.Uint32(b)) > int64(len(b)-4) {
		return nil, nil, false
	}
	n := 4 + int(binary.LittleEndian.Uint32(b))
	return b[4:n], b[n:], true
}

func errLevels() error {
	return input.Bad(input.ErrTruncated, "a page ends in the levels that say which rows are null")
}
