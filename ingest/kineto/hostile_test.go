package kineto

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// TestMembers: the members of a group, by what tells them.
func TestMembers(t *testing.T) {
	for name, tt := range map[string]struct {
		list string
		by   stride
		want []int
	}{
		"listed":                 {`"[4, 9]"`, stride{0, 1, 2}, []int{4, 9}},
		"strided":                {"", stride{2, 3, 3}, []int{2, 5, 8}},
		"cut":                    {`"[2, 5, ...]"`, stride{2, 3, 3}, []int{2, 5, 8}},
		"the last rank that is":  {"", stride{trace.MaxRanks - 1, 1, 1}, []int{trace.MaxRanks - 1}},
		"beyond the last":        {"", stride{trace.MaxRanks - 1, 1, 2}, nil},
		"a product that wraps":   {"", stride{0, 1 << 62, 4}, nil},
		"a sum that wraps":       {"", stride{1<<63 - 1, 1, 2}, nil},
		"no size":                {"", stride{0, 1, 0}, nil},
		"no start":               {"", stride{-1, 1, 2}, nil},
		"standing still":         {"", stride{3, 0, 2}, nil},
		"a list that is no list": {`"here"`, stride{-1, -1, 0}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var g groups
			if got := g.ranksOf([]byte(tt.list), tt.by); (got != nil) != (tt.want != nil) || got != nil && !slices.Equal(*got, tt.want) {
				t.Errorf("members %v, want %v", got, tt.want)
			}
		})
	}
}

// TestMembersBounded: calls of one group share the list of its members, and
// lists of many groups end where their bound is.
func TestMembersBounded(t *testing.T) {
	var g groups
	whole := stride{0, 1, trace.MaxRanks}
	if a, b := g.ranksOf(nil, whole), g.ranksOf(nil, whole); a != b || len(*a) != trace.MaxRanks {
		t.Error("two calls of a group have a list each")
	}
	list := []byte(`"[1, 2]"`)
	if a, b := g.ranksOf(list, stride{}), g.ranksOf(list, stride{}); a == nil || a != b {
		t.Error("two calls of a listed group have a list each")
	}
	held := 0
	for i := range 20 {
		if ranks := g.ranksOf(nil, stride{0, 1, trace.MaxRanks - i}); ranks != nil {
			held += len(*ranks)
		}
	}
	if held > maxMembers {
		t.Errorf("%d members are held", held)
	}
	if g.ranksOf(nil, whole) == nil {
		t.Error("a group that is held is not known any more")
	}
}

// TestLongWords: what has a name without end is read, and the name is cut.
func TestLongWords(t *testing.T) {
	long := strings.Repeat("y", 3*trace.MaxName)
	r := must(t, doc(step, k(long, 4, 1012, 1020, 30, ""),
		fmt.Sprintf(`{"ph":"B","name":"%s","tid":9,"ts":1020}`, long),
		k(allReduce, 5, 1013, 1051, 30, fmt.Sprintf(`, "Collective name":"allreduce","Process Group Name":"%s"`, long))))
	stepAgain(t, r)
	for _, n := range r.Names {
		if len(n) > trace.MaxName {
			t.Errorf("a name of %d bytes", len(n))
		}
	}
	if got := len(r.Comm.Groups[0].Name); got != trace.MaxName {
		t.Errorf("a group whose name has %d bytes", got)
	}
}

// TestHalvesBeyondTime: two halves that make a range of two centuries are left
// out, as one that is whole would be.
func TestHalvesBeyondTime(t *testing.T) {
	begin, end := `{"ph":"B","name":"forward","tid":7,"ts":-4611686018427387}`, `{"ph":"E","tid":7,"ts":4611686018427387}`
	r := must(t, doc(step, begin, end))
	stepAgain(t, r)
	if !noted(r, input.NoteRecorder, "have no time that can be read and were left out: 1,") {
		t.Errorf("notes %v", r.Notes)
	}
	if _, err := read(t, doc(begin, end)); !errors.Is(err, input.ErrEmpty) {
		t.Errorf("alone: %v", err)
	}
}

// TestNothing: a trace without steps says why, as far as it can be told.
func TestNothing(t *testing.T) {
	for text, want := range map[string]string{
		`{"traceEvents":[]}`:   "was anything run",
		`{"traceEvents":[`:     "ends in the middle",
		`{"traceEvents":[[[[[`: "1 could not be read, the first at byte 16",
		doc(x("cpu_op", "aten::mm", 1, 1), x("", "fusion.1", 2, 3)): "no step, stage, collective or device work in its 2 timed events",
		`{"traceEvents":[{"ph":"X","ts":"now"}]}`:                   "1 without a time that can be read, the first at byte 16",
	} {
		if _, err := read(t, text); !errors.Is(err, input.ErrEmpty) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
