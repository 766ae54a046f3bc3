package csv

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/stagename"
)

// join makes windows of the rows: mostly one, several where ranks or all of them miss steps
// or attributes change. It cuts the rows of every rank into parts and leaves the rest to
// trace.Join, which takes the square of their number: so each stretch without a missing
// step is joined by itself.
func (g *group) join() ([]*trace.Window, error) {
	order := make([]int, len(g.rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &g.rows[a], &g.rows[b]
		return cmp.Or(cmp.Compare(g.ranks[x.rank], g.ranks[y.rank]), cmp.Compare(x.step, y.step))
	})
	owner := make([]*trace.Part, len(g.rows))
	parts, err := g.parts(order, owner)
	if err != nil {
		return nil, err
	}
	g.giveSide(order, owner)
	var said []input.Note
	if !g.layout.own {
		said = alignNumbers(parts)
	}
	windows, err := joinParts(parts)
	if err != nil {
		return nil, err
	}
	if len(said) > 0 {
		windows[0].Notes = append(windows[0].Notes, said...)
	}
	whole := slices.Equal(g.layout.stages, []string{stagename.Whole})
	for _, w := range windows {
		if whole {
			w.Notes = append(w.Notes, ingest.WholeSteps(w))
		}
		w.Side = slices.DeleteFunc(w.Side, func(c trace.SideChannel) bool { return len(c.Samples) == 0 })
		if len(w.Side) == 0 {
			w.Side = nil
		}
	}
	return windows, nil
}

// joinParts makes windows of parts, which end where all ranks miss a step.
func joinParts(parts []*trace.Part) ([]*trace.Window, error) {
	slices.SortStableFunc(parts, func(a, b *trace.Part) int { return cmp.Compare(a.FirstStep, b.FirstStep) })
	var windows []*trace.Window
	for len(parts) > 0 {
		n, end := unbroken(parts)
		made, err := trace.Join(parts[:n])
		if err != nil {
			return nil, err
		}
		windows = append(windows, made...)
		if parts = parts[n:]; len(parts) > 0 {
			last := windows[len(windows)-1]
			last.Notes = append(last.Notes, input.Note{Kind: input.NoteStepGap,
				Text: fmt.Sprintf("steps %d to %d were not recorded: the window was closed there", end, parts[0].FirstStep-1)})
		}
	}
	return windows, nil
}

// unbroken returns how many of the parts, which are ordered by step, have no step
// missing between them on every rank, and the step after them.
func unbroken(parts []*trace.Part) (n int, end int64) {
	end = parts[0].FirstStep
	for n < len(parts) && parts[n].FirstStep <= end {
		end = max(end, parts[n].FirstStep+int64(parts[n].Steps()))
		n++
	}
	return n, end
}

// parts cuts the rows, ordered by rank and step, where a rank misses a step or
// says something else about itself or the window. owner becomes the part of every row.
func (g *group) parts(order []int, owner []*trace.Part) ([]*trace.Part, error) {
	var parts []*trace.Part
	var p *trace.Part
	S := len(g.layout.stages)
	for k, i := range order {
		row := &g.rows[i]
		var before *groupRow
		if k > 0 && g.rows[order[k-1]].rank == row.rank {
			before = &g.rows[order[k-1]]
		}
		if before != nil && before.step == row.step {
			a, b := min(i, order[k-1]), max(i, order[k-1])
			return nil, input.At(g.pos(b), input.Bad(input.ErrDuplicate, "rank %d reports step %d of window %d of run %q twice, first at line %d: after a restart, number the launches in a column run, or window",
				g.ranks[row.rank], row.step, g.window, g.run, g.rows[a].line))
		}
		if before == nil || before.step+1 != row.step || g.metas[before.meta].raw != g.metas[row.meta].raw {
			p = g.part(i)
			parts = append(parts, p)
		}
		p.Durations = append(p.Durations, g.times[i*S:(i+1)*S]...)
		if row.wall < 0 {
			p.Wall = nil
		} else if len(p.Wall) == len(p.Durations)/S-1 {
			p.Wall = append(p.Wall, row.wall)
		}
		owner[i] = p
	}
	for _, p := range parts {
		if len(p.Wall) < p.Steps() {
			p.Wall = nil
		}
	}
	return parts, nil
}

// part begins a part at a row.
func (g *group) part(i int) *trace.Part {
	row := &g.rows[i]
	m := g.metas[row.meta]
	p := &trace.Part{Pos: g.pos(i), Run: g.run, Index: g.window, WorldSize: g.world(m), FirstStep: row.step, Accumulation: m.accum,
		DataWait: m.wait, GatherOK: m.ok, Rank: m.rank, Schema: g.schema()}
	p.Rank.ID = g.ranks[row.rank]
	return p
}

// giveSide hands the samples to the parts of their rows, in the order of rows.
func (g *group) giveSide(order []int, owner []*trace.Part) {
	at := make([]int, len(order)) // place of each row in order
	for k, i := range order {
		at[i] = k
	}
	for c, cells := range g.side {
		slices.SortFunc(cells, func(a, b sample) int { return cmp.Compare(at[a.row], at[b.row]) })
		for _, s := range cells {
			p := owner[s.row]
			if n := len(p.Side); n == 0 || p.Side[n-1].Name != g.layout.channels[c] {
				p.Side = append(p.Side, trace.SideChannel{Name: g.layout.channels[c]})
			}
			own := &p.Side[len(p.Side)-1]
			own.Samples = append(own.Samples, trace.Sample{Step: g.rows[s.row].step, Value: s.value, Ready: s.ready})
		}
	}
}
