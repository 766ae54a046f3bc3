package tables

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/eval/simulate/pipeline"
	"github.com/sfstat/sfstat/trace/enum"
)

// key is a property of a case by which runs are grouped.
type key uint8

const (
	byFamily  key = iota
	byPattern     // constant or intermittent
	byDelay
	byRanks
	byArrivals // without and with them
)

var keyNames = [...]string{"family", "pattern", "delay", "ranks", "arrivals"}

func (k key) String() string { return enum.Name(keyNames[:], k) }

// column returns the head of a column of values.
func (k key) column() string {
	if k == byDelay {
		return "delay_ms"
	}
	return k.String()
}

// part returns the case's part of a key: a number that orders it, and the value as shown.
func (k key) part(c *runCase) (order float64, value string) {
	switch k {
	case byFamily:
		return orderOf(c.Family), c.family()
	case byPattern:
		if c.Intermittent {
			return 1, "intermittent"
		}
		return 0, "constant"
	case byDelay:
		return float64(c.Delay), milliseconds(c.Delay)
	case byArrivals:
		if c.hasArrivals() {
			return 1, "with"
		}
		return 0, "without"
	}
	return float64(c.Ranks), strconv.Itoa(c.Ranks)
}

// orderOf orders families: simulated ones of windows, of operators, and others as their table has them.
func orderOf(f fmt.Stringer) float64 {
	const many = 1 << 8
	switch x := f.(type) {
	case simulate.Family:
		return float64(x)
	case pipeline.Kind:
		return many + float64(x)
	case named:
		return 2*many + float64(x.place)
	}
	return 0
}

// example returns one of the runs, which stands for the common settings of all.
func (s *Score) example() *runCase { return &s.Runs[0].runCase }

// value returns the runs' value of a key.
func (s *Score) value(k key) string {
	_, value := k.part(s.example())
	return value
}

func (s *Score) values(by []key) []string {
	var out []string
	for _, k := range by {
		out = append(out, s.value(k))
	}
	return out
}

// groupBy returns the runs with a fault, by keys, in the order of the keys.
func (s *Score) groupBy(by ...key) []*Score {
	order := func(a, b *runCase) int {
		for _, k := range by {
			x, _ := k.part(a)
			y, _ := k.part(b)
			if c := cmp.Compare(x, y); c != 0 {
				return c
			}
		}
		return 0
	}
	var out []*Score
	for _, r := range s.Runs {
		if r.healthy() {
			continue
		}
		i := slices.IndexFunc(out, func(g *Score) bool { return order(g.example(), &r.runCase) == 0 })
		if i < 0 {
			i = len(out)
			out = append(out, &Score{Tau: s.Tau, gates: s.gates})
		}
		out[i].Runs = append(out[i].Runs, r)
	}
	slices.SortStableFunc(out, func(a, b *Score) int { return order(a.example(), b.example()) })
	return out
}

// rowsBy returns the groups as rows of a table, named by the keys, and the heads of the names.
func (s *Score) rowsBy(by ...key) (heads []string, rows []row) {
	for _, k := range by {
		heads = append(heads, k.column())
	}
	for _, g := range s.groupBy(by...) {
		rows = append(rows, row{names: g.values(by), Score: g})
	}
	return heads, rows
}

// distinct returns the distinct values of a function over the runs, in order of appearance.
func (s *Score) distinct(of func(*scoredRun) string) []string {
	var out []string
	for _, r := range s.Runs {
		if value := of(r); value != "" && !slices.Contains(out, value) {
			out = append(out, value)
		}
	}
	return out
}

// joinNames returns the names in a row, a dash for none.
func joinNames(names []string) string {
	if len(names) == 0 {
		return none
	}
	return strings.Join(names, ", ")
}
