package diagnose

import (
	"fmt"
	"math"
	"testing"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/trace"
)

// runsOn are verdicts on runs over 8 hosts, whose late rank is on the given ones;
// "" for a run without a late rank.
func runsOn(hosts ...string) (runs []RunVerdict) {
	var members []trace.Rank
	for i := range 8 {
		members = append(members, trace.Rank{ID: i, Host: fmt.Sprintf("node%d", i)})
	}
	for i, host := range hosts {
		v := RunVerdict{Windows: []Window{{Main: &frontier.Result{Members: members}}}}
		if host != "" {
			rank := i
			v.Findings = []Finding{{Kind: KindRank, Place: Place{Rank: &rank, Host: host}, Confidence: evidence.Strong}}
		}
		runs = append(runs, v)
	}
	return runs
}

func TestRecurringHost(t *testing.T) {
	for _, c := range []struct {
		name  string
		runs  []RunVerdict
		host  string
		n, of int
		p     float64 // by hand: 8·Σ C(n,i)(1/8)^i(7/8)^(n−i)
	}{
		{"the same in three of three", runsOn("node3", "node3", "", "node3"), "node3", 3, 3, 8.0 / 512},
		{"in four of five", runsOn("node3", "node5", "node3", "node3", "node3"), "node3", 4, 5, 8 * (5*7 + 1) / 32768.0},
		{"three of four is chance one in eighteen", runsOn("node3", "node5", "node3", "node3"), "", 0, 0, 0},
		{"twice of two is chance one in eight", runsOn("node3", "node3"), "", 0, 0, 0},
		{"another each time", runsOn("node1", "node2", "node3"), "", 0, 0, 0},
		{"one run", runsOn("node1"), "", 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := recurringHost(c.runs)
			if c.host == "" {
				if got != nil {
					t.Fatalf("got %+v, want none", *got)
				}
				return
			}
			if got == nil || got.Host != c.host || got.N != c.n || got.Of != c.of || got.P < 0.999*c.p || got.P > 1.001*c.p {
				t.Errorf("got %+v, want %s in %d of %d, p = %g", got, c.host, c.n, c.of, c.p)
			}
		})
	}
}

// TestAtLeast compares with the sum over all outcomes.
func TestAtLeast(t *testing.T) {
	chances := []float64{0.5, 0.25, 0.1, 0.9, 0.05}
	want := make([]float64, len(chances)+1)
	for outcome := range 1 << len(chances) {
		p, n := 1.0, 0
		for i, c := range chances {
			if outcome>>i&1 == 1 {
				p, n = p*c, n+1
			} else {
				p *= 1 - c
			}
		}
		for k := range n + 1 {
			want[k] += p
		}
	}
	for k, got := range tailChances(chances) {
		if math.Abs(got-want[k]) > 1e-12 {
			t.Errorf("%d or more: %v, want %v", k, got, want[k])
		}
	}
}
