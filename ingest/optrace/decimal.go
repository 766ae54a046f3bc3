package optrace

import (
	"bytes"
	"math"
)

// decimal is a number as it was written: mant · 10^exp. No binary float stands
// between the digits and the nanoseconds.
type decimal struct {
	mant  int64
	exp   int16
	point bool // written with a point or an exponent
}

// keptDigits are the digits of the largest int64. What does not fit is cut off,
// not rounded: rounding halves away from zero later then comes out right.
const keptDigits = 19

// maxExponent is the largest exponent that is taken at its word.
const maxExponent = 1000

// parseDecimal reads "12", "-0.5", "3.2e-05". It refuses "nan", "inf" and
// everything else.
func parseDecimal(s []byte) (d decimal, ok bool) {
	s = bytes.TrimSpace(s)
	negative := false
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		negative = s[0] == '-'
		s = s[1:]
	}
	digits, exp := 0, 0
	i := 0
	for full := false; i < len(s); i++ {
		c := s[i]
		if c == '.' && !d.point {
			d.point = true
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		digits++
		full = full || d.mant > (math.MaxInt64-9)/10
		switch {
		case !full:
			d.mant = d.mant*10 + int64(c-'0')
			if d.point {
				exp--
			}
		case !d.point:
			exp++
		}
	}
	if digits == 0 || digits > maxExponent {
		return decimal{}, false
	}
	if i < len(s) {
		e, ok := exponent(s[i:])
		if !ok {
			return decimal{}, false
		}
		d.point = true
		exp += e
	}
	if negative {
		d.mant = -d.mant
	}
	d.exp = int16(exp)
	return d, true
}

// exponent reads "e-05".
func exponent(s []byte) (int, bool) {
	if len(s) < 2 || s[0]|0x20 != 'e' {
		return 0, false
	}
	s = s[1:]
	sign := 1
	if s[0] == '-' || s[0] == '+' {
		if s[0] == '-' {
			sign = -1
		}
		s = s[1:]
	}
	n := 0
	for _, c := range s {
		if c < '0' || c > '9' || n > maxExponent {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return sign * n, len(s) > 0 && n <= maxExponent
}

// integer is the number, and whether it is whole and an int64.
func (d decimal) integer() (v int64, whole bool) {
	v, ok := d.round()
	if d.exp >= 0 || d.mant == 0 {
		return v, ok
	}
	back := d.mant
	for e := d.exp; e < 0; e++ {
		if back%10 != 0 {
			return 0, false
		}
		back /= 10
	}
	return back, true
}

// round is the number to the nearest integer, halves away from zero; not ok
// when it is no int64.
func (d decimal) round() (v int64, ok bool) {
	v = d.mant
	for e := d.exp; e > 0 && v != 0; e-- {
		if v > math.MaxInt64/10 || v < math.MinInt64/10 {
			return 0, false
		}
		v *= 10
	}
	if d.exp >= 0 {
		return v, true
	}
	if d.exp <= -keptDigits { // 10^19 is no int64
		const half = 5_000_000_000_000_000_000
		if d.exp < -keptDigits || v < half && v > -half {
			return 0, true
		}
		return v / half, true
	}
	unit := int64(1)
	for e := d.exp; e < 0; e++ {
		unit *= 10
	}
	half := unit / 2
	switch rest := v % unit; {
	case rest >= half:
		return v/unit + 1, true
	case rest <= -half:
		return v/unit - 1, true
	}
	return v / unit, true
}

// float is the number to the precision of a float64.
func (d decimal) float() float64 { return float64(d.mant) * math.Pow10(int(d.exp)) }
