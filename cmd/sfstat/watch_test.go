package main

import (
	"strings"
	"testing"
)

func TestOnce(t *testing.T) {
	var out strings.Builder
	o := &once{w: &out, seen: map[string]bool{}}
	for _, line := range []string{"a\n", "b\n", "a\n"} {
		if _, err := o.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if out.String() != "a\nb\n" {
		t.Errorf("%q", out.String())
	}
}
