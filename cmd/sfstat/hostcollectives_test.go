package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/internal/largedata"
)

// diagnosed is the verdict on a folder, with the ranks that it names.
func diagnosed(t *testing.T, folder string) (v said, named []int) {
	t.Helper()
	code, out, stderr := runArgs(t, nil, "diagnose", "--format", "json", folder)
	if err := json.Unmarshal([]byte(out), &v); err != nil || code != 0 {
		t.Fatal(err, stderr)
	}
	for _, s := range v.Findings {
		if s.Rank != nil && !s.BelowMinGain {
			named = append(named, *s.Rank)
		}
	}
	return v, named
}

// TestHostCollectivesOfRealJobs: profiles of real jobs on CPUs, whose stage
// times alone leave the rank open.
func TestHostCollectivesOfRealJobs(t *testing.T) {
	root := largedata.Need(t, "data/kineto/gloo8")
	file, err := os.Open(filepath.Join(root, "truth.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		t.Run(row[0], func(t *testing.T) {
			late, err := strconv.Atoi(row[1])
			if err != nil {
				t.Fatal(err)
			}
			v, named := diagnosed(t, filepath.Join(root, row[0]))
			if v.Status != "straggler" || !slices.Equal(named, []int{late}) {
				t.Fatalf("status %s, named %v, expected rank %d", v.Status, named, late)
			}
			if s := v.Findings[0]; s.Stage != "model.backward_cpu_wall" || s.Confidence != "strong" {
				t.Errorf("%s in %s", s.Confidence, s.Stage)
			}
		})
	}
}

// hostTrace is a profile of one rank of three: steps in which it enters
// one all-reduce, so many µs after they begin, in backward; it ends so many µs
// after all three have entered.
// Each collective stands in it as its arguments, as an operator around them and
// as the work of the backend; some also as an operator inside the operator.
func hostTrace(rank, transfer int, enter func(rank, step int) int) string {
	var events []string
	add := func(cat, name, args string, thread, from, to int) {
		events = append(events, fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":7,"tid":%d,"ts":%d,"dur":%d,"args":{%s}}`, cat, name, thread, from, to-from, args))
	}
	begin := 0
	for step := range 20 {
		at, release := begin+enter(rank, step), 0
		for r := range 3 {
			release = max(release, begin+enter(r, step))
		}
		end := release + transfer + 5_000
		add("user_annotation", fmt.Sprintf("ProfilerStep#%d", step), "", 1, begin, end)
		add("user_annotation", "forward", "", 1, begin, begin+10_000)
		add("user_annotation", "backward", "", 1, begin+10_000, end-5_000)
		add("cpu_op", "c10d::allreduce_", "", 1, at-2, release+12)
		add("cpu_op", "c10d::allreduce_", "", 1, at-1, release+11)
		add("cpu_op", "record_param_comms", fmt.Sprintf(`"Collective name":"allreduce","Seq":%d,"Process Group Name":"0","Group size":3,"dtype":"Float","In msg nelems":64`, step+5),
			1, at, release+10)
		add("user_annotation", "gloo:all_reduce", "", 2, at+5, release+9)
		begin = end + 10
	}
	return fmt.Sprintf(`{"distributedInfo":{"backend":"gloo","rank":%d,"world_size":3,"pg_config":[{"pg_name":"0","pg_desc":"default_pg","pg_size":3,"ranks":[0,1,2]}]},
"host_name":"n0","baseTimeNanoseconds":1700000000000000000,"traceEvents":[%s]}`, rank, strings.Join(events, ",\n"))
}

func TestHostCollectives(t *testing.T) {
	write := func(t *testing.T, transfer int, enter func(rank, step int) int) string {
		folder := filepath.Join(t.TempDir(), "job")
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for rank := range 3 {
			if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("rank%d.json", rank)), []byte(hostTrace(rank, transfer, enter)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return folder
	}
	jitter := func(rank, step int) int {
		return 30_000 + rand.New(rand.NewPCG(uint64(rank), uint64(step))).IntN(400)
	}
	late := func(rank, step int) int {
		if rank == 1 {
			return jitter(rank, step) + 40_000
		}
		return jitter(rank, step)
	}
	t.Run("one late", func(t *testing.T) {
		v, named := diagnosed(t, write(t, 15_000, late))
		if v.Status != "straggler" || !slices.Equal(named, []int{1}) || v.Findings[0].Stage != "model.backward_cpu_wall" {
			t.Errorf("status %s, named %v: %+v", v.Status, named, v.Findings)
		}
	})
	t.Run("nobody late", func(t *testing.T) {
		for transfer, want := range map[int]string{1_000: "no_straggler", 15_000: "undecided"} {
			v, named := diagnosed(t, write(t, transfer, jitter))
			if v.Status != want || named != nil {
				t.Errorf("transfers of %d µs: status %s, named %v", transfer, v.Status, named)
			}
		}
	})
	for name, c := range map[string]struct {
		without int
		status  string
		named   []int
	}{
		"one late, another's file is missing": {2, "straggler", []int{1}},
		"one late, whose file is missing":     {1, "undecided", nil},
	} {
		t.Run(name, func(t *testing.T) {
			folder := write(t, 1_000, late)
			if err := os.Remove(filepath.Join(folder, fmt.Sprintf("rank%d.json", c.without))); err != nil {
				t.Fatal(err)
			}
			v, named := diagnosed(t, folder)
			if v.Status != c.status || !slices.Equal(named, c.named) {
				t.Errorf("status %s, named %v, expected %s and %v", v.Status, named, c.status, c.named)
			}
			if !slices.ContainsFunc(v.Problems, func(p lacking) bool {
				return p.Problem == "ranks_missing" && slices.Equal(p.Ranks, [][2]int{{c.without, c.without}})
			}) {
				t.Errorf("problems %+v, expected that rank %d is missing", v.Problems, c.without)
			}
		})
	}
	t.Run("each once", func(t *testing.T) {
		_, out, stderr := runArgs(t, nil, "arrivals", "--format", "json", write(t, 15_000, late))
		var v struct {
			Jobs []struct {
				Calls int `json:"calls"`
			} `json:"jobs"`
		}
		if err := json.Unmarshal([]byte(out), &v); err != nil || len(v.Jobs) != 1 || v.Jobs[0].Calls != 3*20 {
			t.Errorf("%v %s %+v, expected 60 calls of one job", err, stderr, v)
		}
	})
}
