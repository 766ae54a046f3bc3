package report

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/engine/ks"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/internal/glyph"
)

// named lists the values from first on that have a name of their own.
func named[T interface {
	~uint8
	fmt.Stringer
}](first T) []T {
	var out []T
	for v := first; !strings.Contains(v.String(), "("); v++ {
		out = append(out, v)
	}
	return out
}

func allLabels() []labels.Label   { return named(labels.Unknown + 1) }
func allReasons() []labels.Reason { return named(labels.ReasonUnknown + 1) }

// Every label, reason and level of confidence has a sentence in plain words:
// it says something else than its name, no two say the same, and it stands on one
// line of 80 columns.
func TestWords(t *testing.T) {
	seen := map[string]string{}
	check := func(before int, name, text string) {
		t.Helper()
		switch {
		case text == name:
			t.Errorf("%s has no sentence", name)
		case !unicode.IsUpper([]rune(text)[0]) || !strings.HasSuffix(text, "."):
			t.Errorf("%s: not a sentence: %q", name, text)
		case strings.Contains(text, "_"):
			t.Errorf("%s: not plain words: %q", name, text)
		case seen[text] != "":
			t.Errorf("%s and %s have one sentence: %q", name, seen[text], text)
		case before+glyph.Columns(text) > 80:
			t.Errorf("%s: %d columns do not fit on a line of 80 beside the name: %q", name, glyph.Columns(text), text)
		}
		seen[text] = name
	}
	if n := len(allLabels()); n != 12 {
		t.Errorf("%d labels, the paper has 12", n)
	}
	for _, x := range explainAll(allLabels(), labelMeaning) {
		check(2+max(glyph.TermColumn, len(x.Name))+2, x.Name, x.Text)
	}
	for _, x := range explainAll(allReasons(), reasonMeaning) {
		check(2+max(glyph.TermColumn, len(x.Name))+2, x.Name, x.Text)
	}
	for _, c := range named(evidence.Insufficient) {
		check(len("Confidence: . ")+len(c.String()), c.String(), confidenceMeaning(c))
	}
}

// Every doubt has words.
func TestDoubtWords(t *testing.T) {
	check := func(name, words string) {
		if words == name || strings.Contains(words, "_") {
			t.Errorf("%s has no words: %q", name, words)
		}
	}
	for _, d := range named(ks.NoOperators) {
		check(d.String(), ksDoubt(d))
	}
	for _, d := range named(zscore.TooFewPeers) {
		check(d.String(), zscoreDoubt(d))
	}
	for _, d := range named(bootstrap.OneBlock) {
		check(d.String(), overheadDoubt(d))
	}
}

// A value that this package does not know yet is named rather than dropped.
func TestUnknownWord(t *testing.T) {
	if got := explainAll([]labels.Label{99}, labelMeaning); len(got) != 1 || got[0].Text != "invalid(99)" {
		t.Errorf("label 99 became %v", got)
	}
}

// Where a rank is late is its stage, else the line of its call, else the call.
func TestLateWhere(t *testing.T) {
	entered := []evidence.Observation{evidence.LastToEnter{Source: evidence.FromArrivals, Rank: 2}}
	line := &evidence.SourceLine{File: "train.py", Line: 66}
	for name, c := range map[string]struct {
		place diagnose.Place
		seen  []evidence.Observation
		want  string
	}{
		"a stage":                     {diagnose.Place{Stage: "model.backward_cpu_wall", Op: "all_reduce", Source: line}, entered, "in backward: "},
		"arrivals with lines":         {diagnose.Place{Op: "all_reduce", Source: line}, entered, "before train.py:66: "},
		"arrivals without lines":      {diagnose.Place{Op: "gloo:all_reduce"}, entered, "before all_reduce: "},
		"stage times, several stages": {diagnose.Place{Op: "all_reduce"}, []evidence.Observation{evidence.LastToArrive{}}, "in several stages: "},
	} {
		t.Run(name, func(t *testing.T) {
			c.place.Rank = ptr(2)
			f := &diagnose.Finding{Kind: diagnose.KindRank, Cause: diagnose.CauseLate, Place: c.place, Confidence: evidence.Strong, Evidence: c.seen,
				Cost: diagnose.Cost{Excess: 60e6, Step: 186e6}}
			a := &diagnose.Answer{First: f, Who: f.Who(), Where: f.Where()}
			if got := sayLate(a, ""); !strings.HasPrefix(got, "Rank 2 delays everyone "+c.want) {
				t.Errorf("%s, expected …%s", got, c.want)
			}
		})
	}
}

// Ranks that are not next to each other are named, not counted as "ranks 5 ranks".
func TestSomeRanks(t *testing.T) {
	for want, ranks := range map[string][]int{"rank 3": {3}, "ranks 5, 0, 1 and 2": {5, 0, 1, 2}, "ranks 1, 3, 5, 7 and 9": {1, 3, 5, 7, 9},
		"ranks 0-7,9": {0, 1, 2, 3, 4, 5, 6, 7, 9}, "ranks 1, 3, 5 and 8 more": {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21}} {
		if got := ranksWord(ranks); got != want {
			t.Errorf("%v are %q, want %q", ranks, got, want)
		}
	}
}
