package table

import (
	"math"
	"strconv"
	"strings"
)

// Absent is shown where there is no number.
const Absent = "–"

// TimeUnit is a unit of time, and its length in nanoseconds.
type TimeUnit struct {
	Name string
	NS   float64
}

var timeUnits = [...]TimeUnit{{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}}

// UnitFor returns the largest unit in which ns, rounded to three digits, is at
// least 1.
func UnitFor(ns float64) TimeUnit {
	best := timeUnits[0]
	for _, u := range timeUnits[1:] {
		if math.Abs(ns) >= 0.9995*u.NS {
			best = u
		}
	}
	return best
}

// scale is how one column of lengths is written: one unit and one number of
// decimals, so that the points stand under each other.
type scale struct {
	unit     TimeUnit
	decimals int
}

// scaleFor chooses by the largest length: two decimals below ten units, one
// above, none in nanoseconds.
func scaleFor(largest float64) scale {
	u := UnitFor(largest)
	switch v := math.Abs(largest) / u.NS; {
	case u.NS == 1:
		return scale{u, 0}
	case v < 9.995:
		return scale{u, 2}
	}
	return scale{u, 1}
}

func (s scale) format(ns float64) string {
	v := strconv.FormatFloat(ns/s.unit.NS, 'f', s.decimals, 64)
	if strings.Trim(v, "-0.") == "" {
		return strings.TrimPrefix(v, "-") // not "-0.0"
	}
	return v
}

// Number writes a number with three significant digits, whole where it has more
// before the point.
func Number(v float64) string {
	if !Finite(v) {
		return Absent
	}
	if a := math.Abs(v); a >= 999.5 && a < 1e6 {
		return Grouped(int64(math.Round(v)))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// Percent writes a fraction: "58.4 %".
func Percent(f float64) string {
	return percentTo(1, f)
}

// FinePercent writes a small fraction: "0.131 %".
func FinePercent(f float64) string {
	return percentTo(3, f)
}

func percentTo(decimals int, f float64) string {
	if !Finite(100 * f) {
		return Absent
	}
	s := strconv.FormatFloat(100*f, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-")
	}
	return s + " %"
}

// Decimals writes a number with so many decimals.
func Decimals(v float64, n int) string {
	if !Finite(v) {
		return Absent
	}
	return strconv.FormatFloat(v, 'f', n, 64)
}

// OutOf writes how many of how many: "3/50", and a dash of none.
func OutOf(k, n int) string {
	if n == 0 {
		return Absent
	}
	return strconv.Itoa(k) + "/" + strconv.Itoa(n)
}

// Grouped writes a whole number with groups of three: "1 234 567".
func Grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return sign + s
}

// Counted writes "1 run", "3 runs".
func Counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Grouped(int64(n)) + " " + noun + "s"
}

// Finite reports whether f is neither NaN nor infinite.
func Finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// Times writes a ratio: "2.36 ×".
func Times(f float64) string {
	if !Finite(f) {
		return Absent
	}
	decimals := 2
	if math.Abs(f) >= 100 {
		decimals = 0
	}
	return strconv.FormatFloat(f, 'f', decimals, 64) + " ×"
}
