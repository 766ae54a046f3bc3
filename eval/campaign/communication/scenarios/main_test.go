package main

import (
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/sfstat/sfstat/eval/campaign/communication"
	"github.com/sfstat/sfstat/internal/largedata"
	"github.com/sfstat/sfstat/trace/nccl"
)

// expected is what a rank's log and trace hold, as the generator counts them.
type expected struct {
	Calls   map[string]int64 `json:"log_calls"`
	Tunings map[string]int64 `json:"log_tuning_lines"`
	Twice   map[string]int64 `json:"log_duplicate_lines"`
	Lines   map[string]int64 `json:"log_naive"`
	Kernels map[string]int64 `json:"nsys_kernels"`
}

// folded counts sends and receives together, as they run.
func folded(of map[string]int64) map[nccl.Op]int64 {
	out := map[nccl.Op]int64{}
	for name, n := range of {
		op := nccl.ParseOp(name)
		if op.PointToPoint() {
			op = nccl.SendRecv
		}
		out[op] += n
	}
	maps.DeleteFunc(out, func(_ nccl.Op, n int64) bool { return n == 0 })
	return out
}

// recordings are all scenarios, arranged as for a campaign.
func recordings(t *testing.T) (string, []*communication.Recording) {
	t.Helper()
	from, to := largedata.Need(t, "data/nccl/dev"), t.TempDir()
	if err := run([]string{"-scenarios", from, "-o", to}); err != nil {
		t.Fatal(err)
	}
	list, err := communication.Read(to)
	if err != nil || len(list) < 27 {
		t.Fatalf("%d recordings, %v", len(list), err)
	}
	return from, list
}

func TestRecordings(t *testing.T) {
	from, list := recordings(t)
	t.Run("counts", func(t *testing.T) { countsAreTrue(t, from, list) })
	t.Run("scores", func(t *testing.T) { scored(t, list) })
}

// countsAreTrue: of every operation on every rank, the table says what the generator counts: lines, calls, lines that
// stand twice, kernels. Every line is accounted for; and where nothing was lost there are as many launches as kernels.
func countsAreTrue(t *testing.T, from string, list []*communication.Recording) {
	lossless := 0
	for _, r := range list {
		var f struct {
			Version  string `json:"nccl_version"`
			Expected map[string]expected
		}
		decodeTruth(t, filepath.Join(from, r.Name), &f)
		got := map[int]*[5]map[nccl.Op]int64{}
		lost := int64(0)
		for _, c := range r.Counts() {
			if c.Lines != c.Tunings+c.Damaged+c.Repeated+c.Calls || c.Calls != c.Silent+c.Joined+c.Launches || c.Launches-c.OnlyLogged+c.OnlyTraced != c.Kernels ||
				min(c.Damaged, c.Silent, c.Joined, c.OnlyLogged, c.OnlyTraced) < 0 {
				t.Errorf("%s: %+v does not add up", r.Name, c)
			}
			lost += c.OnlyLogged + c.OnlyTraced
			for _, rank := range c.Ranks {
				if got[rank] == nil {
					got[rank] = &[5]map[nccl.Op]int64{{}, {}, {}, {}, {}}
				}
				for i, n := range []int64{c.Lines, c.Calls, c.Tunings, c.Repeated, c.Kernels} {
					if n > 0 {
						got[rank][i][c.Op] = n
					}
				}
			}
		}
		if lost == 0 {
			lossless++
		}
		for id, e := range f.Expected {
			rank, err := strconv.Atoi(id)
			if err != nil {
				t.Fatal(err)
			}
			if f.Version == "2.21.5" { // whose tuning lines begin with a number
				for op, n := range e.Tunings {
					e.Lines[op] -= n
				}
				e.Tunings = nil
			}
			for i, want := range []map[string]int64{e.Lines, e.Calls, e.Tunings, e.Twice, e.Kernels} {
				if !maps.Equal(got[rank][i], folded(want)) {
					t.Errorf("%s rank %d: %v, want %v", r.Name, rank, got[rank][i], folded(want))
				}
			}
		}
	}
	if lossless < 18 {
		t.Errorf("%d recordings have as many launches as kernels for every operation, want 18 at least", lossless)
	}
	t.Logf("%d of %d recordings have nothing left over", lossless, len(list))
}

// scored: what a campaign pairs by default is nearly all true, and what it calls certain all. TestTable scores the
// other methods.
func scored(t *testing.T, list []*communication.Recording) {
	for _, r := range list {
		s, err := r.Score(communication.Default)
		if err != nil {
			t.Fatal(err)
		}
		if s.F1() < 0.99 || s.CertainRight != s.Certain || s.Certain == 0 {
			t.Errorf("%s: %+v", r.Name, s)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, args := range [][]string{{}, {"-o", "x"}, {"-scenarios", t.TempDir(), "-o", "x"}, {"-unknown"}} {
		if err := run(args); err == nil {
			t.Errorf("%v is taken", args)
		}
	}
	if _, err := os.Stat("x"); err == nil {
		t.Error("a folder was made for nothing")
	}
}
