package stages

import (
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

// rankInName returns the rank in the name of a file, −1 without any.
func rankInName(path string) int {
	name := baseName(path)
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

// baseName returns the last element of a path.
func baseName(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }
