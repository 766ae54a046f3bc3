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
	s := summer{out: out, stages: make(map[string]int32), names: make(map[string]int32), row: make(map[Total]int)}
	places := s.places(t.Launches)
	wait, _ := t.Waits()
	for i := range t.Start {
		at := t.Launch[i]
		place := places[at]
		place.Rank, place.Step = t.Rank[i], t.Step[i]
		row := s.at(place)
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
	row           map[Total]int // by the place alone
}

// places are the stage and the name of every launch.
func (s *summer) places(launches []Launch) []Total {
	number := func(of map[string]int32, table *[]string, text string) int32 {
		id, ok := of[text]
		if !ok {
			id = int32(len(*table))
			of[text] = id
			*table = append(*table, text)
		}
		return id
	}
	out := make([]Total, len(launches))
	for i, l := range launches {
		out[i] = Total{Stage: number(s.stages, &s.out.Stages, l.Stage), Name: number(s.names, &s.out.Names, l.Name)}
	}
	return out
}

// at is the row of a place, which is made where there is none.
func (s *summer) at(place Total) *Total {
	at, ok := s.row[place]
	if !ok {
		at = len(s.out.Rows)
		s.row[place] = at
		s.out.Rows = append(s.out.Rows, place)
	}
	return &s.out.Rows[at]
}
