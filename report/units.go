package report

import (
	"math"
	"strconv"
	"strings"
)

// absent is shown where there is no number.
const absent = "–"

// unit is a unit of time.
type unit struct {
	name string
	ns   float64
}

var timeUnits = [...]unit{{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}}

// unitFor is the largest unit in which ns, rounded to three digits, is at
// least 1.
func unitFor(ns float64) unit {
	best := timeUnits[0]
	for _, u := range timeUnits[1:] {
		if math.Abs(ns) >= 0.9995*u.ns {
			best = u
		}
	}
	return best
}

// Size writes bytes for a person, in thousands as disks are sold: "1.35 MB"; "" where the number is
// negative, which is none.
func Size(n int64) string {
	if n < 0 {
		return ""
	}
	v, unit := float64(n), 0
	for ; v >= 999.5 && unit < 5; unit++ {
		v /= 1000
	}
	return real3(v) + " " + [...]string{"B", "kB", "MB", "GB", "TB", "PB"}[unit]
}

// Length is how reports write a length of time.
func Length(ns int64) string { return length(float64(ns)) }

// length writes a length of time with its unit and three significant digits:
// "121 ms", "4.56 µs".
func length(ns float64) string {
	if !finite(ns) {
		return absent
	}
	u := unitFor(ns)
	return digits3(ns/u.ns, u) + " " + u.name
}

// digits3 writes v with three significant digits, whole in nanoseconds.
func digits3(v float64, u unit) string {
	decimals := 2
	switch a := math.Abs(v); {
	case a >= 99.95:
		decimals = 0
	case a >= 9.995:
		decimals = 1
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if u.ns == 1 && strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// scale is how one column of lengths is written: one unit and one number of
// decimals, so that the points stand under each other.
type scale struct {
	unit     unit
	decimals int
}

// scaleFor chooses by the largest length: two decimals below ten units, one
// above, none in nanoseconds.
func scaleFor(largest float64) scale {
	u := unitFor(largest)
	switch v := math.Abs(largest) / u.ns; {
	case u.ns == 1:
		return scale{u, 0}
	case v < 9.995:
		return scale{u, 2}
	}
	return scale{u, 1}
}

func (s scale) format(ns float64) string {
	v := strconv.FormatFloat(ns/s.unit.ns, 'f', s.decimals, 64)
	if strings.Trim(v, "-0.") == "" {
		return strings.TrimPrefix(v, "-") // not "-0.0"
	}
	return v
}

// real3 writes a number with three significant digits, whole where it has more
// before the point.
func real3(v float64) string {
	if !finite(v) {
		return absent
	}
	if a := math.Abs(v); a >= 999.5 && a < 1e6 {
		return grouped(int64(math.Round(v)))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// percent writes a fraction: "58.4 %".
func percent(f float64) string {
	return percentTo(1, f)
}

// finePercent writes a small fraction: "0.131 %".
func finePercent(f float64) string {
	return percentTo(3, f)
}

func percentTo(decimals int, f float64) string {
	if !finite(100 * f) {
		return absent
	}
	s := strconv.FormatFloat(100*f, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-")
	}
	return s + " %"
}

// probability writes a p-value: "1e-6" for all that is below, "4e-05", "0.021".
func probability(p float64) string {
	switch {
	case !finite(p):
		return absent
	case p < 1e-6:
		return "1e-6"
	case p < 0.001:
		return strconv.FormatFloat(p, 'e', 0, 64)
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}

// pValue is "p < 1e-6" or "p = 0.021".
func pValue(p float64) string {
	if p < 1e-6 {
		return "p < " + probability(p)
	}
	return "p = " + probability(p)
}

// percentOf writes a fraction that somebody chose, as it is: "99.5 %".
func percentOf(f float64) string {
	if !finite(100 * f) {
		return absent
	}
	return strconv.FormatFloat(100*f, 'g', 6, 64) + " %"
}

// grouped writes a whole number with groups of three: "1 234 567".
func grouped(n int64) string {
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

// counted writes "1 run", "3 runs".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(int64(n)) + " " + noun + "s"
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// factor writes a ratio: "2.36 ×".
func factor(f float64) string {
	if !finite(f) {
		return absent
	}
	decimals := 2
	if math.Abs(f) >= 100 {
		decimals = 0
	}
	return strconv.FormatFloat(f, 'f', decimals, 64) + " ×"
}

// about writes a fraction in a sentence: "36 %", "8.8 %", "0.04 %".
func about(f float64) string {
	switch a := math.Abs(f); {
	case !finite(100 * f):
		return absent
	case a >= 0.0995:
		return strconv.FormatFloat(100*f, 'f', 0, 64) + " %"
	case a >= 0.001 || a == 0:
		return strconv.FormatFloat(100*f, 'f', 1, 64) + " %"
	}
	return strconv.FormatFloat(100*f, 'g', 1, 64) + " %"
}

// hundredths writes a number with two decimals.
func hundredths(v float64) string {
	if !finite(v) {
		return absent
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}
