package main

import (
	"fmt"
	"testing"

	"github.com/sfstat/sfstat/eval/simulate/pipeline"
)

// finding2 is a finding in the JSON of a verdict.
func finding2(kind string, rank int, stage, confidence string, gain float64) string {
	return fmt.Sprintf(`{"kind": %q, "cause": "late", "rank": %d, "ranks": [], "stage": %q, "confidence": %q, "below_min_gain": false, "gain": %g, "run_gain": %g,
		"steps_struck": {"count": 60, "of": 60, "first": 0, "last": 59, "pattern": "constant"}}`, kind, rank, stage, confidence, gain, gain)
}

// said is a verdict of version 2 with some findings.
func said(t *testing.T, status string, findings ...string) *verdict {
	t.Helper()
	text := fmt.Sprintf(`{"schema": "sfstat.verdict/4", "status": %q, "findings": [`, status)
	for i, f := range findings {
		if i > 0 {
			text += ","
		}
		text += f
	}
	v, err := decode([]byte(text + `], "undecided": [{"stage": "backward", "hides_ns": 40e6}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestJudge: what is wrong with verdicts made by hand.
func TestJudge(t *testing.T) {
	one := truth{late, []fault{{ranks: []int{3}, stages: []string{"data"}, saves: new(0.2), due: true, from: -1}}}
	two := truth{late, []fault{
		{ranks: []int{3}, stages: []string{"data"}, saves: new(0.2), due: true, from: -1},
		{ranks: []int{5}, stages: []string{"forward"}, saves: new(0.15), due: true, from: -1}}}
	small := truth{late, []fault{{ranks: []int{3}, stages: []string{"data"}, saves: new(0.05), from: -1}}}
	host := truth{late, []fault{{ranks: []int{0, 1}, stages: []string{"data"}, saves: new(0.2), due: true, from: -1}}}
	inside := truth{hidden, []fault{{ranks: []int{3}, stages: []string{"backward"}, hides: 42e6, from: -1}}}
	more := truth{hidden, []fault{{ranks: []int{3}, stages: []string{"backward"}, hides: 43e6, from: -1}}}
	network := truth{transfer, []fault{{stages: []string{"backward"}, hides: 42e6, from: -1}}}
	slower := truth{everyone, []fault{{stages: []string{"forward"}, saves: new(0.2), from: 100}}}
	warm := truth{startUp, []fault{{ranks: []int{0}, from: -1}}}
	stuck := truth{hang, []fault{{ranks: []int{3}, due: true, from: -1}}}

	worker := truth{operators, []fault{{what: pipeline.SlowWorker, ranks: []int{3}, saves: new(0.2), due: true, from: -1}}}
	listed := truth{operators, []fault{{what: pipeline.SlowWorker, ranks: []int{3}, listed: true, from: -1}}}
	workload := fault{what: pipeline.Workload, due: true, from: -1}

	late3 := finding2("rank", 3, "data", "strong", 0.2)
	all := func(stage string, first int, confidence string, gain float64) string {
		return fmt.Sprintf(`{"kind": "stage", "cause": "slow_steps", "rank": null, "stage": %q, "confidence": %q, "gain": %g, "run_gain": null, "steps_struck": {"count": 9, "of": 200, "first": %d}}`,
			stage, confidence, gain, first)
	}
	for _, c := range []struct {
		name  string
		truth truth
		v     *verdict
		want  string
	}{
		{"right", one, said(t, "straggler", late3), ""},
		{"right rank, wrong stage", one, said(t, "straggler", finding2("rank", 3, "optim", "strong", 0.2)), "wrong stage"},
		{"right rank, no stage", one, said(t, "straggler", finding2("rank", 3, "", "strong", 0.2)), "wrong stage"},
		{"another rank", one, said(t, "straggler", finding2("rank", 4, "data", "strong", 0.2)), "innocent named"},
		{"another rank too", one, said(t, "straggler", late3, finding2("rank", 4, "data", "supported", 0.2)), "innocent named"},
		{"another rank, not sure", one, said(t, "straggler", late3, finding2("rank", 4, "data", "ambiguous", 0.2)), ""},
		{"not sure", one, said(t, "undecided", finding2("rank", 3, "data", "ambiguous", 0.2)), "not named"},
		{"small, as it says", one, said(t, "no_straggler", `{"kind": "rank", "rank": 3, "stage": "data", "confidence": "strong", "below_min_gain": true, "run_gain": 0.2}`), "false all-clear"},
		{"an edge is no rank", one, said(t, "straggler", finding2("edge", 3, "data", "strong", 0.2)), "not named"},
		{"nobody", one, said(t, "no_straggler"), "false all-clear"},
		{"nobody, unseen elsewhere", one, said(t, "unseen"), "not named"},
		{"nobody, unseen there", truth{late, inside.faults}, said(t, "unseen"), ""},
		{"saving within a fifth", one, said(t, "straggler", finding2("rank", 3, "data", "strong", 0.239)), ""},
		{"saving too large", one, said(t, "straggler", finding2("rank", 3, "data", "strong", 0.241)), "saving off"},
		{"saving too small", one, said(t, "straggler", finding2("rank", 3, "data", "strong", 0.159)), "saving off"},
		{"two faults", two, said(t, "straggler", late3, finding2("rank", 5, "forward", "supported", 0.4)), ""},
		{"two faults, one found", two, said(t, "straggler", late3), "second missed"},
		{"small, not named", small, said(t, "no_straggler"), ""},
		{"small, named", small, said(t, "straggler", late3), ""},
		{"a host", host, said(t, "straggler", `{"kind": "host", "rank": null, "ranks": [0, 1], "stage": "data", "confidence": "strong", "run_gain": 0.2}`), ""},
		{"a rank of the host", host, said(t, "straggler", finding2("rank", 0, "data", "strong", 0.2)), "second missed"},
		{"healthy", truth{kind: healthy}, said(t, "no_straggler"), ""},
		{"healthy, undecided", truth{kind: healthy}, said(t, "undecided"), "false alarm: undecided"},
		{"healthy, unseen", truth{kind: healthy}, said(t, "unseen"), "false alarm: unseen"},
		{"healthy, a rank", truth{kind: healthy}, said(t, "straggler", late3), "innocent named"},
		{"uneven", truth{kind: uneven}, said(t, "imbalance"), ""},
		{"uneven, slow", truth{kind: uneven}, said(t, "slow_everywhere"), "false alarm: slow_everywhere"},
		{"hidden, said", inside, said(t, "unseen"), ""}, // 40 of 42 ms may hide: 95 %
		{"hidden, more than said", more, said(t, "unseen"), "not named"},
		{"hidden, all-clear", inside, said(t, "no_straggler"), "false all-clear"},
		{"hidden, undecided", more, said(t, "undecided"), ""},
		{"hidden, undecided elsewhere", truth{hidden, []fault{{ranks: []int{3}, stages: []string{"forward"}, hides: 43e6, from: -1}}}, said(t, "undecided"), "not named"},
		{"hidden, named", more, said(t, "straggler", finding2("rank", 3, "backward", "strong", 0.2)), ""},
		{"hidden, all are slow", inside, said(t, "slow_everywhere"), "false all-clear"},
		{"network", network, said(t, "slow_everywhere"), ""},
		{"network, unseen", network, said(t, "unseen"), ""},
		{"network, all-clear", network, said(t, "no_straggler"), "false all-clear"},
		{"network, as uneven work", network, said(t, "imbalance"), "wrong: imbalance"},
		{"everyone", slower, said(t, "slow_everywhere", all("forward", 102, "supported", 0.2)), ""},
		{"everyone, late onset", slower, said(t, "slow_everywhere", all("forward", 103, "supported", 0.2)), "wrong onset"},
		{"everyone, other stage", slower, said(t, "slow_everywhere", all("data", 100, "supported", 0.2)), "wrong stage"},
		{"everyone, not sure", slower, said(t, "slow_everywhere", all("forward", 100, "ambiguous", 0.2)), "unsure"},
		{"everyone, saving", slower, said(t, "slow_everywhere", all("forward", 100, "strong", 0.25)), "saving off"},
		{"turns", truth{kind: turns}, said(t, "imbalance"), ""},
		{"turns, undecided", truth{kind: turns}, said(t, "undecided"), "wrong: undecided"},
		{"start-up, not mentioned", warm, said(t, "no_straggler"), ""},
		{"start-up, as slow steps", warm, said(t, "slow_everywhere", all("forward", 0, "strong", 0.25)), "warm-up as finding"},
		{"worker", worker, said(t, "straggler", late3), ""},
		{"worker, saving", worker, said(t, "straggler", finding2("rank", 3, "pp=1", "strong", 0.3)), "saving off"},
		{"worker, and a link", worker, said(t, "straggler", late3, finding2("edge", 3, "", "strong", 0.1)), "innocent named"},
		{"worker, listed", listed, said(t, "no_straggler", finding2("rank", 3, "", "ambiguous", 0.02), finding2("stage", 0, "pp=1", "ambiguous", 0.01)), ""},
		{"worker, listed second", listed, said(t, "no_straggler", finding2("stage", 0, "pp=1", "ambiguous", 0.01), finding2("rank", 3, "", "ambiguous", 0.02)), "not listed first"},
		{"worker, not listed", listed, said(t, "no_straggler"), "not listed first"},
		{"worker, nobody", worker, said(t, "no_straggler"), "false all-clear"},
		{"worker, not sure", worker, said(t, "undecided", finding2("rank", 3, "", "ambiguous", 0.2)), "not named"},
		{"two operators, one found", truth{operators, append([]fault{workload}, worker.faults...)}, said(t, "straggler", late3), "second missed"},
		{"quiet", truth{kind: quiet}, said(t, "too_little_data"), ""},
		{"quiet, slow", truth{kind: quiet}, said(t, "slow_everywhere"), "false alarm: slow_everywhere"},
		{"free, named", truth{free, one.faults}, said(t, "straggler", late3), ""},
		{"free, saving", truth{free, one.faults}, said(t, "straggler", finding2("rank", 3, "data", "strong", 0.3)), "saving off"},
		{"free, nobody", truth{free, one.faults}, said(t, "no_straggler"), ""},
		{"free, another rank", truth{free, one.faults}, said(t, "undecided", finding2("rank", 4, "data", "strong", 0.2)), "innocent named"},
		{"coarse, named", truth{coarse, one.faults}, said(t, "straggler", late3), ""},
		{"coarse, undecided", truth{coarse, one.faults}, said(t, "undecided"), ""},
		{"coarse, all-clear", truth{coarse, one.faults}, said(t, "no_straggler"), "false all-clear"},
		{"hang", stuck, said(t, "hang", finding2("rank", 3, "", "strong", 0)), ""},
		{"hang, not seen", stuck, said(t, "no_straggler"), "false all-clear"},
		{"hang, nobody", stuck, said(t, "hang"), "not named"},
		{"hang, another rank too", stuck, said(t, "hang", finding2("rank", 3, "", "strong", 0), finding2("rank", 1, "", "strong", 0)), "innocent named"},
	} {
		if got := judge(c.truth, c.v); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestUnseenOfHealthy: a healthy job may be unseen where the verdict leaves room for a delay of min_gain, and not where
// it leaves less.
func TestUnseenOfHealthy(t *testing.T) {
	for hides, want := range map[string]string{"20e6": "", "19e6": "false alarm: unseen"} {
		v, err := decode([]byte(`{"status": "unseen", "min_gain": 0.1, "limits": [{"stage": "backward", "may_hide_ns": ` + hides + `}],
			"windows": [{"makespan_ns": 12e9, "steps": 60}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := judge(truth{kind: healthy}, v); got != want {
			t.Errorf("%s ns of a 200 ms step: %q, want %q", hides, got, want)
		}
	}
}

// TestDecode: both versions of the document say the same.
func TestDecode(t *testing.T) {
	two := said(t, "no_straggler")
	three, err := decode([]byte(`{"schema": "sfstat.verdict/4", "run": "a", "status": "no_straggler", "findings": [], "limits": [{"stage": "data", "reported_ns": 5}, {"stage": "backward", "may_hide_ns": 40e6}],
		"other_runs": [{"run": "b", "status": "hang"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if three.Status != two.Status || two.hides("backward") != 40e6 || three.hides("backward") != 40e6 || three.hides("data") != 0 {
		t.Errorf("%+v and %+v", two, three)
	}
	for _, text := range []string{"", "{}", `{"runs": [{"status": "hang"}]}`} {
		if _, err := decode([]byte(text)); err == nil {
			t.Errorf("%q is taken for a verdict", text)
		}
	}
	// What fixing a rank saves at most is in version 3 alone.
	v := said(t, "straggler", `{"kind": "rank", "rank": 1, "stage": "data", "confidence": "strong", "gain": 0.1, "run_gain": 0.05, "run_gain_at_most": 0.3}`, finding2("rank", 2, "data", "strong", 0.1))
	if a := v.suspectRanks()[1]; a.gain != 0.05 || a.most != 0.3 {
		t.Errorf("gain %+v, want 0.05 to 0.3", a)
	}
	if a := v.suspectRanks()[2]; a.gain != 0.1 || a.most != 0.1 {
		t.Errorf("gain %+v, want 0.1", a)
	}
}
