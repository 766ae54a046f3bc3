package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/diagnose/detectability"
	"github.com/sfstat/sfstat/engine/bootstrap"
)

func rateIn(k, n int) bootstrap.Rate {
	r, err := bootstrap.Binomial(k, n, 0.95)
	if err != nil {
		panic(err)
	}
	return r
}

// powerStage is a stage that is named from some delay on, 0 for never.
func powerStage(name string, syncs bool, called int64) detectability.Stage {
	s := detectability.Stage{Name: name, Syncs: syncs}
	for i := range s.Thresholds {
		s.Thresholds[i] = detectability.Threshold{Delay: 45e6, Below: 44e6, Guess: 45.2e6, Rate: rateIn(81, 100)}
	}
	s.Thresholds[detectability.RoutedSecond] = detectability.Threshold{State: detectability.Already, Guess: -1, Rate: rateIn(100, 100)}
	s.Thresholds[detectability.Called] = detectability.Threshold{Delay: called, Below: called - 1e6, Guess: 24e6, Rate: rateIn(83, 100)}
	if called == 0 {
		s.Thresholds[detectability.Called] = detectability.Threshold{State: detectability.Beyond, Delay: 400e6, Below: 400e6, Guess: 24e6, Rate: rateIn(2, 100)}
	}
	return s
}

func powerAccount(stages ...detectability.Stage) *detectability.Account {
	return &detectability.Account{Run: "job-42", Ranks: 8, Rounds: 119, StepTime: 218e6, SyncPoint: "model.backward_cpu_wall", Power: 0.8, Most: 436e6,
		Replicates: 100, Block: 11, Seed: 1, Windows: []detectability.Window{{Steps: 120, FalseCalls: rateIn(0, 100), Stages: stages}}}
}

// asking adds a delay that was asked about, and in how many of 100 windows each
// stage calls it.
func asking(a *detectability.Account, ns int64, called ...int) *detectability.Account {
	a.Asked = ns
	for i, k := range called {
		t := &detectability.Tried{Delay: ns, Wrong: rateIn(0, 100)}
		t.Rates[detectability.Called] = rateIn(k, 100)
		a.Windows[0].Stages[i].Asked = t
	}
	return a
}

// powerCases are what an account may look like, and its headline.
var powerCases = []struct {
	name     string
	make     func() *detectability.Account
	headline string
}{
	{"plain", func() *detectability.Account {
		return powerAccount(powerStage("data.next_wait", false, 25.8e6), powerStage("model.backward_cpu_wall", true, 0), powerStage("optim.step_cpu_wall", false, 31e6))
	}, "In windows of 120 steps of this job, a rank is named, with its stage, when it loses 25.8 ms to 31.0 ms a step or more; not in model.backward_cpu_wall, where the ranks synchronise and times do not show who was late."},
	{"yes", func() *detectability.Account {
		return asking(powerAccount(powerStage("data.next_wait", false, 25.8e6), powerStage("model.backward_cpu_wall", true, 0)), 30e6, 99, 0)
	}, "Yes: a rank that loses 30 ms in every step of a window of 120 would be called, with its stage; but in model.backward_cpu_wall, where the ranks synchronise, times do not show who was late."},
	{"no", func() *detectability.Account {
		a := asking(powerAccount(powerStage("data.next_wait", false, 25.8e6)), 20e6, 10)
		run := strongRun()
		run.Findings[0].Stage = "data.next_wait <b>"
		a.Suspect = &run
		a.Windows[0].Stages[0].Name = "=data\x1b[31m|`"
		a.Windows[0].Stages[0].Astray = &detectability.Tried{Delay: 70e6, Wrong: rateIn(3, 100)}
		a.Windows = append(a.Windows, detectability.Window{Steps: 600, FalseCalls: rateIn(1, 100), Stages: a.Windows[0].Stages})
		return a
	}, "No: a rank that loses 20 ms in every step of a window of 120 would not be called. That takes 25.8 ms."},
	{"never", func() *detectability.Account { return asking(powerAccount(powerStage("a", false, 0)), 20e6, 10) },
		"No: a rank that loses 20 ms in every step of a window of 120 would not be called, nor would one that loses 436 ms."},
	{"part", func() *detectability.Account {
		return asking(powerAccount(powerStage("a", false, 18e6), powerStage("b", false, 25e6), powerStage("c", true, 0)), 20e6, 90, 20, 0)
	}, "In part: a rank that loses 20 ms in every step of a window of 120 would be called in a; not in b, c."},
	{"nothing", func() *detectability.Account { return &detectability.Account{} }, "Nothing was asked."},
}

func renderedPowers(t *testing.T, format Format, s Style, f func(name string, out []byte)) {
	t.Helper()
	for _, c := range powerCases {
		var out bytes.Buffer
		if err := to(&out, format, s).Power(c.make()); err != nil {
			t.Fatalf("power %s: %v", c.name, err)
		}
		f("power-"+c.name, out.Bytes())
	}
}

// The first line is the answer.
func TestPowerHeadline(t *testing.T) {
	for _, c := range powerCases {
		if got := powerHeadline(c.make()); got != c.headline {
			t.Errorf("%s: %q\nexpected %q", c.name, got, c.headline)
		}
	}
	none := powerAccount(powerStage("a", false, 0))
	if got := powerHeadline(none); !strings.Contains(got, "no delay of one rank up to 436 ms a step would be named") {
		t.Errorf("%q", got)
	}
}

func TestPowerWriteError(t *testing.T) {
	for f := Text; f <= Markdown+1; f++ {
		if err := to(full{}, f, Style{}).Power(powerCases[0].make()); err == nil {
			t.Errorf("as %v: the failed write is not reported", f)
		}
	}
}
