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
