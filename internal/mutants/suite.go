package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// suite is a run of go test that looks at mutants of a folder.
type suite struct {
	folder string   // of the mutants
	args   []string // of go test: options, the package
	limit  time.Duration
	slow   []slowTest // that are run one by one after all others, the quickest first
}

// slowTest is a test with the code that it reaches, by file.
type slowTest struct {
	name string
	code map[string][]span
}

// span is lines of a file.
type span struct{ first, last int }

func (s *suite) path() string { return s.args[len(s.args)-1] }

// runsAll reports whether all tests of the package are run.
func (s *suite) runsAll() bool { return len(s.args) == 1 }

// options returns the options of go test as the tests' program knows them.
func (s *suite) options() (out []string) {
	for _, a := range s.args[:len(s.args)-1] {
		if name, ok := strings.CutPrefix(a, "-"); ok {
			a = "-test." + name
		}
		out = append(out, a)
	}
	return out
}

// runs returns the options of the runs that may find a mutant, in order. A slow test that does not reach the mutant's function
// cannot; one that takes long is worth a run of its own, before which the others may have found the mutant.
func (s *suite) runs(m *mutant) [][]string {
	if len(s.slow) == 0 {
		return [][]string{s.options()}
	}
	var names []string
	for _, test := range s.slow {
		names = append(names, test.name)
	}
	out := [][]string{append(s.options(), "-test.skip", pattern(names...))}
	for _, test := range s.slow {
		if test.reaches(m) {
			out = append(out, append(s.options(), "-test.run", pattern(test.name)))
		}
	}
	return out
}

// pattern returns the regular expression of tests of these names alone.
func pattern(names ...string) string { return "^(" + strings.Join(names, "|") + ")$" }

// reaches reports whether the test runs any of the mutant's function. Of what stands outside functions all tests count.
func (s *slowTest) reaches(m *mutant) bool {
	return m.within == span{} || slices.ContainsFunc(s.code[m.File], func(x span) bool { return x.first <= m.within.last && m.within.first <= x.last })
}

var passed = regexp.MustCompile(`(?m)^--- PASS: (\S+) \((\d+\.\d+)s\)$`)

// slow returns the tests that take a 50th of the time of all or longer, the quickest first, from what go test -v printed.
func slow(printed string) []string {
	type timed struct {
		name    string
		seconds float64
	}
	var all []timed
	total := 0.0
	for _, m := range passed.FindAllStringSubmatch(printed, -1) {
		seconds, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			continue
		}
		all, total = append(all, timed{m[1], seconds}), total+seconds
	}
	all = slices.DeleteFunc(all, func(t timed) bool { return t.seconds < total/50 || t.seconds < 0.1 })
	slices.SortStableFunc(all, func(a, b timed) int { return cmp.Compare(a.seconds, b.seconds) })
	var names []string
	for _, t := range all {
		names = append(names, t.name)
	}
	return names
}

// coveredLines returns the lines that ran by a coverage profile, by file from the folder of the module.
func coveredLines(profile string) map[string][]span {
	out := make(map[string][]span)
	for line := range strings.Lines(profile) {
		place, counts, _ := strings.Cut(strings.TrimSpace(line), " ")
		at := strings.LastIndexByte(place, ':')
		if at < 0 || strings.HasSuffix(counts, " 0") {
			continue
		}
		var s span
		var column, end int
		if _, err := fmt.Sscanf(place[at+1:], "%d.%d,%d.%d", &s.first, &column, &s.last, &end); err != nil {
			continue
		}
		file := strings.TrimPrefix(place[:at], module)
		out[file] = append(out[file], s)
	}
	return out
}

// module is what names of files in a coverage profile begin with.
const module = "github.com/sfstat/sfstat/"
