package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/internal/student"
)

// recurringHost is the host on which the rank that delays a run is most often,
// nil where that is no more often than chance. Under the null the late rank of
// each run is on any of H hosts alike, so that the largest of the counts of n
// runs exceeds k with a chance of at most H·P(Binomial(n, 1/H) ≥ k).
func recurringHost(runs []RunVerdict) *evidence.RecurringHost {
	var hosts, late []string
	for i := range runs {
		for _, w := range runs[i].Windows {
			for _, m := range w.Main.Members {
				if m.Host != "" && !slices.Contains(hosts, m.Host) {
					hosts = append(hosts, m.Host)
				}
			}
		}
		if s := runs[i].Findings; len(s) > 0 && s[0].Flagged() && s[0].Host != "" {
			late = append(late, s[0].Host)
		}
	}
	if len(late) < 2 || len(hosts) < 2 {
		return nil
	}
	host, most := "", 0
	for _, h := range late {
		n := 0
		for _, other := range late {
			if other == h {
				n++
			}
		}
		if n > most {
			host, most = h, n
		}
	}
	p := min(1, float64(len(hosts))*student.AtLeast(len(late), most, 1/float64(len(hosts))))
	if p > gates.Supported {
		return nil
	}
	return &evidence.RecurringHost{Host: host, N: most, Of: len(late), Runs: true, P: p}
}
