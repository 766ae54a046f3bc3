package diagnose

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/health"
)

// watchedJob is 8 ranks on 2 hosts, of which rank 5 loses 40 ms a step in forward, and
// takes 30 ms of them in a probe.
func watchedJob() *trace.Window {
	const began = 1795351500e9
	rng := rand.New(rand.NewPCG(1, 1))
	w := &trace.Window{Run: "job", WorldSize: 8, Schema: trace.Schema{Stages: []string{"data.next_wait", "model.fwd_loss_cpu_wall", "model.backward_cpu_wall", "optim.step_cpu_wall"}}}
	probe := trace.SideChannel{Name: "attention" + trace.ProbeSuffix}
	for r := range 8 {
		w.Ranks = append(w.Ranks, trace.Rank{ID: r, Host: []string{"h1.cluster", "h2.cluster"}[r/4], LocalRank: r % 4})
		w.Epochs = append(w.Epochs, began)
	}
	for step := range 40 {
		var before [8]int64
		for r := range 8 {
			before[r] = 15e6 + rng.Int64N(1e6)
			w.Durations = append(w.Durations, before[r])
		}
		last := int64(0)
		for r := range 8 {
			forward, inside := 60e6+rng.Int64N(1e6), 8+rng.Float64()
			if r == 5 {
				forward, inside = forward+40e6, inside+30
			}
			before[r] += forward
			last = max(last, before[r])
			w.Durations = append(w.Durations, forward)
			probe.Samples = append(probe.Samples, trace.Sample{Step: int64(step), Rank: r, Value: inside, Ready: true})
		}
		for r := range 8 {
			w.Durations = append(w.Durations, last-before[r]+80e6)
		}
		for range 8 {
			w.Durations = append(w.Durations, 10e6+rng.Int64N(1e5))
		}
		for r := range 8 {
			w.Wall = append(w.Wall, last+80e6+10e6+int64(r))
		}
	}
	w.Side = []trace.SideChannel{probe}
	return w
}

// clocks are readings of the four GPUs of a host, one of which may be slow.
func clocks(host, path string, slow int, from int64) *health.Record {
	t := &health.Record{Path: path, Zoneless: true}
	for gpu := range 4 {
		s := health.Series{Host: host, Device: gpu, Quantity: health.SMClock}
		for i := range int64(10) {
			mhz := 1755.0
			if gpu == slow {
				mhz = 1005
			}
			s.Readings = append(s.Readings, health.Reading{At: from + i*1e9, Value: mhz})
		}
		t.Series = append(t.Series, s)
	}
	return t
}

// TestMonitoring: what is read beside a job is joined by host and time, decides the next
// action, and changes nothing else.
func TestMonitoring(t *testing.T) {
	const began = 1795351500e9
	judge := func(beside ...trace.Recording) *Verdict {
		s := New(Options{})
		for _, r := range append(beside, watchedJob()) {
			if err := s.Add(r); err != nil {
				t.Fatal(err)
			}
		}
		return s.Verdict()
	}
	alone := judge()
	xid := func(bus uint64, at int64) *health.Record {
		return &health.Record{Path: "kern.log", Buses: []health.Bus{{Host: "h2", Device: 1, Bus: 0x3c000}, {Host: "h2", Device: 2, Bus: 0x3d000}},
			Events: []health.Event{{Host: "h2", At: at, Kind: health.XidError, Code: 79, Bus: bus, Device: -1}}}
	}
	for _, c := range []struct {
		name     string
		beside   []trace.Recording
		quantity string // in which GPU 1 of h2 is found to differ
		event    bool
		problem  answer.ProblemKind
	}{
		{"by name", []trace.Recording{clocks("h1", "a", -1, began), clocks("H2", "b", 1, began)}, "sm_clock", false, ""},
		{"by path", []trace.Recording{clocks("", "m/h1.csv", -1, began), clocks("", "m/smi-h2/x.csv", 1, began)}, "sm_clock", false, ""},
		{"another GPU is slow", []trace.Recording{clocks("h1", "a", -1, began), clocks("h2", "b", 2, began)}, "", false, ""},
		{"another host's is slow", []trace.Recording{clocks("h1", "a", 1, began), clocks("h2", "b", -1, began)}, "", false, ""},
		{"a host of another job", []trace.Recording{clocks("h1", "a", -1, began), clocks("h3", "b", 1, began)}, "", false, ""},
		{"without times", []trace.Recording{clocks("h1", "a", -1, -10e9), clocks("h2", "b", 1, -10e9)}, "sm_clock", false, ""},
		{"another hour", []trace.Recording{clocks("h1", "a", -1, began+3600e9), clocks("h2", "b", 1, began+3600e9)}, "", false, answer.MonitoringZone},
		{"of no host", []trace.Recording{clocks("", "smi.csv", 1, began)}, "", false, answer.MonitoringHost},
		{"Xid", []trace.Recording{xid(0x3c000, began+1e9)}, "", true, ""},
		{"Xid of another GPU", []trace.Recording{xid(0x3d000, began+1e9)}, "", false, ""},
		{"Xid at another time", []trace.Recording{xid(0x3c000, began+3600e9)}, "", false, ""},
		{"Xid at no time", []trace.Recording{xid(0, 0)}, "", true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := judge(c.beside...)
			if v.Status != alone.Status || v.Confidence != alone.Confidence || len(v.Findings) != len(alone.Findings) {
				t.Fatalf("%v, %v, %d suspects; without monitoring %v, %v, %d", v.Status, v.Confidence, len(v.Findings), alone.Status, alone.Confidence, len(alone.Findings))
			}
			f, g := v.Findings[0], alone.Findings[0]
			if diff := cmp.Diff(g.Cost, f.Cost); diff != "" || *f.Rank != *g.Rank || f.Confidence != g.Confidence {
				t.Errorf("the suspect changes: %s", diff)
			}
			m, found := evidence.FindIf(f.Evidence, func(m evidence.Monitored) bool { return m.Alike == nil })
			if found != (c.quantity != "") || found && (m.Quantity != c.quantity || m.Host != "h2.cluster" || *m.Device != 1 || m.Own != 1005 || m.Peers != 1755 || m.N != 7 || m.P > 0.01) {
				t.Errorf("%v %+v, expected %q", found, m, c.quantity)
			}
			if _, event := evidence.Find[evidence.Reported](f.Evidence); event != c.event {
				t.Errorf("an event: %v, expected %v", event, c.event)
			}
			undated := c.name == "Xid at no time" // never leads
			at := slices.IndexFunc(v.Next, func(a answer.Action) bool { return a.Action == answer.CheckMonitored })
			if want := map[bool]int{true: 0, false: -1}[c.quantity != "" || c.event]; undated && at != 1 || !undated && at != want {
				t.Errorf("action %d of %v", at, v.Next)
			}
			problem := answer.ProblemKind("")
			for _, p := range v.Problems {
				if p.Problem != answer.StepsDropped {
					problem = p.Problem
				}
			}
			if problem != c.problem {
				t.Errorf("problem %q, expected %q", problem, c.problem)
			}
		})
	}
}

// TestSlowdown: the time with a lowered clock is put into proportion to a step of the finding; where only the run is
// looked at, or the quantity is no such time, it is not.
func TestSlowdown(t *testing.T) {
	const began = 1795351500e9
	for _, c := range []struct {
		quantity health.Quantity
		share    float64
		slowed   float64 // of a step
	}{
		{health.ThermalTime, 0.38, 0.38},
		{health.HardwareThermalTime, 0.5, 0.5},
		{health.NVLinkReplays, 500, 0},
	} {
		s := New(Options{})
		for i, host := range []string{"h1", "h2"} {
			t := &health.Record{Path: host}
			for gpu := range 4 {
				series := health.Series{Host: host, Device: gpu, Quantity: c.quantity}
				for second := range int64(20) {
					x := 0.0
					if i == 1 && gpu == 1 {
						x = c.share * float64(second)
					}
					series.Readings = append(series.Readings, health.Reading{At: began + second*1e9, Value: x})
				}
				t.Series = append(t.Series, series)
			}
			if err := s.Add(t); err != nil {
				panic(err)
			}
		}
		if err := s.Add(watchedJob()); err != nil {
			t.Fatal(err)
		}
		f := s.Verdict().Findings[0]
		m, ok := evidence.FindIf(f.Evidence, func(m evidence.Monitored) bool { return m.Alike == nil })
		if want := c.slowed * float64(f.Step); !ok || math.Abs(m.Own-c.share) > 1e-9*c.share || math.Abs(float64(m.Slowed)-want) > 1 || (m.Step != 0) != (c.slowed > 0) {
			t.Errorf("%v: %+v, expected %v and %.0f ns of a step of %d", c.quantity, m, c.share, want, f.Step)
		}
	}
}

// TestTimesNotKnown: of steps without times, a report may be of another time, and quantities that are alike too.
func TestTimesNotKnown(t *testing.T) {
	for _, known := range []bool{true, false} {
		w := watchedJob()
		if !known {
			w.Epochs = nil
		}
		s := New(Options{})
		event := &health.Record{Path: "kern.log", Events: []health.Event{{Host: "h2", At: 1795351501e9, Kind: health.XidError, Code: 79, Device: 1}}}
		for _, r := range []trace.Recording{event, clocks("h1", "a", -1, 1795351500e9), clocks("h2", "b", -1, 1795351500e9), w} {
			if err := s.Add(r); err != nil {
				t.Fatal(err)
			}
		}
		found := s.Verdict().Findings[0].Evidence
		if e, ok := evidence.Find[evidence.Reported](found); !ok || e.Timeless == known {
			t.Errorf("times known %v: %v %+v", known, ok, e)
		}
		if e, ok := evidence.Find[evidence.Monitored](found); !ok || e.Timeless == known || len(e.Alike) != 1 || e.Device == nil {
			t.Errorf("times known %v: %v %+v", known, ok, e)
		}
	}
}

// TestProbes: a probe in which the late rank takes longer is named, with its time.
func TestProbes(t *testing.T) {
	s := New(Options{})
	if err := s.Add(watchedJob()); err != nil {
		t.Fatal(err)
	}
	p, ok := evidence.Find[evidence.ProbeTime](s.Verdict().Findings[0].Evidence)
	if !ok || p.Rank != 5 || p.Own < 38e6 || p.Own > 39e6 || p.Peers < 8e6 || p.Peers > 9e6 || p.Steps != 40 || p.P > 1e-3 {
		t.Errorf("%v %+v, expected 38.5 ms on rank 5 and 8.5 ms on its peers", ok, p)
	}
}

// TestMonitoringOfRuns: where nobody is to be acted on, what differs is told of the run; of an open question it is looked at first.
func TestMonitoringOfRuns(t *testing.T) {
	hosts := func(s simulate.Spec) []trace.Recording {
		s.RanksPerHost = 4
		return changed(t, s)
	}
	seldom := replicas(4, 40, atTrain, func(r, step int) float64 {
		if r == 2 && (step == 20 || step == 30 || step == 35) {
			return 800
		}
		return 0
	})
	for _, c := range seldom.records {
		c.Processes[0].Host = "node1"
	}
	for _, c := range []struct {
		name string
		job  []trace.Recording
		told bool // of the run
		next answer.ActionKind
	}{
		{"nobody is late", hosts(spec(8, 40, 1)), true, answer.CheckMonitored},
		{"little late", hosts(spec(8, 40, 1, fault(simulate.Data, 12, 3))), true, answer.CheckMonitored},
		{"a transfer may be slow", hosts(entering(40, fault(simulate.BackwardComm, 80, 3))), true, answer.CheckMonitored},
		{"a rank may be late", seldom.left(), true, answer.CheckMonitored},
		{"late on the other host", hosts(spec(8, 40, 1, fault(simulate.Data, 80, 3))), false, answer.SampleStack},
		{"late there", hosts(spec(8, 40, 1, fault(simulate.Data, 80, 5))), false, answer.CheckMonitored},
		{"all ranks are slow in some steps", hosts(spec(8, 60, 1, simulate.Fault{Family: simulate.BackwardComm, Delay: 200, Ranks: []int{5}, When: simulate.When{Every: 5}})), false, answer.Profile},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := judged(t, Options{}, append(c.job, clocks("node0", "a", -1, 1767225601e9), clocks("node1", "b", 1, 1767225601e9))...)
			m, told := evidence.Find[evidence.Monitored](v.Observed)
			if told != c.told || told && (m.Host != "node1" || *m.Device != 1) {
				t.Errorf("of the run %v %+v, want %v", told, m, c.told)
			}
			if first := append(v.Next, answer.Action{})[0].Action; first != c.next {
				t.Errorf("%v: first %q, want %q", v.Status, first, c.next)
			}
		})
	}
}

// TestMonitoringWithoutHosts counts the files that name no host.
func TestMonitoringWithoutHosts(t *testing.T) {
	v := judged(t, Options{}, watchedJob(), clocks("", "smi.csv", 1, 1795351500e9), clocks("", "again.csv", 1, 1795351500e9), clocks("h1", "h1.csv", -1, 1795351500e9))
	i := slices.IndexFunc(v.Problems, func(p answer.Problem) bool { return p.Problem == answer.MonitoringHost })
	if i < 0 || v.Problems[i].N != 2 || v.Problems[i].Path != "smi.csv" {
		t.Errorf("%+v, want two files, the first smi.csv", v.Problems)
	}
}

// TestMonitoringOfEntries: when calls were entered says when a job without windows ran, unless they count from something else than 1970.
func TestMonitoringOfEntries(t *testing.T) {
	const began = 1767225600e9
	boot := func(c *comms.Record) {
		for i := range c.Calls {
			c.Calls[i].Enter -= began - 5e9
		}
	}
	left := func(c *comms.Record) { // a call that was not entered
		x := comms.UnknownCall(0)
		x.Enter = began + 3601e9
		c.Calls = append(c.Calls, x)
	}
	for _, c := range []struct {
		name     string
		change   func(c *comms.Record)
		at       int64
		found    bool
		timeless bool
		problem  answer.ProblemKind
	}{
		{"in the run", func(*comms.Record) {}, began, true, false, ""},
		{"an hour later", func(*comms.Record) {}, began + 3600e9, false, false, answer.MonitoringZone},
		{"an hour later, with a call that was not entered", left, began + 3600e9, false, false, answer.MonitoringZone},
		{"times of no day", boot, began + 3600e9, true, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := replicas(4, 40, atTrain, always(2, 40))
			for _, r := range d.records {
				c.change(r)
			}
			v := judged(t, Options{}, append(d.left(), clocks("node0", "a", 2, c.at))...)
			m, found := evidence.Find[evidence.Monitored](v.Findings[0].Evidence)
			problem := answer.ProblemKind("")
			if len(v.Problems) > 0 {
				problem = v.Problems[0].Problem
			}
			if found != c.found || m.Timeless != c.timeless || problem != c.problem {
				t.Errorf("%v %+v, problem %q, want %v, timeless %v, %q", found, m, problem, c.found, c.timeless, c.problem)
			}
		})
	}
}
