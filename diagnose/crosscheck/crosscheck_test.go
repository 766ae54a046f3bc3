package crosscheck

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// window has stages a and b on two ranks; durations by step, stage, rank.
func window(first int64, durations ...int64) *trace.Window {
	w := &trace.Window{Run: "r", FirstStep: first, WorldSize: 2, Schema: trace.Schema{Stages: []string{"a", "b"}},
		Ranks: []trace.Rank{{ID: 0}, {ID: 1}}}
	for _, d := range durations {
		w.Durations = append(w.Durations, d*1_000_000)
	}
	return w
}

func source(name string, windows ...*trace.Window) Source {
	return Source{Name: name, Format: "test", Bytes: 100, Windows: windows}
}

// By hand. First: prefixes of the step are max(10, 20) = 20 after a, and
// max(10+30, 20+20) = 40 after b: shares 0.5 and 0.5. Other: 20, then
// max(10+40, 20+20) = 50: 0.4 and 0.6.
func TestByHand(t *testing.T) {
	c, err := Compare([]Source{source("first", window(5, 10, 20, 30, 20)), source("other", window(5, 10, 20, 40, 20))}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float64{0.5, 0.5}, c.Accounts[0].Share); diff != "" {
		t.Error(diff)
	}
	h := c.Accounts[1].Held
	if math.Abs(h.Difference-0.1) > 1e-15 || h.Longest != 10_000_000 || !h.SameRouting || h.SameRoute {
		t.Errorf("%+v", *h)
	}
	if c.Agree() || c.Worst().Name != "other" || c.Steps != 1 || !slices.Equal(c.Ranks, []int{0, 1}) {
		t.Errorf("%+v", *c)
	}
}

// TestSame: a source agrees with itself, also when it comes in several windows
// and more steps.
func TestSame(t *testing.T) {
	whole := window(0, 10, 20, 30, 20, 11, 21, 29, 19, 12, 22, 28, 18)
	parts := []*trace.Window{window(1, 11, 21, 29, 19), window(2, 12, 22, 28, 18), window(7, 1, 1, 1, 1)}
	c, err := Compare([]Source{source("whole", whole), source("parts", parts...), source("again", whole)}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range c.Accounts[1:] {
		if a.Held.Difference != 0 || a.Held.Longest != 0 || !a.Held.SameRoute {
			t.Errorf("%s: %+v", a.Name, *a.Held)
		}
	}
	want := []string{"whole has 1 steps that not all sources have: they are left out", "parts has 1 steps that not all sources have: they are left out",
		"again has 1 steps that not all sources have: they are left out"}
	if diff := cmp.Diff(want, c.Doubts); diff != "" || c.Steps != 2 || !c.Agree() {
		t.Errorf("%d steps, agree %v\n%s", c.Steps, c.Agree(), diff)
	}
}

// TestStages: a stage that a source lacks has no share there, parts of an
// accumulated stage count together, and another order is said.
func TestStages(t *testing.T) {
	lacking := window(0, 10, 20, 30, 20)
	lacking.Schema.Stages = []string{"a", "c"}
	split := window(0, 10, 20, 30, 20)
	split.Schema.Stages = []string{"b@0", "b@1"}
	swapped := window(0, 10, 20, 30, 20)
	swapped.Schema.Stages = []string{"b", "a"}
	c, err := Compare([]Source{source("first", window(0, 10, 20, 30, 20)), source("lacking", lacking), source("split", split), source("swapped", swapped)}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, c.Stages); diff != "" {
		t.Error(diff)
	}
	want := [][]float64{{0.5, 0.5, 0}, {0.5, 0, 0.5}, {0, 1, 0}, {0.5, 0.5, 0}}
	for i, a := range c.Accounts {
		if diff := cmp.Diff(want[i], a.Share); diff != "" {
			t.Errorf("%s: %s", a.Name, diff)
		}
	}
	if diff := cmp.Diff([]string{"a", "c"}, c.Accounts[2].Lacks); diff != "" {
		t.Error(diff)
	}
	if len(c.Doubts) != 1 || !strings.Contains(c.Doubts[0], "different orders") {
		t.Errorf("%q", c.Doubts)
	}
}

// TestRanks: only those that all have are compared.
func TestRanks(t *testing.T) {
	whole := window(0, 10, 20, 30, 20)
	c, err := Compare([]Source{source("whole", whole), source("one", whole.Select([]int{1}))}, Options{})
	if err != nil || !slices.Equal(c.Ranks, []int{1}) || c.Accounts[0].Held != nil || c.Accounts[1].Held.Difference != 0 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestOrder(t *testing.T) {
	all := []Source{source("from 0", window(0, 10, 20, 30, 20, 1, 2, 3, 2)), source("from 9", window(9, 10, 20, 30, 20))}
	if _, err := Compare(all, Options{}); !errors.Is(err, ErrNoStep) || !errors.Is(err, input.ErrMissing) || !strings.Contains(err.Error(), "from 0 has steps 0 to 1, from 9 has steps 9 to 9") {
		t.Error(err)
	}
	c, err := Compare(all, Options{Match: ByOrder})
	if err != nil || c.Steps != 1 || c.Accounts[1].Held.Longest != 0 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestRefused(t *testing.T) {
	other := window(0, 1, 1, 1, 1)
	other.Run = "other"
	good := source("good", window(0, 1, 1, 1, 1))
	for name, c := range map[string]struct {
		all  []Source
		kind error
	}{
		"one source":   {[]Source{good}, input.ErrMissing},
		"two runs":     {[]Source{good, source("x", window(5, 1, 1, 1, 1), other)}, input.ErrFormat},
		"twice a step": {[]Source{good, source("x", window(0, 1, 1, 1, 1), window(0, 1, 1, 1, 1))}, input.ErrDuplicate},
		"no windows":   {[]Source{good, source("x")}, input.ErrEmpty},
		"no time":      {[]Source{good, source("x", window(0, 0, 0, 0, 0))}, input.ErrEmpty},
		"other ranks":  {[]Source{source("a", window(0, 1, 1, 1, 1).Select([]int{0})), source("b", window(0, 1, 1, 1, 1).Select([]int{1}))}, input.ErrMissing},
	} {
		if _, err := Compare(c.all, Options{}); !errors.Is(err, c.kind) {
			t.Errorf("%s: %v, expected %v", name, err, c.kind)
		}
	}
}
