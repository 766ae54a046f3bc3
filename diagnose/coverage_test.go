package diagnose

import (
	"math"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/nccl"
)

// placeOf returns the coverage of a stage.
func placeOf(t *testing.T, list []answer.Coverage, stage string) answer.Coverage {
	t.Helper()
	for _, c := range list {
		if c.Stage == stage {
			return c
		}
	}
	t.Fatalf("no coverage of %q in %+v", stage, list)
	return answer.Coverage{}
}

// TestCoverageOfStages: why a stage is not seen, how much hides there, and what would show it.
func TestCoverageOfStages(t *testing.T) {
	seen := delay.Limit{Stage: 1, Reported: 12e6, Known: true, Seen: true}
	wait := delay.Limit{Stage: 2, MayHide: 40e6, Known: true}
	noisy := delay.Limit{Stage: 1, Reported: 30e6, Known: true}
	for name, c := range map[string]struct {
		change func(*judge)
		limit  delay.Limit
		stage  string
		want   answer.Coverage
	}{
		"seen":           {nil, seen, "forward", answer.Coverage{Seen: true, Least: 12e6}},
		"ranks may wait": {func(j *judge) { j.modelled.Points[0].Stage = 0 }, wait, "backward", answer.Coverage{Hides: 40e6, Reason: answer.RanksMayWait, Needs: answer.SourceArrivals}},
		"ranks wait":     {nil, wait, "backward", answer.Coverage{Hides: 40e6, Reason: answer.RanksWait, Needs: answer.SourceArrivals}},
		"noisy":          {func(j *judge) { j.modelled.Lost.Noise[1] = 22e6 }, noisy, "forward", answer.Coverage{Hides: 22e6, Least: 30e6, Reason: answer.TooNoisy, Needs: answer.SourceMoreSteps}},
		"seen, but what one rank takes longer is worth acting on": {func(j *judge) { j.modelled.Lost.Noise[1] = 11e6 }, seen, "forward",
			answer.Coverage{Hides: 11e6, Least: 12e6, Reason: answer.TooNoisy, Needs: answer.SourceMoreSteps}},
		"little in each of several stages": {func(j *judge) { j.modelled.Lost.Spread = 11e6 }, seen, "",
			answer.Coverage{Hides: 11e6, Reason: answer.Spread, Needs: answer.SourceArrivals}},
		"one rank takes less": {func(j *judge) { j.modelled.Lost.Uneven[1] = 11e6 }, seen, "forward",
			answer.Coverage{Hides: 11e6, Least: 12e6, Reason: answer.Uneven, Needs: answer.SourceBaseline}},
		"one rank takes less, and another one more, now and then": {func(j *judge) { j.modelled.Lost.Uneven[1], j.modelled.Lost.Noise[1] = 11e6, 12e6 }, seen, "forward",
			answer.Coverage{Hides: 12e6, Least: 12e6, Reason: answer.TooNoisy, Needs: answer.SourceMoreSteps}},
		"one rank takes little less": {func(j *judge) { j.modelled.Lost.Uneven[1], j.modelled.Lost.Noise[1] = 9e6, 9e6 }, seen, "forward", answer.Coverage{Seen: true, Least: 12e6}},
		"nothing would stand out":    {func(j *judge) { j.modelled.Lost.Noise[1] = 130e6 }, delay.Limit{Stage: 1, Known: true}, "forward", answer.Coverage{Hides: 100e6, Reason: answer.TooNoisy, Needs: answer.SourceMoreSteps}},
		"meets nowhere": {func(j *judge) { j.modelled.Points = nil }, seen, "forward",
			answer.Coverage{Hides: 100e6, Least: 12e6, Reason: answer.NoMeeting, Needs: answer.SourceArrivals}},
		"meets in no stage": {func(j *judge) { j.modelled.Stages[2].Role = points.Rest }, seen, "forward",
			answer.Coverage{Hides: 100e6, Least: 12e6, Reason: answer.NoMeeting, Needs: answer.SourceArrivals}},
		"coarse times": {func(j *judge) { j.books, j.modelled.Skew = []book{{resolution: 1e6}}, 19e5 }, seen, "forward",
			answer.Coverage{Hides: 100e6, Least: 12e6, Reason: answer.TooCoarse, Needs: answer.SourceDigits}},
		"rounded times":                    {func(*judge) {}, delay.Limit{Stage: 1, Reported: 12e6, Known: true, Seen: true, Rounded: 20e6}, "forward", answer.Coverage{Hides: 20e6, Least: 12e6, Reason: answer.Rounded, Needs: answer.SourceDigits}},
		"times coarse beside the arrivals": {func(j *judge) { j.books, j.modelled.Skew = []book{{resolution: 1e6}}, 21e5 }, seen, "forward", answer.Coverage{Seen: true, Least: 12e6}},
		"coarse times, the synchronising stage named": {func(j *judge) {
			j.books, j.modelled.Points[0].Evidence = []book{{resolution: 1e6}}, points.Named
		}, seen, "forward", answer.Coverage{Seen: true, Least: 12e6}},
	} {
		j := stepsOf()
		if j.modelled.Limits = []delay.Limit{c.limit}; c.change != nil {
			c.change(j)
		}
		c.want.Stage = c.stage
		if got := placeOf(t, j.coverage(), c.stage); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestCoverageOfWaits: a stage that is nothing but waiting is no place of a delay.
func TestCoverageOfWaits(t *testing.T) {
	j := stepsOf()
	j.modelled.Limits = []delay.Limit{{Stage: 1, Known: true}}
	if got := len(j.coverage()); got != 2 { // and the time in no stage
		t.Errorf("%d places: %+v", got, j.coverage())
	}
	j.modelled.Stages[1].Role = points.Wait
	if got := len(j.coverage()); got != 0 {
		t.Errorf("of waits alone %+v", j.coverage())
	}
}

// TestCoverageOfMicrosteps: a stage in microsteps is seen if each is; if one is not, its reason and what would show it
// stand for the stage, in either order.
func TestCoverageOfMicrosteps(t *testing.T) {
	seen := answer.Coverage{Stage: "forward", Seen: true, Least: 12}
	blind := answer.Coverage{Stage: "forward", Hides: 40, Least: 30, Reason: answer.TooNoisy, Needs: answer.SourceMoreSteps}
	for _, pair := range [][2]answer.Coverage{{seen, blind}, {blind, seen}} {
		if got := mergeMicrosteps(pair[0], pair[1]); got != blind {
			t.Errorf("%+v", got)
		}
	}
	if got := mergeMicrosteps(seen, seen); got != seen {
		t.Errorf("both seen: %+v", got)
	}
	if got := mergeMicrosteps(blind, blind); got.Hides != 80 || got.Seen {
		t.Errorf("neither seen: %+v", got)
	}
}

// TestCoverageOfEntries: entries see into what the times of stages cannot show; alone, they see if any place shows a delay.
func TestCoverageOfEntries(t *testing.T) {
	j := withEntries(stepsOf(), arrivals.Result{Step: 100e6, Places: []arrivals.Place{{Stage: "backward", Repeats: true, Limit: 5e6}}})
	j.modelled.Points, j.books = nil, []book{{resolution: 1e6}}
	j.modelled.Limits = []delay.Limit{{Stage: 1, Reported: 12e6, Known: true, Seen: true}, {Stage: 2, MayHide: 40e6, Known: true}}
	for _, stage := range []string{"forward", "backward"} {
		if c := placeOf(t, j.coverage(), stage); !c.Seen || c.Reason != "" {
			t.Errorf("%+v", c)
		}
	}
	for limit, want := range map[int64]bool{0: false, 5e6: true} {
		alone := withEntries(&judge{run: &run{}, minGain: 0.1}, arrivals.Result{Step: 100e6, Places: []arrivals.Place{{Repeats: true, Limit: limit}}})
		if c := placeOf(t, alone.coverage(), ""); c.Seen != want || (c.Reason == "") != want || alone.hidesDelay(alone.coverage()) == want {
			t.Errorf("least delay %d: %+v", limit, c)
		}
	}
}

// TestCoverageWithoutCalls: where entries show a delay of any rank before every call that a step repeats, nobody hides in a
// stage in which none is entered.
func TestCoverageWithoutCalls(t *testing.T) {
	call := arrivals.Place{Stage: "backward", Repeats: true, Limit: 20e6, Since: 50e6}
	with := func(change func(p *arrivals.Place)) arrivals.Result {
		p := call
		change(&p)
		return arrivals.Result{Step: 100e6, Places: []arrivals.Place{call, p}}
	}
	message := func(p *arrivals.Place) { p.Kind, p.Limit = nccl.Recv, 0 }
	messages, neighbours, apart, silent, missing := with(message), with(message), with(func(*arrivals.Place) {}), with(func(*arrivals.Place) {}), with(func(*arrivals.Place) {})
	inStage := with(func(p *arrivals.Place) { message(p); p.Stage = "forward" })
	lateMessage := with(func(p *arrivals.Place) { message(p); p.Stage, p.Skew = "forward", 90e6 }) // of a chain
	littleTwice := with(func(p *arrivals.Place) { p.Limit, p.Since = 0, 6e6 })
	littleTwice.Places = append(littleTwice.Places, littleTwice.Places[1])
	inStage.Messages, lateMessage.Messages = true, true
	messages.Messages, neighbours.Neighbours, apart.Apart, silent.Silent, missing.Missing = true, true, true, []string{"0"}, []int{7}
	for name, c := range map[string]struct {
		r    arrivals.Result
		seen bool
	}{
		"all calls show a delay":              {with(func(*arrivals.Place) {}), true},
		"one shows none":                      {with(func(p *arrivals.Place) { p.Limit = 0 }), false},
		"little leads to one that shows none": {with(func(p *arrivals.Place) { p.Limit, p.Since = 0, 9e6 }), true},
		"little leads to two that show none":  {littleTwice, false},
		"one shows a large one alone":         {with(func(p *arrivals.Place) { p.Limit = 21e6 }), false},
		"one is perhaps entered late":         {with(func(p *arrivals.Place) { p.Perhaps = true }), false},
		"one is of the beginning":             {with(func(p *arrivals.Place) { p.Limit, p.Repeats = 0, false }), true},
		"a rare one is in the stage":          {with(func(p *arrivals.Place) { p.Stage, p.Limit, p.Repeats = "forward", 0, false }), false},
		"a message is in the stage":           {inStage, true},
		"a late message is in the stage":      {lateMessage, true},
		"ends of a pipeline":                  {with(func(p *arrivals.Place) { p.Unlike = true }), false},
		"a message":                           {with(message), false},
		"a message that is awaited":           {messages, true},
		"a message between neighbours":        {neighbours, true},
		"nothing connects some ranks":         {apart, false},
		"messages are not recorded":           {silent, false},
		"a rank left no entries":              {missing, false},
		"nothing that a step repeats":         {arrivals.Result{Step: 100e6}, false},
		"nothing at all, and no entries":      {arrivals.Result{}, false},
	} {
		j := withEntries(stepsOf(), c.r)
		j.modelled.Limits = []delay.Limit{{Stage: 1, MayHide: 13e6, Known: true}}
		got := placeOf(t, j.coverage(), "forward")
		want := answer.Coverage{Stage: "forward", Seen: true, Least: 20e6}
		if got.Seen != c.seen || c.seen && got != want {
			t.Errorf("%s: %+v", name, got)
		}
		open := j.closeEntered(nil, []answer.Undecided{{Question: answer.RankHidden, Stage: "forward", Hides: 13e6, Step: 100e6}})
		if c.seen != (len(open) == 0) {
			t.Errorf("%s: open %+v", name, open)
		}
	}
}

// TestCoverageWithoutCallsOfSomeSteps: where a rank has no stage times of some steps, and left entries, what may hide in a stage without
// calls is that part of its time.
func TestCoverageWithoutCallsOfSomeSteps(t *testing.T) {
	for hides, seen := range map[int64]bool{70e6: true, 90e6: false} { // in 12 of 100 ms
		j := withEntries(stepsOf(), arrivals.Result{Step: 100e6, Places: []arrivals.Place{{Repeats: true, Limit: 20e6}}})
		j.modelled.Limits = []delay.Limit{{Stage: 2, MayHide: hides, Known: true}}
		j.windows = []Window{{Main: &frontier.Result{Makespan: 88}}, {Main: &frontier.Result{Makespan: 12}}}
		j.windows[1].Main.Quality.Missing = trace.RankSet{{7, 7}}
		if got := placeOf(t, j.coverage(), "backward"); got.Seen != seen {
			t.Errorf("%d ms hide: %+v", hides/1e6, got)
		}
		if slices.ContainsFunc(j.coverage(), func(c answer.Coverage) bool { return c.Reason == answer.RanksUnknown }) {
			t.Errorf("%d ms hide: entries tell of the rank in all steps: %+v", hides/1e6, j.coverage())
		}
	}
}

// TestCoverageOfEndedRanks: where ranks recorded fewer steps than others, and all left entries, that part of what
// follows the last entry hides.
func TestCoverageOfEndedRanks(t *testing.T) {
	for without, hides := range map[int64]int64{30: 12e6, 20: 0} { // of 100 ms
		j := withEntries(stepsOf(), arrivals.Result{Step: 100e6, Places: []arrivals.Place{{Stage: "backward", Repeats: true, Limit: 5e6}}})
		j.modelled.Limits = []delay.Limit{{Stage: 2, MayHide: 40e6, Known: true}}
		main := j.windows[0].Main
		rest := *main
		main.Makespan, rest.Makespan, rest.Quality.Missing = 100-without, without, trace.RankSet{{7, 7}}
		j.windows = append(j.windows, Window{Main: &rest})
		want := answer.Coverage{Stage: "backward", Hides: hides, Reason: answer.RanksUnknown, Needs: answer.SourceAllRanks}
		if hides == 0 {
			want = answer.Coverage{Stage: "backward", Seen: true, Least: 5e6}
		}
		if got := placeOf(t, j.coverage(), "backward"); got != want {
			t.Errorf("without a rank in %d of 100 ms: %+v, want %+v", without, got, want)
		}
	}
}

// TestCoverageOfMissingRanks: where a rank left no record, the others may wait for it from their last entry on, in a stage in which stage times
// show no wait as well; where that is not worth acting on the stage is seen.
func TestCoverageOfMissingRanks(t *testing.T) {
	for wait, seen := range map[int64]bool{40e6: false, 8e6: true} { // of 100 ms
		j := withEntries(stepsOf(), arrivals.Result{Step: 100e6, Missing: []int{7}, Places: []arrivals.Place{{Stage: "forward", Repeats: true, Limit: 5e6}},
			Transfers: []arrivals.Transfer{{Stage: "forward", Time: 1e6, Wait: wait}}})
		j.modelled.Limits = []delay.Limit{{Stage: 1, Reported: 12e6, Known: true, Seen: true}}
		want := answer.Coverage{Stage: "forward", Seen: seen, Least: 12e6, Hides: wait, Reason: answer.RanksUnknown, Needs: answer.SourceAllRanks}
		if got := placeOf(t, j.coverage(), "forward"); got != want {
			t.Errorf("a wait of %d: %+v, want %+v", wait, got, want)
		}
	}
}

// TestHiddenTime: what hides where ranks wait adds up, and so does what is lost in noise; of all else the largest counts.
func TestHiddenTime(t *testing.T) {
	waits := []answer.Coverage{{Hides: 30, Reason: answer.RanksWait}, {Hides: 20, Reason: answer.RanksWait}, {Seen: true}}
	if got := hiddenTime(waits); got != 50 {
		t.Errorf("of two stages in which ranks wait %d, want 50", got)
	}
	noise := append(waits, answer.Coverage{Hides: 45, Reason: answer.TooNoisy}, answer.Coverage{Hides: 10, Reason: answer.TooNoisy})
	if got := hiddenTime(noise); got != 55 {
		t.Errorf("beside noise %d, want 55", got)
	}
	if got := hiddenTime(append(noise, answer.Coverage{Hides: 40, Reason: answer.NoPeers}, answer.Coverage{Hides: 60, Reason: answer.NoPeers})); got != 60 {
		t.Errorf("beside workers without peers %d, want 60", got)
	}
}

// TestUnseenFromMinGain: the status is unseen from the least gain on, and what hides less is no reason.
func TestUnseenFromMinGain(t *testing.T) {
	for hides, want := range map[int64]answer.Status{8e6: answer.NoStraggler, 12e6: answer.Unseen} {
		j := stepsOf()
		j.windows[0].Main.Steps, j.windows[0].Main.Leader.Stage = 50, 1
		j.modelled.Limits = []delay.Limit{{Stage: 1, Reported: 12e6, Known: true, Seen: true}, {Stage: 2, MayHide: hides, Known: true}}
		if v := j.merge(nil); v.Status != want {
			t.Errorf("%d of 100 ms hide: %v, want %v", hides/1e6, v.Status, want)
		}
	}
}

// TestRanksNotRecordedForLong: the ranks that are recorded may wait for one that is not, if that is for a good part of the run.
func TestRanksNotRecordedForLong(t *testing.T) {
	for part, want := range map[int64]bool{8: false, 12: true} {
		j := stepsOf()
		j.modelled.Limits = []delay.Limit{{Stage: 1, Reported: 12e6, Known: true, Seen: true}}
		j.windows = []Window{{Main: &frontier.Result{Makespan: 100 - part}}, {Main: &frontier.Result{Makespan: part}}}
		j.windows[1].Main.Quality.Missing = trace.RankSet{{7, 7}}
		got := false
		for _, c := range j.coverage() {
			got = got || c.Reason == answer.RanksUnknown
		}
		if got != want {
			t.Errorf("%d %% of the run: %+v", part, j.coverage())
		}
	}
}

// TestRoundedJobs: a table in units larger than the ranks' arrivals differ by is no all-clear. Ranks are taken to meet where gradients are
// reduced; where no stage is named so, the reason is said.
func TestRoundedJobs(t *testing.T) {
	for _, c := range []struct {
		unit  int64
		stage string
		want  answer.Reason
	}{{10e6, simulate.StageBackward, answer.RanksWait}, {10e6, "middle", answer.TooCoarse}, {1e3, simulate.StageBackward, answer.RanksWait}} {
		w := windows(t, spec(8, 60, 1))[0]
		w.Wall = nil
		w.Schema.Stages = slices.Clone(w.Schema.Stages)
		w.Schema.Stages[slices.Index(w.Schema.Stages, simulate.StageBackward)] = c.stage
		for i, x := range w.Durations {
			w.Durations[i] = (x + c.unit/2) / c.unit * c.unit
		}
		v := verdictOn(t, w)
		if got := placeOf(t, v.Coverage, c.stage); v.Status != answer.Unseen || got.Reason != c.want {
			t.Errorf("in units of %d ns, %s: %v, %+v", c.unit, c.stage, v.Status, got)
		}
	}
}

// TestLongerBy: of 100 steps the others are the middle one, until more than half of them are struck: 120 more than 126 are 246.
func TestLongerBy(t *testing.T) {
	for count, want := range map[int]float64{30: 1 + 120./150, 65: 246. / 126} {
		f := &claim.Claim{Size: 120, Length: 246, Steps: claim.Struck{Count: count, Of: 100}}
		if got := longerBy(f, 150); math.Abs(got-want) > 1e-12 {
			t.Errorf("%d of 100: %v, want %v", count, got, want)
		}
	}
}

// TestClocksLost: entries of which one rank's clock is seconds ahead, on a host with others, show nobody's delay: its own is
// no all-clear.
func TestClocksLost(t *testing.T) {
	s := spec(8, 40, 1)
	s.RanksPerHost, s.Arrivals = 4, true
	s.Faults = []simulate.Fault{{Family: simulate.Backward, Ranks: []int{2}, Delay: 60}}
	ahead := func(w *trace.Window) {
		for i, r := range w.Ranks {
			if r.ID == 2 {
				w.Epochs[i] += 3e9
			}
		}
		for _, a := range w.Arrivals {
			for i := range a.Calls {
				if a.Processes[0].Rank == 2 {
					a.Calls[i].Enter += 3e9
				}
			}
		}
	}
	if v := judged(t, Options{}, changed(t, s)...); v.Status != answer.Straggler || *v.Findings[0].Rank != 2 {
		t.Errorf("on one clock a host: %v, want that rank 2 is a straggler", v.Status)
	}
	if v := judged(t, Options{}, changed(t, s, ahead)...); v.Status != answer.Unseen {
		t.Errorf("with a clock ahead: %v, want unseen", v.Status)
	}
}

// TestShowsMeetings: where no stage shows that ranks wait, entries of calls would, and where calls that a step repeats were recorded, more steps.
func TestShowsMeetings(t *testing.T) {
	for name, c := range map[string]struct {
		entered *arrivals.Result
		want    answer.Source
	}{
		"no entries":        {nil, answer.SourceArrivals},
		"no call of a step": {&arrivals.Result{Places: []arrivals.Place{{}}}, answer.SourceArrivals},
		"calls of steps":    {&arrivals.Result{Places: []arrivals.Place{{}, {Repeats: true}}}, answer.SourceMoreSteps},
	} {
		j := stepsOf()
		j.entered, j.modelled.Points, j.modelled.Limits = c.entered, nil, []delay.Limit{{Stage: 0, Known: true}}
		if got := j.coverage(); len(got) == 0 || got[0].Reason != answer.NoMeeting || got[0].Needs != c.want {
			t.Errorf("%s: %+v, want no wait shown, by %s", name, got, c.want)
		}
	}
}
