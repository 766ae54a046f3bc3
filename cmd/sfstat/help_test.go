package main

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/engine/blame"
	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/engine/ks"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/eval/selfcheck"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/eval/simulate/pipeline"
)

// What most people need comes first, and a heading comes once.
func TestCommandsAreGrouped(t *testing.T) {
	var headings, first []string
	for _, c := range testApp().Commands {
		if c.Hidden || strings.Contains(c.Name, " ") {
			continue
		}
		if len(headings) == 0 || headings[len(headings)-1] != c.In {
			headings = append(headings, c.In)
		}
		if len(headings) == 1 {
			first = append(first, c.Name)
		}
	}
	if got, want := strings.Join(first, " "), "diagnose report compare inspect convert"; got != want {
		t.Errorf("%q come first, expected %q", got, want)
	}
	seen := make(map[string]bool)
	for _, h := range headings {
		if h == "" || seen[h] {
			t.Errorf("heading %q is empty or stands twice in %q", h, headings)
		}
		seen[h] = true
	}
}

// TestHelpFits: the help of a command is seen at once, on 40 lines of 80 columns.
func TestHelpFits(t *testing.T) {
	const most = 40
	app := testApp()
	for _, c := range app.Runnable() {
		if c.Hidden {
			continue
		}
		if n := strings.Count(app.Help(80, c.Name), "\n"); n > most {
			t.Errorf("sfstat %s --help has %d lines, expected at most %d", c.Name, n, most)
		}
	}
}

// TestFlagsAreExplained: what a command leaves to sfstat help flags stands there.
func TestFlagsAreExplained(t *testing.T) {
	app := testApp()
	all := app.Help(80, "flags")
	for _, c := range app.Runnable() {
		_, also, found := strings.Cut(app.Help(80, c.Name), "Explained by sfstat help flags:\n")
		if !found {
			continue
		}
		also, _, _ = strings.Cut(also, "\n\n")
		for name := range strings.FieldsSeq(also) {
			if !strings.Contains(all, name) {
				t.Errorf("sfstat %s --help leaves %s to sfstat help flags, which has it not", c.Name, name)
			}
		}
	}
}

// TestTableFollowsEngines: defaults in the table of commands are those of the engines, and choices that stand for numbers of theirs
// have their order.
func TestTableFollowsEngines(t *testing.T) {
	app := testApp()
	shown := func(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
	k, z, b := ks.Options{}.Defaults(), zscore.Options{}.Defaults(), bootstrap.Options{}.Defaults()
	w, o := simulate.DefaultSpec(), pipeline.DefaultSpec().Layout
	for flag, want := range map[string]string{
		"frontier tau": shown(gates.Default().Tau), "ks replicates": strconv.Itoa(k.Replicates), "ks fdr": shown(k.Discovery), "ks seed": strconv.FormatUint(k.Seed, 10),
		"zscore alpha": shown(z.Alpha), "zscore cutoff": shown(z.Cutoff), "blame alpha": shown(z.Alpha), "overhead confidence": shown(b.Confidence),
		"overhead replicates": strconv.Itoa(b.Replicates), "overhead seed": strconv.FormatUint(b.Seed, 10), "selfcheck trials": strconv.Itoa(selfcheck.DefaultOptions().Trials),
		"selfcheck seed": strconv.FormatUint(selfcheck.DefaultOptions().Seed, 10), "simulate ranks": strconv.Itoa(w.Ranks), "simulate windows": strconv.Itoa(w.Schedule.Windows),
		"simulate layout": strconv.Itoa(o.DP) + "x" + strconv.Itoa(o.PP) + "x" + strconv.Itoa(o.TP), "simulate microbatches": strconv.Itoa(o.Microbatches),
	} {
		command, name, _ := strings.Cut(flag, " ")
		if got := app.Command(command).Flag(name).Default; got != want {
			t.Errorf("sfstat %s --%s is %s by default, that of the engine is %s", command, name, got, want)
		}
	}
	for flag, want := range map[string][]string{
		"zscore method":   {zscore.Pooled.String(), zscore.LeaveOneOut.String(), zscore.Population.String()},
		"ks clock":        {ks.Folded.String(), ks.Wall.String()},
		"ks against":      {ks.Peers.String(), ks.Everyone.String()},
		"blame semantics": {blame.Binding.String(), blame.Literal.String()},
		"convert to":      {containers[packets].name, containers[wideCSV].name, containers[parquet].name, "perfetto"},
	} {
		command, name, _ := strings.Cut(flag, " ")
		if got := app.Command(command).Flag(name).Choices; !slices.Equal(got, want) {
			t.Errorf("sfstat %s --%s may be %q, expected %q", command, name, got, want)
		}
	}
	if got, want := app.Command("simulate").Flag("fault").Offers, slices.Concat(families(), opsFaultKinds()); !slices.Equal(got, want) {
		t.Errorf("sfstat simulate --fault is offered as %q, expected %q", got, want)
	}
}
