package trace

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/stagename"
)

func TestSchemaHashIsStable(t *testing.T) {
	// The first 8 bytes of SHA-256 over each name behind its length as a
	// little-endian uint64, computed with Python's hashlib.
	cases := []struct {
		stages []string
		want   string
	}{
		{[]string{"ab", "c"}, "43ee655579de01ca"},
		{[]string{"a", "bc"}, "9a8acca1b6c6c0be"},
	}
	seen := map[string]bool{}
	for _, c := range cases {
		got := Schema{c.stages}.Hash()
		if seen[got] || len(got) != 16 {
			t.Errorf("Hash(%v) = %q", c.stages, got)
		}
		seen[got] = true
		if got != c.want {
			t.Errorf("Hash(%v) = %q, want %q", c.stages, got, c.want)
		}
	}
}

func TestGroupsKeepOrder(t *testing.T) {
	names, of := Schema{[]string{"d@0", "f@0", "d@1", "f@1", "opt"}}.Groups()
	if !slices.Equal(names, []string{"d", "f", "opt"}) || !slices.Equal(of, []int{0, 1, 0, 1, 2}) {
		t.Errorf("Groups() = %v, %v", names, of)
	}
}

func TestRole(t *testing.T) {
	role, err := NewRole(Coord{"tp", 1}, Coord{"dp", 3}, Coord{"pp", 0})
	if err != nil {
		t.Fatal(err)
	}
	if role.String() != "dp=3,pp=0,tp=1" || role.Group() != "pp=0,tp=1" {
		t.Errorf("role %q, group %q", role, role.Group())
	}
	if i, ok := role.Coord("dp"); i != 3 || !ok {
		t.Errorf("Coord(dp) = %d, %v", i, ok)
	}
	if _, ok := role.Coord("ep"); ok {
		t.Error("Coord(ep) is declared")
	}
	for _, bad := range [][]Coord{{{"", 0}}, {{"dp", -1}}, {{"dp", 0}, {"dp", 1}}} {
		if _, err := NewRole(bad...); err == nil {
			t.Errorf("NewRole(%v) was accepted", bad)
		}
	}
}

// part makes one rank's packet of steps [first, first+n) with two stages whose
// durations name their place.
func part(rank int, first, n int64) *Part {
	p := &Part{Pos: input.Pos{File: "t", Line: int64(rank) + 1}, Run: "r", WorldSize: 4, FirstStep: first, Accumulation: 1, GatherOK: true,
		Rank: Rank{ID: rank, LocalRank: rank}, Schema: Schema{[]string{"a", "b"}}}
	for t := range n {
		step := first + t
		p.Durations = append(p.Durations, 1000*step+10*int64(rank), 1000*step+10*int64(rank)+1)
		p.Wall = append(p.Wall, 2000*step+20*int64(rank)+5)
	}
	return p
}

func TestJoinPlacesEveryDuration(t *testing.T) {
	parts := []*Part{part(2, 5, 3), part(0, 5, 3), part(3, 5, 3), part(1, 5, 3)}
	ws, err := Join(parts)
	if err != nil || len(ws) != 1 {
		t.Fatalf("%d windows, %v", len(ws), err)
	}
	w := ws[0]
	if w.Steps() != 3 || w.FirstStep != 5 || len(w.Notes) != 0 {
		t.Fatalf("steps %d from %d, notes %v", w.Steps(), w.FirstStep, w.Notes)
	}
	for i := range 3 {
		for s := range 2 {
			for r := range 4 {
				want := 1000*int64(5+i) + 10*int64(r) + int64(s)
				if got := w.Step(i)[s*4+r]; got != want {
					t.Errorf("step %d stage %d rank %d: %d, want %d", i, s, r, got, want)
				}
			}
		}
		if got, want := w.WallOf(i)[3], 2000*int64(5+i)+65; got != want {
			t.Errorf("wall of step %d rank 3: %d, want %d", i, got, want)
		}
	}
	for r := range 4 {
		if d := cmp.Diff(part(r, 5, 3).Durations, w.Part(r).Durations); d != "" {
			t.Errorf("Part(%d) is not what was joined: %s", r, d)
		}
	}
}

func TestJoinDoesNotDependOnOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	build := func(perm []int) []*Window {
		all := []*Part{part(0, 0, 6), part(1, 0, 3), part(1, 3, 3), part(2, 0, 4), part(3, 2, 4)}
		var parts []*Part
		for _, i := range perm {
			parts = append(parts, all[i])
		}
		ws, err := Join(parts)
		if err != nil {
			t.Fatal(err)
		}
		return ws
	}
	want := build([]int{0, 1, 2, 3, 4})
	for range 20 {
		if d := cmp.Diff(want, build(rng.Perm(5))); d != "" {
			t.Fatalf("windows differ: %s", d)
		}
	}
	// Steps 0-1 lack rank 3, 2-3 are complete, 4-5 lack rank 2.
	var got [][3]int64
	for _, w := range want {
		got = append(got, [3]int64{w.FirstStep, int64(w.Steps()), int64(w.Missing().Len())})
	}
	if !slices.Equal(got, [][3]int64{{0, 2, 1}, {2, 2, 0}, {4, 2, 1}}) {
		t.Errorf("windows (first, steps, missing) = %v", got)
	}
	if !want[0].Has(input.NoteMissingRanks) || !want[1].Has(input.NoteMissingRanks) {
		t.Error("the closing of a window is not noted")
	}
}

func TestJoinNotesDisagreement(t *testing.T) {
	odd := func(change func(*Part)) []*Window {
		p := part(3, 0, 2)
		change(p)
		ws, err := Join([]*Part{part(0, 0, 2), part(1, 0, 2), part(2, 0, 2), p})
		if err != nil {
			t.Fatal(err)
		}
		return ws
	}
	cases := []struct {
		kind   input.NoteKind
		change func(*Part)
	}{
		{input.NoteStagesDiffer, func(p *Part) { p.Schema = Schema{[]string{"a", "c"}} }},
		{input.NoteStagesDiffer, func(p *Part) { p.Schema = Schema{[]string{"b", "a"}} }},
		{input.NoteStagesDiffer, func(p *Part) { p.DataWait = DataWaitPreceding }},
		{input.NoteWorldSizeChanged, func(p *Part) { p.WorldSize = 8 }},
		{input.NoteAccumulationChanged, func(p *Part) { p.Accumulation = 2 }},
	}
	for _, c := range cases {
		ws := odd(c.change)
		if len(ws) != 1 || !ws[0].Has(c.kind) || len(ws[0].Ranks) != 3 || !slices.Equal(ws[0].Missing().IDs(), []int{3}) {
			t.Errorf("%v: %d windows, notes %v, missing %v", c.kind, len(ws), ws[0].Notes, ws[0].Missing())
		}
	}
	ws := odd(func(p *Part) { p.GatherOK = false })
	if !ws[0].Has(input.NoteGatherFailed) || !slices.Equal(ws[0].GatherFailed, []int{3}) || len(ws[0].Ranks) != 4 {
		t.Errorf("gather failure: %v, %v", ws[0].GatherFailed, ws[0].Notes)
	}
	ws = odd(func(p *Part) { p.Wall = nil })
	if ws[0].Wall != nil || !ws[0].Has(input.NoteWallMissing) {
		t.Errorf("wall missing on a rank: wall %v, notes %v", ws[0].Wall, ws[0].Notes)
	}
}

// TestJoinKeepsWhatRecordersSay: each sentence once, by rank, and with the
// first rank when the window is taken apart again.
func TestJoinKeepsWhatRecordersSay(t *testing.T) {
	var parts []*Part
	for r := range 3 {
		parts = append(parts, part(2-r, 0, 3))
		parts[r].WorldSize = 3
	}
	parts[0].Notes = []string{"rank 2 lost a window", "the disk is full"}
	parts[1].Notes = []string{"the disk is full", "rank 1 left out a span"}
	ws, err := Join(parts)
	want := []input.Note{{Kind: input.NoteRecorder, Text: "the disk is full"}, {Kind: input.NoteRecorder, Text: "rank 1 left out a span"}, {Kind: input.NoteRecorder, Text: "rank 2 lost a window"}}
	if err != nil || len(ws) != 1 || !slices.Equal(ws[0].Notes, want) {
		t.Fatalf("%d windows, %v, notes %v", len(ws), err, ws[0].Notes)
	}
	again, err := Join([]*Part{ws[0].Part(0), ws[0].Part(1), ws[0].Part(2)})
	if err != nil || !slices.Equal(again[0].Notes, want) {
		t.Errorf("joined again: %v, notes %v", err, again[0].Notes)
	}
}

func TestJoinNotesGapsAndMoves(t *testing.T) {
	var parts []*Part
	for r := range 4 {
		parts = append(parts, part(r, 0, 3), part(r, 5, 2))
	}
	ws, err := Join(parts)
	if err != nil || len(ws) != 2 || !ws[0].Has(input.NoteStepGap) || ws[0].Has(input.NoteMissingRanks) || ws[1].FirstStep != 5 {
		t.Errorf("a gap in the steps: %d windows, %v, notes %v", len(ws), err, ws[0].Notes)
	}
	moved := part(1, 3, 3)
	moved.Rank.Host = "elsewhere"
	ws, err = Join([]*Part{part(0, 0, 6), part(1, 0, 3), moved, part(2, 0, 6), part(3, 0, 6)})
	if err != nil || len(ws) != 1 || !ws[0].Has(input.NoteTopologyChanged) {
		t.Errorf("a rank that moves: %d windows, %v", len(ws), err)
	}
}

func TestJoinSplitsWhereTheFormChanges(t *testing.T) {
	cases := map[input.NoteKind]func(*Part){
		input.NoteStagesChanged:       func(p *Part) { p.Schema = Schema{[]string{"a", "c"}} },
		input.NoteWorldSizeChanged:    func(p *Part) { p.WorldSize = 6 },
		input.NoteAccumulationChanged: func(p *Part) { p.Accumulation = 2 },
	}
	for kind, change := range cases {
		var parts []*Part
		for r := range 4 {
			later := part(r, 10, 7)
			change(later)
			parts = append(parts, part(r, 0, 10), later)
		}
		ws, err := Join(parts)
		if err != nil || len(ws) != 2 || ws[0].Steps() != 10 || ws[1].Steps() != 7 || len(ws[0].Ranks) != 4 || len(ws[1].Ranks) != 4 {
			t.Fatalf("%v: %d windows, %v", kind, len(ws), err)
		}
		if !ws[0].Has(kind) || ws[1].Has(kind) || ws[0].Has(input.NoteMissingRanks) {
			t.Errorf("%v: notes %v, then %v", kind, ws[0].Notes, ws[1].Notes)
		}
	}
}

func TestJoinRefusesDuplicates(t *testing.T) {
	_, err := Join([]*Part{part(0, 0, 3), part(1, 0, 3), part(1, 2, 3)})
	if !errors.Is(err, input.ErrDuplicate) || !strings.Contains(err.Error(), "t:2") {
		t.Errorf("error %v", err)
	}
}

func TestValidateRefuses(t *testing.T) {
	good := func() *Window {
		ws, err := Join([]*Part{part(0, 0, 2), part(1, 0, 2), part(2, 0, 2), part(3, 0, 2)})
		if err != nil {
			t.Fatal(err)
		}
		return ws[0]
	}
	cases := []struct {
		name  string
		want  error
		says  string
		spoil func(*Window)
	}{
		{"negative", input.ErrNegative, `step 1, stage "a", rank 2`, func(w *Window) { w.Durations[10] = -1 }},
		{"negative wall", input.ErrNegative, "step 0, rank 1", func(w *Window) { w.Wall[1] = -1 }},
		{"overflow", input.ErrOverflow, "step 0", func(w *Window) { w.Durations[0], w.Durations[1] = MaxTotal, MaxTotal }},
		{"wall overflow", input.ErrOverflow, "step 0", func(w *Window) { w.Wall[0], w.Wall[1] = math.MaxInt64, math.MaxInt64 }},
		{"ragged", input.ErrRagged, "15 durations", func(w *Window) { w.Durations = w.Durations[1:] }},
		{"ragged wall", input.ErrRagged, "7 wall times", func(w *Window) { w.Wall = w.Wall[1:] }},
		{"no steps", input.ErrEmpty, "no steps", func(w *Window) { w.Durations, w.Wall = nil, nil }},
		{"no ranks", input.ErrEmpty, "no ranks", func(w *Window) { w.Ranks = nil }},
		{"no stages", input.ErrEmpty, "no stages", func(w *Window) { w.Schema = Schema{} }},
		{"unnamed stage", input.ErrEmpty, "stage 1", func(w *Window) { w.Schema.Stages[1] = "" }},
		{"stage twice", input.ErrDuplicate, `"a"`, func(w *Window) { w.Schema.Stages[1] = "a" }},
		{"recorded residual", input.ErrDuplicate, stagename.Residual, func(w *Window) { w.Schema.Stages[1] = stagename.Residual }},
		{"rank twice", input.ErrDuplicate, "rank 1", func(w *Window) { w.Ranks[2].ID = 1 }},
		{"ranks unsorted", input.ErrFormat, "ascend", func(w *Window) { w.Ranks[0].ID, w.Ranks[1].ID = 1, 0 }},
		{"rank outside", input.ErrTooLarge, "world of 3", func(w *Window) { w.WorldSize = 3 }},
		{"world too large", input.ErrTooLarge, "world size", func(w *Window) { w.WorldSize = MaxRanks + 1 }},
		{"first step", input.ErrOverflow, "first step", func(w *Window) { w.FirstStep = math.MaxInt64 }},
		{"sample outside", input.ErrRagged, "step 9", func(w *Window) { w.Side = []SideChannel{{"c", []Sample{{Step: 9}}}} }},
		{"sample NaN", input.ErrNotFinite, "NaN", func(w *Window) { w.Side = []SideChannel{{"c", []Sample{{Value: math.NaN(), Ready: true}}}} }},
		{"sample negative", input.ErrNegative, "-1", func(w *Window) { w.Side = []SideChannel{{"c", []Sample{{Value: -1, Ready: true}}}} }},
	}
	if err := good().Validate(); err != nil {
		t.Fatalf("the window that the cases spoil is itself refused: %v", err)
	}
	for _, c := range cases {
		w := good()
		w.Schema.Stages = slices.Clone(w.Schema.Stages)
		c.spoil(w)
		if err := w.Validate(); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want %v that says %q", c.name, err, c.want, c.says)
		}
	}
}

func TestSelect(t *testing.T) {
	ws, err := Join([]*Part{part(0, 0, 2), part(1, 0, 2), part(2, 0, 2), part(3, 0, 2)})
	if err != nil {
		t.Fatal(err)
	}
	w := ws[0]
	w.Side = []SideChannel{{"c", []Sample{{Step: 0, Rank: 1, Value: 1, Ready: true}, {Step: 1, Rank: 3, Value: 3, Ready: true}}}}
	s := w.Select([]int{1, 3})
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	for i, r := range []int{1, 3} {
		if d := cmp.Diff(w.Part(r).Durations, s.Part(i).Durations); d != "" {
			t.Errorf("column %d: %s", r, d)
		}
		if d := cmp.Diff(w.Part(r).Side, s.Part(i).Side); d != "" {
			t.Errorf("side of column %d: %s", r, d)
		}
	}
	if !slices.Equal(s.Missing().IDs(), []int{0, 2}) {
		t.Errorf("missing %v", s.Missing())
	}
}

func TestRankList(t *testing.T) {
	for want, ranks := range map[string][]int{"": nil, "4": {4}, "0-2": {0, 1, 2}, "0-1,5,7-8": {0, 1, 5, 7, 8}} {
		if got := RankList(ranks); got != want {
			t.Errorf("RankList(%v) = %q, want %q", ranks, got, want)
		}
	}
}

func TestRanks(t *testing.T) {
	for want, ranks := range map[string][]int{"rank 4": {4}, "ranks 0-2": {0, 1, 2}, "ranks 1,5": {1, 5}} {
		if got := Ranks(ranks); got != want {
			t.Errorf("Ranks(%v) = %q, want %q", ranks, got, want)
		}
	}
}

func TestNamesOfEnums(t *testing.T) {
	for k := input.NoteUnknown; k <= input.NoteTopologyChanged; k++ {
		var got input.NoteKind
		if text, _ := k.MarshalText(); got.UnmarshalText(text) != nil || got != k {
			t.Errorf("note kind %d does not survive %q", k, k)
		}
	}
	for d := DataWaitConsuming; d <= DataWaitUnknown; d++ {
		if got, err := ParseDataWait(d.String()); got != d || err != nil {
			t.Errorf("data wait %d does not survive %q", d, d)
		}
	}
	if _, err := ParseDataWait("later"); !errors.Is(err, input.ErrType) {
		t.Errorf("ParseDataWait: %v", err)
	}
}

func TestSideChannelTimes(t *testing.T) {
	s := Schema{[]string{"data.next_wait", "model.fwd_loss_cpu_wall@0", "model.fwd_loss_cpu_wall@1", "model.backward_cpu_wall"}}
	if got := (SideChannel{Name: "model.fwd_loss_cuda_event_ms"}).Times(s); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("forward channel times stages %v", got)
	}
	if got := (SideChannel{Name: "gpu.temperature"}).Times(s); got != nil {
		t.Errorf("temperature times stages %v", got)
	}
}
