package parquet

import (
	"encoding/binary"
	"math/bits"

	"github.com/sfstat/sfstat/trace/input"
)

// slack is how many readable bytes must follow what is decoded, in its buffer,
// so that eight values of a run of differences can be loaded at any of them (and
// the zstd decompressor likes sixteen).
const slack = 40

// deltas decodes DELTA_BINARY_PACKED. Of INT32 the lower 32 bits count.
type deltas struct {
	src   []byte // blocks; slack follows
	at    int    // where the next block or miniblock begins
	minis int    // in a block
	size  int    // values of a miniblock
	left  int    // values that were not given
	begun bool   // the first was given, which stands in the header

	last, least int64
	widths      int // where the widths begin of the miniblocks of the block that are left,
	more        int // and how many these are
	packed      int // where the miniblock begins, its
	width       int // bits of a difference,
	bit, run    int // where in it the next one begins, and how many are left
}

// newDeltas reads the header of so many values.
func newDeltas(src []byte, values int) (d deltas, err error) {
	var head [3]uint64 // values in a block, miniblocks in a block, values in all
	for i := range head {
		v, n := binary.Uvarint(src)
		if n <= 0 {
			return d, errDelta("ends in its header")
		}
		head[i], src = v, src[n:]
	}
	block, minis := head[0], head[1]
	if head[2] != uint64(values) {
		return d, input.Bad(input.ErrRagged, "%d differences where the page has %d values", head[2], values)
	}
	if block == 0 || block > 1<<16 || minis == 0 || minis > block || block%minis != 0 || block/minis%8 != 0 {
		return d, errDelta("has blocks of an impossible shape")
	}
	first, n := binary.Varint(src)
	if n <= 0 {
		return d, errDelta("ends in its header")
	}
	return deltas{src: src[n:], minis: int(minis), size: int(block / minis), left: values, last: first}, nil
}

func errDelta(what string) error { return input.Bad(input.ErrFormat, "a run of differences %s", what) }

// fill decodes the next values, of which there are as many. O(len(dst)).
func (d *deltas) fill(dst []int64) error {
	if !d.begun && len(dst) > 0 {
		d.begun, d.left, dst[0] = true, d.left-1, d.last
		dst = dst[1:]
	}
	for len(dst) > 0 {
		if d.run == 0 {
			if err := d.next(); err != nil {
				return err
			}
		}
		n := min(len(dst), d.run)
		d.sum(dst[:n])
		d.run, d.left, dst = d.run-n, d.left-n, dst[n:]
	}
	return nil
}

// next begins a miniblock.
func (d *deltas) next() error {
	if d.more == 0 {
		least, n := binary.Varint(d.src[d.at:])
		if n <= 0 || len(d.src)-d.at-n < d.minis {
			return errDelta("ends before its last block")
		}
		d.least, d.widths, d.more = least, d.at+n, d.minis
		d.at = d.widths + d.minis
	}
	d.width = int(d.src[d.widths])
	d.widths, d.more = d.widths+1, d.more-1
	d.packed, d.bit, d.run = d.at, 0, min(d.size, d.left)
	if d.width > 64 || (d.run*d.width+7)/8 > len(d.src)-d.at {
		return errDelta("ends in a block")
	}
	d.at = min(d.at+d.size/8*d.width, len(d.src))
	return nil
}

// sum undoes a part of a miniblock: out[i] is the sum of all differences up to i.
func (d *deltas) sum(out []int64) {
	if d.width == 0 {
		last, least := d.last, d.least
		for i := range out {
			last += least
			out[i] = last
		}
		d.last = last
		return
	}
	if d.width <= widePair {
		n := 0
		for n < len(out) && (d.bit+n*d.width)&7 != 0 {
			n++
		}
		d.singles(out[:n])
		out = out[n:]
		n = len(out) &^ 7
		d.eights(out[:n])
		out = out[n:]
	}
	d.singles(out)
}

// singles is sum of values of any width.
func (d *deltas) singles(out []int64) {
	last, least, width, bit := d.last, d.least, uint(d.width), uint(d.bit)
	mask, wide := ^uint64(0)>>(64-width), d.src[d.packed:len(d.src)+slack]
	for i := range out {
		at, shift := bit>>3, bit&7
		v := binary.LittleEndian.Uint64(wide[at:]) >> shift
		if shift+width > 64 {
			v |= uint64(wide[at+8]) << (64 - shift)
		}
		last += least + int64(v&mask)
		out[i], bit = last, bit+width
	}
	d.last, d.bit = last, int(bit)
}

// widePair is the widest values of which any two lie in eight bytes, if eight of them begin
// with a byte.
const widePair = 29

// eights is sum of values of up to widePair bits that begin with a byte. Eight of them lie
// in so many bytes as one has bits.
func (d *deltas) eights(out []int64) {
	last, least, width := d.last, d.least, uint(d.width)
	mask, odd := ^uint64(0)>>(64-width), width&31
	second, third, fourth := 2*width, 4*width, 6*width
	src := d.src[d.packed+d.bit>>3 : len(d.src)+slack]
	d.bit += len(out) * d.width
	for ; len(out) >= 8; out, src = out[8:], src[width:] {
		to, from := (*[8]int64)(out), (*[slack]byte)(src)
		a := binary.LittleEndian.Uint64(from[:])
		b := binary.LittleEndian.Uint64(from[second>>3&31:]) >> (second & 7)
		c := binary.LittleEndian.Uint64(from[third>>3&31:]) >> (third & 7)
		e := binary.LittleEndian.Uint64(from[fourth>>3&31:]) >> (fourth & 7)
		to[0] = last + (least + int64(a&mask))
		to[1] = to[0] + (least + int64(a>>odd&mask))
		to[2] = to[1] + (least + int64(b&mask))
		to[3] = to[2] + (least + int64(b>>odd&mask))
		to[4] = to[3] + (least + int64(c&mask))
		to[5] = to[4] + (least + int64(c>>odd&mask))
		to[6] = to[5] + (least + int64(e&mask))
		to[7] = to[6] + (least + int64(e>>odd&mask))
		last = to[7]
	}
	d.last = last
}

// decodeDelta decodes all values of a run of differences, as many as dst has, and
// gives what follows in src.
func decodeDelta(dst []int64, src []byte) (rest []byte, err error) {
	d, err := newDeltas(src, len(dst))
	if err == nil {
		err = d.fill(dst)
	}
	if err != nil {
		return nil, err
	}
	return d.src[d.at:], nil
}

// hybrid decodes the hybrid of runs and bit packing.
type hybrid struct {
	src   []byte // runs that are left; slack follows
	width int    // bits of a value
	left  int    // values that were not given

	run    int    // of them, those of the run that is under way
	packed []byte // these; nil: all are
	value  uint32
	bit    int // where the next one of packed begins
}

func newHybrid(src []byte, width, values int) (hybrid, error) {
	if width > 32 {
		return hybrid{}, input.Bad(input.ErrFormat, "indices of %d bits", width)
	}
	return hybrid{src: src, width: width, left: values}, nil
}

// next begins a run, unless one is under way.
func (h *hybrid) next() error {
	if h.run > 0 {
		return nil
	}
	head, n := binary.Uvarint(h.src)
	if n <= 0 || head>>1 == 0 {
		return errHybrid()
	}
	h.src = h.src[n:]
	if head&1 == 0 { // a run of one value
		size := (h.width + 7) / 8
		if size > len(h.src) {
			return errHybrid()
		}
		h.value = uint32(binary.LittleEndian.Uint64(h.src[:len(h.src)+slack]) & (1<<h.width - 1))
		h.run, h.packed, h.src = int(min(head>>1, uint64(h.left))), nil, h.src[size:]
		return nil
	}
	groups := int(min(head>>1, uint64(h.left+7)/8))
	h.run = min(groups*8, h.left)
	if (h.run*h.width+7)/8 > len(h.src) {
		return errHybrid()
	}
	h.packed, h.bit, h.src = h.src, 0, h.src[min(groups*h.width, len(h.src)):]
	return nil
}

func errHybrid() error {
	return input.Bad(input.ErrTruncated, "a run of indices or levels ends before the page does")
}

// unpack decodes values of the run that is under way, of which n are used up.
func (h *hybrid) unpack(dst []uint32, n int) {
	h.run, h.left = h.run-n, h.left-n
	if h.packed == nil {
		for i := range dst {
			dst[i] = h.value
		}
		return
	}
	mask, wide := uint64(1)<<h.width-1, h.packed[:len(h.packed)+slack]
	for i := range dst {
		dst[i] = uint32(binary.LittleEndian.Uint64(wide[h.bit>>3:]) >> (h.bit & 7) & mask)
		h.bit += h.width
	}
}

// fill decodes the next values, of which there are as many. O(len(dst)).
func (h *hybrid) fill(dst []uint32) error {
	for len(dst) > 0 {
		if err := h.next(); err != nil {
			return err
		}
		n := min(len(dst), h.run)
		h.unpack(dst[:n], n)
		dst = dst[n:]
	}
	return nil
}

// set gives which of the next len(at) values of one bit are set, from 0, in at.
func (h *hybrid) set(at []uint32) ([]uint32, error) {
	count := 0
	for first := 0; first < len(at); {
		if err := h.next(); err != nil {
			return nil, err
		}
		n := min(len(at)-first, h.run)
		switch {
		case h.packed != nil:
			count += h.setOfPacked(at[count:], first, n)
		case h.value != 0:
			for i := range n {
				at[count+i] = uint32(first + i)
			}
			count += n
		}
		h.run, h.left, h.bit, first = h.run-n, h.left-n, h.bit+n, first+n
	}
	return at[:count], nil
}

// setOfPacked notes which of the next n values of the run are set, counted from first.
func (h *hybrid) setOfPacked(at []uint32, first, n int) (count int) {
	const most = 32 // that eight bytes hold, wherever in a byte the first begins
	wide := h.packed[:len(h.packed)+slack]
	for i := 0; i < n; i += most {
		bit := h.bit + i
		left := binary.LittleEndian.Uint64(wide[bit>>3:]) >> (bit & 7) & (1<<min(most, n-i) - 1)
		for ; left != 0; left &= left - 1 {
			at[count] = uint32(first + i + bits.TrailingZeros64(left))
			count++
		}
	}
	return count
}

// ones counts the values of one bit that are set, without using them up.
func (h hybrid) ones() (count int, err error) {
	for ; h.left > 0; h.left, h.run = h.left-h.run, 0 {
		if err := h.next(); err != nil {
			return 0, err
		}
		if h.packed == nil {
			count += h.run * int(h.value)
			continue
		}
		for _, b := range h.packed[:h.run/8] {
			count += bits.OnesCount8(b)
		}
		if part := h.run & 7; part > 0 {
			count += bits.OnesCount8(h.packed[h.run/8] << (8 - part))
		}
	}
	return count, nil
}
