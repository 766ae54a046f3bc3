package parquet

import (
	"hash/crc32"
	"math"

	"github.com/sfstat/sfstat/trace/input"
)

// Numbers of the format: kinds of pages, encodings, compressions.
const (
	pageData       = 0
	pageDictionary = 2
	pageDataV2     = 3

	encPlain           = 0
	encPlainDictionary = 2
	encRLE             = 3
	encDelta           = 5
	encDeltaLength     = 6
	encRLEDictionary   = 8
	encByteStreamSplit = 9

	codecNone   = 0
	codecSnappy = 1
	codecGzip   = 2
	codecZstd   = 6
)

// pageHeader is the header of a page.
type pageHeader struct {
	Kind       int64
	Raw        int64 // bytes of the page, decompressed
	Size       int64 // bytes that follow the header in the file
	CRC        uint32
	Checked    bool // there is a CRC
	Values     int64
	Encoding   int64
	Levels     int64 // encoding of the definition levels, version 1
	LevelBytes int64 // bytes of the definition levels, version 2
	Plain      bool  // version 2: the values are not compressed
}

// nextPage takes a page from the front of a column chunk: its header, its
// bytes, whose checksum fits where there is one, and what follows.
func nextPage(chunk []byte) (h pageHeader, body, rest []byte, err error) {
	h, n, err := parsePageHeader(chunk)
	if err != nil {
		return h, nil, nil, err
	}
	body = chunk[n:]
	if h.Size > int64(len(body)) {
		return h, nil, nil, input.Bad(input.ErrTruncated, "a page of %d bytes where the column has %d left", h.Size, len(body))
	}
	body, rest = body[:h.Size], body[h.Size:]
	if h.Checked && crc32.ChecksumIEEE(body) != h.CRC {
		return h, nil, nil, input.Bad(input.ErrFormat, "a page is damaged: its checksum does not fit, copy the file again from its source")
	}
	return h, body, rest, nil
}

// parsePageHeader reads a page header from the start of b; n is its length.
func parsePageHeader(b []byte) (h pageHeader, n int, err error) {
	h = pageHeader{Kind: -1, Raw: -1, Size: -1, Values: -1, Levels: encRLE}
	r := &thriftReader{B: b}
	crc, repetition, packed := int64(-1<<32), int64(0), true
	counts := func() { r.Struct(field{1, &h.Values}, field{2, &h.Encoding}, field{3, &h.Levels}) } // which both kinds of page number alike
	r.Struct(field{1, &h.Kind}, field{2, &h.Raw}, field{3, &h.Size}, field{4, &crc}, field{5, counts}, field{7, counts}, field{8, func() {
		r.Struct(field{1, &h.Values}, field{4, &h.Encoding}, field{5, &h.LevelBytes}, field{6, &repetition}, field{7, &packed})
	}})
	h.CRC, h.Checked, h.Plain = uint32(crc), crc != -1<<32, !packed
	switch {
	case r.Err != nil:
	case repetition != 0 || h.LevelBytes < 0:
		r.Fail("a page with repetition levels in a column that is not repeated")
	case h.Raw < 0 || h.Size < 0 || h.Raw > math.MaxInt32 || h.Values < 0 && (h.Kind == pageData || h.Kind == pageDataV2):
		r.Fail("a page without a size or a count of values")
	}
	return h, r.At, r.Err
}
