// Package glyph sets text in the columns of a terminal: what a string takes of them, how it
// is wrapped and shortened, and how control characters of an input are shown instead of obeyed.
package glyph

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Visible returns s with everything that is not plainly printable (control and
// format characters, invalid UTF-8, line breaks, spaces other than U+0020)
// written as a Go escape such as \x1b or \u202e, so that a name from an input
// can neither steer a terminal nor hide what it says.
func Visible(s string) string {
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

// Columns returns how many terminal columns s takes: two for a wide rune of East
// Asia, one for any other. It is never less than the number of runes.
func Columns(s string) int {
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

// Shorten fits s into n columns by replacing its middle by an ellipsis: both
// ends of a stage name say more than its middle.
func Shorten(s string, n int) string {
	if Columns(s) <= n {
		return s
	}
	head := Clip(s, n/2)
	tail := n - Columns(head) - 1
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

// ShortenName shortens the name of a stage, its common suffix first.
func ShortenName(s string, n int) string {
	if Columns(s) <= n {
		return s
	}
	if stem, ok := strings.CutSuffix(s, commonSuffix); ok {
		stem = strings.TrimRight(stem, "._")
		if Columns(stem) < n {
			return stem + "…"
		}
		return Shorten(stem, n)
	}
	return Shorten(s, n)
}

// StemColumns returns how wide a name is without the common suffix.
func StemColumns(s string) int {
	if stem, ok := strings.CutSuffix(s, commonSuffix); ok {
		return Columns(strings.TrimRight(stem, "._")) + 1
	}
	return Columns(s)
}

// Distinct fits names into n columns so that no two become one: without what all
// have in common, at their end or at both, where that is enough; else by their
// middle; or, where they differ in too many places for that, by a number.
func Distinct(names []string, n int) map[string]string {
	head, tail := ends(names)
	differing := func(name string) string {
		if Columns(name) <= n {
			return name
		}
		return ellipsis(head) + name[head:len(name)-tail] + ellipsis(tail)
	}
	cuts := make(map[string]string, len(names))
	fits := func(cut func(i int, name string) string) bool {
		seen := make(map[string]bool, len(names))
		widest := 0
		for i, name := range names {
			cuts[name] = cut(i, name)
			seen[cuts[name]] = true
			widest = max(widest, Columns(cuts[name]))
		}
		return len(seen) == len(names) && widest <= n
	}
	stem := func(name string) string { return ShortenName(name, max(n, StemColumns(name))) }
	_ = fits(func(_ int, name string) string { return stem(name) }) ||
		fits(func(_ int, name string) string { return differing(name) }) ||
		fits(func(_ int, name string) string { return ShortenName(name, n) }) ||
		fits(func(_ int, name string) string { return Shorten(differing(name), n) }) ||
		fits(func(i int, name string) string {
			number := "#" + strconv.Itoa(i+1)
			return Shorten(name, max(1, n-len(number))) + number
		})
	return cuts
}

// ellipsis returns a mark for n omitted bytes.
func ellipsis(n int) string {
	if n == 0 {
		return ""
	}
	return "…"
}

// ends returns how many bytes all names have in common at their beginning and, after
// that, at their end; none where that is a single letter, which the ellipsis
// would be as long as.
func ends(names []string) (head, tail int) {
	first := names[0]
	head, tail = len(first), len(first)
	for _, name := range names[1:] {
		head, tail = min(head, len(name)), min(tail, len(name))
		for i := range head {
			if name[i] != first[i] {
				head = i
				break
			}
		}
		for i := range tail {
			if name[len(name)-1-i] != first[len(first)-1-i] {
				tail = i
				break
			}
		}
	}
	for head > 0 && !utf8.RuneStart(first[min(head, len(first)-1)]) {
		head--
	}
	for _, name := range names {
		tail = min(tail, len(name)-head)
	}
	for tail > 0 && !utf8.RuneStart(first[len(first)-tail]) {
		tail--
	}
	if head == 1 {
		head = 0
	}
	if tail == 1 {
		tail = 0
	}
	return head, tail
}

// Wrap breaks s at spaces into lines of at most n columns, n ≥ 2; a word that
// is longer than a line is cut.
func Wrap(s string, n int) []string {
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
		w := Columns(word)
		if have > 0 && have+1+w > n {
			flush()
		}
		for w > n {
			head := Clip(word, n)
			lines = append(lines, head)
			word = word[len(head):]
			w -= Columns(head)
		}
		if have > 0 {
			line, have = line+" ", have+1
		}
		line, have = line+word, have+w
	}
	flush()
	return lines
}

// Clip returns the longest prefix of s that fits into n columns.
func Clip(s string, n int) string {
	for i, r := range s {
		n -= runeColumns(r)
		if n < 0 {
			return s[:i]
		}
	}
	return s
}

// PadRight fills s with spaces at its end up to n columns.
func PadRight(s string, n int) string { return s + strings.Repeat(" ", max(0, n-Columns(s))) }
func PadLeft(s string, n int) string  { return strings.Repeat(" ", max(0, n-Columns(s))) + s }
