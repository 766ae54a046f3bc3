package diagnose

import (
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/health"
	"github.com/sfstat/sfstat/trace/input"
)

// TestLaidOut: windows are put together in the order of time, with a break where steps are missing, the wait for data that was recorded at the
// end of the step before last, and the median in place of ranks that a window lacks.
func TestLaidOut(t *testing.T) {
	ranks := func(ids ...int) (out []trace.Rank) {
		for _, id := range ids {
			out = append(out, trace.Rank{ID: id, Host: map[int]string{3: "b", 5: "a", 7: "b", 9: ""}[id]})
		}
		return out
	}
	window := func(at int, index, first int64, steps int, base int64, ids ...int) windowPart {
		w := windowPart{at: at, Window: trace.Window{Every: 1, Index: index, FirstStep: first, Schema: trace.Schema{Stages: []string{"data.next_wait", "model.fwd_loss_cpu_wall"}}, Ranks: ranks(ids...), DataWait: trace.DataWaitPreceding}}
		for n := range int64(steps) {
			for k := range int64(2) {
				for r := range int64(len(ids)) {
					w.Durations = append(w.Durations, base+100*n+10*k+r)
				}
			}
			for r := range int64(len(ids)) {
				w.Wall = append(w.Wall, base+500+100*n+r)
			}
		}
		return w
	}
	// In the order of their index: steps 20 to 21, 22, and, after a gap, 30 of two ranks of four.
	run, at := stretch{windows: []windowPart{window(5, 2, 30, 1, 7000, 3, 9), window(3, 0, 20, 2, 1000, 3, 5, 7, 9), window(4, 1, 22, 1, 4000, 3, 5, 7, 9)}}.join(new(points.Memory))
	if !slices.Equal(at.ranks, []int{3, 5, 7, 9}) || !alikeSteps(&at.steps, []int64{20, 21, 22, 30}, []int{3, 3, 4, 5}) || !slices.Equal(run.Breaks, []int{3}) || !at.walled || at.mixed {
		t.Errorf("%+v, breaks %v", at, run.Breaks)
	}
	if !slices.Equal(at.hosts, []string{"b", "a"}) || !slices.Equal(at.host, []int{0, 1, 0, -1}) || !slices.Equal(run.Hosts, at.host) || at.hostOf(1) != "a" || at.hostOf(3) != "" || !slices.Equal(at.ids([]int{2, 0}), []int{3, 7}) {
		t.Errorf("hosts %v of %v", at.hosts, at.host)
	}
	if run.Stages[0].Name != "model.fwd_loss_cpu_wall" || run.Stages[1].Name != "data.next_wait" || run.Len() != 4 || run.Ranks != 4 {
		t.Errorf("%+v, %d steps", run.Stages, run.Len())
	}
	for step, want := range [][2][]int64{{{1010, 1011, 1012, 1013}, {1000, 1001, 1002, 1003}}, {{1110, 1111, 1112, 1113}, {1100, 1101, 1102, 1103}}, {{4010, 4011, 4012, 4013}, {4000, 4001, 4002, 4003}},
		{{7010, 7010, 7010, 7011}, {7000, 7000, 7000, 7001}}} {
		for k := range want {
			if got := run.At(step, k); !slices.Equal(got, want[k]) {
				t.Errorf("step %d, stage %d: %v, want %v", step, k, got, want[k])
			}
		}
	}
	open := window(5, 2, 23, 1, 7000, 3, 5, 7, 9)
	open.Wall = nil
	if run, at := (stretch{windows: []windowPart{window(4, 1, 22, 1, 4000, 3, 5, 7, 9), open}}).join(new(points.Memory)); at.walled || len(run.Breaks) != 0 {
		t.Errorf("one window without wall times: %v, breaks %v", at.walled, run.Breaks)
	}
}

// TestUnion: stretches of other ranks are of the run's ranks, and hosts.
func TestUnion(t *testing.T) {
	of := func(first int, walled bool, ids []int, hosts []string, host []int, numbers ...int64) *completeStretch {
		s := &series{windows: &accounts{}}
		l := &completeStretch{first: first}
		w := windowPart{Window: trace.Window{Schema: trace.Schema{Stages: []string{"a"}}}}
		for i, id := range ids {
			w.Ranks = append(w.Ranks, trace.Rank{ID: id})
			if host[i] >= 0 {
				w.Ranks[i].Host = hosts[host[i]]
			}
		}
		for range numbers {
			for range ids {
				w.Durations = append(w.Durations, 100)
			}
		}
		s.look(l, stretch{windows: []windowPart{w}}, &steps{memory: make(memory, 1)}, nil)
		l.placed = stepPlaces{ranks: ids, hosts: hosts, host: host, steps: numberedAs(numbers, slices.Repeat([]int{first}, len(numbers))), walled: walled, splits: []trace.Split{{}}}
		return l
	}
	list := []*completeStretch{of(0, true, []int{1, 4}, []string{"a", "b"}, []int{0, 1}, 10, 11), of(1, true, []int{2, 4}, []string{"b"}, []int{-1, 0}, 12)}
	all := union(list)
	want := stepPlaces{ranks: []int{1, 2, 4}, hosts: []string{"a", "b"}, host: []int{0, -1, 1}, steps: numberedAs([]int64{10, 11, 12}, []int{0, 0, 1}), walled: true}
	if diff := gocmp.Diff(want, all, gocmp.AllowUnexported(stepPlaces{}, stepNumbers{}, numberedRun{})); diff != "" {
		t.Error(diff)
	}
	same := []*completeStretch{of(0, true, []int{1, 4}, []string{"a", "b"}, []int{0, 1}, 10), of(1, false, []int{1, 4}, []string{"a", "b"}, []int{0, 1}, 11)}
	if all := union(same); all.walled || len(all.splits) != 1 || !alikeSteps(&all.steps, []int64{10, 11}, []int{0, 1}) {
		t.Errorf("of the same ranks: %+v", all)
	}
	if one := union(list[:1]); one.walled != true || !slices.Equal(one.ranks, []int{1, 4}) {
		t.Errorf("of one: %+v", one)
	}
}

// TestWhatWindowsLose: what changes between the windows of a run, which steps two have, and which a cut leaves out.
func TestWhatWindowsLose(t *testing.T) {
	window := func(index, first int64, steps int, change func(w *trace.Window)) *trace.Window {
		w := byHand(steps)
		w.Index, w.FirstStep = index, first
		if change != nil {
			change(w)
		}
		return w
	}
	number := func(n int64) *int64 { return &n }
	dropped := func(window, step int64) answer.Problem {
		return answer.Problem{Problem: answer.StepsDropped, Window: number(window), Steps: &[2]int64{step, step}, N: 1}
	}
	// A window does not go on from another of other ranks or microsteps, so that the last step of each is left out.
	twoDropped := answer.Problem{Problem: answer.StepsDropped, Steps: &[2]int64{10, 20}, N: 2}
	for name, c := range map[string]struct {
		windows []*trace.Window
		want    []answer.Problem
	}{
		"one":                  {[]*trace.Window{window(0, 1, 10, nil)}, []answer.Problem{dropped(0, 10)}},
		"one behind the other": {[]*trace.Window{window(0, 1, 10, nil), window(1, 11, 10, nil)}, []answer.Problem{dropped(1, 20)}},
		"a gap between":        {[]*trace.Window{window(0, 1, 10, nil), window(1, 15, 10, nil)}, []answer.Problem{{Problem: answer.StepsDropped, Steps: &[2]int64{10, 24}, N: 2}}},
		"the same steps in two": {[]*trace.Window{window(0, 1, 10, nil), window(1, 8, 10, nil)}, []answer.Problem{{Problem: answer.StepsDropped, Steps: &[2]int64{10, 17}, N: 2},
			{Problem: answer.StepsTwice, Window: number(1), Steps: &[2]int64{8, 10}, N: 3}}},
		"another world size": {[]*trace.Window{window(0, 1, 10, nil), window(1, 11, 10, func(w *trace.Window) { w.WorldSize = 5 })}, []answer.Problem{
			twoDropped, {Problem: answer.WorldChanges, Window: number(1), Steps: &[2]int64{1, 11}}, {Problem: answer.RanksMissing, Window: number(1), Ranks: trace.RankSetOf([]int{4}), Steps: &[2]int64{11, 20}, N: 1, Of: 5}}},
		"another accumulation":     {[]*trace.Window{window(0, 1, 10, nil), window(1, 11, 10, func(w *trace.Window) { w.Accumulation = 2 })}, []answer.Problem{twoDropped, {Problem: answer.AccumulationChanges, Window: number(1), Steps: &[2]int64{1, 11}}}},
		"accumulation of one said": {[]*trace.Window{window(0, 1, 10, nil), window(1, 11, 10, func(w *trace.Window) { w.Accumulation = 1 })}, []answer.Problem{dropped(1, 20)}},
		"a note": {[]*trace.Window{window(0, 1, 10, func(w *trace.Window) { w.Notes = []input.Note{{Kind: input.NoteDamaged, Text: "line 7"}} })},
			[]answer.Problem{{Problem: answer.ProblemKind(input.NoteDamaged.String()), Window: number(0), Text: "line 7"}, dropped(0, 10)}},
		"a note on two": {[]*trace.Window{window(0, 1, 10, func(w *trace.Window) { w.Notes = []input.Note{{Kind: input.NoteDamaged, Text: "line 7"}} }), window(1, 11, 10, func(w *trace.Window) {
			w.Notes = []input.Note{{Kind: input.NoteDamaged, Text: "line 7"}, {Kind: input.NoteDamaged, Text: "line 8"}}
		})}, []answer.Problem{{Problem: answer.ProblemKind(input.NoteDamaged.String()), Window: number(0), Text: "line 7"}, {Problem: answer.ProblemKind(input.NoteDamaged.String()), Window: number(1), Text: "line 8"}, dropped(1, 20)}},
	} {
		var all []trace.Recording
		for _, w := range c.windows {
			all = append(all, w)
		}
		v := judged(t, Options{Frontier: frontier.Options{SyncAfter: "model.backward_cpu_wall"}}, all...)
		if diff := gocmp.Diff(c.want, v.Problems); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestForgotten: of windows that are not kept any more their first and last step, their number and their steps are known.
func TestForgotten(t *testing.T) {
	number := func(n int64) *int64 { return &n }
	r := &run{lost: []answer.Problem{{Problem: answer.StepsTwice, Window: number(0)}, {Problem: answer.StepsTwice, Window: number(2)}, {Problem: answer.StageContains}}}
	for i := range int64(5) {
		r.windows = append(r.windows, Window{Main: &frontier.Result{Window: i}})
		r.books = append(r.books, book{first: 100 + 10*i, end: 100 + 10*i + 8})
	}
	if r.forget(0); r.earlier != nil || r.countForgotten() != 0 {
		t.Errorf("%+v", r.earlier)
	}
	r.forget(2)
	if *r.earlier != (Earlier{First: 100, Last: 117, Windows: 2, Steps: 16}) || len(r.windows) != 3 || r.windows[0].Main.Window != 2 || r.books[0].first != 120 || len(r.lost) != 2 || *r.lost[0].Window != 2 {
		t.Errorf("%+v, %d windows, lost %+v", r.earlier, len(r.windows), r.lost)
	}
	if r.forget(2); r.earlier.Windows != 2 {
		t.Errorf("twice: %+v", r.earlier)
	}
	if r.forget(3); *r.earlier != (Earlier{First: 100, Last: 127, Windows: 3, Steps: 24}) || len(r.lost) != 1 {
		t.Errorf("%+v, lost %+v", r.earlier, r.lost)
	}
}

// TestWorse: the run leads of which more needs to be done: by status, by its first finding, by certainty, by how much it explains.
func TestWorse(t *testing.T) {
	run := func(s answer.Status, c evidence.Confidence, findings ...Finding) RunVerdict {
		return RunVerdict{Status: s, Confidence: c, Findings: findings}
	}
	scored := claimed(1, "", 0.3, evidence.Strong)
	small := claimed(1, "", 0.05, evidence.Strong)
	order := []RunVerdict{ // from the least on
		run(answer.NoStraggler, 0), run(answer.NoStraggler, evidence.Ambiguous, claimed(1, "", 0.05, evidence.Ambiguous)), run(answer.NoStraggler, evidence.Supported, claimed(1, "", 0.05, evidence.Supported)),
		run(answer.NoStraggler, evidence.Strong, small), run(answer.Straggler, evidence.Supported, claimed(1, "", 0.4, evidence.Supported)), run(answer.Straggler, evidence.Strong, claimed(1, "", 0.2, evidence.Strong)), run(answer.Straggler, evidence.Strong, scored),
	}
	for i := range order {
		for k := range order {
			if got := worse(&order[i], &order[k]); got != (i > k) {
				t.Errorf("run %d is worse than run %d: %v", i, k, got)
			}
		}
	}
}

// TestToolsOfRuns: what other tools conclude stands in the folder of its run, where there are several.
func TestToolsOfRuns(t *testing.T) {
	report := func(path string) *health.Record {
		return &health.Record{Path: path, Events: []health.Event{{Kind: health.ToolReport, Ranks: []int{2}, Text: path}}}
	}
	clock := &health.Record{Path: "b/x.csv", Series: []health.Series{{}}}
	s := &Session{telemetry: []*health.Record{report("a/out.txt"), report("jobs/b/out.txt"), report("ab/out.txt"), clock}}
	for name, want := range map[string][]string{"a": {"a/out.txt", "b/x.csv"}, "b": {"jobs/b/out.txt", "b/x.csv"}} {
		for runs := 1; runs <= 2; runs++ {
			s.runs = make([]*run, runs)
			var got []string
			for _, r := range s.telemetryFor(&run{name: name}) {
				got = append(got, r.Path)
			}
			if runs == 1 {
				want = []string{"a/out.txt", "jobs/b/out.txt", "ab/out.txt", "b/x.csv"}
			} else {
				want = map[string][]string{"a": {"a/out.txt", "b/x.csv"}, "b": {"jobs/b/out.txt", "b/x.csv"}}[name]
			}
			if !slices.Equal(got, want) {
				t.Errorf("of run %s of %d: %q, want %q", name, runs, got, want)
			}
		}
	}
}

// TestToolsConclude: what a tool says of a rank is evidence of the first claim on it, and the rest is of the run.
func TestToolsConclude(t *testing.T) {
	s := New(Options{Frontier: frontier.Options{SyncAfter: handStages[2]}})
	all := handJob(40, longer{[]int{2}, 1, 40, nil})
	all = append(all, &health.Record{Path: "tool", Events: []health.Event{{Kind: health.ToolReport, Ranks: []int{1, 2}, Text: "rank 2 is slow"}}}, &health.Record{Path: "another", Events: []health.Event{{Kind: health.ToolReport, Host: "host0", Ranks: []int{3}, Text: "rank 3 is slow"}}})
	for _, r := range all {
		if err := s.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	v := s.Verdict()
	says := func(list []evidence.Observation) (out []evidence.Reported) {
		for _, e := range list {
			if r, ok := e.(evidence.Reported); ok {
				out = append(out, r)
			}
		}
		return out
	}
	kind := health.ToolReport.String()
	if got := says(v.Findings[0].Evidence); !slices.Equal(got, []evidence.Reported{{Event: kind, N: 1, Text: "rank 2 is slow"}}) {
		t.Errorf("of the claim %+v", got)
	}
	if got := says(v.Observed); !slices.Equal(got, []evidence.Reported{{Event: kind, Host: "host0", N: 1, Text: "rank 3 is slow"}}) {
		t.Errorf("of the run %+v", got)
	}
}

// TestHostsInPaths: a path names the host of a run as a word, the longest of several, in its last part that names one; of one host all files are.
func TestHostsInPaths(t *testing.T) {
	hosts := func(names ...string) *hostMonitoring {
		r := &run{places: map[int]hostedRank{}}
		for i, name := range names {
			r.places[i] = hostedRank{name, 0}
		}
		w, _ := r.watch([]*health.Record{{Path: "x", Series: []health.Series{{Host: names[0]}}}})
		return w
	}
	several := hosts("node1.cluster", "node10", "gpu-node1", "10.0.0.7")
	for path, want := range map[string]string{"logs/node1.csv": "node1", "logs/NODE10/smi.csv": "node10", "gpu-node1/smi.csv": "gpu-node1", "node1/node10.csv": "node10", "node1/other.csv": "node1",
		"node12.csv": "", "a\\node10\\x": "node10", "10.0.0.7_smi": "10.0.0.7"} {
		if got := several.hostInPath(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
	if got := hosts("node1").hostInPath("smi.csv"); got != "node1" {
		t.Errorf("of one host: %q", got)
	}
	for name, want := range map[string]string{"Node1.cluster.local": "node1", "10.0.0.7": "10.0.0.7", "fe80::1": "fe80::1", "A": "a"} {
		if got := hostKey(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// TestGPUsOfHosts: of a rank whose GPU is not known all that were recorded of its host may be its; a finding on a host is of all its units.
func TestGPUsOfHosts(t *testing.T) {
	const began = 1795351500e9
	w := watchedJob()
	for r := range w.Ranks {
		w.Ranks[r].LocalRank = -1
	}
	v := judged(t, Options{}, w, clocks("h1", "a", -1, began), clocks("h2", "b", 3, began))
	m, ok := evidence.FindIf(v.Findings[0].Evidence, func(m evidence.Monitored) bool { return m.Alike == nil })
	if !ok || *m.Device != 3 || m.Host != "h2.cluster" || m.Own != 1005 || m.Peers != 1755 {
		t.Errorf("%v %+v, want GPU 3 of h2", ok, m)
	}
	all := handJob(40, longer{[]int{2, 3}, 1, 60, nil})
	for _, r := range all {
		r.(*trace.Window).Epochs = []int64{began, began, began, began}
	}
	slow := clocks("host1", "b", 1, began)
	host := judged(t, Options{Frontier: frontier.Options{SyncAfter: handStages[2]}}, append(all, clocks("host0", "a", -1, began), slow)...)
	if m, ok := evidence.FindIf(host.Findings[0].Evidence, func(m evidence.Monitored) bool { return m.Alike == nil }); !ok || m.Host != "host1" || *m.Device != 1 || host.Next[0].Action != answer.CheckMonitored || host.Next[0].Host != "host1" {
		t.Errorf("%v %+v, next %+v", ok, m, host.Next)
	}
}

// TestReportedEvents: events of the units of a claim, of one kind once, with how often; without a device they are of the host.
func TestReportedEvents(t *testing.T) {
	const began = 1795351500e9
	events := func(list ...health.Event) *health.Record {
		return &health.Record{Path: "kern.log", Zoneless: true, Events: list}
	}
	event := func(at int64, code, device int, text string) health.Event {
		return health.Event{Host: "h2", At: at, Kind: health.XidError, Code: code, Device: device, Text: text}
	}
	one := 1
	kind := health.XidError.String()
	for name, c := range map[string]struct {
		list []health.Event
		want []evidence.Reported
	}{
		"twice":               {[]health.Event{event(began+1e9, 79, 1, "a"), event(began+2e9, 79, 1, "b")}, []evidence.Reported{{Event: kind, Code: 79, Host: "h2.cluster", Device: &one, At: began + 1e9, Text: "a", N: 2, Zoneless: true}}},
		"two codes":           {[]health.Event{event(began+1e9, 79, 1, "a"), event(began+2e9, 13, 1, "b")}, []evidence.Reported{{Event: kind, Code: 79, Host: "h2.cluster", Device: &one, At: began + 1e9, Text: "a", N: 1, Zoneless: true}, {Event: kind, Code: 13, Host: "h2.cluster", Device: &one, At: began + 2e9, Text: "b", N: 1, Zoneless: true}}},
		"of the host":         {[]health.Event{event(began+1e9, 79, -1, "a"), event(began+2e9, 79, 1, "b")}, []evidence.Reported{{Event: kind, Code: 79, Host: "h2.cluster", At: began + 1e9, Text: "a", N: 1, Zoneless: true}, {Event: kind, Code: 79, Host: "h2.cluster", Device: &one, At: began + 2e9, Text: "b", N: 1, Zoneless: true}}},
		"of the host, twice":  {[]health.Event{event(began+1e9, 79, -1, "a"), event(began+2e9, 79, -1, "b")}, []evidence.Reported{{Event: kind, Code: 79, Host: "h2.cluster", At: began + 1e9, Text: "a", N: 2, Zoneless: true}}},
		"of another GPU":      {[]health.Event{event(began+1e9, 79, 0, "a")}, nil},
		"an hour before":      {[]health.Event{event(began-3600e9, 79, 1, "a")}, nil},
		"four kinds of three": {[]health.Event{event(began, 1, 1, ""), event(began, 2, 1, ""), event(began, 3, 1, ""), event(began, 4, 1, "")}, []evidence.Reported{{Event: kind, Code: 1, Host: "h2.cluster", Device: &one, At: began, N: 1, Zoneless: true}, {Event: kind, Code: 2, Host: "h2.cluster", Device: &one, At: began, N: 1, Zoneless: true}, {Event: kind, Code: 3, Host: "h2.cluster", Device: &one, At: began, N: 1, Zoneless: true}}},
	} {
		var got []evidence.Reported
		for _, e := range judged(t, Options{}, watchedJob(), events(c.list...)).Findings[0].Evidence {
			if r, ok := e.(evidence.Reported); ok {
				got = append(got, r)
			}
		}
		if diff := gocmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestTimesOfWindow: a window lasts from the first epoch to the last end, by wall times, else by its stages; ranks without an epoch say nothing.
func TestTimesOfWindow(t *testing.T) {
	w := &trace.Window{Ranks: make([]trace.Rank, 3), Epochs: []int64{1000, 900, 0}, Schema: trace.Schema{Stages: []string{"a", "b"}},
		Durations: []int64{1, 2, 900, 3, 4, 900, 5, 6, 900, 7, 8, 900}, Wall: []int64{100, 400, 900, 200, 300, 900}}
	if got := timesOfWindow(w); got.From != 900 || got.To != 900+700 {
		t.Errorf("%+v, want 900 to 1600", got)
	}
	w.Wall[0] = 700
	if got := timesOfWindow(w); got.To != 1000+900 {
		t.Errorf("%+v, want until 1900", got)
	}
	if w.Wall = nil; timesOfWindow(w).To != 1000+16 {
		t.Errorf("%+v, want until 1016", timesOfWindow(w))
	}
	if w.Epochs = nil; timesOfWindow(w).From != 0 || timesOfWindow(w).To != 0 {
		t.Error("times without epochs")
	}
}

// TestMonitoredByHand: of a late rank on the first GPU of a host that GPU counts; a small claim of a run that is not seen through decides nothing, so
// that what differs is looked at once, for the run.
func TestMonitoredByHand(t *testing.T) {
	const began = 1795351500e9
	judge := func(ms int64, slow int, quantity health.Quantity) *RunVerdict {
		all := handJob(40, longer{[]int{2}, 1, ms, nil})
		for _, r := range all {
			r.(*trace.Window).Epochs = []int64{began, began, began, began}
		}
		for i, host := range []string{"host0", "host1"} {
			c := clocks(host, host, -1, began)
			for gpu := range c.Series {
				s := &c.Series[gpu]
				s.Quantity = quantity
				for k := range s.Readings {
					if s.Readings[k].Value = 1755; quantity == health.ThermalTime {
						s.Readings[k].Value = 0
					}
					if i == 1 && gpu == slow {
						if s.Readings[k].Value = 1005; quantity == health.ThermalTime {
							s.Readings[k].Value = 0.4 * float64(k)
						}
					}
				}
			}
			all = append(all, c)
		}
		return judged(t, Options{Frontier: frontier.Options{SyncAfter: handStages[2]}}, all...)
	}
	differs := func(list []evidence.Observation) *evidence.Monitored {
		m, ok := evidence.FindIf(list, func(m evidence.Monitored) bool { return m.Alike == nil })
		if !ok {
			return nil
		}
		return &m
	}
	for slow, want := range map[int]bool{0: true, 1: false} {
		v := judge(40, slow, health.SMClock)
		if m := differs(v.Findings[0].Evidence); (m != nil) != want || want && *m.Device != 0 {
			t.Errorf("GPU %d of the host is slow: %+v", slow, m)
		}
	}
	v := judge(8, 0, health.SMClock)
	var checks []answer.Action
	for _, a := range v.Next {
		if a.Action == answer.CheckMonitored {
			checks = append(checks, a)
		}
	}
	if v.Status != answer.Unseen || differs(v.Findings[0].Evidence) == nil || differs(v.Observed) == nil || len(checks) != 1 || checks[0].Ranks != nil {
		t.Errorf("%v: %+v, next %+v", v.Status, v.Observed, v.Next)
	}
	v = judge(8, 0, health.ThermalTime)
	if m := differs(v.Observed); m == nil || m.Step != 0 || m.Slowed != 0 {
		t.Errorf("time with a lowered clock, of the run: %+v", m)
	}
	if m := differs(v.Findings[0].Evidence); m == nil || m.Step != v.Findings[0].Step || m.Slowed != int64(m.Own*float64(m.Step)) {
		t.Errorf("of the claim: %+v", m)
	}
}
