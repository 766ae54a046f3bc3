package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/sfstat/sfstat/archive"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/parallel"
	"github.com/sfstat/sfstat/trace"
)

const (
	weeks      = 26
	hosts      = 64 // of the cluster
	badHost    = 17
	firstSlow  = 120 // day
	delay      = 60  // ms
	hostDigits = "gpu-%03d"
)

// kinds are the faults whose rank stage times tell.
var kinds = []simulate.Family{simulate.Data, simulate.ForwardHost, simulate.CallbackHost, simulate.OptimizerHost}

// job is one run to be made; where nothing is wrong with it, kind is NoFault.
type job struct {
	name, week string
	kind       simulate.Family
	windows    []int // that the fault strikes; none: all
	ranks      int
	rank       int // that is slow
	hosts      []string
	seed       uint64
	begin      time.Time
	factor     float64 // of its times
}

// start is a Monday.
var start = time.Date(2026, time.January, 5, 0, 0, 0, 0, time.UTC)

// plan draws the runs.
func (a *archived) plan() []job {
	n, faults, ranks, slower := a.Windows/a.PerRun, a.Faults, a.Ranks, a.Slower
	rng := rand.New(rand.NewPCG(20, 26))
	out := make([]job, n)
	for i := range out {
		r := &out[i]
		r.ranks, r.name, r.week, r.seed = ranks, fmt.Sprintf("job-%05d", i), fmt.Sprintf("week-%02d", i*weeks/n), uint64(i)
		r.begin, r.factor = start.Add(weeks*7*24*time.Hour/time.Duration(n)*time.Duration(i)), 1
		if r.begin.Sub(start) >= firstSlow*24*time.Hour {
			r.factor += slower
		}
		for _, h := range rng.Perm(hosts)[:(ranks+1)/2] {
			r.hosts = append(r.hosts, fmt.Sprintf(hostDigits, h))
		}
	}
	for k, i := range rng.Perm(n)[:min(faults, n)] {
		r := &out[i]
		r.kind, r.rank = kinds[k%len(kinds)], rng.IntN(ranks)
		for w := 0; a.Every > 1 && w < a.PerRun; w += a.Every {
			r.windows = append(r.windows, w)
		}
		if k%2 == 0 {
			r.hosts[r.rank/2] = fmt.Sprintf(hostDigits, badHost)
		}
	}
	return out
}

// fleet makes the archive: the files of the runs, and truth.csv.
func (a *archived) fleet(dir string) error {
	runs, schedule := a.plan(), simulate.Schedule{Windows: a.PerRun, Steps: a.Steps}
	_, err := parallel.Map(len(runs), func(i int) (struct{}, error) { return struct{}{}, runs[i].write(dir, schedule) })
	return errors.Join(err, truth(dir, runs))
}

// write makes the file of a run.
func (r *job) write(dir string, schedule simulate.Schedule) error {
	spec := simulate.DefaultSpec()
	spec.Run, spec.Seed, spec.Ranks, spec.RanksPerHost = r.name, r.seed, r.ranks, 2
	warmup := spec.Schedule.Warmup
	spec.Schedule = schedule
	spec.Schedule.Warmup = warmup
	if r.kind != simulate.NoFault {
		spec.Faults = []simulate.Fault{{Family: r.kind, Delay: delay, Ranks: []int{r.rank}, Windows: r.windows}}
	}
	g, err := simulate.New(spec)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, r.week), 0o777); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, r.week, r.name+".parquet"))
	if err != nil {
		return err
	}
	out := archive.NewWriter(f)
	err = g.Each(func(w *trace.Window) error {
		r.place(w)
		return out.Write(w)
	})
	if err == nil {
		err = out.Close()
	}
	return errors.Join(err, f.Close())
}

// place puts the ranks of a window on the hosts of the run, and the window where it is
// in time.
func (r *job) place(w *trace.Window) {
	simulate.Scale(w, r.factor)
	w.Epochs = slices.Repeat([]int64{r.begin.UnixNano()}, len(w.Ranks))
	for t := range w.Steps() {
		r.begin = r.begin.Add(time.Duration(slices.Max(w.WallOf(t))))
	}
	for i := range w.Ranks {
		w.Ranks[i].Host = r.hosts[w.Ranks[i].ID/2]
	}
}

func truth(dir string, runs []job) error {
	f, err := os.Create(filepath.Join(dir, "truth.csv"))
	if err != nil {
		return err
	}
	w := csv.NewWriter(f)
	_ = w.Write([]string{"run", "week", "fault", "rank", "host"}) // errors are kept until Flush
	for i := range runs {
		if r := &runs[i]; r.kind != simulate.NoFault {
			_ = w.Write([]string{r.name, r.week, r.kind.String(), strconv.Itoa(r.rank), r.hosts[r.rank/2]})
		}
	}
	w.Flush()
	return errors.Join(w.Error(), f.Close())
}
