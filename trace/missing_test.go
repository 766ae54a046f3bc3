package trace_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/trace"
)

// The note says what Missing lists, for worlds of every shape.
func TestNoteMissing(t *testing.T) {
	for seed := range uint64(200) {
		g := rand.New(rand.NewPCG(seed, 4))
		w := &trace.Window{WorldSize: 1 + g.IntN(20), FirstStep: 7, Durations: []int64{}}
		for r := range w.WorldSize {
			if g.IntN(1+int(seed%5)) == 0 {
				w.Ranks = append(w.Ranks, trace.Rank{ID: r})
			}
		}
		missing := w.Missing()
		w.NoteMissing()
		if len(missing) == 0 {
			if w.Notes != nil {
				t.Errorf("none is missing, but noted: %v", w.Notes)
			}
			continue
		}
		from, to := fmt.Sprintf("%d of %d ranks", len(missing), w.WorldSize), ": "+trace.RankList(missing)
		if len(w.Notes) != 1 || !strings.HasPrefix(w.Notes[0].Text, from) || !strings.HasSuffix(w.Notes[0].Text, to) {
			t.Errorf("notes %v, want %q … %q", w.Notes, from, to)
		}
	}
}
