package page

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/trace"
)

const ms = 1_000_000

// window is steps of equal data and backward times, but that in some steps a rank
// is late into backward, where the others wait for it.
func window(ranks, first, steps int, late func(step, rank int) int64) *trace.Window {
	w := &trace.Window{Run: "job", Index: int64(first), FirstStep: int64(first), WorldSize: ranks, Schema: trace.Schema{Stages: []string{"data.next_wait", "model.backward_cpu_wall"}}}
	for r := range ranks {
		w.Ranks = append(w.Ranks, trace.Rank{ID: r, Host: "n" + string(rune('0'+r%2)), LocalRank: r / 2})
	}
	for t := range steps {
		data, backward := make([]int64, ranks), make([]int64, ranks)
		last := int64(0)
		for r := range ranks {
			data[r] = 5*ms + late(first+t, r)
			last = max(last, data[r])
		}
		for r := range ranks {
			backward[r] = last - data[r] + 20*ms
		}
		w.Durations = append(append(w.Durations, data...), backward...)
	}
	return w
}

// stall is 50 ms of one rank in one step.
func stall(step, rank int) func(int, int) int64 {
	return func(s, r int) int64 {
		if s == step && r == rank {
			return 50 * ms
		}
		return 0
	}
}

var asRecorded = frontier.Options{Cut: frontier.CutStep, SyncAfter: "model.backward_cpu_wall"}

// built is the page of windows of one run, in which findings name ranks.
func built(t *testing.T, windows []*trace.Window, suspects ...int) Run {
	t.Helper()
	b := New(asRecorded)
	v := &diagnose.Verdict{RunVerdict: diagnose.RunVerdict{Run: "job"}}
	for _, w := range windows {
		if err := b.Add(w); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range suspects {
		v.Findings = append(v.Findings, diagnose.Finding{Place: diagnose.Place{Rank: &id}, Confidence: evidence.Strong})
	}
	return first(t, b, v)
}

// first is the first run of a page.
func first(t *testing.T, b *Builder, v *diagnose.Verdict) Run {
	t.Helper()
	p, err := b.Page(v)
	if err != nil {
		t.Fatal(err)
	}
	return p.Runs[0]
}

func TestByHand(t *testing.T) {
	r := built(t, []*trace.Window{window(3, 10, 4, stall(12, 1))}, 1)
	if r.Unit != 1000 { // of a mean step of 37.5 ms
		t.Fatalf("the unit is %d ns, want 1000", r.Unit)
	}
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"columns", r.Steps.First, []int64{10, 11, 12, 13}},
		{"exposed", r.Steps.Exposed, [][]int{{5000, 5000, 55000, 5000}, {20000, 20000, 20000, 20000}}},
		{"last", r.Steps.Last, []int{-1, -1, 1, -1}},
		{"behind", r.Steps.Behind, []int{0, 0, 50000, 0}},
		{"lateness", r.Steps.Late, [][]int{{0, 0, 0, 0}, {0, 0, 50000, 0}, {0, 0, 0, 0}}},
		{"backward", r.Steps.Spent[1], [][]int{{20000, 20000, 70000, 20000}, {20000, 20000, 20000, 20000}, {20000, 20000, 70000, 20000}}},
		{"rank 0", r.Ranks[0], Rank{ID: 0, Host: "n0", Spent: []int{5000, 32500}, Waits: []int{0, 12500}}},
		{"rank 1", r.Ranks[1], Rank{ID: 1, Host: "n1", Spent: []int{17500, 20000}, Waits: []int{0, 0}, Late: 12500, Last: 1}},
		{"named", r.Named, []int{1}},
		{"stages", []bool{r.Stages[0].Syncs, r.Stages[1].Syncs}, []bool{false, true}},
		{"advances", []int64{r.Stages[0].Advance, r.Stages[1].Advance}, []int64{70 * ms, 80 * ms}},
		{"share", *r.Stages[1].Share, 80.0 / 150},
		{"bands", r.Steps.Bands == nil && r.AllDrawn, true},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: got %+v, want %+v", c.what, c.got, c.want)
		}
	}
}

// TestSince: a finding says by positions of the page whom it names, in which stage and steps; one that is not sure, and one whose
// steps are not known, has no strip. What a recording shows of a place is that of the verdict.
func TestSince(t *testing.T) {
	one, two := 1, 2
	found := func(c evidence.Confidence, rank *int, first int64) diagnose.Finding {
		f := diagnose.Finding{Place: diagnose.Place{Rank: rank, Stage: "model.backward_cpu_wall"}, Confidence: c}
		f.Struck = diagnose.Struck{Count: 2, Of: 4, First: first, Last: 13, Pattern: diagnose.PatternWindow}
		return f
	}
	v := &diagnose.Verdict{RunVerdict: diagnose.RunVerdict{Run: "job",
		Findings: []diagnose.Finding{found(evidence.Strong, &two, 12), found(evidence.Insufficient, &one, 12), found(evidence.Strong, &one, -1)},
		Coverage: []answer.Coverage{{Stage: "data", Seen: true, Least: 3}, {Hides: 7, Reason: answer.NoPeers}}}}
	b := New(asRecorded)
	if err := b.Add(window(3, 10, 4, stall(12, 2))); err != nil {
		t.Fatal(err)
	}
	r := first(t, b, v)
	want := []Since{{Who: "rank 2", Stage: r.Since[0].Stage, In: 1, Ranks: []int{2}, First: 12, Last: 13, Count: 2, Of: 4, Pattern: "window"}}
	if !reflect.DeepEqual(r.Since, want) {
		t.Errorf("got %+v, want %+v", r.Since, want)
	}
	if want := []Seen{{Stage: "data", Found: 3}, {Hides: 7, Why: "no rank to compare"}}; !reflect.DeepEqual(r.Places, want) {
		t.Errorf("got %+v, want %+v", r.Places, want)
	}
}

// TestDrawnStep: the others wait for rank 1 from the end of data until it arrives.
func TestDrawnStep(t *testing.T) {
	r := built(t, []*trace.Window{window(3, 10, 4, stall(12, 1))}, 1)
	if len(r.Drawn) != 4 {
		t.Fatalf("%d steps are drawn, want all 4", len(r.Drawn))
	}
	want := Drawn{Step: 12, Why: "suspect", Length: 75000, Points: []Point{{At: 55000, Series: 1, Rank: 1}}, Lanes: []Lane{
		{Rank: 0, Spans: [][]int{{0, 0, 0, 5000}, {1, 5000, 55000, 75000}}},
		{Rank: 1, Late: 50000, Spans: [][]int{{0, 0, 0, 55000}, {1, 55000, 55000, 75000}}},
		{Rank: 2, Spans: [][]int{{0, 0, 0, 5000}, {1, 5000, 55000, 75000}}},
	}}
	if got := r.Drawn[2]; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestManySteps: what is put together keeps its sums and its extremes.
func TestManySteps(t *testing.T) {
	var windows []*trace.Window
	for first := 0; first < 3000; first += 100 {
		windows = append(windows, window(3, first, 100, stall(1234, 1)))
	}
	r := built(t, windows, 1)
	s := r.Steps
	if s.Width != 4 || len(s.First) != 750 || s.Count != 3000 {
		t.Fatalf("%d steps in %d columns of %d", s.Count, len(s.First), s.Width)
	}
	sum := 0
	for _, x := range s.Exposed[0] {
		sum += x * s.Width
	}
	if got := int64(sum) * r.Unit; got != r.Stages[0].Advance || got != 3000*5*ms+50*ms {
		t.Errorf("columns sum to %d ns, the stage to %d, want %d", got, r.Stages[0].Advance, 3000*5*ms+50*ms)
	}
	at := slices.Index(s.First, 1232)
	if want := int(50 * ms / r.Unit); s.Behind[at] != want || s.Last[at] != 1 || s.Late[1][at] != want {
		t.Errorf("the column of step 1234 is %d behind by rank %d, want %d by 1", s.Behind[at], s.Last[at], want)
	}
	if r.AllDrawn || len(r.Drawn) > 2*mostSteps+1 {
		t.Errorf("%d steps are drawn of too many", len(r.Drawn))
	}
	if i := slices.IndexFunc(r.Drawn, func(d Drawn) bool { return d.Why == "suspect" }); i < 0 || r.Drawn[i].Step != 1234 {
		t.Errorf("the step in which the suspect is latest is not drawn: %+v", r.Drawn)
	}
}

// TestManyRanks: of many ranks, those that are named or late have rows, and
// quantiles stand for all.
func TestManyRanks(t *testing.T) {
	late := func(step, rank int) int64 {
		switch rank {
		case 777:
			return 50 * ms
		case 3:
			return 40 * ms
		}
		return int64(rank) * 1000
	}
	r := built(t, []*trace.Window{window(1000, 0, 40, late)}, 500)
	s := r.Steps
	if len(r.Ranks) != 1000 || len(s.Rows) != mostRows || len(s.Late) != mostRows {
		t.Fatalf("%d ranks and %d rows", len(r.Ranks), len(s.Rows))
	}
	for _, id := range []int{777, 3, 500} {
		if !slices.Contains(s.Rows, id) {
			t.Errorf("rank %d has no row", id)
		}
	}
	for q, want := range []int{0, 400, 491, 49499} { // of 0 … 999 µs less their median, and 50 ms of one
		if got := s.Bands.At[q][0] * int(r.Unit) / 1000; math.Abs(float64(got-want)) > 12 {
			t.Errorf("quantile %v is %d µs, want about %d", s.Bands.Of[q], got, want)
		}
	}
	lanes := r.Drawn[0].Lanes
	if len(lanes) != mostLanes || !slices.ContainsFunc(lanes, func(l Lane) bool { return l.Rank == 777 }) {
		t.Errorf("%d lanes, or the latest rank has none", len(lanes))
	}
}

// TestChanges: ranks and stages that come later are absent before, not zero.
func TestChanges(t *testing.T) {
	earlier, later := window(2, 0, 2, stall(-1, -1)), window(3, 2, 2, stall(-1, -1))
	later.Schema.Stages = []string{"data.next_wait", "model.fwd_loss_cpu_wall"}
	b := New(frontier.Options{Cut: frontier.CutStep})
	for _, w := range []*trace.Window{earlier, later} {
		if err := b.Add(w); err != nil {
			t.Fatal(err)
		}
	}
	r := first(t, b, &diagnose.Verdict{RunVerdict: diagnose.RunVerdict{Run: "job"}})
	if len(r.Stages) != 3 || len(r.Ranks) != 3 {
		t.Fatalf("%d stages, %d ranks", len(r.Stages), len(r.Ranks))
	}
	for _, c := range []struct {
		what      string
		got, want []int
	}{
		{"backward of rank 0", r.Steps.Spent[1][0], []int{20000, 20000, -1, -1}},
		{"forward of rank 0", r.Steps.Spent[2][0], []int{-1, -1, 20000, 20000}},
		{"data of rank 2", r.Steps.Spent[0][2], []int{-1, -1, 5000, 5000}},
		{"lateness of rank 2", r.Steps.Late[2], []int{-1, -1, 0, 0}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
}

// TestCulprit: a stage is the culprit where the first finding names it and the run is not well.
func TestCulprit(t *testing.T) {
	b := New(asRecorded)
	if err := b.Add(window(4, 0, 20, stall(7, 2))); err != nil {
		t.Fatal(err)
	}
	backward := []diagnose.Finding{{Place: diagnose.Place{Stage: "model.backward_cpu_wall"}, Confidence: evidence.Strong}}
	unsure := []diagnose.Finding{{Place: diagnose.Place{Stage: "model.backward_cpu_wall"}}}
	for _, c := range []struct {
		status   answer.Status
		findings []diagnose.Finding
		want     int
	}{{answer.Straggler, backward, 1}, {answer.UndecidedRun, unsure, -1}, {answer.NoStraggler, backward, -1}, {answer.Straggler, nil, -1}} {
		got := first(t, b, &diagnose.Verdict{RunVerdict: diagnose.RunVerdict{Run: "job", Status: c.status, Findings: c.findings}})
		if got.Culprit != c.want || c.status <= answer.NoStraggler && got.Walk != nil {
			t.Errorf("%v with %d findings: stage %d is the culprit, want %d; walk %v", c.status, len(c.findings), got.Culprit, c.want, got.Walk)
		}
	}
}

func TestNothing(t *testing.T) {
	r := first(t, New(frontier.Options{}), &diagnose.Verdict{})
	if r.Steps != nil || r.Ranks == nil || r.Drawn == nil || r.Status != "too_little_data" {
		t.Errorf("%+v", r)
	}
}

// TestOperators: of an operator trace, each worker's operators by name.
func TestOperators(t *testing.T) {
	in, err := auto.Open([]string{"../fixtures/optrace/trace-slow-worker.csv"}, auto.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	item, err := in.Next()
	if err != nil {
		t.Fatal(err)
	}
	s, b := diagnose.New(diagnose.Options{}), New(frontier.Options{})
	if err := errors.Join(s.Add(item.Operators), b.Add(item.Operators)); err != nil {
		t.Fatal(err)
	}
	r := first(t, b, s.Verdict())
	if !r.Operators || len(r.Ranks) != 6 || len(r.Drawn) != 3 || len(r.Drawn[0].Lanes) != 6 || r.Apart == nil || !slices.Equal(r.Named[:1], []int{4}) {
		t.Fatalf("%d ranks, %d steps, named %v", len(r.Ranks), len(r.Drawn), r.Named)
	}
	backward := slices.IndexFunc(r.Stages, func(s Stage) bool { return s.Name == "backward-compute" })
	if slow, peer := r.Ranks[4].Spent[backward], r.Ranks[1].Spent[backward]; float64(slow) < 1.4*float64(peer) {
		t.Errorf("the slow worker spends %d in backward, its peer %d", slow, peer)
	}
	spans := 0
	for _, d := range r.Drawn {
		for _, l := range d.Lanes {
			spans += len(l.Spans)
		}
	}
	if spans != item.Operators.Len() {
		t.Errorf("%d spans of %d operators", spans, item.Operators.Len())
	}
}

// TestPanics: a run on which the charts panic has none, and the others have theirs.
func TestPanics(t *testing.T) {
	b, v := New(asRecorded), &diagnose.Verdict{}
	for _, run := range []string{"a", "broken", "c"} {
		w := window(4, 0, 20, stall(3, 1))
		w.Run = run
		if run == "broken" {
			w.Wall = []int64{1}
		}
		if err := b.Add(w); err != nil {
			t.Fatal(err)
		}
		v.Runs = append(v.Runs, diagnose.RunVerdict{Run: run})
	}
	p, err := b.Page(v)
	if err != nil || len(p.Runs) != 3 || p.Runs[0].Steps == nil || p.Runs[1].Steps != nil || p.Runs[1].Name != "broken" || p.Runs[2].Steps == nil {
		t.Fatalf("%v: expected charts of a and c alone", err)
	}
	if len(p.Failed) != 1 || p.Failed[0].Where != "charts of run broken" {
		t.Errorf("failed: %v, expected the charts of run broken", p.Failed)
	}
}

// Every field that reaches the script of the page has a name of its own there: a value of an engine
// that is put in whole would arrive under names that the script does not read.
func TestNamesOfThePage(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var check func(typ reflect.Type, path string)
	check = func(typ reflect.Type, path string) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			check(typ.Elem(), path)
		case reflect.Struct:
			if seen[typ] {
				return
			}
			seen[typ] = true
			for f := range typ.Fields() {
				if !f.IsExported() {
					continue
				}
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				switch {
				case name == "-":
				case name == "" && f.Anonymous:
					check(f.Type, path)
				case name == "":
					t.Errorf("%s.%s has no name on the page", path, f.Name)
				default:
					check(f.Type, path+"."+name)
				}
			}
		}
	}
	check(reflect.TypeFor[Page](), "page")
	if len(seen) < 10 {
		t.Errorf("%d types looked at", len(seen))
	}
}

// TestLatentRanks: the page has who differs from the peers as the verdict has it, also whom a finding names, and nothing
// where nobody does.
func TestLatentRanks(t *testing.T) {
	v := diagnose.RunVerdict{Run: "job", Latent: &answer.Latent{Margin: 2 * ms, Step: 200 * ms, Differences: []answer.Difference{
		{Rank: 3, Confidence: evidence.Strong, P: 0.001, Named: true, Difference: claim.Difference{Level: 5 * ms, D: 1.2, Sum: true, Together: true,
			Places: []claim.Place{{Beyond: ms, Peers: 0.25, Rank: 0.75, D: 1.2}}, Quarters: []claim.Quarter{{Last: 9, Of: 30}}}, Stages: []answer.Excess{{Stage: "data", Time: 3 * ms}, {Stage: "forward\x1b", Time: 2 * ms}}},
		{Rank: 5, Confidence: evidence.Ambiguous, P: 0.002, Difference: claim.Difference{Level: 3 * ms, D: 0.7}, Stages: []answer.Excess{{Stage: "data", Time: 3 * ms}}},
	}}}
	got := first(t, New(asRecorded), &diagnose.Verdict{RunVerdict: v}).Latent
	want := &Latent{Margin: 2 * ms, Step: 200 * ms, Ranks: []Difference{
		{Rank: 3, Level: 5 * ms, Stages: []string{"data", "forward\\x1b"}, Sum: true, D: 1.2, Waits: true, P: 0.001,
			Together: true, Places: []LatentPlace{{Beyond: ms, Peers: 0.25, Rank: 0.75, D: 1.2}}, Quarters: []Quarter{{Last: 9, Of: 30}}}, {Rank: 5, Level: 3 * ms, Stages: []string{"data"}, D: 0.7, P: 0.002}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	v.Latent.Differences = nil
	if got := first(t, New(asRecorded), &diagnose.Verdict{RunVerdict: v}).Latent; got != nil {
		t.Errorf("%+v where nobody differs", got)
	}
}
