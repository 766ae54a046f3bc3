package report

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// visible returns s with everything that is not plainly printable (control and
// format characters, invalid UTF-8, line breaks, spaces other than U+0020)
// written as a Go escape such as \x1b or \u202e, so that a name from an input
// can neither steer a terminal nor hide what it says.
func visible(s string) string {
	plain := func(r rune) bool { return unicode.IsPrint(r) && r != utf8.RuneError }
	if strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case plain(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
		i += n
	}
	return b.String()
}

// columns is how many terminal columns s takes: two for a wide rune of East
// Asia, one for any other. It is never less than the number of runes.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	if r < 0x1100 { // no wide rune lies below the Hangul Jamo
		return 1
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// shorten fits s into n columns by replacing its middle by an ellipsis: both
// ends of a stage name say more than its middle.
func shorten(s string, n int) string {
	if columns(s) <= n {
		return s
	}
	head := clip(s, n/2)
	tail := n - columns(head) - 1
	from := len(s)
	for from > len(head) {
		r, size := utf8.DecodeLastRuneInString(s[:from])
		if tail -= runeColumns(r); tail < 0 {
			break
		}
		from -= size
	}
	return head + "…" + s[from:]
}

// commonSuffix ends most stage names; without it they still differ, which the
// ends that shorten would keep often do not.
const commonSuffix = "cpu_wall"

// shortenName shortens the name of a stage, its common suffix first.
func shortenName(s string, n int) string {
	if columns(s) <= n {
		return s
	}
	if stem, ok := strings.CutSuffix(s, commonSuffix); ok {
		stem = strings.TrimRight(stem, "._")
		if columns(stem) < n {
			return stem + "…"
		}
		return shorten(stem, n)
	}
	return shorten(s, n)
}

// wrap breaks s at spaces into lines of at most n columns, n ≥ 2; a word that
// is longer than a line is cut.
func wrap(s string, n int) []string {
	n = max(n, 2) // a wide rune has to fit
	var lines []string
	line, have := "", 0
	flush := func() {
		if have > 0 {
			lines = append(lines, line)
		}
		line, have = "", 0
	}
	for _, word := range strings.Fields(s) {
		w := columns(word)
		if have > 0 && have+1+w > n {
			flush()
		}
		for w > n {
			head := clip(word, n)
			lines = append(lines, head)
			word = word[len(head):]
			w -= columns(head)
		}
		if have > 0 {
			line, have = line+" ", have+1
		}
		line, have = line+word, have+w
	}
	flush()
	return lines
}

// clip is the longest prefix of s that fits into n columns.
func clip(s string, n int) string {
	for i, r := range s {
		n -= runeColumns(r)
		if n < 0 {
			return s[:i]
		}
	}
	return s
}

// padRight and padLeft fill s with spaces up to n columns.
func padRight(s string, n int) string { return s + strings.Repeat(" ", max(0, n-columns(s))) }
func padLeft(s string, n int) string  { return strings.Repeat(" ", max(0, n-columns(s))) + s }
