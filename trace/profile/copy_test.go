package profile

import "testing"

// TestCopyOf: a recording is a copy of one with all its stamps, and of none that differs in one.
func TestCopyOf(t *testing.T) {
	made := func() *Rank {
		return &Rank{Host: "n0", Steps: []Step{{Index: 3, Start: 10, End: 20, Time: &Categories{Start: 11, End: 21, Idle: 2}}, {Index: 4, Start: 20, End: 31}}}
	}
	if !made().CopyOf(made()) {
		t.Error("a recording is no copy of itself")
	}
	for name, change := range map[string]func(r *Rank){
		"host":        func(r *Rank) { r.Host = "n1" },
		"a stamp":     func(r *Rank) { r.Steps[1].End++ },
		"device time": func(r *Rank) { r.Steps[0].Time.Idle++ },
		"no device":   func(r *Rank) { r.Steps[0].Time = nil },
		"a stage":     func(r *Rank) { r.Steps[0].Spans = []Span{{0, 11, 12}} },
		"steps":       func(r *Rank) { r.Steps = r.Steps[:1] },
	} {
		r := made()
		if change(r); r.CopyOf(made()) || made().CopyOf(r) {
			t.Errorf("a copy though %s differs", name)
		}
	}
	if (&Rank{}).CopyOf(&Rank{}) {
		t.Error("recordings without steps are copies")
	}
}
