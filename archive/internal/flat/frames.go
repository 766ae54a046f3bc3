package flat

import (
	"encoding/binary"

	"github.com/klauspost/compress/huff0"
	"github.com/klauspost/compress/zstd"

	"github.com/sfstat/sfstat/trace"
)

// A page is compressed to one or more zstd frames (RFC 8878, section 3: "one or
// more frames"), which every decoder joins. The byte planes of numbers differ:
// the low ones are noise, the high ones zeros, and the one or two in between
// have a skewed distribution but rarely repeat. Each gets what suits it: noise
// is stored, zeros are a run, the others a Huffman code of their own, or what
// the general compressor makes of them where they do repeat. On durations
// that saves a tenth over one frame for all, and most bytes are read at the
// speed of a copy.

// compressor makes zstd frames.
type compressor struct {
	enc   *zstd.Encoder
	huff  huff0.Scratch
	codes [8]code
}

// code is a plane and what became of it.
type code struct {
	kind  planeKind
	frame []byte // of a skewed plane
}

type planeKind uint8

const (
	zeros planeKind = iota
	noise
	skewed
)

func newCompressor() (*compressor, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault),
		zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithWindowSize(8*PageRows))
	return &compressor{enc: enc, huff: huff0.Scratch{Reuse: huff0.ReusePolicyNone}}, err
}

// whole appends page as one frame.
func (c *compressor) whole(dst, page []byte) []byte { return c.enc.EncodeAll(page, dst) }

// planes appends an encoded page of n values of 8 bytes: whatever comes before
// the planes, and the planes, neighbours of one kind together.
func (c *compressor) planes(dst, page []byte, n int) []byte {
	head := len(page) - 8*n
	if head > 0 {
		dst = c.whole(dst, page[:head])
		page = page[head:]
	}
	for p := range c.codes {
		c.code(&c.codes[p], page[p*n:][:n])
	}
	for p := 0; p < 8; {
		kind, q := c.codes[p].kind, p+1
		for kind != skewed && q < 8 && c.codes[q].kind == kind {
			q++
		}
		switch plane := page[p*n : q*n]; kind {
		case skewed:
			dst = append(dst, c.codes[p].frame...)
		default:
			dst = appendStored(dst, plane, kind == zeros)
		}
		p = q
	}
	return dst
}

// code finds the smallest form of a plane.
func (c *compressor) code(out *code, plane []byte) {
	if out.kind = zeros; zero(plane) {
		return
	}
	general := c.whole(out.frame[:0], plane)
	n := len(general)
	all := c.appendHuffman(general, plane)
	if m := len(all) - n; m > 0 && m < n {
		all = append(all[:0], all[n:]...)
	} else {
		all = all[:n]
	}
	if out.kind, out.frame = skewed, all; len(all) >= len(plane) {
		out.kind = noise
	}
}

// Blocks of a frame, by their number in the format.
const (
	blockStored     = 0
	blockRun        = 1
	blockCompressed = 2

	maxBlock = 128 << 10
)

// appendFrame appends the header of a frame of n bytes.
func appendFrame(dst []byte, n int) []byte {
	dst = append(dst, 0x28, 0xb5, 0x2f, 0xfd)
	const singleSegment = 0x20
	switch {
	case n < 256:
		return append(dst, singleSegment, byte(n))
	case n < 256+1<<16:
		return binary.LittleEndian.AppendUint16(append(dst, singleSegment|1<<6), uint16(n-256))
	}
	return binary.LittleEndian.AppendUint32(append(dst, singleSegment|2<<6), uint32(n))
}

func appendBlock(dst []byte, kind, n int, last bool) []byte {
	h := n<<3 | kind<<1
	if last {
		h |= 1
	}
	return append(dst, byte(h), byte(h>>8), byte(h>>16))
}

// appendStored appends a frame of bytes as they are, or of a run of zeros.
func appendStored(dst, b []byte, run bool) []byte {
	dst = appendFrame(dst, len(b))
	for {
		n := min(len(b), maxBlock)
		if run {
			dst = append(appendBlock(dst, blockRun, n, n == len(b)), 0)
		} else {
			dst = append(appendBlock(dst, blockStored, n, n == len(b)), b[:n]...)
		}
		if b = b[n:]; len(b) == 0 {
			return dst
		}
	}
}

// appendHuffman appends a frame of one block that is a Huffman code of b and
// nothing else; nothing when that does not pay.
func (c *compressor) appendHuffman(dst, b []byte) []byte {
	if len(b) > maxBlock {
		return dst
	}
	out, _, err := huff0.Compress4X(b, &c.huff)
	if err != nil { // incompressible, or a single value
		return dst
	}
	// The header of the literals: their type (2, compressed), how many bits the
	// two sizes have, and the sizes.
	n, size, bytes := uint64(len(b)), uint64(len(out)), 5
	h := 2 | 3<<2 | n<<4 | size<<22
	switch {
	case n < 1<<10:
		h, bytes = 2|1<<2|n<<4|size<<14, 3
	case n < 1<<14:
		h, bytes = 2|2<<2|n<<4|size<<18, 4
	}
	dst = appendBlock(appendFrame(dst, len(b)), blockCompressed, bytes+len(out)+1, true)
	for i := range bytes {
		dst = append(dst, byte(h>>(8*i)))
	}
	return append(append(dst, out...), 0) // no sequences
}

// decompressFrames appends the content of all frames of src to dst, within its
// capacity. Frames of stored blocks and runs are copied here, others are left
// to the library.
func decompressFrames(d *zstd.Decoder, dst, src []byte) ([]byte, error) {
	for len(src) > 0 {
		size, simple := frameSize(src)
		if size == 0 { // a kind of frame that we do not write
			return d.DecodeAll(src, dst)
		}
		var err error
		if simple {
			dst, err = copyFrame(dst, src[:size])
		} else {
			dst, err = d.DecodeAll(src[:size], dst)
		}
		if err != nil {
			return dst, err
		}
		src = src[size:]
	}
	return dst, nil
}

// frameHeader is the length of a frame's header; 0 for one that appendFrame
// and the library's EncodeAll do not make.
func frameHeader(src []byte) int {
	if len(src) < 6 || binary.LittleEndian.Uint32(src) != 0xfd2fb528 || src[4]&0x1f != 0 {
		return 0 // a checksum, a dictionary, or nothing of zstd
	}
	n := 5 + 1<<(src[4]>>6)
	switch single := src[4]&0x20 != 0; {
	case !single && src[4]>>6 == 0: // a window size, no content size
		return 6
	case !single:
		n++
	}
	return n
}

// frameSize is the length of the frame at the start of src, 0 when it cannot
// be told, and whether it has stored blocks and runs only.
func frameSize(src []byte) (size int, simple bool) {
	at := frameHeader(src)
	for simple = at > 0; at > 0 && at+3 <= len(src); {
		h := int(src[at]) | int(src[at+1])<<8 | int(src[at+2])<<16
		n, kind := h>>3, h>>1&3
		if kind == blockRun {
			n = 1
		}
		simple = simple && kind <= blockRun
		if at += 3 + n; at > len(src) {
			break
		}
		if h&1 != 0 {
			return at, simple
		}
	}
	return 0, false
}

// copyFrame appends the content of a simple frame of known size.
func copyFrame(dst, src []byte) ([]byte, error) {
	for at := frameHeader(src); at < len(src); {
		h := int(src[at]) | int(src[at+1])<<8 | int(src[at+2])<<16
		n := h >> 3
		if n > cap(dst)-len(dst) {
			return dst, trace.Bad(trace.ErrTooLarge, "a page is longer than it claims")
		}
		at += 3
		if h>>1&3 == blockStored {
			dst = append(dst, src[at:at+n]...)
			at += n
			continue
		}
		run := dst[len(dst) : len(dst)+n]
		if src[at] == 0 {
			clear(run)
		} else {
			for i := range run {
				run[i] = src[at]
			}
		}
		dst = dst[:len(dst)+n]
		at++
	}
	return dst, nil
}
