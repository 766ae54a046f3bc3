package packet

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/sfstat/sfstat/trace/input"
)

// Nearly all of a packet is whole numbers of 5 to 10 digits, so a number is
// read 8 bytes at a time: find the first byte that is no digit, shift it and
// what follows out, and add up the digits pairwise with three multiplications.
// Whether there is a second such word is left to the branch predictor: stages
// keep their order of magnitude, and waiting for the count would be slower.
const (
	swarZeros = 0x3030303030303030
	swarHigh  = 0x8080808080808080
	swarOver9 = 0x7676767676767676 // added to a digit's value it stays below 0x80
)

// word loads eight bytes, each less '0', and marks those that are no digits in
// their highest bits. The lowest mark is exact: a carry out of a byte that is no
// digit can spoil only later ones.
func word(b []byte) (x, marks uint64) {
	x = binary.LittleEndian.Uint64(b) ^ swarZeros
	return x, (x + swarOver9 | x) & swarHigh
}

// value returns the number that eight digits make, the first in the lowest byte.
func value(x uint64) uint64 {
	x = x*10 + x>>8 // pairs, in every second byte
	const even = 0x000000FF000000FF
	return (x&even*(100+1000000<<32) + x>>16&even*(1+10000<<32)) >> 32
}

var pow10 = [8]uint64{1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000}

// nanos appends the numbers of the array at the cursor to dst: whole, from 0
// to 2⁶³−1.
func (s *scanner) nanos(dst []int64) ([]int64, *fault) {
	if all, ok := s.usualNanos(dst); ok {
		return all, nil
	}
	f := s.list("an array of nanoseconds", func() *fault {
		v, f := s.integer("whole nanoseconds", 0, math.MaxInt64)
		dst = append(dst, v)
		return f
	})
	return dst, f
}

// usualNanos reads what nanos reads, where an array is written as usual. It leaves one that is empty, oddly spaced, at
// the end of the line or wrong, or that has a very long number.
func (s *scanner) usualNanos(dst []int64) (all []int64, ok bool) {
	b, i := s.b, s.i+1
	if s.peek() != '[' {
		return dst, false
	}
	for len(b)-i >= 18 {
		x, marks := word(b[i:])
		end, first := i, uint64(0)
		if marks == 0 {
			end, first = i+8, value(x)
			if x, marks = word(b[end:]); marks == 0 {
				break
			}
		}
		n := bits.TrailingZeros64(marks) >> 3
		end += n
		if end == i || b[i] == '0' && end > i+1 {
			break
		}
		v := int64(first*pow10[n] + value(x<<uint(64-8*n))) // n = 0 shifts all out
		if b[end] == ']' {
			s.i = end + 1
			return append(dst, v), true
		}
		if b[end] != ',' {
			break
		}
		dst = append(dst, v)
		if i = end + 1; b[i] == ' ' {
			i++
		}
	}
	return dst, false
}

// matrix appends the steps of durations_ns to dst; width is the number of
// durations in each, 0 when there are no steps.
func (s *scanner) matrix(dst []int64) (all []int64, width int, f *fault) {
	steps := 0
	f = s.list("an array of steps", func() (f *fault) {
		for ; ; s.i++ {
			have, at := len(dst), s.i
			if dst, f = s.nanos(dst); f != nil {
				return f
			}
			switch n := len(dst) - have; {
			case n == 0:
				return s.fail(at, input.ErrEmpty, "step %d of the packet has no durations", steps)
			case steps == 0:
				width = n
			case n != width:
				return s.fail(at, input.ErrRagged, "step %d of the packet has %d durations, the steps before it have %d", steps, n, width)
			}
			if steps++; !bytes.HasPrefix(s.b[s.i:], []byte(",[")) {
				return nil
			}
		}
	})
	return dst, width, f
}
