package ks

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// oracle is fixtures/oracle/ks.json: distances in exact fractions of an independent implementation.
type oracle struct {
	Tol struct {
		D float64 `json:"D_abs"`
	}
	Cases []struct {
		Case  string
		Input struct {
			Workers [][]int64 `json:"workers_ns"`
			Groups  []int
			T0      int64   `json:"t0_ns"`
			Windows []int64 `json:"windows_ns"`
		}
		Expect []struct {
			Window         int64 `json:"window_ns"`
			D              [][]*float64
			Score          []*float64
			Median         []*float64 `json:"score_median"`
			Group          []*float64 `json:"score_group"`
			Candidate      *int
			CandidateGroup *int `json:"candidate_group"`
		}
		Pairs []struct {
			I, J int
			D    float64 `json:"D_raw"`
		}
	}
}

func loadOracle(t *testing.T) oracle {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "fixtures", "oracle", "ks.json"))
	if err != nil {
		t.Fatal(err)
	}
	var o oracle
	if err := json.Unmarshal(b, &o); err != nil {
		t.Fatal(err)
	}
	if len(o.Cases) == 0 {
		t.Fatal("no cases")
	}
	return o
}

// known is a score of a worker that was compared with any.
func known(peers int, x float64) *float64 {
	if peers == 0 {
		return nil
	}
	return &x
}

func near(t *testing.T, what string, got, want *float64, tol float64) {
	t.Helper()
	if (got == nil) != (want == nil) {
		t.Errorf("%s: known %v, want %v", what, got != nil, want != nil)
	} else if got != nil && !(math.Abs(*got-*want) <= tol) {
		t.Errorf("%s: %v, want %v", what, *got, *want)
	}
}

func first(ranking []int) *int {
	if len(ranking) == 0 {
		return nil
	}
	return &ranking[0]
}

func sameCandidate(t *testing.T, what string, got, want *int) {
	t.Helper()
	if (got == nil) != (want == nil) || got != nil && *got != *want {
		t.Errorf("%s: candidate differs", what)
	}
}

// TestOracle compares distances, scores and candidates over windows with the
// reference.
func TestOracle(t *testing.T) {
	o := loadOracle(t)
	for _, c := range o.Cases {
		var workers []Worker
		for i, done := range c.Input.Workers {
			workers = append(workers, Worker{Peers: c.Input.Groups[i], Steps: []Step{{Done: done}}})
		}
		for _, want := range c.Expect {
			t.Run(c.Case, func(t *testing.T) {
				opt := Options{Clock: Wall, Origin: c.Input.T0, Window: want.Window, Against: Everyone, Matrix: true, Replicates: NoTest}
				all, err := Analyze(workers, opt)
				if err != nil {
					t.Fatal(err)
				}
				opt.Against, opt.Matrix = Peers, false
				peers, err := Analyze(workers, opt)
				if err != nil {
					t.Fatal(err)
				}
				for a := range workers {
					near(t, "score", known(all.Scores[a].Peers, all.Scores[a].Mean), want.Score[a], o.Tol.D)
					near(t, "median", known(all.Scores[a].Peers, all.Scores[a].Median), want.Median[a], o.Tol.D)
					near(t, "score among peers", known(peers.Scores[a].Peers, peers.Scores[a].Mean), want.Group[a], o.Tol.D)
					for b := range workers {
						got := &all.Matrix[a*len(workers)+b]
						if *got < 0 {
							got = nil
						}
						expect := want.D[a][b]
						if a == b && len(c.Input.Workers[a]) == 0 {
							expect = nil
						}
						near(t, "distance", got, expect, o.Tol.D)
					}
				}
				sameCandidate(t, "all", first(all.Ranking), want.Candidate)
				sameCandidate(t, "peers", first(peers.Ranking), want.CandidateGroup)
			})
		}
	}
}

// TestRawDistancesOracle compares the distances of raw times with the reference.
func TestRawDistancesOracle(t *testing.T) {
	o := loadOracle(t)
	for _, c := range o.Cases {
		for _, p := range c.Pairs {
			pair := []Worker{{Steps: []Step{{Done: c.Input.Workers[p.I]}}}, {Steps: []Step{{Done: c.Input.Workers[p.J]}}}}
			r, err := Analyze(pair, Options{Clock: Wall, Origin: c.Input.T0, Window: 1, Matrix: true, Replicates: NoTest})
			if err != nil {
				t.Fatal(err)
			}
			near(t, c.Case, &r.Matrix[1], &p.D, o.Tol.D)
		}
	}
}
