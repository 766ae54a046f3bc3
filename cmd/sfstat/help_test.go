package main

import (
	"strings"
	"testing"
)

func TestFold(t *testing.T) {
	got := strings.Join(fold("a bb ccc dddddddd e", 6), "|")
	if want := "a bb|ccc|dddddddd|e"; got != want {
		t.Errorf("%q, expected %q", got, want)
	}
}

// What most people need comes first, and a heading comes once.
func TestCommandsAreGrouped(t *testing.T) {
	var headings, first []string
	for _, group := range byCategory(testApp().VisibleCommands()) {
		if headings = append(headings, group[0].Category); len(headings) == 1 {
			first = visibleNames(group)
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

// TestHelpFits: the help of a command is seen at once, on 40 lines of 80 columns, but for that of
// simulate, which has the flags of two simulators.
func TestHelpFits(t *testing.T) {
	longer := map[string]int{"simulate": 46}
	app := testApp()
	common := commonFlags(app)
	for _, c := range working(app) {
		if c.Hidden {
			continue
		}
		most := 40
		if n, ok := longer[c.full]; ok {
			most = n
		}
		if n := strings.Count(commandHelp(80, c, common), "\n"); n > most {
			t.Errorf("sfstat %s --help has %d lines, expected at most %d", c.full, n, most)
		}
	}
}

// TestFlagsAreExplained: what a command leaves to sfstat help flags stands there.
func TestFlagsAreExplained(t *testing.T) {
	app := testApp()
	all, common := flagsHelp(80, app), commonFlags(app)
	for _, c := range working(app) {
		text := commandHelp(80, c, common)
		_, also, found := strings.Cut(text, "Explained by sfstat help flags:\n")
		if !found {
			continue
		}
		also, _, _ = strings.Cut(also, "\n\n")
		for name := range strings.FieldsSeq(also) {
			if !strings.Contains(all, name) {
				t.Errorf("sfstat %s --help leaves %s to sfstat help flags, which has it not", c.full, name)
			}
		}
	}
}
