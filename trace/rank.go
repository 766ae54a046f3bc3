package trace

import (
	"cmp"
	"github.com/sfstat/sfstat/trace/input"
	"slices"
	"strconv"
	"strings"
)

// Axes of roles.
const (
	DataParallel     = "dp" // ranks are replicas of each other: those whose roles differ in nothing else are peers
	PipelineParallel = "pp" // ranks hold consecutive parts of the model
)

// Coord is one coordinate of a role, such as pp = 2.
type Coord struct {
	Axis  string
	Index int
}

// Role is a rank's place in the parallel layout: its coordinates (dp, pp, tp,
// ep, cp, …), sorted by axis. The zero Role is "not declared".
type Role []Coord

// NewRole sorts the coordinates by axis; it refuses an axis named twice or
// without a name, and a negative coordinate.
func NewRole(coords ...Coord) (Role, error) {
	role := slices.Clone(coords)
	slices.SortFunc(role, func(a, b Coord) int { return cmp.Compare(a.Axis, b.Axis) })
	for i, c := range role {
		switch {
		case c.Axis == "":
			return nil, input.Bad(input.ErrEmpty, "a role axis has no name")
		case c.Index < 0:
			return nil, input.Bad(input.ErrNegative, "role axis %q has the negative coordinate %d", c.Axis, c.Index)
		case i > 0 && role[i-1].Axis == c.Axis:
			return nil, input.Bad(input.ErrDuplicate, "role axis %q is given twice", c.Axis)
		}
	}
	return role, nil
}

// Coord returns the coordinate on an axis, and whether the role has one.
func (r Role) Coord(axis string) (index int, ok bool) {
	for _, c := range r {
		if c.Axis == axis {
			return c.Index, true
		}
	}
	return 0, false
}

// Group names the set of peers that the role belongs to: all coordinates but
// dp, as "pp=1,tp=0"; "" when there are none. Ranks of equal Group do the same
// work on different data.
func (r Role) Group() string { return r.format(DataParallel) }

// RoleGroups returns the ranks of every role group, by position, groups by their first rank.
func RoleGroups(ranks []Rank) (groups [][]int) {
	at := make(map[string]int)
	for i, r := range ranks {
		name := r.Role.Group()
		g, ok := at[name]
		if !ok {
			g = len(groups)
			at[name] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// String returns all coordinates, as "dp=3,pp=1".
func (r Role) String() string { return r.format("") }

func (r Role) format(without string) string {
	var parts []string
	for _, c := range r {
		if c.Axis != without {
			parts = append(parts, c.Axis+"="+strconv.Itoa(c.Index))
		}
	}
	return strings.Join(parts, ",")
}

var (
	escape   = strings.NewReplacer("%", "%25", ",", "%2C", "=", "%3D", " ", "%20")
	unescape = strings.NewReplacer("%25", "%", "%2C", ",", "%3D", "=", "%20", " ")
)

// EscapedString returns what String does in the form that [ParseRole] reads: in the name of an axis, "%", ",", "=" and blanks stand
// as %25, %2C, %3D and %20.
func (r Role) EscapedString() string {
	out := slices.Clone(r)
	for i := range out {
		out[i].Axis = escape.Replace(out[i].Axis)
	}
	return out.String()
}

// ParseRole returns the role of a text, the inverse of Escaped; "" is not declared.
func ParseRole(text string) (Role, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var coords []Coord
	for part := range strings.SplitSeq(text, ",") {
		axis, index, ok := strings.Cut(part, "=")
		n, err := strconv.Atoi(strings.TrimSpace(index))
		if !ok || err != nil {
			return nil, input.Bad(input.ErrFormat, "role %.80q, expected coordinates as in dp=3,pp=1", text)
		}
		coords = append(coords, Coord{Axis: unescape.Replace(strings.TrimSpace(axis)), Index: n})
	}
	return NewRole(coords...)
}

// Rank is one process of a job. The zero LocalRank is a real local rank; a
// reader that does not know it leaves −1.
type Rank struct {
	ID        int
	Host      string
	LocalRank int
	Role      Role
}

// MaxRanks is the largest world size that is read.
const MaxRanks = 1 << 20

// RankList writes ascending rank numbers compactly: "0-3,7,9-11".
func RankList(ranks []int) string { return RankSetOf(ranks).String() }

// Ranks writes ascending rank numbers in words: "rank 2", "ranks 0-3,7".
func Ranks(ranks []int) string {
	if len(ranks) == 1 {
		return "rank " + RankList(ranks)
	}
	return "ranks " + RankList(ranks)
}
