package runtimes

import (
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// By a clock that analyses move on: medians, least and most of each size.
func TestRows(t *testing.T) {
	var now time.Duration
	runs := 0
	m := Measurement{Kind: "time-by-workers", Least: 8, Most: 31, Times: 3, Clock: func() (time.Duration, error) { return now, nil }, Log: io.Discard}
	prepare := func(size int) func() error {
		return func() error {
			runs++
			now += time.Duration(size*(1+runs%3)) * time.Second
			return nil
		}
	}
	rows, err := m.Rows([]Series{{Name: "all", Prepare: prepare}, {Name: "small", Most: 8, Prepare: prepare}})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"all", "8", "16", "8", "24", "3"}, {"all", "16", "32", "16", "48", "3"}, {"small", "8", "16", "8", "24", "3"}}
	if diff := cmp.Diff(want, rows[1:]); diff != "" {
		t.Error(diff)
	}
	for name, bad := range map[string]Measurement{"size": {Kind: m.Kind, Least: 8, Most: 7, Times: 1}, "times": {Kind: m.Kind}, "kind": {Kind: "none", Times: 1}} {
		if _, err := bad.Rows(nil); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
