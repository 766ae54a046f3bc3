package diagnose

import (
	"fmt"
	"math"
	"strings"

	"github.com/sfstat/sfstat/trace"
)

// Words of judges that are not typed yet.

// ms writes a length of time with three significant digits.
func ms(ns int64) string {
	v, unit := float64(ns), "ns"
	switch a := math.Abs(v); {
	case a >= 1e9:
		v, unit = v/1e9, "s"
	case a >= 1e6:
		v, unit = v/1e6, "ms"
	case a >= 1e3:
		v, unit = v/1e3, "µs"
	}
	digits := 2
	if v != 0 {
		digits = min(2, max(0, 2-int(math.Floor(math.Log10(math.Abs(v))))))
	}
	text := fmt.Sprintf("%.*f", digits, v)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text + " " + unit
}

// ms writes a length of time with three significant digits.
func probability(p float64) string {
	switch {
	case p < 1e-6:
		return "below 1e-6"
	case p < 0.001:
		return fmt.Sprintf("%.0e", p)
	}
	return fmt.Sprintf("%.3f", p)
}

func percent(f float64) string {
	if f < 0.0995 {
		return fmt.Sprintf("%.1f %%", 100*f)
	}
	return fmt.Sprintf("%.0f %%", 100*f)
}

// listed writes ranks as a person would say them: "1, 9 and 17".
func listed(ranks []int) string {
	if len(ranks) > 6 {
		if list := trace.RankList(ranks); len(list) <= 24 {
			return list
		}
		return fmt.Sprintf("%d, %d, %d and %d more", ranks[0], ranks[1], ranks[2], len(ranks)-3)
	}
	var b strings.Builder
	for i, r := range ranks {
		switch {
		case i == 0:
		case i == len(ranks)-1:
			b.WriteString(" and ")
		default:
			b.WriteString(", ")
		}
		fmt.Fprint(&b, r)
	}
	return b.String()
}

// extent is the stage of a suspect, or that it is all of them.
func (f *finding) extent() string {
	if f.Stage == "" {
		return "all its stages"
	}
	return f.Stage
}
