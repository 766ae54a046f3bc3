package cli

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
