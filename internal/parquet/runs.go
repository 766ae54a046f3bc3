package parquet

import (
	"encoding/binary"

	"github.com/sfstat/sfstat/trace/input"
)

// slack is how many readable bytes must follow what is decoded, in its buffer,
// so that eight bytes can be loaded at any of them (the zstd decompressor likes
// sixteen).
const slack = 16

// decodeDelta decodes DELTA_BINARY_PACKED, fills dst, and gives what follows in
// src. Of INT32 the lower 32 bits count. src has slack after its end. O(len(dst)).
func decodeDelta(dst []int64, src []byte) (rest []byte, err error) {
	var head [3]uint64 // values in a block, miniblocks in a block, values in all
	for i := range head {
		v, n := binary.Uvarint(src)
		if n <= 0 {
			return nil, errDelta("ends in its header")
		}
		head[i], src = v, src[n:]
	}
	block, minis := head[0], head[1]
	if head[2] != uint64(len(dst)) {
		return nil, input.Bad(input.ErrRagged, "%d differences where the page has %d values", head[2], len(dst))
	}
	if block == 0 || block > 1<<16 || minis == 0 || minis > block || block%minis != 0 || block/minis%8 != 0 {
		return nil, errDelta("has blocks of an impossible shape")
	}
	last, n := binary.Varint(src)
	if n <= 0 {
		return nil, errDelta("ends in its header")
	}
	if src = src[n:]; len(dst) == 0 {
		return src, nil
	}
	dst[0] = last
	dst = dst[1:]
	mini := int(block / minis)
	for len(dst) > 0 {
		least, n := binary.Varint(src)
		if n <= 0 || len(src)-n < int(minis) {
			return nil, errDelta("ends before its last block")
		}
		widths := src[n:][:minis]
		src = src[n+int(minis):]
		for _, w := range widths {
			if len(dst) == 0 {
				break
			}
			out := dst[:min(mini, len(dst))]
			if w > 64 || (len(out)*int(w)+7)/8 > len(src) {
				return nil, errDelta("ends in a block")
			}
			last = sum(out, src, int(w), last, least)
			dst, src = dst[len(out):], src[min(mini/8*int(w), len(src)):]
		}
	}
	return src, nil
}

func errDelta(what string) error { return input.Bad(input.ErrFormat, "a run of differences %s", what) }

// sum undoes one miniblock: out[i] is the sum of all differences up to i.
func sum(out []int64, src []byte, width int, last, least int64) int64 {
	if width == 0 {
		for i := range out {
			last += least
			out[i] = last
		}
		return last
	}
	mask := ^uint64(0) >> (64 - width)
	wide := src[:len(src)+slack]
	if width <= 57 { // any such value lies in eight bytes
		for i, bit := 0, uint(0); i < len(out); i, bit = i+1, bit+uint(width) {
			last += least + int64(binary.LittleEndian.Uint64(wide[bit>>3:])>>(bit&7)&mask)
			out[i] = last
		}
		return last
	}
	for i := range out {
		bit := i * width
		v := binary.LittleEndian.Uint64(wide[bit>>3:]) >> (bit & 7)
		if bit&7+width > 64 {
			v |= uint64(wide[bit>>3+8]) << (64 - bit&7)
		}
		last += least + int64(v&mask)
		out[i] = last
	}
	return last
}

// decodeHybrid decodes the RLE / bit-packing hybrid and fills dst. src has slack
// after its end. O(len(dst)).
func decodeHybrid(dst []uint32, src []byte, width int) error {
	if width > 32 {
		return input.Bad(input.ErrFormat, "indices of %d bits", width)
	}
	mask := uint64(1)<<width - 1
	for len(dst) > 0 {
		h, n := binary.Uvarint(src)
		if n <= 0 || h>>1 == 0 {
			return errHybrid()
		}
		src = src[n:]
		if h&1 == 0 { // a run of one value
			size := (width + 7) / 8
			if size > len(src) {
				return errHybrid()
			}
			v := uint32(binary.LittleEndian.Uint64(src[:len(src)+slack]) & (1<<(8*size) - 1) & mask)
			run := dst[:min(h>>1, uint64(len(dst)))]
			for i := range run {
				run[i] = v
			}
			dst, src = dst[len(run):], src[size:]
			continue
		}
		groups := min(h>>1, uint64(len(dst)+7)/8)
		run := dst[:min(int(groups)*8, len(dst))]
		if (len(run)*width+7)/8 > len(src) {
			return errHybrid()
		}
		wide := src[:len(src)+slack]
		for i := range run {
			bit := i * width
			run[i] = uint32(binary.LittleEndian.Uint64(wide[bit>>3:]) >> (bit & 7) & mask)
		}
		dst, src = dst[len(run):], src[min(int(groups)*width, len(src)):]
	}
	return nil
}

func errHybrid() error {
	return input.Bad(input.ErrTruncated, "a run of indices or levels ends before the page does")
}
