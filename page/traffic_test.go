package page

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/trace"
)

// communicated is the page of logs and exports of the four ranks of ../fixtures/comm:
// tensor parallel within hosts, data parallel between them.
func communicated(t *testing.T, paths ...string) *Traffic {
	t.Helper()
	found, _, err := auto.ReadComm(paths, auto.Options{})
	if err != nil {
		t.Fatal(err)
	}
	found.Run = "job"
	s, b := diagnose.New(diagnose.Options{}), New(asRecorded)
	for _, add := range []func(trace.Recording) error{s.Add, b.Add} {
		if err := add(found); err != nil {
			t.Fatal(err)
		}
	}
	return first(t, b, s.Verdict()).Traffic
}

func TestTraffic(t *testing.T) {
	c := communicated(t, "../fixtures/comm/run")
	t.Run("the late rank leads", func(t *testing.T) {
		if !c.Leads || !slices.Equal(c.Named, []int{2}) || c.Waits[0].Rank != 2 || c.Waits[0].Last != 31 || c.Waits[0].Of != 33 {
			t.Errorf("leads %v, named %v, %+v; want rank 2, last in 31 of 33", c.Leads, c.Named, c.Waits[0])
		}
	})
	t.Run("bandwidth beside its limit", func(t *testing.T) {
		for _, s := range c.Speeds {
			want := map[string]float64{"TP": 80, "DP": 24}[s.Kind] // as the topology in the logs has it
			if s.Limit != want || s.Efficiency < 0.8 || s.Efficiency > 1 || s.Slow {
				t.Errorf("%+v, want a limit of %v GB/s, nearly reached", s, want)
			}
		}
		if len(c.Speeds) != 4 || !c.Limits {
			t.Errorf("%d speeds, limits %v; want those of 2 TP and 2 DP groups", len(c.Speeds), c.Limits)
		}
	})
	t.Run("volumes are those of the logs", func(t *testing.T) {
		var bytes int64
		for _, v := range c.Volumes {
			bytes += v.Bytes
		}
		// Of each rank 24 calls of 2 MiB, six of two sizes that sum up to 132 MiB, and three of 4 bytes.
		if want := int64(4 * (24*(2<<20) + 132<<20 + 3*4)); bytes != want {
			t.Errorf("%d bytes, want %d", bytes, want)
		}
	})
	t.Run("a ring of two sends each way what is reduced", func(t *testing.T) {
		if m := c.Sent; !slices.Equal(m.Ranks, []int{0, 1, 2, 3}) || m.Width != 1 || m.Bytes[0][2] != 132<<20 || m.Bytes[2][0] != 132<<20 || m.Bytes[0][3] != 0 || m.Bytes[0][0] != 0 {
			t.Errorf("%+v", m)
		}
	})
}

// Logs alone show volumes; nothing says how fast it was.
func TestTrafficOfLogs(t *testing.T) {
	c := communicated(t, "../fixtures/comm/run/nccl.node0.4000.log", "../fixtures/comm/run/nccl.node1.4014.log")
	if len(c.Speeds) != 0 || len(c.Waits) != 0 || len(c.Volumes) == 0 || c.Leads {
		t.Errorf("%+v", c)
	}
}
