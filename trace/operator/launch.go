package operator

import (
	"cmp"
	"slices"
)

// Launch is what a profiler tells of an operator beside its times.
type Launch struct {
	Stage      string // that launched it, as the windows of the run call it; "": none
	Name       string // whole, where the trace has it shortened
	Collective string // what it communicates, such as "all-reduce"; "": it does not
	Bytes      int64  // that the caller of a collective hands in; −1: not known
}

// Totals adds the operators up by stage and name, as the profile that the trace
// is of would. Wait is counted for collectives whose members are in the trace.
// nil where the source of the trace does not tell what launched them. O(n log n).
func (t *Trace) Totals() *Totals {
	if len(t.Launches) == 0 {
		return nil
	}
	out := &Totals{Run: t.Run, Ranks: slices.Clone(t.Ranks), Steps: slices.Clone(t.Steps)}
	for i, role := range t.Declared {
		out.Ranks[i].Role = role
	}
	s := summer{out: out, stages: make(map[string]int32), names: make(map[string]int32), row: make(map[Total]int32)}
	places := s.places(t.Launches)
	wait, _ := t.Waits()
	for i := range t.Start {
		at := t.Launch[i]
		place := places[at]
		place.Rank, place.Step = t.Rank[i], t.Step[i]
		row := &out.Rows[Number(s.row, &out.Rows, place)]
		row.Count++
		row.Dur += t.Dur[i]
		if t.Launches[at].Collective == "" {
			continue
		}
		row.Communicates++
		if t.Group[i] >= 0 {
			row.Joined++
			row.Wait += min(t.Dur[i], wait[i])
		}
	}
	slices.SortFunc(out.Rows, func(a, b Total) int {
		return cmp.Or(cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Step, b.Step), cmp.Compare(a.Rank, b.Rank))
	})
	return out
}

// summer adds operators up.
type summer struct {
	out           *Totals
	stages, names map[string]int32
	row           map[Total]int32 // by the place alone
}

// places returns the stage and the name of every launch.
func (s *summer) places(launches []Launch) []Total {
	out := make([]Total, len(launches))
	for i, l := range launches {
		out[i] = Total{Stage: Number(s.stages, &s.out.Stages, l.Stage), Name: Number(s.names, &s.out.Names, l.Name)}
	}
	return out
}

// Number returns the position of a value in a table, and appends a new one; of holds the positions so far.
func Number[V comparable](of map[V]int32, table *[]V, value V) int32 {
	at, ok := of[value]
	if !ok {
		at = int32(len(*table))
		of[value] = at
		*table = append(*table, value)
	}
	return at
}
