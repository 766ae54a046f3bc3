package campaign

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sfstat/sfstat/trace/input"
)

// seeds are the seeds of a group. In YAML a list of numbers and of ranges, such
// as [0-99, 200], both ends included.
type seeds []uint64

// UnmarshalYAML reads seeds, the inverse of MarshalYAML.
func (s *seeds) UnmarshalYAML(node *yaml.Node) error {
	var items []string
	if err := node.Decode(&items); err != nil {
		return err
	}
	*s = nil
	for _, item := range items {
		from, to, ranged := strings.Cut(item, "-")
		if !ranged {
			to = from
		}
		first, err := strconv.ParseUint(from, 10, 64)
		last, err2 := strconv.ParseUint(to, 10, 64)
		switch {
		case err != nil || err2 != nil || last < first:
			return input.Bad(input.ErrType, "line %d: seed is %q, expected a number such as 7 or a range such as 0-99", node.Line, item)
		case last-first >= uint64(mostTasks-len(*s)):
			return input.Bad(input.ErrTooLarge, "line %d: more than %d seeds: make several campaigns", node.Line, mostTasks)
		}
		for seed := first; ; seed++ {
			*s = append(*s, seed)
			if seed == last {
				break
			}
		}
	}
	return nil
}

// MarshalYAML writes three and more consecutive seeds as a range.
func (s seeds) MarshalYAML() (any, error) {
	var items []any
	for i := 0; i < len(s); {
		end := i
		for end+1 < len(s) && s[end+1] == s[end]+1 && s[end] != ^uint64(0) {
			end++
		}
		if end-i < 2 {
			end = i
			items = append(items, s[i])
		} else {
			items = append(items, fmt.Sprintf("%d-%d", s[i], s[end]))
		}
		i = end + 1
	}
	return items, nil
}
