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

// changesHeadline says how much of the communication differs.
func changesHeadline(r *changes.Result) string { return say("changes", r) }

// shownGroups is how many communicators of a side are named.
const shownGroups = 4

func changesSection(r *changes.Result) document {
	if r == nil {
		return nil
	}
	t := tableOf("changes section")
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
	t.Caption = say("changes caption", r)
	var b bullets
	if r.Ranks[0] != r.Ranks[1] {
		b = append(b, fmt.Sprintf("The base has %s, the other side %d.", table.Counted(r.Ranks[0], "process"), r.Ranks[1]))
	}
	for _, s := range []struct {
		is   string
		list []changes.Group
	}{{"Gone", r.Gone}, {"New", r.New}} {
		for _, g := range s.list[:min(shownGroups, len(s.list))] {
			b = append(b, s.is+": "+say("changed group", g))
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

// bandwidths are those that were measured, of the base first. Of small calls, which take as long as a round
// trip, they say nothing.
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
