package diagnose

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/gates"
)

// Delayer is the host that delays a run, or the GPU on it.
type Delayer struct {
	Host      string
	LocalRank int   // of the GPU; −1: it is the host
	Among     int   // hosts, or ranks, of the run, any of which may be the late one
	Lost      int64 // what it costs the run, ns of all ranks
}

// Recurrence is a host, or a GPU, that delays several runs.
type Recurrence struct {
	Host      string  // the host
	LocalRank int     // of the GPU on it; negative: it is the host
	Runs      int     // runs that it delays
	Of        int     // of so many with a finding to act on that names one of several
	P         float64 // chance that any comes up so often, at most; corrected for as many as there are
	Lost      int64   // time of all ranks
}

// MayBeChance reports whether it may be chance that they come up so often.
func (r *Recurrence) MayBeChance() bool { return r.P > gates.Supported }

// Recurrences returns the hosts, or the GPUs, that delay two or more runs, the least likely first. Under the null the late rank
// of a run is on any of its hosts alike, so that a host which is in all n runs comes up k times or more with the chance that k
// or more of n independent events of 1/hosts happen; a host that is in fewer runs with less. Corrected for as many hosts as the
// largest run has, or as came up. O(n²) in the runs.
func Recurrences(runs []Delayer) []Recurrence {
	var chances []float64
	seen := make(map[Delayer]*Recurrence)
	most := 0
	for _, r := range runs {
		if r.Host == "" || r.Among < 2 {
			continue
		}
		at := Delayer{Host: r.Host, LocalRank: r.LocalRank}
		if seen[at] == nil {
			seen[at] = &Recurrence{Host: r.Host, LocalRank: r.LocalRank}
		}
		seen[at].Runs++
		seen[at].Lost += r.Lost
		chances = append(chances, 1/float64(r.Among))
		most = max(most, r.Among)
	}
	tail := tailChances(chances)
	var out []Recurrence
	for _, h := range seen {
		if h.Runs >= 2 {
			h.Of = len(chances)
			h.P = min(1, float64(max(most, len(seen)))*tail[h.Runs])
			out = append(out, *h)
		}
	}
	slices.SortFunc(out, func(a, b Recurrence) int {
		return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.Host, b.Host), cmp.Compare(a.LocalRank, b.LocalRank))
	})
	return out
}

// tailChances returns the chance of k or more of independent events, by k. O(n²).
func tailChances(chances []float64) []float64 {
	exactly := []float64{1}
	for _, p := range chances {
		exactly = append(exactly, 0)
		for k := len(exactly) - 1; k > 0; k-- {
			exactly[k] = exactly[k]*(1-p) + exactly[k-1]*p
		}
		exactly[0] *= 1 - p
	}
	for k := len(exactly) - 2; k >= 0; k-- {
		exactly[k] += exactly[k+1]
	}
	return exactly
}

// recurringHost returns the host that delays runs most beyond chance, nil without any.
func recurringHost(runs []RunVerdict) *evidence.RecurringHost {
	var late []Delayer
	for i := range runs {
		if f := runs[i].Findings; len(f) > 0 && f[0].IsFlagged() {
			late = append(late, Delayer{Host: f[0].Host, LocalRank: -1, Among: runs[i].Hosts()})
		}
	}
	if all := Recurrences(late); len(all) > 0 && !all[0].MayBeChance() {
		return &evidence.RecurringHost{Host: all[0].Host, N: all[0].Runs, Of: all[0].Of, P: all[0].P}
	}
	return nil
}

// Hosts returns how many hosts the ranks of a run with stage times are on.
func (v *RunVerdict) Hosts() int {
	hosts := make(map[string]bool)
	for _, w := range v.Windows {
		for _, m := range w.Main.Members {
			if m.Host != "" {
				hosts[m.Host] = true
			}
		}
	}
	return len(hosts)
}
