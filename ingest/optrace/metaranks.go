package optrace

import (
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
)

// metaRank is a rank of a profiler's trace.
type metaRank struct {
	Rank  int    `yaml:"rank"`
	Host  string `yaml:"host,omitempty"`
	Local int    `yaml:"local_rank"`
	Role  string `yaml:"role,omitempty"` // "dp=0,tp=1", where more is declared than the columns tell
}

// metaOf returns the meta file that tells of t what its columns do not.
func metaOf(t *operator.Trace) *Meta {
	l := t.Layout
	m := &Meta{Trial: t.Run, DP: l.DP, DSP: l.DSP, PP: l.PP, TP: l.TP, VPP: l.VPP, World: l.World}
	if t.Resolution > 1 {
		m.Resolution = t.Resolution
	}
	if t.Launch == nil {
		return m
	}
	for i, r := range t.Ranks {
		told := metaRank{Rank: r.ID, Host: r.Host, Local: r.LocalRank}
		if t.Declared != nil {
			told.Role = t.Declared[i].String()
		}
		m.Ranks = append(m.Ranks, told)
	}
	m.Notes = t.Notes
	return m
}

// checkRanks refuses ranks that cannot be, and those that are told twice.
func (m *Meta) checkRanks() error {
	seen := make(map[int]bool)
	for _, r := range m.Ranks {
		if r.Rank < 0 || r.Rank >= trace.MaxRanks || r.Local < -1 || seen[r.Rank] {
			return input.Bad(input.ErrFormat, "rank %d with local rank %d, expected ranks from 0 to %d, each once", r.Rank, r.Local, trace.MaxRanks-1)
		}
		seen[r.Rank] = true
		if _, err := trace.ParseRole(r.Role); err != nil {
			return err
		}
	}
	return nil
}

// restore gives a profiler's trace the ranks, the layout and the notes that it
// had when it was written.
func (m *Meta) restore(o *operator.Trace) {
	if m.DP > 0 && m.PP > 0 && m.World > 0 {
		o.Layout.TP, o.Layout.DSP, o.Layout.VPP, o.Layout.World = m.TP, m.DSP, m.VPP, m.World
	}
	told := make(map[int]*metaRank)
	for i := range m.Ranks {
		told[m.Ranks[i].Rank] = &m.Ranks[i]
	}
	o.Declared = make([]trace.Role, len(o.Ranks))
	for i := range o.Ranks {
		r := &o.Ranks[i]
		if t := told[r.ID]; t != nil {
			r.Host, r.LocalRank = t.Host, t.Local
			o.Declared[i], _ = trace.ParseRole(t.Role) // which was checked
		}
	}
	o.Notes = append(o.Notes, m.Notes...)
}
