// Package decimal reads numbers as they are written, digit by digit: no binary
// float stands between the digits of a time and its nanoseconds.
package decimal

import (
	"math"
	"strings"
)

// Number is a number as it was written: Mant · 10^Exp.
type Number struct {
	Mant  int64
	Exp   int16
	Point bool // written with a point or an exponent
}

// keptDigits are the digits of the largest int64. What does not fit is cut off,
// not rounded: rounding halves away from zero later then comes out right.
const keptDigits = 19

// maxExponent is the largest exponent that is taken at its word.
const maxExponent = 1000

// Parse reads "12", "-0.5", "3.2e-05". It refuses "nan", "inf" and
// everything else.
func Parse(s string) (d Number, ok bool) {
	s = strings.TrimSpace(s)
	negative := false
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		negative = s[0] == '-'
		s = s[1:]
	}
	digits, exp := 0, 0
	i := 0
	for full := false; i < len(s); i++ {
		c := s[i]
		if c == '.' && !d.Point {
			d.Point = true
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		digits++
		full = full || d.Mant > (math.MaxInt64-9)/10
		switch {
		case !full:
			d.Mant = d.Mant*10 + int64(c-'0')
			if d.Point {
				exp--
			}
		case !d.Point:
			exp++
		}
	}
	if digits == 0 || digits > maxExponent {
		return Number{}, false
	}
	if i < len(s) {
		e, ok := exponent(s[i:])
		if !ok {
			return Number{}, false
		}
		d.Point = true
		exp += e
	}
	if negative {
		d.Mant = -d.Mant
	}
	d.Exp = int16(exp)
	return d, true
}

// exponent reads "e-05".
func exponent(s string) (int, bool) {
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
	for _, c := range []byte(s) {
		if c < '0' || c > '9' || n > maxExponent {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return sign * n, len(s) > 0 && n <= maxExponent
}

// Integer returns the number, and whether it is whole and an int64.
func (d Number) Integer() (v int64, whole bool) {
	v, ok := d.Round()
	if d.Exp >= 0 || d.Mant == 0 {
		return v, ok
	}
	back := d.Mant
	for e := d.Exp; e < 0; e++ {
		if back%10 != 0 {
			return 0, false
		}
		back /= 10
	}
	return back, true
}

// Round rounds the number to the nearest integer, halves away from zero; not ok
// when it is no int64.
func (d Number) Round() (v int64, ok bool) {
	v = d.Mant
	for e := d.Exp; e > 0 && v != 0; e-- {
		if v > math.MaxInt64/10 || v < math.MinInt64/10 {
			return 0, false
		}
		v *= 10
	}
	if d.Exp >= 0 {
		return v, true
	}
	if d.Exp <= -keptDigits { // 10^19 is no int64
		const half = 5_000_000_000_000_000_000
		if d.Exp < -keptDigits || v < half && v > -half {
			return 0, true
		}
		return v / half, true
	}
	unit := int64(1)
	for e := d.Exp; e < 0; e++ {
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

// Shift returns the number times 10^by.
func (d Number) Shift(by int) Number {
	d.Exp += int16(by)
	return d
}

// Float returns the number to the precision of a float64.
func (d Number) Float() float64 { return float64(d.Mant) * math.Pow10(int(d.Exp)) }
