package kineto

import (
	"path/filepath"
	"testing"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/profiler"
	"github.com/sfstat/sfstat/ingest/profiler/stagemap"
	"github.com/sfstat/sfstat/ingest/stages"
	"github.com/sfstat/sfstat/internal/largedata"
	"github.com/sfstat/sfstat/trace/profile"
)

// open reads a public trace.
func open(t *testing.T, path string) *profile.Rank {
	t.Helper()
	src, err := ingest.Open(path, ingest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	r, err := Read(src, path, Options{Detail: profiler.EachOperator})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPublic: real traces of many kinds, and what a look at them with other
// tools says: rank, world, the first step and how many there are, collectives,
// and whether there is device work.
func TestPublic(t *testing.T) {
	dir := largedata.Need(t, filepath.Join("data", "kineto"))
	for name, want := range map[string]struct {
		id, world, steps, collectives int
		first                         int64
		device                        bool
		stage                         string // that the first step has
	}{
		"hta/amd_trace_mi250_minitoy_train_ROCm6_2_kineto.json.gz":                    {-1, 0, 2, 0, 1, true, stagemap.Backward},
		"hta/cpu_only_rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz":                  {34, 300, 1, 10, 551, false, ""},
		"hta/critical_path_alexnet_benchmark_result_2869224_1695835535_trace.json.gz": {0, 0, 1, 0, 0, true, ""},
		"hta/distributed_info_unavailable_distributed_info_not_found.json.gz":         {-1, 0, 1, 6, 1009, false, stagemap.Data},
		"hta/nccl_parser_config_nccl_data.json.gz":                                    {0, 2, 3, 21, 4, true, stagemap.Forward},
		"hta/ns_resolution_trace_rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz":        {0, 1, 5, 0, 101, true, stagemap.Backward},
		"hta/rank_non_gpu_rank_non_gpu.json.gz":                                       {0, 0, 1, 6, 1009, false, stagemap.Optimizer},
		"hta/rank_unavailable_rank_not_found.json.gz":                                 {-1, 0, 1, 6, 1009, false, stagemap.Backward},
		"hta/trace_filter_sampled_rank-0.json.gz":                                     {0, 128, 2, 10, 551, true, stagemap.Forward},
		"hta/trace_filter_sampled_rank-1.json.gz":                                     {1, 128, 2, 10, 551, true, stagemap.Data},
		"tracelens/b200_eager_trace.json.gz":                                          {0, 8, 1, 74, 0, true, ""},
		"tracelens/h100_gaunernst_bert-small-uncased__1016001.json.gz":                {-1, 0, 1, 0, 6, true, ""},
		"tracelens/mi300_gaunernst_bert-small-uncased__1016001.json.gz":               {-1, 0, 1, 0, 6, true, ""},
	} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			r := open(t, filepath.Join(dir, name))
			if r.ID != want.id || r.World != want.world || len(r.Steps) != want.steps || len(r.Comm.Calls) != want.collectives {
				t.Errorf("rank %d of %d, %d steps, %d collectives, want %+v", r.ID, r.World, len(r.Steps), len(r.Comm.Calls), want)
			}
			s := r.Steps[0]
			if s.Index != want.first || (s.Device != nil) != want.device {
				t.Errorf("the first step is %d, device %v", s.Index, s.Device)
			}
			found := want.stage == ""
			end := s.Start
			for _, p := range s.Spans {
				found = found || r.Stages[p.Stage] == want.stage
				if p.Start < end || p.End <= p.Start || p.End > s.End {
					t.Errorf("span %+v in a step from %d to %d", p, s.Start, s.End)
				}
				end = p.End
			}
			if !found {
				t.Errorf("no %s in %+v", want.stage, s.Spans)
			}
			if d := s.Device; d != nil {
				whole := int64(0)
				for _, own := range d.Own {
					whole += own
				}
				for e := range d.Exposed.All() {
					whole += e.End - e.Start
				}
				if whole > d.End-d.Start {
					t.Errorf("stages add up to %d of %d ns on the device", whole, d.End-d.Start)
				}
			}
			if j := stages.Jobs([]*profile.Rank{r}); len(j) != 1 {
				t.Fatalf("%d jobs", len(j))
			}
			if _, err := stages.Divide([]*profile.Rank{r}, stages.Options{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPlanted: eight generated ranks: the forward kernels of rank 5 take 1.4
// times as long from step 3 on, and all others wait for it.
func TestPlanted(t *testing.T) {
	dir := largedata.Need(t, filepath.Join("data", "kineto", "gen8"))
	files, err := filepath.Glob(filepath.Join(dir, "rank-*.json.gz"))
	if err != nil || len(files) != 8 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	var ranks []*profile.Rank
	for _, f := range files {
		ranks = append(ranks, open(t, f))
	}
	divided, err := stages.Divide(stages.Jobs(ranks)[0].Ranks, stages.Options{Run: "gen8"})
	if err != nil || len(divided.Windows) != 1 {
		t.Fatalf("%d windows, %v", len(divided.Windows), err)
	}
	w := divided.Windows[0]
	forward, wait := w.Schema.Index("model.fwd_loss_device"), w.Schema.Index("wait.model.backward")
	if forward < 0 || wait < 0 {
		t.Fatalf("stages %v", w.Schema.Stages)
	}
	for s := range w.Steps() {
		step := w.Step(s)
		for r := range 8 {
			longer := float64(step[forward*8+r]) / float64(step[forward*8+(r+1)%8])
			slow := s >= 3 && r == 5
			if slow != (longer > 1.3) {
				t.Errorf("step %d, rank %d: forward takes %.2f times its neighbour's", s, r, longer)
			}
			if s >= 3 && (r == 5) != (step[wait*8+r] < 1_000_000) {
				t.Errorf("step %d: rank %d waits %d ns", s, r, step[wait*8+r])
			}
		}
	}
}
