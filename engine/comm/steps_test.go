package comm

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/fixtures/comm/commtest"
	"github.com/sfstat/sfstat/trace/comms"
)

// The longest part that repeats itself is found, with what is before and after it; of a program with layers inside of steps, the step.
func TestRepetition(t *testing.T) {
	layer := []int{1, 2}
	step := slices.Concat(slices.Repeat(layer, 5), []int{3})
	for name, c := range map[string]struct {
		list []int
		want repetitionSpan
	}{
		"steps of layers":            {slices.Concat([]int{7, 8, 9}, slices.Repeat(step, 4), []int{8}), repetitionSpan{3, 11, 4}},
		"every call a step":          {[]int{9, 1, 1, 1, 1, 9}, repetitionSpan{1, 1, 4}},
		"a step that was cut":        {slices.Concat([]int{9}, slices.Repeat(step, 3), step[:4]), repetitionSpan{1, 11, 3}},
		"twice is no repetition":     {slices.Concat([]int{4, 5, 6, 7, 8}, []int{4, 5, 6, 7, 8}), repetitionSpan{}},
		"nothing repeats itself":     {[]int{1, 2, 3, 4, 5}, repetitionSpan{}},
		"nothing":                    {nil, repetitionSpan{}},
		"layers of one step, layers": {step, repetitionSpan{0, 2, 5}},
	} {
		if got := repetition(c.list); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// By hand: marks of two threads are one step; before, between, after.
func TestMarkedSteps(t *testing.T) {
	marks := dropOverlaps([]comms.Span{{Name: "2", Start: 30, End: 40}, {Name: "1", Start: 10, End: 20}, {Name: "1", Start: 11, End: 19}})
	if len(marks) != 2 || marks[0].Start != 10 {
		t.Fatalf("%+v", marks)
	}
	got := map[int64]Place{}
	for _, at := range []int64{5, 10, 20, 25, 35, 41} {
		got[at] = placeAt(marks, at)
	}
	want := map[int64]Place{5: {Initialisation, -1}, 10: {InStep, 0}, 20: {InStep, 0}, 25: {Between, -1}, 35: {InStep, 1}, 41: {Shutdown, -1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// By hand from fixtures/comm/make: in each of three steps four ranks make 8 calls of 2 MiB, one each of 24 and 20 MiB, and one of 4 bytes. Logs alone
// have the same steps, without names.
func TestStepTotals(t *testing.T) {
	for name, exports := range map[string][]string{"marks": commtest.Exports, "repetition": nil} {
		s := StepsOf(commtest.Analyze(t, Analyze, commtest.Job(t, commtest.Logs, exports)))
		if len(s.Totals) != 3 || (s.Source == ByMarks) != (exports != nil) || len(s.Names) != 3 {
			t.Fatalf("%s: %+v", name, s)
		}
		for k, x := range s.Totals {
			if x.Era != InStep || x.Step != k || x.Calls != 44 || x.Bytes != 4*((8*2+24+20)<<20+4) || (x.Length() > 0) != (exports != nil) {
				t.Errorf("%s, step %d: %+v", name, k, x)
			}
		}
		if want := map[string]string{"marks": "iteration 2", "repetition": "2"}[name]; s.Names[1] != want {
			t.Errorf("%s: the second is called %q", name, s.Names[1])
		}
	}
}
