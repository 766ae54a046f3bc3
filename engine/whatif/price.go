package whatif

import (
	"cmp"
	"slices"
)

// Price replays selections from both sides: fixed alone ("fix only X"), and
// left as recorded while all else is fixed ("keep all but X ideal"). The
// effects are in the order of the selections.
func (m *Model) Price(selections ...Selection) ([]Effect, error) {
	choices := make([]laneChoice, len(selections))
	for i, sel := range selections {
		var err error
		if choices[i], err = m.choose(sel); err != nil {
			return nil, err
		}
	}
	return m.effects(choices), nil
}

// SuspectKind is what a suspect is.
type SuspectKind uint8

const (
	SuspectWorker SuspectKind = iota + 1 // Index is the rank
	SuspectStage
	SuspectReplica // Index is dp
	SuspectOp
)

// Suspect is one thing that could be fixed, and what that would save.
type Suspect struct {
	Kind  SuspectKind
	Index int
	Op    string
	Effect
}

// selection returns the selection of what the suspect is made of.
func (s Suspect) selection() Where {
	switch s.Kind {
	case SuspectWorker:
		return Where{Ranks: []int{s.Index}}
	case SuspectStage:
		return Where{Stages: []int{s.Index}}
	case SuspectReplica:
		return Where{DP: []int{s.Index}}
	}
	return Where{Ops: []string{s.Op}}
}

// Suspects prices the worst n workers, stages, replicas and kinds of operators
// of a result of this model, and lists them by what fixing each alone would
// save. They overlap: a slow worker is also in a stage and in a replica.
func (m *Model) Suspects(r *Result, n int) []Suspect {
	var list []Suspect
	workers := slices.SortedStableFunc(slices.Values(r.Workers), func(x, y Worker) int { return cmp.Compare(y.Overall, x.Overall) })
	for _, w := range workers[:min(max(n, 0), len(workers))] {
		list = append(list, Suspect{Kind: SuspectWorker, Index: w.Rank})
	}
	add := func(kind SuspectKind, parts []Part) {
		for _, p := range parts[:min(max(n, 0), len(parts))] {
			list = append(list, Suspect{Kind: kind, Index: p.Index, Op: p.Name})
		}
	}
	add(SuspectStage, r.ByStage)
	add(SuspectReplica, r.ByDP)
	add(SuspectOp, r.ByOp)
	choices := make([]laneChoice, len(list))
	for i, s := range list {
		choices[i], _ = m.choose(Selection{s.selection()}) // names come from the model itself
	}
	for i, e := range m.effects(choices) {
		list[i].Effect = e
	}
	slices.SortStableFunc(list, func(x, y Suspect) int { return cmp.Compare(y.Saved, x.Saved) })
	return list
}
