package main

import (
	"bytes"
	"context"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/engine/overhead"
	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/fixtures/standin"
)

func TestMain(m *testing.M) {
	if os.Getenv(standin.Variable) != "" {
		standin.Main(os.Args[1:])
	}
	os.Exit(m.Run())
}

func TestFlagsRefused(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-ranks 4 -o=", "-o is empty"},
		{"-o x -ranks 4,one", `-ranks has "one", expected numbers from 2`},
		{"-o x -ranks 1", `-ranks has "1"`},
		{"-o x -arms off,on", `-arms: arm is "on", expected one of off, wall, events, sample`},
		{"-o x -arms wall,events", "expected off and some of wall, events, sample"},
		{"-o x -arms off,wall,wall", "each once"},
		{"-o x -windows 1", "-windows 1, expected 1, 1 and 2 or more"},
		{"-o x -runs 0", "-runs is 0"},
		{"-o x -limit 0s", "-limit is 0s"},
		{"-o x more", `"more" is no flag`},
		{"-o x -sfstat no-such-program", "arm sample needs the program sfstat"},
		{"-o x -steps 100001 -arms off,wall", "steps above 100000"},
	} {
		if err := run(t.Context(), strings.Fields(c.args), io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, expected %q", c.args, err, c.want)
		}
	}
}

// chunk takes so many ms a step, while others use a share of two processors.
func chunk(ms, others float64) campaign.Chunk {
	return campaign.Chunk{Wall: ms * 1e6, Others: others * 2 * ms * 1e6, Throttled: math.NaN()}
}

// TestCauses: what is measured beside the job disturbs a chunk from a share of the processors on; what is not
// measured does not.
func TestCauses(t *testing.T) {
	for _, c := range []struct {
		chunk campaign.Chunk
		want  string
	}{
		{chunk(200, 0.049), ""},
		{chunk(200, 0.051), "other processes used 5.1 % of the processors"},
		{campaign.Chunk{Wall: 200e6, Steal: 3e6}, ""}, // of 400
		{campaign.Chunk{Wall: 200e6, Steal: 6e6}, "the host took 1.5 % of the processors away"},
		{campaign.Chunk{Wall: 200e6, Throttled: 1e6}, "a GPU was throttled for 0.5 % of the time"},
		{campaign.Chunk{Wall: 200e6, Others: math.NaN(), Steal: math.NaN(), Throttled: math.NaN()}, ""},
		{campaign.Chunk{Wall: 200e6, Others: 40e6, Steal: 40e6, Throttled: 200e6},
			"other processes used 10.0 % of the processors; the host took 10.0 % of the processors away; a GPU was throttled for 100.0 % of the time"},
	} {
		if got := strings.Join(causes(&c.chunk, 2), "; "); got != c.want {
			t.Errorf("%+v: %q, expected %q", c.chunk, got, c.want)
		}
	}
}

// rounds returns three of each of three runs with the overheads given, in per cent of 200 ms; others used the share given of
// the processors in the second round of the last run.
func rounds(others float64, percent ...float64) (all []campaign.Round) {
	for i, x := range percent {
		r := campaign.Round{Run: string(rune('a' + i/3)), Number: 1 + i%3, Arm: campaign.Wall, Base: chunk(200, 0.01), With: chunk(200*(1+x/100), 0.01)}
		r.With.Thread, r.With.Process, r.Closing, r.Writing, r.StageCall = 2e5, 3e5, 4e4, 6e5, float64(500+i)
		if i == len(percent)-2 {
			r.Base = chunk(200, others)
		}
		all = append(all, r)
	}
	return all
}

// TestAccount: the mean is over all rounds, and a second bound is without those that others disturbed, whatever came
// out in them.
func TestAccount(t *testing.T) {
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9*math.Abs(want) {
			t.Errorf("%s is %v, expected %v", what, got, want)
		}
	}
	a, err := accountOf(8, rounds(0.3, 0.1, 0.2, 0.3, 0.2, 0.2, 0.2, 0.1, 3.1, 0.1), 2)
	if err != nil {
		t.Fatal(err)
	}
	near("overhead", a.all.Estimate.Value, 0.045/9) // 0.1 + 0.2 + … + 0.1 = 4.5 %
	near("overhead of calm rounds", a.calm.Estimate.Value, 0.014/8)
	near("step", a.step, 200e6)
	near("processor time of the thread", a.thread, 2e5)
	near("processor time of all", a.process, 3e5)
	near("stage call", a.stageCall, 504)
	if a.runs != 3 || a.disturbed != 1 || a.calm.Pairs != 8 || a.calm.Blocks != 3 || a.calm.Interval.AtMost >= a.all.Interval.AtMost {
		t.Errorf("%d runs, %d rounds disturbed; at most %v, and %v without them", a.runs, a.disturbed, a.all.Interval.AtMost, a.calm.Interval.AtMost)
	}
	// The lower half of 0.1 0.1 0.1 0.2 | 0.2 | 0.2 0.2 0.3 3.1 has the median 0.1, the upper 0.25: fences at -0.125 and 0.475.
	if len(a.outliers) != 1 || a.outliers[0].Run != "c" || a.outliers[0].Number != 2 {
		t.Errorf("outliers %+v, expected round 2 of run c", a.outliers)
	}
	same, err := accountOf(8, rounds(0.01, 0.1, 0.2, 0.3, 0.2, 0.2, 0.2, 0.1, 3.1, 0.1), 2)
	if err != nil || same.disturbed != 0 || same.calm.Estimate.Value != same.all.Estimate.Value || len(same.outliers) != 1 {
		t.Errorf("%+v, %v: a round that lies far out and that nothing disturbed was left out", same, err)
	}
	// 0.6 lies within three distances of the quartiles, 0.7, and beyond one and a half; 0.47 within both.
	for percent, want := range map[float64]int{0.47: 0, 0.6: 1} {
		if mild, err := accountOf(8, rounds(0.01, 0.1, 0.2, 0.3, 0.2, 0.2, 0.2, 0.1, percent, 0.1), 2); err != nil || len(mild.outliers) != want {
			t.Errorf("%v %%: %d outliers, %v, expected %d", percent, len(mild.outliers), err, want)
		}
	}
	if all, err := accountOf(8, rounds(0.3, 0.1, 0.1)[:1], 2); err != nil || all.calm != nil || all.disturbed != 1 {
		t.Errorf("%+v, %v: expected no bound where every round was disturbed", all, err)
	}
}

// standins makes every rank a stand-in of the job.
func standins(t *testing.T) (flags []string, dir string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(standin.Variable, "1")
	dir = t.TempDir()
	return []string{"-ranks", "4", "-runs", "3", "-windows", "3", "-steps", "4", "-python", self, "-sfstat", self, "-o", dir}, dir
}

// TestMeasurement: from runs to a page and to files that sfstat overhead reads. The stand-in takes 0.1, 0.2 and 0.3 % longer
// under its arms, and 0.01 % more for each seed.
func TestMeasurement(t *testing.T) {
	flags, dir := standins(t)
	var page, log bytes.Buffer
	if err := run(t.Context(), flags, &page, &log); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| 4 | wall | 3 | 6 | 200.0 ms | 0.110 % |", "| 4 | events | 3 | 6 | 200.0 ms | 0.210 % |", "| 4 | sample | 3 | 6 | 200.0 ms | 0.310 % |",
		"| 3.0 % | within | 0 |", "| 1.0 % | within | 0 |",
		"| 4 | wall | 200 µs (0.100 %) | 500 µs (0.250 %) | 600 ns | 2 µs (0.001 %) | 50 µs (0.025 %) |",
		"**Rounds that something else disturbed**\n\nNone.", "The work of a stage is a sleep",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("nothing of %q in\n%s", want, &page)
		}
	}
	file, err := os.Open(filepath.Join(dir, "overhead", "4-gloo-events.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	pairs, err := overhead.ReadPairs("pairs", file)
	if err != nil || len(pairs) != 6 || pairs[5].Pair != "overhead-nofault-r4-s2" || pairs[5].With != 200_440_000 {
		t.Errorf("%+v, %v, expected six pairs, the last of 200.44 ms", pairs, err)
	}
}

// TestASizeThatTakesTooLong: the size is reported and skipped after its first run; what others took stands.
func TestASizeThatTakesTooLong(t *testing.T) {
	flags, dir := standins(t)
	if err := run(t.Context(), flags, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	t.Setenv(standin.Hangs, "8")
	var page bytes.Buffer
	if err := run(t.Context(), append(flags, "-ranks", "4,8", "-limit", "300ms"), &page, io.Discard); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(page.String(), "8 ranks: did not end within 300ms.") || !strings.Contains(page.String(), "| 4 | wall | 3 | 6 |") {
		t.Errorf("expected 8 ranks to be skipped and 4 to be there:\n%s", &page)
	}
	if found, err := filepath.Glob(filepath.Join(dir, "overhead", "8-*")); err != nil || len(found) > 0 {
		t.Errorf("files of a size that was skipped: %v, %v", found, err)
	}
}

// TestItGoesOn: what is done stays, a run that fails is the error after all that could be measured, and the same command
// makes it.
func TestItGoesOn(t *testing.T) {
	flags, _ := standins(t)
	flags = append(flags, "-ranks", "4", "-arms", "off,wall")
	t.Setenv(standin.Fails, "overhead-nofault-r4-s1")
	var page, log bytes.Buffer
	err := run(t.Context(), flags, &page, &log)
	if err == nil || !strings.Contains(err.Error(), "4 ranks: run overhead-nofault-r4-s1: rank 1 of 4: ") ||
		!strings.Contains(page.String(), "| 4 | wall | 2 | 4 |") {
		t.Errorf("%v, expected the run that failed, and a page of the two others:\n%s", err, &page)
	}
	t.Setenv(standin.Fails, "")
	page.Reset()
	log.Reset()
	if err := run(t.Context(), flags, &page, &log); err != nil || !strings.Contains(log.String(), "4 ranks: 1 of 1 runs") ||
		!strings.Contains(page.String(), "| 4 | wall | 3 | 6 |") {
		t.Errorf("%v, expected one run to be made:\n%s%s", err, &log, &page)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ended, append(flags, "-runs", "4"), io.Discard, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "the same command goes on from there") {
		t.Errorf("interrupted: %v", err)
	}
}
