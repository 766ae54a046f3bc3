package packet

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/sfstat/sfstat/trace"
)

// Nearly all of a packet is whole numbers of 5 to 10 digits, so a number is
// read 8 bytes at a time: find the first byte that is no digit, shift it and
// what follows out, and add up the digits pairwise with three multiplications.
const (
	swarZeros = 0x3030303030303030
	swarHigh  = 0x8080808080808080
	swarOver9 = 0x7676767676767676 // added to a digit's value it stays below 0x80
)

// digits8 reads the digits that b begins with, at most eight: their value and
// their count.
func digits8(b []byte) (v uint64, n int) {
	x := binary.LittleEndian.Uint64(b) ^ swarZeros
	// A carry out of a byte that is no digit can spoil only later bytes.
	n = bits.TrailingZeros64((x+swarOver9|x)&swarHigh) >> 3
	x <<= uint(64 - 8*n) // n = 0 leaves 0
	x = x*10 + x>>8      // pairs, in every second byte
	const even = 0x000000FF000000FF
	return (x&even*(100+1000000<<32) + x>>16&even*(1+10000<<32)) >> 32, n
}

var pow10 = [9]uint64{1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000}

// nanos appends the numbers of the array at the cursor to dst: whole, from 0
// to 2⁶³−1.
func (s *scanner) nanos(dst []int64) ([]int64, *fault) {
	if f := s.need('[', "an array of nanoseconds"); f != nil {
		return dst, f
	}
	if s.space(); s.peek() == ']' {
		s.i++
		return dst, nil
	}
	for {
		b, i := s.b, s.i
		for len(b)-i >= 18 {
			v, n := digits8(b[i:])
			if n == 8 {
				more, m := digits8(b[i+8:])
				if m == 8 {
					break
				}
				v, n = v*pow10[m]+more, 8+m
			}
			if n == 0 || b[i] == '0' && n > 1 {
				break
			}
			end := b[i+n]
			if end == ',' {
				dst = append(dst, int64(v))
				i += n + 1
				if b[i] == ' ' {
					i++
				}
				continue
			}
			if end == ']' {
				s.i = i + n + 1
				return append(dst, int64(v)), nil
			}
			break
		}
		s.i = i
		// What the fast loop left: odd spacing, a very long number, the end of
		// the line, or something wrong.
		s.space()
		v, f := s.integer("whole nanoseconds", 0, math.MaxInt64)
		if f != nil {
			return dst, f
		}
		dst = append(dst, v)
		if s.space(); s.peek() == ']' {
			s.i++
			return dst, nil
		}
		if f := s.need(',', `"," or "]"`); f != nil {
			return dst, f
		}
		s.space()
	}
}

// matrix appends the steps of durations_ns to dst; width is the number of
// durations in each, 0 when there are no steps.
func (s *scanner) matrix(dst []int64) (all []int64, width int, f *fault) {
	if f = s.need('[', "an array of steps"); f != nil {
		return dst, 0, f
	}
	if s.space(); s.peek() == ']' {
		s.i++
		return dst, 0, nil
	}
	for steps := 0; ; steps++ {
		have, at := len(dst), s.i
		if dst, f = s.nanos(dst); f != nil {
			return dst, 0, f
		}
		switch n := len(dst) - have; {
		case n == 0:
			return dst, 0, s.fail(at, trace.ErrEmpty, "step %d of the packet has no durations", steps)
		case steps == 0:
			width = n
		case n != width:
			return dst, 0, s.fail(at, trace.ErrRagged, "step %d of the packet has %d durations, the steps before it have %d", steps, n, width)
		}
		if i := s.i; len(s.b)-i > 1 && s.b[i] == ',' && s.b[i+1] == '[' {
			s.i = i + 1
			continue
		}
		if s.space(); s.peek() == ']' {
			s.i++
			return dst, width, nil
		}
		if f = s.need(',', `"," or "]"`); f != nil {
			return dst, 0, f
		}
		s.space()
	}
}
