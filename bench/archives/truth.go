package main

import (
	"math"
	"path/filepath"
	"time"

	"github.com/sfstat/sfstat/batch"
	"github.com/sfstat/sfstat/eval/simulate"
)

// found is how the findings of an archive compare with what is known of it.
type found struct {
	Flagged     int // runs with a fault that are flagged
	Rank, Host  int // of these, with the right one
	Stage, Week int
	False       int    // runs without a fault that are flagged
	Recurring   string // the recurring host of the lowest p, with its runs
	OnHost      int
	P           float64
	Days        int     // days between the change of step time and the one found; −1: none
	Elsewhere   int     // other changes
	Longer      float64 // part by which steps are longer from then on
}

// compared holds findings against the truth.
func compared(jobs []job, rows string) (found, error) {
	f := found{Days: -1}
	sum, err := batch.Gather([]string{rows}, batch.Options{})
	if err != nil {
		return f, err
	}
	truth := make(map[string]*job, len(jobs))
	for i := range jobs {
		truth[jobs[i].name] = &jobs[i]
	}
	for _, r := range sum.Runs() {
		j := truth[r.Name]
		switch {
		case !r.Flagged():
		case j.kind == simulate.NoFault:
			f.False++
		default:
			w := r.Worst
			f.Flagged++
			f.Rank += one(w.Rank != nil && *w.Rank == int64(j.rank))
			f.Host += one(w.Host != nil && *w.Host == j.hosts[j.rank/2])
			f.Stage += one(w.Stage != nil && *w.Stage == j.kind.Stage())
			f.Week += one(filepath.Base(r.Folder) == j.week)
		}
	}
	if hosts := sum.Hosts(); len(hosts) > 0 {
		f.Recurring, f.OnHost, f.P = hosts[0].Host, hosts[0].Runs, hosts[0].P
	}
	changes, err := sum.Changes()
	for _, c := range changes {
		if c.Stage != "" { // steps are what is asked about
			continue
		}
		days := int(math.Abs(c.Day.Sub(start.Add(firstSlow*24*time.Hour)).Hours()) / 24)
		if f.Days >= 0 || days > 1 {
			f.Elsewhere++
			continue
		}
		f.Days, f.Longer = days, c.After/c.Before-1
	}
	return f, err
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}
