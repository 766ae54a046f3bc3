package report

import (
	"math"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/internal/table"
)

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
	return table.Number(v) + " " + [...]string{"B", "kB", "MB", "GB", "TB", "PB"}[unit]
}

// Length prints a length of time as reports do.
func Length(ns int64) string { return length(ns) }

// length writes a length of time with its unit and three significant digits:
// "121 ms", "4.56 µs".
func length[N int64 | float64](n N) string {
	ns := float64(n)
	if !table.Finite(ns) {
		return table.Absent
	}
	u := table.UnitFor(ns)
	return digits3(ns/u.NS, u) + " " + u.Name
}

// digits3 writes v with three significant digits, whole in nanoseconds.
func digits3(v float64, u table.TimeUnit) string {
	decimals := 2
	switch a := math.Abs(v); {
	case a >= 99.95:
		decimals = 0
	case a >= 9.995:
		decimals = 1
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if u.NS == 1 && strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// probability writes a p-value: "1e-6" for all that is below, "4e-05", "0.021".
func probability(p float64) string {
	switch {
	case !table.Finite(p):
		return table.Absent
	case p < 1e-6:
		return "1e-6"
	case p < 0.001:
		return strconv.FormatFloat(p, 'e', 0, 64)
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}

// pValue returns "p < 1e-6" or "p = 0.021".
func pValue(p float64) string {
	if p < 1e-6 {
		return "p < " + probability(p)
	}
	return "p = " + probability(p)
}

// percentOf writes a fraction that somebody chose, as it is: "99.5 %".
func percentOf(f float64) string {
	if !table.Finite(100 * f) {
		return table.Absent
	}
	return strconv.FormatFloat(100*f, 'g', 6, 64) + " %"
}

// fraction writes a fraction in a sentence: "36 %", "8.8 %", "0.04 %".
func fraction(f float64) string {
	switch a := math.Abs(f); {
	case !table.Finite(100 * f):
		return table.Absent
	case a >= 0.0995:
		return strconv.FormatFloat(100*f, 'f', 0, 64) + " %"
	case a >= 0.001 || a == 0:
		return strconv.FormatFloat(100*f, 'f', 1, 64) + " %"
	}
	return strconv.FormatFloat(100*f, 'g', 1, 64) + " %"
}
