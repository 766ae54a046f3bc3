package profile

import (
	"cmp"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/trace"
)

// rankPatterns are the ways in which names of files tell a rank, the surest
// first. Processes and times are longer numbers.
var rankPatterns = []*regexp.Regexp{
	regexp.MustCompile(`(?i)(?:^|[^a-z])rank[-_. ]?(\d{1,6})(?:\D|$)`),
	regexp.MustCompile(`(?i)(?:^|[^a-z])(?:worker|trainer|proc|process|gpu)[-_. ]?(\d{1,6})(?:\D|$)`),
	regexp.MustCompile(`(?:^|[-_.])r(\d{1,6})(?:[-_.]|$)`),
	regexp.MustCompile(`(?:^|\.)(\d{1,5})\.pt\.trace`),
	regexp.MustCompile(`^(\d{1,5})\.`),
}

// rankInName is the rank that the name of a file tells, −1: none.
func rankInName(path string) int {
	name := filepath.Base(path)
	for _, p := range rankPatterns {
		if m := p.FindStringSubmatch(name); m != nil {
			n, err := strconv.Atoi(m[1])
			if err == nil && n < trace.MaxRanks {
				return n
			}
		}
	}
	return -1
}

// naturally orders names as people do: numbers in them count as numbers, so
// that host_9 comes before host_10.
func naturally(a, b string) int {
	for a != "" && b != "" {
		na, nb := leadingDigits(a), leadingDigits(b)
		if na > 0 && nb > 0 {
			x, y := strings.TrimLeft(a[:na], "0"), strings.TrimLeft(b[:nb], "0")
			if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); c != 0 {
				return c
			}
			a, b = a[na:], b[nb:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

func leadingDigits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
