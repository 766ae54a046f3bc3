package report

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/internal/table"
)

// mostDevices is how many ranks the table of device time has.
const mostDevices = 32

// deviceBlocks returns how the devices of a run spent their time, where it was recorded. Of many ranks the conspicuous ones
// come first.
func deviceBlocks(v *diagnose.RunVerdict) document {
	if len(v.Devices) == 0 {
		return nil
	}
	t := deviceColumns()
	list := slices.Clone(v.Devices)
	if len(list) > mostDevices {
		slices.SortStableFunc(list, func(a, b diagnose.Device) int { return len(b.Unlike) - len(a.Unlike) })
	}
	for _, d := range list {
		share := func(x float64, category string) table.Cell {
			c := table.RealCell(x)
			if slices.Contains(d.Unlike, category) {
				c.Note, c.Strong = 1, true
				t.Footnotes = []string{"unlike the ranks of the same role; shares name no cause: who waits for a late rank communicates longer than it does"}
			}
			return c
		}
		t.Row(d.Rank, share(d.Compute, "compute"), share(d.Communication, "communication"), share(d.Memory, "memory"), share(d.Idle, "idle"), share(d.Exposed, "exposed_communication"), d.OfComm)
	}
	return document{heading("Device time"), capRows(t, mostDevices, "the JSON").Tidy()}
}

func deviceColumns() *table.Table {
	return &table.Table{Caption: "From a rank's first work on its device to its last. exposed: communication that no compute covers; of comm: its part of communication.", Columns: []table.Column{
		{Head: "rank", Kind: table.ID},
		{Head: "compute", Kind: table.Fraction},
		{Head: "comm", Kind: table.Fraction},
		{Head: "memory", Kind: table.Fraction},
		{Head: "idle", Kind: table.Fraction},
		{Head: "exposed", Kind: table.Fraction},
		{Head: "of comm", Kind: table.Fraction},
	}}
}
