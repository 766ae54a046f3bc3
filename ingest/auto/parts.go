package auto

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/trace/input"
)

// The parts of a recording are numbered in the names of their files. Where a number between others has no file, its steps are missing, which
// the steps alone do not show: a job may have logged none there.

// lastNumber is the last number in the name of a file.
var lastNumber = regexp.MustCompile(`^(.*?)(\d+)(\D*)$`)

// numberedPart is a file that is a part, by its number.
type numberedPart struct {
	number int
	digits int // that it is written with
	path   string
}

func pathsOfShares(run *tableRun) (paths []string) {
	for _, s := range slices.Concat(run.stretches...) {
		paths = append(paths, s.path())
	}
	return paths
}

// nameMissingParts names the parts that have no file: the last number of the names rises by one amount, and leaves some out.
func (r *Reader) nameMissingParts(paths []string) {
	series := make(map[[2]string][]numberedPart) // by what stands around the number
	for _, path := range paths {
		m := lastNumber.FindStringSubmatch(tableStem(path))
		if m == nil {
			continue
		}
		n, err := strconv.Atoi(m[2])
		if err != nil {
			continue
		}
		around := [2]string{filepath.Join(filepath.Dir(path), m[1]), m[3] + strings.TrimPrefix(filepath.Base(path), tableStem(path))}
		series[around] = append(series[around], numberedPart{n, len(m[2]), path})
	}
	for around, parts := range series {
		slices.SortFunc(parts, func(a, b numberedPart) int { return cmp.Compare(a.number, b.number) })
		step := 0
		for i := range parts[1:] {
			if by := parts[i+1].number - parts[i].number; step == 0 || by < step {
				step = by
			}
		}
		for i := range parts[1:] {
			a, b := parts[i], parts[i+1]
			if by := b.number - a.number; step > 0 && len(parts) > 2 && by > step && by%step == 0 && by/step <= len(parts) {
				first, last := a.number+step, b.number-step
				path := func(n int) string { return around[0] + fmt.Sprintf("%0*d", a.digits, n) + around[1] }
				r.noteMissingPart(path(first), path(last), a.path, b.path)
			}
		}
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int { return strings.Compare(a.Path, b.Path) })
}

// noteMissingPart notes that files are not there between two others.
func (r *Reader) noteMissingPart(first, last, before, behind string) {
	what := ""
	if first != last {
		what = fmt.Sprintf(" and on to %s", filepath.Base(last))
	}
	r.problems = append(r.problems, Problem{first, input.At(input.Pos{File: first}, input.Bad(input.ErrMissing,
		"this part%s is not there, between %s and %s: its steps are missing", what, filepath.Base(before), filepath.Base(behind)))})
}

// rotation is the name of a log that a later one replaced, with its number.
var rotation = regexp.MustCompile(`^(.*\.(?:log|txt|out|err))[.-](\d{1,3})(\.gz|\.zst)?$`)

// nameMissingRotations names the rotated logs that have no file: train.log and train.log.2 without train.log.1.
func (r *Reader) nameMissingRotations(inputs []*Input) {
	there := make(map[string]map[int]string) // paths by the log that writes on, and number
	for _, in := range inputs {
		base, n := strings.TrimSuffix(strings.TrimSuffix(in.Path, ".gz"), ".zst"), 0
		if m := rotation.FindStringSubmatch(in.Path); m != nil {
			base = m[1]
			n, _ = strconv.Atoi(m[2])
		}
		if there[base] == nil {
			there[base] = make(map[int]string)
		}
		there[base][n] = in.Path
	}
	for base, paths := range there {
		newer := 0
		for n := 1; len(paths) > 1 && n < 1000; n++ {
			if paths[n] == "" {
				continue
			}
			if missing := n - newer - 1; missing > 0 && (newer > 0 || paths[0] != "") && missing < len(paths) {
				r.noteMissingPart(fmt.Sprintf("%s.%d", base, newer+1), fmt.Sprintf("%s.%d", base, n-1), cmp.Or(paths[newer], base), paths[n])
			}
			newer = n
		}
	}
}
