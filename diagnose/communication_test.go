package diagnose_test

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/fixtures/comm/job"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/internal/draws"
)

// trafficOf is the traffic of an invented job; leave says which of its files are left.
func trafficOf(t testing.TB, s job.Spec, leave func(name string) bool) *comm.Result {
	t.Helper()
	return damagedTraffic(t, s, func(t testing.TB, path string) {
		if leave != nil && !leave(filepath.Base(path)) {
			remove(t, path)
		}
	})
}

func remove(t testing.TB, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// damagedTraffic is the traffic of an invented job of which spoil damages each file.
func damagedTraffic(t testing.TB, s job.Spec, spoil func(t testing.TB, path string)) *comm.Result {
	t.Helper()
	dir := t.TempDir()
	if err := job.Write(dir, s); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		spoil(t, f)
	}
	found, _, err := auto.ReadComm([]string{dir}, auto.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := comm.Analyze(found, comm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func scenario(t testing.TB, name string, nodes int, seed uint64) job.Spec {
	t.Helper()
	s, err := job.Scenario(name, nodes, seed)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// called is the suspects that are called: kind, ranks.
func called(v diagnose.RunVerdict) (list []string) {
	for _, s := range v.Findings {
		if s.Confidence >= evidence.Supported {
			list = append(list, fmt.Sprint(s.Kind, " ", s.Ranks))
		}
	}
	return list
}

// What is wrong with the job is what is called, and nothing else: of a slow link not the ranks that wait for it,
// of a late rank not the links that it is waited on.
func TestCommunicationNamesTheFault(t *testing.T) {
	for _, c := range []struct {
		name  string
		nodes int
		want  string
		link  evidence.Subject // of the first finding, but for its ranks
		from  int64
	}{
		{"slow-card", 2, "edge [1 5]", evidence.Subject{Scope: evidence.OfPair, Hosts: []string{"node0", "node1"}}, 0},
		{"slow-card", 4, "group [1 5 9 13]", evidence.Subject{Scope: evidence.OfCommunicator, Called: "DP", Hosts: []string{"node0", "node1", "node2", "node3"}}, 0},
		{"slow-card-pipeline", 2, "edge [1 5]", evidence.Subject{Scope: evidence.OfPair, Hosts: []string{"node0", "node1"}}, 0},
		{"slow-card-pipeline", 4, "edge [5]", evidence.Subject{Scope: evidence.OfRank, Hosts: []string{"node1"}}, 0},
		{"slow-pair-pipeline", 3, "edge [4 5 6 7 8 9 10 11]", evidence.Subject{Scope: evidence.OfHosts, Hosts: []string{"node1", "node2"}}, 0},
		{"slow-pair-pipeline", 4, "edge [4 5 6 7 8 9 10 11]", evidence.Subject{Scope: evidence.OfHosts, Hosts: []string{"node1", "node2"}}, 0},
		{"slow-group", 2, "group [4 5 6 7]", evidence.Subject{Scope: evidence.OfCommunicator, Called: "TP", Hosts: []string{"node1"}}, 0},
		{"slow-group", 4, "group [4 5 6 7]", evidence.Subject{Scope: evidence.OfCommunicator, Called: "TP", Hosts: []string{"node1"}}, 0},
		{"slow-large", 2, "edge [1 5]", evidence.Subject{Scope: evidence.OfPair, Hosts: []string{"node0", "node1"}}, 32 << 20},
		{"slow-large", 4, "group [1 5 9 13]", evidence.Subject{Scope: evidence.OfCommunicator, Called: "DP", Hosts: []string{"node0", "node1", "node2", "node3"}}, 32 << 20},
		{"slow-card-late-rank", 2, "edge [1 5], rank [2]", evidence.Subject{Scope: evidence.OfPair, Hosts: []string{"node0", "node1"}}, 0},
		{"late-rank", 2, "rank [5]", evidence.Subject{}, 0},
		{"late-rank", 4, "rank [5]", evidence.Subject{}, 0},
		{"late-rank-pipeline", 2, "rank [5]", evidence.Subject{}, 0},
		{"late-rank-pipeline", 4, "rank [5]", evidence.Subject{}, 0},
	} {
		v := diagnose.Communication(trafficOf(t, scenario(t, c.name, c.nodes, 1), nil))
		if got := strings.Join(called(v), ", "); got != c.want || len(v.Next) == 0 {
			t.Errorf("%s on %d nodes: %q, want %q; next %v", c.name, c.nodes, got, c.want, v.Next)
			continue
		}
		slow, _ := evidence.Find[evidence.SlowLink](v.Findings[0].Evidence)
		slow.Between.Ranks = nil
		if !reflect.DeepEqual(slow.Between, c.link) || slow.From != c.from {
			t.Errorf("%s on %d nodes: %+v from %d bytes, want %+v from %d", c.name, c.nodes, slow.Between, slow.From, c.link, c.from)
		}
	}
}

// TestVictimsOfSlowLinks: stage times show a rank late that, by its calls, has no delay of its own. Where a link
// is slow that rank is a victim of the link; where none is, it stays named.
func TestVictimsOfSlowLinks(t *testing.T) {
	for name, want := range map[string]diagnose.Kind{"slow-card": diagnose.KindEdge, "late-rank": diagnose.KindRank} {
		spec := simulate.DefaultSpec()
		spec.Ranks, spec.Schedule.Steps, spec.Schedule.Windows = 8, 60, 1
		spec.Faults = []simulate.Fault{{Family: simulate.ForwardHost, Delay: 120, Ranks: []int{5}}}
		g, err := simulate.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		w, err := g.Next()
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := job.Write(dir, scenario(t, name, 2, 1)); err != nil {
			t.Fatal(err)
		}
		calls, _, err := auto.ReadComm([]string{dir}, auto.Options{})
		if err != nil {
			t.Fatal(err)
		}
		calls.Run = w.Run
		s := diagnose.New(diagnose.Options{})
		if err := errors.Join(s.Add(w), s.Add(calls)); err != nil {
			t.Fatal(err)
		}
		v := s.Verdict().Runs[0]
		if list := called(v); len(list) != 1 || v.Findings[0].Kind != want {
			t.Errorf("%s: %q, want one %v", name, list, want)
		}
		explained := slices.ContainsFunc(v.Findings, func(f diagnose.Finding) bool {
			link, ok := evidence.Find[evidence.SlowLink](f.Evidence)
			return ok && link.Elsewhere && *f.Rank == 5 && f.Confidence == evidence.Insufficient
		})
		if explained != (name == "slow-card") {
			t.Errorf("%s: the delay of rank 5 is explained by a link: %v", name, explained)
		}
	}
}

// Where nothing is wrong nothing is suspected: clocks are apart and drift, times vary by 10 %, some ranks compute faster than
// others all job long, and what was recorded is damaged in every way.
func TestCommunicationFalseAlarms(t *testing.T) {
	only := func(left func(name string) bool) func(testing.TB, string) {
		return func(t testing.TB, path string) {
			if !left(filepath.Base(path)) {
				remove(t, path)
			}
		}
	}
	damages := map[string]struct {
		of    func(*job.Spec)
		spoil func(testing.TB, string)
	}{
		"none":               {},
		"short":              {of: func(s *job.Spec) { s.Steps = 3 }},
		"drift":              {of: func(s *job.Spec) { s.Drift = 250e-6 }},
		"split":              {of: func(s *job.Spec) { s.Splits, s.Alone = true, true }},
		"logs of one node":   {spoil: only(func(f string) bool { return !strings.Contains(f, "nccl.node1") })},
		"one export":         {spoil: only(func(f string) bool { return f != "node1.sqlite" })},
		"half of the logs":   {spoil: only(oddLogs)},
		"no launching calls": {spoil: withoutLaunches},
		"a fifth of the log": {spoil: everyFifthLine},
		"both of these":      {spoil: func(t testing.TB, path string) { withoutLaunches(t, path); everyFifthLine(t, path) }},
	}
	jobs, step := 0, draws.Of(t, 16, 1)
	for _, name := range []string{"healthy", "healthy-pipeline", "noisy", "noisy-pipeline"} {
		for _, damage := range slices.Sorted(maps.Keys(damages)) {
			for i, unlike := range []float64{0, 0.01, 0.02} {
				for nodes, seeds := range map[int]int{2: 2, 4: 1} {
					for seed := range uint64(seeds) {
						if jobs++; jobs%step != 0 {
							continue
						}
						s := scenario(t, name, nodes, 100+10*uint64(i)+seed)
						s.Unlike = unlike
						d := damages[damage]
						if d.of != nil {
							d.of(&s)
						}
						if d.spoil == nil {
							d.spoil = func(testing.TB, string) {}
						}
						if v := diagnose.Communication(damagedTraffic(t, s, d.spoil)); len(v.Findings) > 0 {
							t.Errorf("%s on %d nodes, ranks unlike by %g, damage %s, seed %d: %+v", name, nodes, unlike, damage, s.Seed, v.Findings[0])
						}
					}
				}
			}
		}
	}
	t.Logf("%d jobs", jobs/step)
}

// What a job lacks is said, and no other culprit is found in its place.
func TestCommunicationOfDamagedJobs(t *testing.T) {
	drift := scenario(t, "slow-card-pipeline", 4, 1)
	drift.Drift = 250e-6
	split := scenario(t, "slow-card", 4, 1)
	split.Splits, split.Alone = true, true
	strangers := scenario(t, "slow-group", 4, 1)
	strangers.Shape, strangers.Steps = job.Pipeline, 4
	short := scenario(t, "slow-card", 2, 1)
	short.Steps = 1
	for name, c := range map[string]struct {
		spec  job.Spec
		leave func(string) bool
		want  []string
		asks  answer.Question // among what cannot be decided
	}{
		"clocks that drift by 250 ppm from node to node":      {drift, nil, []string{"edge [5]"}, ""},
		"splits without ids, communicators of one rank":       {split, nil, []string{"group [1 5 9 13]"}, ""},
		"clocks that nothing compares":                        {strangers, nil, []string{"group [4 5 6 7]"}, answer.ClockOrDelay},
		"too few calls":                                       {short, nil, nil, answer.LinkNotCompared},
		"logs of one node":                                    {scenario(t, "slow-card", 2, 1), func(f string) bool { return !strings.Contains(f, "nccl.node1") }, nil, answer.RanksNotRecorded},
		"logs of half of the ranks, the slow link among them": {scenario(t, "slow-card-pipeline", 4, 1), oddLogs, []string{"edge [5]"}, answer.RanksNotRecorded},
		"an export of one node":                               {scenario(t, "slow-group", 4, 1), func(f string) bool { return f != "node1.sqlite" }, nil, answer.RanksNotRecorded},
	} {
		v := diagnose.Communication(trafficOf(t, c.spec, c.leave))
		if got := called(v); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if c.asks != "" && !slices.ContainsFunc(v.Undecided, func(u answer.Undecided) bool { return u.Question == c.asks }) {
			t.Errorf("%s: nothing of %q in %+v", name, c.asks, v.Undecided)
		}
	}
}

// oddLogs leaves the logs of ranks 1, 3, 5 and so on: pids go up by 7.
func oddLogs(name string) bool {
	if !strings.HasSuffix(name, ".log") {
		return true
	}
	var host string
	var pid int
	if _, err := fmt.Sscanf(strings.ReplaceAll(name, ".", " "), "nccl %s %d log", &host, &pid); err != nil {
		return false
	}
	return (pid-4000)/7%2 == 1
}

// withoutLaunches takes the launching calls out of an export, as of a recording without the CUDA API.
func withoutLaunches(t testing.TB, path string) {
	t.Helper()
	if !strings.HasSuffix(path, ".sqlite") {
		return
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("drop table CUPTI_ACTIVITY_KIND_RUNTIME"); err != nil {
		t.Fatal(err)
	}
}

// everyFifthLine loses that line of a log.
func everyFifthLine(t testing.TB, path string) {
	t.Helper()
	if !strings.HasSuffix(path, ".log") {
		return
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for i, line := range strings.SplitAfter(string(text), "\n") {
		if i%5 != 4 || !strings.Contains(line, "opCount") {
			left = append(left, line)
		}
	}
	if err := os.WriteFile(path, []byte(strings.Join(left, "")), 0o644); err != nil {
		t.Fatal(err)
	}
}
