package main

import (
	"strings"
	"testing"
)

func TestSaysOnce(t *testing.T) {
	var out strings.Builder
	p := newProgram(nil, nil, &out)
	p.saysOnce()
	for _, line := range []string{"a", "b", "a"} {
		p.say("%s", line)
	}
	if out.String() != "a\nb\n" {
		t.Errorf("%q", out.String())
	}
}
