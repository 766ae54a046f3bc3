package main

import (
	"bytes"
	"encoding/csv"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// By a clock that analyses move on: medians, least and most of each size.
func TestRows(t *testing.T) {
	var now time.Duration
	runs := 0
	m := measurement{kind: "time-by-workers", least: 8, most: 31, times: 3, clock: func() (time.Duration, error) { return now, nil }}
	prepare := func(size int) func() error {
		return func() error {
			runs++
			now += time.Duration(size*(1+runs%3)) * time.Second
			return nil
		}
	}
	m.series = []series{{name: "all", prepare: prepare}, {name: "small", most: 8, prepare: prepare}}
	rows, err := m.rows(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"all", "8", "16", "8", "24", "3"}, {"all", "16", "32", "16", "48", "3"}, {"small", "8", "16", "8", "24", "3"}}
	if diff := cmp.Diff(want, rows[1:]); diff != "" {
		t.Error(diff)
	}
	for name, bad := range map[string]measurement{"size": {kind: m.kind, least: 8, most: 7, times: 1}, "times": {kind: m.kind}, "kind": {kind: "none", times: 1}} {
		if _, err := bad.rows(io.Discard); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// TestRun: a row for each series and size of every kind, of the columns that are drawn.
func TestRun(t *testing.T) {
	for kind, want := range map[string][]string{"time-by-workers": {"16", "8,16,8,16"}, "alignment-by-length": {"2000", "1000,2000,1000,2000,1000,2000"}} {
		var out bytes.Buffer
		if err := run([]string{"-kind", kind, "-most", want[0], "-times", "1"}, &out); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&out).ReadAll()
		var sizes []string
		for _, r := range rows[1:] {
			sizes = append(sizes, r[1])
		}
		if got := strings.Join(sizes, ","); err != nil || got != want[1] {
			t.Errorf("%s: %s, %v, want %s", kind, got, err, want[1])
		}
	}
	for _, bad := range [][]string{{"-most", "1"}, {"-times", "-1"}, {"-kind", "none"}} {
		if err := run(bad, io.Discard); err == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
}
