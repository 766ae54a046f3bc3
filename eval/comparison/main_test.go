package main

import (
	"bytes"
	"strings"
	"testing"
)

// A change of 5 % is found in every comparison, also of two, and the page has all
// of its tables.
func TestPage(t *testing.T) {
	var out bytes.Buffer
	if err := run([]string{"-n", "2"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{"| change | pairs | not paired | one run each |\n", "\n| 5 % | 100.0 % (15.8–100.0) |", "| change | days differ by |"} {
		if !strings.Contains(out.String(), row) {
			t.Errorf("the page has no %q:\n%s", row, out.String())
		}
	}
	if err := run([]string{"-n", "0"}, &out); err == nil {
		t.Error("no comparisons are a page")
	}
}

// What benchstat v0.0.0-20260908200009 writes, cut to four benchmarks.
const printed = `goos: linux
,base,,new,,,
,sec/op,CI,sec/op,CI,vs base,P
C0,0.2177,1%,0.2181,1%,~,p=0.690 n=5
C1,0.2170,1%,0.2290,1%,+5.53%,p=0.008 n=5
C2,0.2170,1%,0.2100,1%,-3.20%,p=0.008 n=5
C3,0.2170,∞,0.2190,∞,~,p=1.000 n=1
geomean,0.2172,,0.2190,,+0.80%,
`

func TestCalls(t *testing.T) {
	got, err := calls([]byte(printed))
	if want := (cell{called: 2, held: -1, of: 4}); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}
