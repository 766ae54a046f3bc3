package opnames

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/operator"
)

// job makes the totals of a job: ten kernels in two stages, 1 ms each with 2 %
// noise, and a collective of 2 ms, in 10 steps. change may alter every row.
func job(ranks int, seed uint64, change func(row *operator.Total)) *operator.Totals {
	t := &operator.Totals{Run: "job", Stages: []string{"forward", "backward", "comm"}}
	for i := range 10 {
		t.Names = append(t.Names, fmt.Sprintf("void kernel_%d<float>(int)", i))
		t.Steps = append(t.Steps, int64(i)+5)
	}
	t.Names = append(t.Names, "ncclAllReduce")
	for r := range ranks {
		t.Ranks = append(t.Ranks, trace.Rank{ID: 2 * r})
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	for name := range int32(11) {
		for step := range int32(10) {
			for r := range int32(ranks) {
				row := operator.Total{Rank: r, Step: step, Stage: name / 5, Name: name, Count: 4, Dur: int64(1e6 * (1 + 0.02*rng.NormFloat64()))}
				if name == 10 {
					row.Communicates, row.Joined, row.Wait = 4, 4, int64(1e6*rng.Float64())
					row.Dur += row.Wait
				}
				if change != nil {
					change(&row)
				}
				t.Rows = append(t.Rows, row)
			}
		}
	}
	return t
}

func compare(t *testing.T, totals *operator.Totals) *Result {
	t.Helper()
	r, err := Compare(totals, Alpha)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSlowKernel: one kernel of one rank that takes 1.4 times as long from the
// fourth step on is found alone, with the factor of those steps; its excess is
// that of the whole run.
func TestSlowKernel(t *testing.T) {
	r := compare(t, job(6, 1, func(row *operator.Total) {
		if row.Rank == 3 && row.Name == 2 && row.Step >= 3 {
			row.Dur = row.Dur * 14 / 10
		}
	}))
	found := r.SureDifferences()
	if len(found) != 1 {
		t.Fatalf("%d are found, expected one: %+v", len(found), found)
	}
	d := found[0]
	if d.Rank != 6 || d.Name != "void kernel_2<float>(int)" || d.Stage != "forward" || !slices.Equal(d.Steps, []int64{8, 9, 10, 11, 12, 13, 14}) {
		t.Errorf("found %+v", d)
	}
	if f := d.Factor(); math.Abs(f-1.4) > 0.03 {
		t.Errorf("factor %.3f, expected 1.4", f)
	}
	if e := d.Excess(); math.Abs(e-0.28e6) > 0.02e6 { // 0.4 ms in 7 of 10 steps
		t.Errorf("excess %.0f ns a step, expected 280 000", e)
	}
	if of := r.RankDifferences(6, "forward"); len(of) != 5 || of[0].Name != d.Name {
		t.Errorf("%d operators of rank 6 in forward, expected 5 with the slow one first", len(of))
	}
}

// TestHealthy: of 200 healthy runs, about one in a hundred has anything; and
// long waits are no difference.
func TestHealthy(t *testing.T) {
	with := 0
	for seed := range uint64(200) {
		r := compare(t, job(4, seed, func(row *operator.Total) {
			if row.Name == 10 && row.Rank != 1 {
				row.Dur, row.Wait = row.Dur+5e6, row.Wait+5e6
			}
		}))
		if len(r.SureDifferences()) > 0 {
			with++
		}
	}
	t.Logf("%d of 200 healthy runs have a difference", with)
	if with > 7 { // binomial(200, 0.01) exceeds 7 with a chance of 1e-3
		t.Errorf("%d of 200 healthy runs have a difference, expected about 2", with)
	}
}

// TestSlowTransfer: a member whose transfer takes long is found by what is left
// without the wait; where the wait is not known nothing is compared.
func TestSlowTransfer(t *testing.T) {
	slow := func(row *operator.Total) {
		if row.Name == 10 && row.Rank == 2 {
			row.Dur += 5e5
		}
	}
	found := compare(t, job(5, 3, slow)).SureDifferences()
	if len(found) != 1 || found[0].Rank != 4 || found[0].Kind != Collective || found[0].Whole.Waited == 0 {
		t.Errorf("found %+v", found)
	}
	unknown := compare(t, job(5, 3, func(row *operator.Total) {
		slow(row)
		row.Joined = 0
	}))
	for _, d := range unknown.Differences {
		if strings.HasPrefix(d.Name, "nccl") {
			t.Errorf("compared without its wait: %+v", d)
		}
	}
}

// TestPeers: ranks are compared with those of equal role but for dp, not with
// the others; two alone are compared without a test; one has nobody.
func TestPeers(t *testing.T) {
	totals := job(6, 4, func(row *operator.Total) {
		if row.Rank%2 == 1 {
			row.Dur *= 3 // another pipeline stage
		}
	})
	for i := range totals.Ranks {
		totals.Ranks[i].Role = trace.Role{{Axis: "dp", Index: i / 2}, {Axis: "pp", Index: i % 2}}
	}
	if found := compare(t, totals).SureDifferences(); len(found) > 0 {
		t.Errorf("pipeline stages were compared with each other: %+v", found)
	}
	two := compare(t, job(2, 5, func(row *operator.Total) { row.Dur *= int64(row.Rank) + 1 }))
	if len(two.SureDifferences()) > 0 || len(two.Differences) != 22 || two.Differences[0].Tested || two.Differences[0].Rank != 2 {
		t.Errorf("two ranks: %d found, %d differences", len(two.SureDifferences()), len(two.Differences))
	}
	if one := compare(t, job(1, 6, nil)); len(one.Differences) != 0 {
		t.Errorf("a rank alone has %d differences", len(one.Differences))
	}
}

// TestMoreLaunches: an operator that one rank runs more often says so.
func TestMoreLaunches(t *testing.T) {
	r := compare(t, job(5, 7, func(row *operator.Total) {
		if row.Rank == 0 && row.Name == 7 {
			row.Count, row.Dur = 6, row.Dur*6/4
		}
	}))
	found := r.SureDifferences()
	if len(found) != 1 || found[0].Count != 6 || found[0].PeerCount != 4 {
		t.Errorf("found %+v", found)
	}
}

// TestAbsent: an operator that only one rank runs has peers that take nothing.
func TestAbsent(t *testing.T) {
	totals := job(4, 8, nil)
	totals.Rows = slices.DeleteFunc(totals.Rows, func(row operator.Total) bool { return row.Name == 4 && row.Rank != 2 })
	found := compare(t, totals).SureDifferences()
	if len(found) != 1 || found[0].Peers != 0 || !math.IsInf(found[0].Factor(), 1) || found[0].PeerCount != 0 {
		t.Errorf("found %+v", found)
	}
}

func TestOptions(t *testing.T) {
	for _, alpha := range []float64{-0.1, 1, math.NaN()} { // 0 is the default
		if _, err := Compare(job(4, 1, nil), alpha); err == nil {
			t.Errorf("alpha %v was taken", alpha)
		}
	}
}

func TestLabel(t *testing.T) {
	long := "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 64, 4>, false, true>(pytorch_flash::Flash_fwd_params)"
	for name, want := range map[string]string{
		"forward-compute": "forward-compute",
		"void gemm(int)":  "gemm",
		"void at::native::(anonymous namespace)::fill<int>(int, (lambda)#1)": "fill<int>",
		"Memcpy HtoD (Pinned -> Device)":                                     "Memcpy HtoD (Pinned -> Device)",
	} {
		if got := Label(name); got != want {
			t.Errorf("Label(%q) = %q, expected %q", name, got, want)
		}
	}
	short, other := Label(long), Label(strings.Replace(long, "false", "true", 1))
	if n := len([]rune(short)); n > widestLabel || !strings.HasPrefix(short, "pytorch_flash::flash_fwd_kernel<") || short == other {
		t.Errorf("%q and %q, %d characters", short, other, n)
	}
}
