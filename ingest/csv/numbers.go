package csv

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/internal/decimal"
)

// numbers is how the numbers of a table are written: with a comma instead of the point, or with a mark between their
// thousands.
type numbers struct {
	comma bool   // stands before fractions
	marks string // between thousands
}

// missing are how programs write a cell that has no value.
var missing = []string{"", "nan", "null", "none", "na", "n/a", "#n/a", "nil", "-", "--", "—", "?", "missing", "<na>", "nat"}

// isMissing reports whether a cell has no value.
func isMissing(text string) bool {
	if len(text) > len("missing") || text != "" && text[0] >= '0' && text[0] <= '9' {
		return false
	}
	return slices.Contains(missing, strings.ToLower(text))
}

// unitsOfCells are units as they stand behind a number, the longer first.
var unitsOfCells = []struct {
	name string
	unit Unit
}{
	{"nanoseconds", Nanoseconds}, {"microseconds", Microseconds}, {"milliseconds", Milliseconds}, {"seconds", Seconds}, {"millis", Milliseconds},
	{"nsec", Nanoseconds}, {"usec", Microseconds}, {"µsec", Microseconds}, {"msec", Milliseconds}, {"secs", Seconds}, {"sec", Seconds},
	{"ns", Nanoseconds}, {"us", Microseconds}, {"µs", Microseconds}, {"μs", Microseconds}, {"ms", Milliseconds}, {"s", Seconds},
}

// isPlain reports whether text is a number as programs write it: digits, with a point at most.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && c != '.' {
			return false
		}
	}
	return len(text) > 0
}

// clean returns a cell as a number with a point, and the unit after it. Text that is no number is returned unchanged.
func (n numbers) clean(text string) (number string, unit Unit) {
	if isPlain(text) && !strings.Contains(n.marks, ".") {
		return text, Unsaid
	}
	out := strings.Trim(text, "' ")
	if d, ok := timeOfDay(out); ok {
		return d, Seconds
	}
	lower := strings.ToLower(out)
	for _, u := range unitsOfCells {
		if stem, ok := strings.CutSuffix(lower, u.name); ok && len(stem) > 0 && strings.ContainsAny(stem[:1], "+-.,0123456789") {
			out, unit = strings.TrimSpace(out[:len(stem)]), u.unit
			break
		}
	}
	for _, mark := range n.marks {
		out = dropMarks(out, mark)
	}
	if n.comma {
		out = strings.Replace(out, ",", ".", 1)
	}
	if _, ok := decimal.Parse(out); !ok {
		return text, Unsaid
	}
	return out, unit
}

// dropMarks drops a mark that stands between the thousands of a number.
func dropMarks(text string, mark rune) string {
	parts := strings.Split(text, string(mark))
	for i, p := range parts[1:] {
		digits := p
		if i == len(parts)-2 {
			digits, _, _ = strings.Cut(strings.ReplaceAll(p, ",", "."), ".")
		}
		if len(digits) != 3 {
			return text
		}
	}
	return strings.Join(parts, "")
}

// ofDay is a length of time as pandas and Python write it: 0 days 00:00:00.015, 0:00:00.015.
var ofDay = regexp.MustCompile(`^(?:(\d+) days? \+?)?(\d{1,2}):(\d{2}):(\d{2}(?:\.\d+)?)$`)

// timeOfDay returns the seconds of a length that is written in hours, minutes and seconds; lengths of a day are none of a step.
func timeOfDay(text string) (seconds string, ok bool) {
	if strings.IndexByte(text, ':') < 0 {
		return "", false
	}
	m := ofDay.FindStringSubmatch(text)
	if m == nil || strings.Trim(m[1]+m[2], "0") != "" {
		return "", false
	}
	minutes := int(m[3][0]-'0')*10 + int(m[3][1]-'0')
	whole, fraction, _ := strings.Cut(m[4], ".")
	total := minutes*60 + int(whole[0]-'0')*10 + int(whole[1]-'0')
	return strings.TrimSuffix(strings.Join([]string{strconv.Itoa(total), fraction}, "."), "."), true
}

// grouping is a number with marks between its thousands, perhaps with a fraction.
var grouping = regexp.MustCompile(`^[-+]?\d{1,3}(?:([ ._,'  ])\d{3})+(?:[.,]\d+)?$`)

// numbersOf finds out how numbers are written by the cells of columns. unsure: they would be read in two ways, a thousand times
// apart.
func numbersOf(cells []string) (n numbers, unsure bool) {
	var fractions, thousands, either int // cells with a comma, by what it can be
	for _, text := range cells {
		text = strings.Trim(text, "' ")
		number := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzµμ ")
		m := grouping.FindStringSubmatch(number)
		commas := strings.Count(number, ",")
		last := number[strings.LastIndexByte(number, ',')+1:]
		switch {
		case m != nil && m[1] != "," && (m[1] != "." || strings.Count(number, ".") > 1 || commas == 1):
			if !strings.Contains(n.marks, m[1]) {
				n.marks += m[1]
			}
			fractions += commas
		case commas > 1 && m != nil || commas == 1 && strings.Contains(last, "."):
			thousands++
		case commas == 1 && (m == nil || number[0] == '0'):
			fractions++
		case commas == 1:
			either++
		}
	}
	switch {
	case fractions > 0:
		n.comma = true
	case thousands > 0:
		n.marks += ","
	case either > 0:
		return n, true
	}
	return n, false
}
