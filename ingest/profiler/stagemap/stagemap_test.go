package stagemap

import (
	"strings"
	"testing"
)

// TestBuiltin: what PyTorch, Lightning, Megatron and people write.
func TestBuiltin(t *testing.T) {
	m := Default()
	for name, want := range map[string]string{
		"data.next_wait": Data,
		"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__": Data,
		"[pl][profile][_TrainingEpochLoop].train_dataloader_next":       Data,
		"## data_load ##":                  Data,
		"batch-generator":                  Data,
		"DistributedDataParallel.forward":  Forward,
		"FullyShardedDataParallel.forward": Forward,
		"forward":                          Forward,
		"## forward ##":                    Forward,
		"[pl][profile][Strategy]DDPStrategy.training_step": Forward,
		"forward-compute": Forward,
		"backward":        Backward,
		"## Backward ##":  Backward,
		"[pl][profile][Strategy]DDPStrategy.backward":           Backward,
		"autograd::engine::evaluate_function: AddmmBackward0":   Backward,
		"FullyShardedDataParallel._pre_backward_hook":           Backward,
		"Optimizer.step#AdamW.step":                             Optimizer,
		"Optimizer.zero_grad#AdamW.zero_grad":                   Optimizer,
		"[pl][profile][LightningModule]LitModel.optimizer_step": Optimizer,
		"## optimizer ##": Optimizer,
		"[pl][profile][Callback]ModelCheckpoint.on_train_batch_end": Callbacks,
		"aten::mm":        "",
		"ProfilerStep":    "",
		"nccl:all_reduce": "",
		"forward_helper":  "",
	} {
		got := ""
		if c := m.Classify(name); c.Role == Stage || c.Role == Background {
			got = m.Stages[c.Stage]
		}
		if got != want {
			t.Errorf("%s: stage %q, want %q", name, got, want)
		}
	}
	if c := m.Classify("autograd::engine::evaluate_function: X"); c.Role != Background {
		t.Errorf("autograd is of role %d", c.Role)
	}
	if c := m.Classify("Optimizer.step#LBFGS.step"); !c.Yields {
		t.Error("an optimizer's step does not yield to what its closure runs")
	}
}

func TestMarks(t *testing.T) {
	m := Default()
	for name, want := range map[string]Mark{
		"ProfilerStep#551":                {ProfilerMark, 551},
		"ProfilerStep#x":                  {ProfilerMark, -1},
		"## iteration 3 ##":               {NumberedMark, 3},
		"iteration 12":                    {NumberedMark, 12},
		"iteration3":                      {NumberedMark, 3},
		"train_step 4":                    {NumberedMark, 4},
		"Step: 9":                         {NumberedMark, 9},
		"step_17":                         {NumberedMark, 17},
		"[pl][profile]run_training_batch": {WrapperMark, -1},
		"train_step":                      {WrapperMark, -1},
	} {
		if c := m.Classify(name); c.Role != Step || c.Mark != want {
			t.Errorf("%s: %+v, want the mark %+v", name, c, want)
		}
	}
	for _, name := range []string{"step", "stepping 3", "iteration 3 of 7", "batch_norm", "step 99999999999999999999"} {
		if c := m.Classify(name); c.Role == Step {
			t.Errorf("%s is taken for a step: %+v", name, c)
		}
	}
}

func TestRead(t *testing.T) {
	m, err := read(strings.NewReader(`
stages: [load, model.fwd_loss_cpu_wall, opt]
rules:
  - {exact: encode, stage: load}
  - {prefix: "x/", stage: opt}
  - {glob: "*.val?", stage: none}
  - {exact: forward, stage: none}
`), "map.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"encode": 0, "x/y": 2, "a.val1": -1, "forward": -1, "fwd": 1, "backward": -1, "load": 0} {
		got := -1
		if c := m.Classify(name); c.Role == Stage {
			got = c.Stage
		}
		if got != want {
			t.Errorf("%s: stage %d, want %d", name, got, want)
		}
	}
}

// TestRefused: strict, and with the line.
func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "m: nothing is set in it",
		"[1]":                  "m:1: found a list, expected keys with values",
		"rules: x":             `m:1: "x" is text, expected a list`,
		"\nrule: []":           "m:2: there is no rule here",
		"rules:\n- {exact: a}": "m:2: a rule has one of",
		"rules:\n- {exact: a, glob: b, stage: none}": "m:2: a rule has one of",
		"rules:\n- {exact: a, stage: nowhere}":       `m:2: no stage "nowhere"`,
		"rules:\n- {regex: a, stage: none}":          "m:2: there is no regex here",
		"rules:\n- a":                                `m:2: "a" is text, expected keys with values`,
		"stages: []":                                 "m: no stages",
		"stages: {a: 1}":                             "m:1: found keys with values, expected a list",
		"stages: [a, a]":                             "m: ",
		"builtin: maybe":                             `m:1: "maybe" is text, expected true or false`,
		"rules: []\nrules: []":                       "m",
		"a: [":                                       "m:",
	} {
		if _, err := read(strings.NewReader(text), "m"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestGlob(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "", true}, {"a*c", "abc", true}, {"a*c", "abcd", false}, {"*b*", "abc", true}, {"a?c", "abc", true},
		{"a?c", "ac", false}, {"[pl]*", "[pl]x", true}, {"*.x", "a.b.x", true}, {"", "", true}, {"", "a", false},
	} {
		if got := globMatch(tt.pattern, tt.name); got != tt.want {
			t.Errorf("%q against %q: %v", tt.name, tt.pattern, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("rules:\n- {exact: a, stage: none}")
	f.Add("stages: [a]\nbuiltin: false")
	f.Fuzz(func(t *testing.T, text string) {
		if m, err := read(strings.NewReader(text), "m"); err == nil {
			m.Classify(text)
		}
	})
}
