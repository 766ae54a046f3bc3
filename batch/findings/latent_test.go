package findings

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/internal/draws"
)

// differing returns a row of a run in which a rank differs at p; above the level of a run nobody does.
func differing(run string, p float64) *Row {
	row := &Row{Run: run, Steps: 10, Ranks: 8}
	l := &answer.Latent{}
	const level = 0.05 / 6
	if p <= level {
		l.Differences = []answer.Difference{{Rank: 3, Confidence: evidence.Supported, P: p, Difference: claim.Difference{Total: 2e6}, Stages: []answer.Excess{{Stage: "data", Time: 2e6}}}}
	}
	row.setLatent(l)
	return row
}

// TestLatentOfRuns compares q with R 4.3's p.adjust(c(.001, .004, .008, rep(1, 17)), "BH"): 0.02, 0.04, 0.0533.
func TestLatentOfRuns(t *testing.T) {
	s := NewSummary()
	for i, p := range []float64{0.008, 0.001, 0.004} {
		s.Add(differing(fmt.Sprint(i), p))
	}
	for i := range 17 {
		s.Add(differing(fmt.Sprint(3+i), 1))
	}
	refused := &Row{Run: "refused"}
	refused.setLatent(&answer.Latent{Refused: answer.TooFewBlocks})
	s.Add(refused)
	got, tested := s.Latent()
	if tested != 20 || len(got) != 3 {
		t.Fatalf("%d differences in %d runs, expected 3 in 20: %+v", len(got), tested, got)
	}
	for i, want := range []struct {
		run    string
		q      float64
		passes bool
	}{{"1", 0.02, true}, {"2", 0.04, true}, {"0", 0.16 / 3, false}} {
		if l := got[i]; l.Run.Name != want.run || math.Abs(l.Q-want.q) > 1e-12 || l.Passes() != want.passes || l.Rank != 3 || l.Stage != "data" || l.Level != 2e6 {
			t.Errorf("%d: run %s, %+v, expected %+v", i, got[i].Run.Name, l, want)
		}
	}
}

// TestLatentOfHealthyRuns: of archives of 300 healthy runs nearly every one has a rank that its own run would name; after the
// correction one in twenty has, at most. Of ten slower ranks among them with p of 1e-5 all are listed.
func TestLatentOfHealthyRuns(t *testing.T) {
	n := draws.Of(t, 200, 2000)
	rng := rand.New(rand.NewPCG(7, 8))
	alone, listed := 0, 0
	archive := func(slower int) (named, passing int) {
		s := NewSummary()
		for i := range 300 {
			p := rng.Float64()
			if i < slower {
				p = 1e-5
			}
			s.Add(differing(fmt.Sprint(i), p))
		}
		all, _ := s.Latent()
		for i := range all {
			if all[i].Passes() {
				passing++
			}
		}
		return len(all), passing
	}
	for range n {
		named, passing := archive(0)
		if named > 0 {
			alone++
		}
		if passing > 0 {
			listed++
		}
	}
	if rate := float64(alone) / float64(n); rate < 0.8 {
		t.Errorf("%.3f of archives have a rank that its run names, expected most: nothing is tested", rate)
	}
	if rate, most := float64(listed)/float64(n), DiscoveryRate+3*math.Sqrt(DiscoveryRate/float64(n)); rate > most {
		t.Errorf("%.3f of healthy archives list a rank, expected %.3f at most", rate, most)
	}
	if _, passing := archive(10); passing < 10 {
		t.Errorf("%d of 10 slower ranks pass", passing)
	}
}

// TestLatentOfParts: a run that is judged in two parts has twice the chance of the surer one; a rank that a finding names, one
// of two ranks, and one whose peers are not seen to wait are no differences of an archive.
func TestLatentOfParts(t *testing.T) {
	s := NewSummary()
	s.Add(differing("long", 0.004))
	s.Add(differing("long", 1))
	if got, tested := s.Latent(); tested != 1 || len(got) != 1 || got[0].P != 0.008 {
		t.Errorf("%+v of %d runs, expected p 0.008 of one", got, tested)
	}
	for name, change := range map[string]func(*answer.Difference){
		"named":      func(d *answer.Difference) { d.Named = true },
		"two ranks":  func(d *answer.Difference) { d.Peer = new(int) },
		"no waiting": func(d *answer.Difference) { d.Confidence = evidence.Ambiguous },
	} {
		d := answer.Difference{Rank: 3, Confidence: evidence.Strong, P: 1e-9}
		change(&d)
		var row Row
		if row.setLatent(&answer.Latent{Differences: []answer.Difference{d}}); row.LatentRank != nil || row.LatentP == nil || *row.LatentP != 1 {
			t.Errorf("%s: %+v", name, row)
		}
	}
}
