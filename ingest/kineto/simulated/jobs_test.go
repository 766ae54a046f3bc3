package simulated

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/blame"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/ingest/kineto"
	"github.com/sfstat/sfstat/ingest/profiler"
	"github.com/sfstat/sfstat/ingest/stages"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/profile"
	"github.com/sfstat/sfstat/trace/recorded"
	"github.com/sfstat/sfstat/trace/stagename"
)

// profiles reads the traces of a job.
func profiles(t testing.TB, j *Job) []*profile.Rank {
	t.Helper()
	var ranks []*profile.Rank
	for r, text := range j.Traces() {
		rank, err := kineto.Read(bytes.NewReader(text), fmt.Sprintf("rank-%d.json", r), kineto.Options{Detail: profiler.EachOperator})
		if err != nil {
			t.Fatal(err)
		}
		ranks = append(ranks, rank)
	}
	jobs := stages.Jobs(ranks)
	if len(jobs) != 1 {
		t.Fatalf("%d jobs", len(jobs))
	}
	return jobs[0].Ranks
}

func divided(t testing.TB, j *Job) recorded.Job {
	t.Helper()
	d, err := stages.Divide(profiles(t, j), stages.Options{Run: "job"})
	if err != nil || len(d.Windows) != 1 {
		t.Fatalf("%+v, %v", d, err)
	}
	return d
}

// verdict diagnoses a job as sfstat diagnose does.
func verdict(t testing.TB, j *Job) *diagnose.Verdict {
	t.Helper()
	d := divided(t, j)
	s := diagnose.New(diagnose.Options{})
	if err := s.Add(d.Windows[0]); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(d.Launched); err != nil {
		t.Fatal(err)
	}
	return s.Verdict()
}

// slow multiplies what a rank does in one part of a step.
func slow(rank int, part Part, factor float64) func(Place) float64 {
	return func(at Place) float64 {
		if at.Rank == rank && at.Part == part {
			return factor
		}
		return 1
	}
}

// wantSuspect fails unless the first suspect is a rank in a stage, called with
// supported or strong confidence.
func wantSuspect(t *testing.T, v *diagnose.Verdict, rank int, stage string) {
	t.Helper()
	if len(v.Findings) == 0 {
		t.Fatalf("no suspect: %s", v.Status)
	}
	s := v.Findings[0]
	if s.Rank == nil || *s.Rank != rank || !strings.HasPrefix(s.Stage, stage) || s.Confidence < evidence.Supported {
		t.Errorf("%s (%v, stage %q), want rank %d in %s", v.Status, s.Confidence, s.Stage, rank, stage)
	}
}

// TestMicrosteps: a rank that waits for its third batch of four is late because
// of data.next_wait, and the windows say in which microstep: nobody but it, and
// only there, waits long.
func TestMicrosteps(t *testing.T) {
	j := &Job{DP: 4, Microsteps: 4, Steps: 10, Noise: 0.03}
	j.Factor = func(at Place) float64 {
		if at.Rank == 2 && at.Part == Data && at.Micro == 2 {
			return 250
		}
		return 1
	}
	w := divided(t, j).Windows[0]
	if w.Accumulation != 4 {
		t.Errorf("accumulation %d, want 4; stages %v", w.Accumulation, w.Schema.Stages)
	}
	stages := len(w.Schema.Stages)
	for i, name := range w.Schema.Stages {
		if !strings.HasPrefix(name, "data.next_wait@") {
			continue
		}
		for k := range w.Steps() {
			for r := range 4 {
				if long, want := w.Durations[(k*stages+i)*4+r] > 5*Millisecond, r == 2 && name == "data.next_wait@2"; long != want {
					t.Errorf("step %d, rank %d: %s takes %d ns", k, r, name, w.Durations[(k*stages+i)*4+r])
				}
			}
		}
	}
	wantSuspect(t, verdict(t, j), 2, "data.next_wait")
}

// TestUnevenMicrosteps: where steps have different numbers of microsteps the
// stages are sums, which is said.
func TestUnevenMicrosteps(t *testing.T) {
	ranks := profiles(t, &Job{DP: 2, Microsteps: 3, Steps: 6})
	ranks[0].Steps[3].Microsteps = ranks[0].Steps[3].Microsteps[:1]
	var exposed profile.Exposures
	for e := range ranks[0].Steps[3].Device.Exposed.All() {
		e.Microstep = 1
		exposed.Add(e)
	}
	ranks[0].Steps[3].Device.Exposed = exposed
	d, err := stages.Divide(ranks, stages.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := d.Windows[0]
	for _, name := range w.Schema.Stages {
		if strings.Contains(name, "@") {
			t.Errorf("stage %s", name)
		}
	}
	if said := fmt.Sprint(w.Notes); w.Accumulation > 1 || !strings.Contains(said, "between 2 and 3 runs of backward passes") {
		t.Errorf("accumulation %d, notes %s", w.Accumulation, said)
	}
}

// stage adds up a stage of a window by rank.
func stage(t *testing.T, w *trace.Window, name string) []int64 {
	t.Helper()
	at := w.Schema.Index(name)
	if at < 0 {
		t.Fatalf("no %s among %v", name, w.Schema.Stages)
	}
	sum := make([]int64, len(w.Ranks))
	for k := range w.Steps() {
		for r := range sum {
			sum[r] += w.Step(k)[at*len(sum)+r]
		}
	}
	return sum
}

// TestPipeline: the third stage of four computes 1.6 times as long forward. The
// receives of the others are long for it: that is wait, and none of their
// communication is; clocks that no collective tells are set by the messages.
func TestPipeline(t *testing.T) {
	for _, flat := range []bool{false, true} {
		j := &Job{PP: 4, Microsteps: 6, Steps: 8, Noise: 0.03, Flat: flat, Factor: slow(2, Forward, 1.6),
			Clock: func(rank int) int64 { return int64(rank) * 3 * Millisecond }}
		d := divided(t, j)
		w := d.Windows[0]
		wait, sent := stage(t, w, stages.RankWait), stage(t, w, "comm.model.backward")
		for r := range wait {
			if (wait[r] < slices.Max(wait)*3/4) != (r == 2) || sent[r] > wait[r]/5 {
				t.Errorf("flat %v: rank %d waits %d ns and transfers %d ns; all wait %v", flat, r, wait[r], sent[r], wait)
			}
		}
		v := verdict(t, j)
		if s := v.Findings[0]; s.Group != "pp=2" || s.Confidence != evidence.Supported || !slices.Equal(s.Ranks, []int{2}) {
			t.Errorf("flat %v: %v: %s", flat, s.Confidence, v.Status)
		}
		for _, s := range v.Findings {
			if strings.HasPrefix(s.Stage, stagename.WaitStem) {
				t.Errorf("somebody is suspected for waiting: %+v", s)
			}
		}
	}
}

// TestUnevenPipeline: a stage with half as many layers again, in kernels of its
// own, does more work by design: it is told, and not called.
func TestUnevenPipeline(t *testing.T) {
	j := &Job{PP: 4, Microsteps: 6, Steps: 8, Noise: 0.03, Factor: slow(3, Forward, 2),
		Kernel: func(at Place, layer int) string {
			if at.Rank == 3 {
				return "gemm_head"
			}
			return "gemm"
		}}
	v := verdict(t, j)
	if s := v.Findings[0]; s.Group != "pp=3" || s.Confidence != evidence.Ambiguous {
		t.Errorf("%v %s: %s", s.Confidence, s.Group, v.Status)
	}
}

// TestPipelineReplicas: of the four replicas of a stage the slow one is named,
// though the rank before it in the pipeline comes as late to its own
// all-reduce; walks from both lead through the message to its forward pass.
func TestPipelineReplicas(t *testing.T) {
	j := &Job{PP: 2, DP: 4, Microsteps: 4, Steps: 10, Noise: 0.03, Factor: slow(5, Forward, 1.6)}
	wantSuspect(t, verdict(t, j), 5, "model.fwd_loss")
	d, err := stages.Divide(profiles(t, j), stages.Options{Run: "job", Each: true})
	if err != nil {
		t.Fatal(err)
	}
	v, err := operators.Observe(d.Operators)
	if err != nil {
		t.Fatal(err)
	}
	series, operators := v.Series()
	outliers, err := zscore.Analyze(series, zscore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	walks, err := v.Flags(outliers, series, operators).Walk([]int{0, 1, 2, 3}, blame.Options{Tie: v.Tie()})
	if err != nil {
		t.Fatal(err)
	}
	c := walks.Culprits[0]
	if v.Rank(c.Worker).ID != 5 || c.Op != "gemm_forward" || 2*c.Symptoms < walks.Symptoms || !slices.ContainsFunc(c.Victims, func(w int) bool { return v.Rank(w).ID == 1 }) {
		t.Errorf("%d symptoms, the first culprit %+v, want rank 5 with rank 1 a victim", walks.Symptoms, c)
	}
}

// TestShards: tensor-parallel ranks that launch the same are peers, so that a
// slow one among four, or among two in two replicas, is named; those that
// launch other operators, or of which one is longer in all replicas, are not,
// and nobody is called for what its shard takes.
func TestShards(t *testing.T) {
	forward := func(at Place) bool { return at.Part == Forward }
	for name, tt := range map[string]struct {
		job   Job
		want  int    // rank, −1: nobody
		roles string // of rank 1
	}{
		"one of four":                     {Job{TP: 4, Factor: slow(2, Forward, 1.5)}, 2, "dp=1"},
		"one in a pipeline with replicas": {Job{TP: 2, PP: 2, DP: 2, Microsteps: 4, Factor: slow(5, Forward, 1.6)}, 5, "dp=1,pp=0"},
		"other operators": {Job{TP: 2, DP: 4, Kernel: func(at Place, layer int) string {
			if at.Rank%2 == 1 && layer == 0 {
				return "gemm_vocabulary"
			}
			return "gemm"
		}, Factor: func(at Place) float64 {
			if at.Rank%2 == 1 {
				return 1.5
			}
			return 1
		}}, -1, "dp=0,tp=1"},
		"one shard is larger": {Job{TP: 2, DP: 4, Factor: func(at Place) float64 {
			if at.Rank%2 == 1 && forward(at) {
				return 1.4
			}
			return 1
		}}, -1, "dp=0,tp=1"},
	} {
		t.Run(name, func(t *testing.T) {
			j := tt.job
			j.Steps, j.Noise, j.Seed = 10, 0.03, 3
			if got := divided(t, &j).Windows[0].Ranks[1].Role.String(); got != tt.roles {
				t.Errorf("the role of rank 1 is %s, want %s", got, tt.roles)
			}
			v := verdict(t, &j)
			if tt.want >= 0 {
				wantSuspect(t, v, tt.want, "model.fwd_loss")
				return
			}
			for _, s := range v.Findings {
				if s.IsFlagged() {
					t.Errorf("%s: %+v", v.Status, s)
				}
			}
		})
	}
}
