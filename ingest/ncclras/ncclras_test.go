package ncclras

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// dead is how NCCL 2.28.9 writes a rank that does not answer: without a comma before its status.
const dead = `{
  "nccl_version": "2.28.9", "cuda_runtime_version": 12090, "cuda_driver_version": 13000, "timestamp": "2026-06-19 06:55:57", "communicators_count": 1,
  "communicators": [
    {
      "hash": "0xa1349768e9517ed7", "secondary_hash": "0x7cbcd4b24fb45306:0x83984de1c6807cf8", "size": 2, "ranks_count": 1, "missing_ranks_count": 1,
      "ranks": [
        {
          "rank": 0, "host": "10.0.77.184", "pid": 10018, "cuda_dev": 0, "nvml_dev": 0,
          "status": { "init_state": 0, "async_error": 6, "finalize_called": false, "destroy_flag": false, "abort_flag": false },
          "collective_counts": { "Broadcast": 0, "AllReduce": 4, "SomethingNew": 2 }
        }
      ],
      "missing_ranks": [
        {
          "rank": 1,
          "host": "unknown",
          "pid": -1,
          "cuda_dev": 1,
          "nvml_dev": 1
          "status": {
            "unresponsive": true,
            "considered_dead": false
          }
        }
      ]
    }
  ],
  "ras": { "collection_time_sec": 0.000, "timeouts_count": 0 }
}
`

func TestRead(t *testing.T) {
	if !Recognise([]byte(dead)) {
		t.Error("not recognised")
	}
	c, err := Read(strings.NewReader(dead), "x", ingest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	const at = 1781852157_000000000 // date -ud '2026-06-19 06:55:57' +%s
	group := comms.Group{ID: 0xa1349768e9517ed7, Name: "0xa1349768e9517ed7", Size: 2, FromStart: true, Enqueued: -1, Completed: -1}
	answered, silent := group, group
	answered.Launched = []comms.Launched{{Op: nccl.AllReduce, N: 4}, {Op: nccl.Broadcast, N: 0}}
	silent.Process, silent.Rank, silent.Unanswered = 1, 1, true
	want := &comms.Record{
		Sources: []comms.Source{{Name: "x", Path: "x", Kind: comms.SourceRAS}},
		Processes: []comms.Process{{Host: "10.0.77.184", LocalRank: -1, PID: 10018, Written: at},
			{Rank: 1, LocalRank: -1, Device: 1, Written: at}},
		Groups:   []comms.Group{answered, silent},
		Warnings: []comms.Warning{{Text: "NCCL reports an error of another process on communicator 0xa1349768e9517ed7"}},
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("want −, got +:\n%s", diff)
	}
}

// A loop appends reports to a file: both count, each with its own time.
func TestReports(t *testing.T) {
	c, err := Read(strings.NewReader(dead+strings.Replace(dead, "06:55:57", "06:56:57", 1)), "x", ingest.Limits{})
	if err != nil || len(c.Processes) != 4 || c.Processes[2].Written-c.Processes[0].Written != 60e9 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestDamage(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"cut":              {dead[:600], "x@byte 600: no report of NCCL's RAS up to here"},
		"cut second":       {dead + dead[:300], "up to here"},
		"no communicators": {`{"communicators_count": 0, "communicators": []}`, "NCCL had none yet"},
		"a rank beyond":    {strings.Replace(dead, `"rank": 1`, `"rank": 2`, 1), "rank 2 of a communicator of 2"},
		"no hash":          {strings.Replace(dead, `0xa1349768e9517ed7`, `none`, 1), `a communicator with the hash "none"`},
	} {
		_, err := Read(strings.NewReader(c.text), "x", ingest.Limits{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, expected %q", name, err, c.want)
		}
	}
}

// Whatever stands in a file: no panic, and ranks that can be.
func FuzzRead(f *testing.F) {
	f.Add(dead)
	if b, err := os.ReadFile("../../fixtures/ncclras/hang/ras_1.json"); err == nil {
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Read(strings.NewReader(text), "x", ingest.Limits{})
		if err != nil {
			return
		}
		for _, g := range c.Groups {
			if g.Process < 0 || g.Process >= len(c.Processes) || c.Processes[g.Process].Rank < 0 {
				t.Errorf("%+v", g)
			}
		}
	})
}
