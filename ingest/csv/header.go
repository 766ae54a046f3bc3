package csv

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sfstat/sfstat/trace"
)

// sniffComma is the separator that is most frequent in a header, outside of
// quotes.
func sniffComma(header []byte) byte {
	var count [256]int
	quoted := false
	for _, c := range header {
		if c == '"' {
			quoted = !quoted
		}
		if !quoted {
			count[c]++
		}
	}
	best := byte(',')
	for _, c := range []byte(";\t") {
		if count[c] > count[best] {
			best = c
		}
	}
	return best
}

// newLayout gives the columns of a header their meaning.
func newLayout(names []string) (*layout, error) {
	l := &layout{names: names, columns: make([]column, len(names)), channelOf: make(map[string]int)}
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		switch {
		case seen[name]:
			return nil, trace.Bad(trace.ErrDuplicate, "two columns are called %q", name)
		case !utf8.ValidString(name):
			return nil, trace.Bad(trace.ErrFormat, "the column name %q is not UTF-8: save the table as UTF-8", name)
		}
		seen[name] = true
	}
	found := make(map[kind]bool)
	for i, name := range names {
		c := l.meaning(name, seen)
		if single := c.kind == step || c.kind == rank || c.kind == window || c.kind == wall; single && found[c.kind] || c.kind == attr && l.has[c.index] {
			return nil, trace.Bad(trace.ErrDuplicate, "the column %q is there twice", strings.ToLower(name))
		}
		if found[c.kind] = true; c.kind == attr {
			l.has[c.index] = true
		}
		l.columns[i] = c
	}
	if !found[step] || !found[rank] || len(l.stages) == 0 {
		return nil, trace.Bad(trace.ErrMissing, "%s: a wide CSV has the columns step, rank and one for each stage", lacks(found, names))
	}
	l.findBlocks()
	return l, l.checkPairs()
}

// findBlocks finds the blocks that come after the rank.
func (l *layout) findBlocks() {
	known := false
	for i := 0; i < len(l.columns); i++ {
		from := i
		for i < len(l.columns) && l.columns[i].kind == attr && l.columns[i].index != attrRun {
			i++
		}
		if i > from && known {
			l.blocks = append(l.blocks, block{from, i})
		} else if i > from {
			l.blocks = nil // some come before: blocks do not cover all
			return
		}
		known = known || i < len(l.columns) && l.columns[i].kind == rank
	}
}

// lacks says what a header is without.
func lacks(found map[kind]bool, names []string) string {
	what := "no stage"
	if !found[rank] {
		what = "no column rank"
	}
	if !found[step] {
		what = "no column step"
	}
	var shown []string
	for _, n := range names[:min(len(names), 12)] {
		shown = append(shown, strconv.Quote(n[:min(len(n), 40)]))
	}
	return what + " among " + strings.Join(shown, ", ")
}

// meaning is what the column of that name holds; seen has all names.
func (l *layout) meaning(name string, seen map[string]bool) column {
	if s, ok := strings.CutPrefix(name, prefixStage); ok {
		l.stages = append(l.stages, s)
		return column{stage, len(l.stages) - 1}
	}
	if s, ok := strings.CutPrefix(name, prefixSide); ok {
		return column{value, l.channel(s)}
	}
	if s, ok := strings.CutPrefix(name, prefixReady); ok {
		return column{ready, l.channel(s)}
	}
	switch plain := strings.ToLower(strings.TrimSpace(name)); plain {
	case "step":
		return column{kind: step}
	case "rank":
		return column{kind: rank}
	case "window":
		return column{kind: window}
	case "wall_ns":
		return column{kind: wall}
	default:
		if i := slices.Index(attrNames[:], plain); i >= 0 {
			return column{attr, i}
		}
	}
	if seen[name+readySuffix] {
		return column{value, l.channel(name)}
	}
	if s, ok := strings.CutSuffix(name, readySuffix); ok && seen[s] {
		return column{ready, l.channel(s)}
	}
	l.stages = append(l.stages, name)
	return column{stage, len(l.stages) - 1}
}

// channel is the number of the side channel of that name.
func (l *layout) channel(name string) int {
	i, ok := l.channelOf[name]
	if !ok {
		i = len(l.channels)
		l.channels = append(l.channels, name)
		l.channelOf[name] = i
	}
	return i
}

// checkPairs refuses side channels that lack one of their columns, and names
// that no window may have.
func (l *layout) checkPairs() error {
	if err := (trace.Schema{Stages: l.stages}).Validate(); err != nil {
		return err
	}
	parts := make([][2]int, len(l.channels))
	for _, c := range l.columns {
		if c.kind == value || c.kind == ready {
			parts[c.index][c.kind-value]++
		}
	}
	for i, n := range parts {
		switch name := l.channels[i]; {
		case n != [2]int{1, 1}:
			return trace.Bad(trace.ErrRagged, "side channel %q needs one column of values and one of readiness", name)
		case name == "" || len(name) > trace.MaxStageName:
			return trace.Bad(trace.ErrEmpty, "a side channel has a name of %d bytes, expected 1 to %d", len(name), trace.MaxStageName)
		}
	}
	return nil
}

// parseRole parses "dp=3,pp=1". In the name of an axis, "%", ",", "=" and
// blanks stand as %25, %2C, %3D and %20.
func parseRole(s string) (trace.Role, error) {
	if strings.TrimSpace(s) == "" {
		return nil, nil
	}
	var coords []trace.Coord
	for part := range strings.SplitSeq(s, ",") {
		axis, index, ok := strings.Cut(part, "=")
		n, err := strconv.Atoi(strings.TrimSpace(index))
		if !ok || err != nil {
			return nil, trace.Bad(trace.ErrFormat, "role %q, expected coordinates as in dp=3,pp=1", s)
		}
		coords = append(coords, trace.Coord{Axis: unescape.Replace(strings.TrimSpace(axis)), Index: n})
	}
	return trace.NewRole(coords...)
}

var (
	escape   = strings.NewReplacer("%", "%25", ",", "%2C", "=", "%3D", " ", "%20")
	unescape = strings.NewReplacer("%25", "%", "%2C", ",", "%3D", "=", "%20", " ")
)

func formatRole(r trace.Role) string {
	var b strings.Builder
	for i, c := range r {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(escape.Replace(c.Axis) + "=" + strconv.Itoa(c.Index))
	}
	return b.String()
}
