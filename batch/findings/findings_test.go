package findings

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/internal/draws"
)

// flagged is a row of a run that a rank on a host delays.
func flagged(run, host string, hosts int64, gain float64) *Row {
	place, kind, rank := int64(1), "rank", int64(3)
	return &Row{Folder: "f", Run: run, Windows: 1, Steps: 10, Step: 1e9, Ranks: 8, Hosts: hosts, Status: "straggler", Stages: "{}",
		Place: &place, Kind: &kind, Flagged: true, Rank: &rank, Host: &host, RunGain: &gain}
}

// TestChanges: the day from which on steps are 3 % longer is found to a day, among runs
// that differ by 1 %, of the runs that are meant; a year without a change has none.
func TestChanges(t *testing.T) {
	const days, at = 60, 41
	begin := time.Date(2026, time.January, 5, 9, 0, 0, 0, time.UTC)
	rng := rand.New(rand.NewPCG(3, 4))
	s := NewSummary()
	for i := range 5 * days {
		start := begin.Add(time.Duration(i) * day / 5).UnixNano()
		for name, longer := range map[string]float64{"train": 0.03, "tune": 0} {
			if i < 5*at {
				longer = 0
			}
			s.Add(&Row{Run: fmt.Sprintf("%s-%d", name, i), Start: &start, Steps: 10, Step: int64(2e8 * (1 + longer + 0.01*rng.NormFloat64())), Ranks: 8})
		}
	}
	changes, err := s.Changes()
	if err != nil || len(changes) != 1 {
		t.Fatalf("%+v, %v", changes, err)
	}
	c := changes[0]
	off := c.Day.Sub(begin.Truncate(day)) - at*day
	if c.Family != "train-#" || off.Abs() > day || math.Abs(float64(c.After)/float64(c.Before)-1.03) > 0.01 || c.P > level || c.Low.After(c.Day.Time) || c.High.Before(c.Day.Time) {
		t.Errorf("%+v", c)
	}
}

// TestChangesOfStages: the stage that grew is named beside the step, of runs that have their day in
// the name alone; a stage that did not grow is not.
func TestChangesOfStages(t *testing.T) {
	s := NewSummary()
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range 24 {
		data, forward := 20e6*(1+0.01*rng.NormFloat64()), 100e6*(1+0.01*rng.NormFloat64())
		if i >= 12 {
			data += 15e6
		}
		s.Add(&Row{Run: fmt.Sprintf("job-2026-03-%02d", i+1), Steps: 10, Step: int64(data + forward), Ranks: 8, Stages: Stages(fmt.Sprintf(`{"data":%.0f,"forward":%.0f}`, data, forward))})
	}
	changes, err := s.Changes()
	if err != nil || len(changes) != 2 {
		t.Fatalf("%+v, %v", changes, err)
	}
	for i, stage := range []string{"", "data"} {
		if c := changes[i]; c.Stage != stage || c.Day.String() != "2026-03-13" || math.Abs(float64(c.After-c.Before)-15e6) > 2e6 {
			t.Errorf("%+v", c)
		}
	}
}

// TestChangesOfCorrelatedDays: months of days that depend on the day before, in which nothing happened, have a
// change in no more than one of twenty archives.
func TestChangesOfCorrelatedDays(t *testing.T) {
	n := draws.Of(t, 40, 150)
	for _, phi := range []float64{0.5, 0.8} {
		found := 0
		for k := range n {
			s, rng := NewSummary(), rand.New(rand.NewPCG(13, uint64(k)))
			data, forward := rng.NormFloat64(), rng.NormFloat64()
			for i := range 28 {
				data = phi*data + math.Sqrt(1-phi*phi)*rng.NormFloat64()
				forward = phi*forward + math.Sqrt(1-phi*phi)*rng.NormFloat64()
				d, f := 20e6*(1+0.015*data), 100e6*(1+0.015*forward)
				s.Add(&Row{Run: fmt.Sprintf("job-2026-03-%02d", i+1), Steps: 10, Step: int64(d + f), Ranks: 8, Stages: Stages(fmt.Sprintf(`{"data":%.0f,"forward":%.0f}`, d, f))})
			}
			changes, err := s.Changes()
			if err != nil {
				t.Fatal(err)
			}
			if len(changes) > 0 {
				found++
			}
		}
		t.Logf("AR %v: a change in %d of %d archives", phi, found, n)
		if slack := 3 * math.Sqrt(0.05*0.95*float64(n)); float64(found) > 0.05*float64(n)+slack {
			t.Errorf("AR %v: a change is found in %d of %d archives that have none", phi, found, n)
		}
	}
}

// TestOnsets: a host that delays a fifth of the runs from some week on is found with its GPU, to a week; one
// that delays as many all along is not, nor is chance.
func TestOnsets(t *testing.T) {
	const weeks, at, perWeek = 26, 11, 40
	begin := time.Date(2026, time.January, 5, 9, 0, 0, 0, time.UTC)
	rng := rand.New(rand.NewPCG(7, 8))
	s := NewSummary()
	for i := range weeks * perWeek {
		week := i / perWeek
		start := begin.Add(time.Duration(i) * 7 * day / perWeek).UnixNano()
		row := &Row{Run: fmt.Sprint("run-", i), Windows: 1, Steps: 10, Step: 1e9, Ranks: 8, Stages: "{}"}
		switch x := rng.Float64(); {
		case x < 0.2 && week >= at:
			row = flagged(row.Run, "bad", 8, 0.2)
			local := int64(3)
			row.LocalRank = &local
		case x > 0.85:
			row = flagged(row.Run, "always", 8, 0.2)
		}
		row.Start = &start
		s.Add(row)
	}
	onsets, err := s.Onsets()
	if err != nil || len(onsets) != 2 {
		t.Fatalf("%+v, %v", onsets, err)
	}
	for i, localRank := range []int{-1, 3} {
		o := onsets[i]
		off := o.Week.Sub(time.Date(2026, time.January, 5, 0, 0, 0, 0, time.UTC)) - at*7*day
		if o.Host != "bad" || o.LocalRank != localRank || off.Abs() > 7*day || o.Before > 0.01 || math.Abs(o.After-0.2) > 0.1 || o.P > level {
			t.Errorf("%+v", o)
		}
	}
}

// TestWorstFirst: runs with a finding to act on come first, by the time of all
// ranks that they lose; a window counts once however many findings it has.
func TestWorstFirst(t *testing.T) {
	s := NewSummary()
	for i, gain := range []float64{0.1, 0.3, 0.2} {
		row := flagged(fmt.Sprint("run-", i), "h", 4, gain)
		s.Add(row)
		second := *row
		place := int64(2)
		second.Place, second.Flagged = &place, false
		s.Add(&second)
	}
	s.Add(&Row{Folder: "f", Run: "healthy", Windows: 1, Steps: 10, Step: 1e9, Ranks: 8, Status: "no_straggler"})
	var names []string
	for _, r := range s.Runs() {
		names = append(names, r.Name)
	}
	if diff := cmp.Diff([]string{"run-1", "run-2", "run-0", "healthy"}, names); diff != "" {
		t.Error(diff)
	}
	if s.Windows != 4 {
		t.Errorf("%d windows, expected 4", s.Windows)
	}
	if got := s.Runs()[0].LostTime(); got != 0.3*10e9*8 {
		t.Errorf("lost %v ns", got)
	}
	want := []Count{{"straggler", 3, (0.1 + 0.3 + 0.2) * 80e9}, {"no_straggler", 1, 0}}
	same := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(a) })
	if diff := cmp.Diff(want, s.Statuses(), same); diff != "" {
		t.Error(diff)
	}
}

// TestHosts: a host in nine of ten runs of eight hosts each is no chance, one in
// two of them is.
func TestHosts(t *testing.T) {
	s := NewSummary()
	for i := range 12 {
		host := "bad"
		if i >= 9 {
			host = fmt.Sprint("h", i/11)
		}
		s.Add(flagged(fmt.Sprint("run-", i), host, 8, 0.2))
	}
	hosts := s.Hosts()
	if len(hosts) != 2 || hosts[0].Host != "bad" || hosts[0].Runs != 9 || hosts[0].Of != 12 || hosts[0].P > 1e-4 || hosts[1].P < 0.5 {
		t.Errorf("%+v", hosts)
	}
}

// TestGPUs: all three findings of thirty runs of eight ranks on one GPU are no chance, though each run
// has one host; three on the GPUs of a host are.
func TestGPUs(t *testing.T) {
	for _, one := range []bool{true, false} {
		s := NewSummary()
		for i := range 27 {
			s.Add(&Row{Folder: "f", Run: fmt.Sprint("healthy-", i), Steps: 10, Step: 1e9, Ranks: 8, Hosts: 1, Status: "no_straggler"})
		}
		for i := range 3 {
			row, gpu := flagged(fmt.Sprint("run-", i), "gpu07", 1, 0.2), int64(3)
			if !one {
				gpu = int64(i)
			}
			row.LocalRank = &gpu
			s.Add(row)
		}
		gpus := s.GPUs()
		if one && (len(gpus) != 1 || gpus[0].Host != "gpu07" || gpus[0].LocalRank != 3 || gpus[0].Runs != 3 || gpus[0].P > 0.05) || !one && len(gpus) > 0 {
			t.Errorf("on one GPU: %v: %+v", one, gpus)
		}
		if hosts := s.Hosts(); len(hosts) > 0 {
			t.Errorf("of runs of one host: %+v", hosts)
		}
	}
}

// TestAbsent: a gain that is no number is absent, so that the row can be written in every format.
func TestAbsent(t *testing.T) {
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		var f diagnose.Finding
		f.Gain, f.RunGain = x, 0.5
		row := Row{}.finding(&f, 0)
		if _, err := json.Marshal(row); err != nil || row.Gain != nil || row.RunGain == nil || *row.RunGain != 0.5 {
			t.Errorf("%v: %v, %v, %v", x, row.Gain, row.RunGain, err)
		}
	}
}

// TestRunsByAllThatIsLate: a run in which three ranks save 15 % together comes before one in which a single rank saves 12 %.
func TestRunsByAllThatIsLate(t *testing.T) {
	s := NewSummary()
	together := 0.15
	several := flagged("several", "a", 2, 0.06)
	several.Together = &together
	for _, row := range []*Row{flagged("single", "a", 2, 0.12), several} {
		s.Add(row)
	}
	runs := s.Runs()
	if runs[0].Name != "several" || runs[0].LostTime() != 12e9 || runs[1].LostTime() != 9.6e9 {
		t.Errorf("%s first, which loses %d ns, the other %d", runs[0].Name, runs[0].LostTime(), runs[1].LostTime())
	}
}

// TestOnsetsOfWeeksThatDependOnOneAnother: a host that delays more runs in some weeks because it did in the week before has
// no onset. If weeks came in no order, most of these archives would show one.
func TestOnsetsOfWeeksThatDependOnOneAnother(t *testing.T) {
	const weeks, perWeek, ar = 30, 60, 0.9
	n := draws.Of(t, 12, 60)
	begin := time.Date(2026, time.January, 5, 9, 0, 0, 0, time.UTC)
	found := 0
	for k := range n {
		rng := rand.New(rand.NewPCG(21, uint64(k)))
		s, load := NewSummary(), rng.NormFloat64()
		for week := range weeks {
			load = ar*load + math.Sqrt(1-ar*ar)*rng.NormFloat64()
			for i := range perWeek {
				start := begin.AddDate(0, 0, 7*week).UnixNano()
				row := &Row{Run: fmt.Sprint("run-", week, "-", i), Windows: 1, Steps: 10, Step: 1e9, Ranks: 8, Stages: "{}"}
				if float64(i) < perWeek*(0.4+0.12*load) {
					row = flagged(row.Run, "host", 8, 0.2)
				}
				row.Start = &start
				s.Add(row)
			}
		}
		onsets, err := s.Onsets()
		if err != nil {
			t.Fatal(err)
		}
		if len(onsets) > 0 {
			found++
		}
	}
	if rate, most := float64(found)/float64(n), 0.1+3*math.Sqrt(0.1*0.9/float64(n)); rate > most {
		t.Errorf("an onset in %.2f of archives that have none, expected %.2f at most", rate, most)
	}
}
