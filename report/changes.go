package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/engine/comm/changes"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/internal/table"
)

// shownGroups is how many communicators of a side are named.
const shownGroups = 4

func changesSection(r *changes.Result) document {
	if r == nil {
		return nil
	}
	t := changesSectionColumns()
	for i := range r.Changes {
		c := &r.Changes[i]
		switch {
		case !c.Differ && c.Base.Calls == 0: // outside of steps
		case !c.Differ:
			addChange(t, c, "both", &c.Base, &c.New)
		default:
			addChange(t, c, "base", &c.Base)
			addChange(t, c, "new", &c.New)
		}
	}
	t.Caption = sayChangesCaption(r.PerStep)
	var b bullets
	if r.Ranks[0] != r.Ranks[1] {
		b = append(b, fmt.Sprintf("The base has %s, the other side %d.", table.Counted(r.Ranks[0], "process"), r.Ranks[1]))
	}
	for _, s := range []struct {
		is   string
		list []changes.Group
	}{{"Gone", r.Gone}, {"New", r.New}} {
		for _, g := range s.list[:min(shownGroups, len(s.list))] {
			b = append(b, s.is+": "+sayGroup(&g))
		}
		if more := len(s.list) - shownGroups; more > 0 {
			b = append(b, fmt.Sprintf("%s: %s more", s.is, table.Counted(more, "communicator")))
		}
	}
	return section("Communication", t.Tidy(), b)
}

// addChange adds a line of one side, or of both where they are the same.
func addChange(t *table.Table, c *changes.Change, side string, of ...*changes.Amount) {
	a, how := of[0], table.Absent
	if a.Calls == 0 {
		t.Row(c.Kind, c.NRanks, c.Op, side, table.WholeCell(0), how, how, how, bandwidths(of...))
		return
	}
	if len(a.Choices) > 0 {
		how = a.Choices[0].Algorithm + "/" + a.Choices[0].Protocol
	}
	t.Row(c.Kind, c.NRanks, c.Op, side, a.Calls, Size(int64(a.Bytes)), Size(int64(a.Size)), how, bandwidths(of...))
}

// bandwidths returns the measured bandwidths, the base's first. They leave out small calls, which take as long as a round trip.
func bandwidths(sides ...*changes.Amount) string {
	var out []string
	for _, a := range sides {
		if a.Measured > 0 && a.Size >= parallel.LargeBytes {
			out = append(out, strconv.FormatFloat(a.Bandwidth, 'g', 3, 64))
		}
	}
	if len(out) == 0 {
		return table.Absent
	}
	return strings.Join(slices.Compact(out), " → ")
}

func changesSectionColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "for", Kind: table.Uncut},
		{Head: "ranks", Kind: table.Integer},
		{Head: "operation", Kind: table.Uncut},
		{Head: "side", Kind: table.Text},
		{Head: "calls", Kind: table.Real},
		{Head: "volume", Kind: table.Amount},
		{Head: "size", Kind: table.Amount},
		{Head: "how", Kind: table.Uncut},
		{Head: "bus GB/s", Kind: table.Amount},
	}}
}
