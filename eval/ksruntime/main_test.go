package main

import (
	"bytes"
	"encoding/csv"
	"io"
	"testing"
)

// TestRun: a row for each series and number of workers.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run([]string{"-most", "16", "-times", "3"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(rows) != 5 || rows[1][1] != "8" || rows[2][1] != "16" || rows[4][0] != series[1].Name {
		t.Errorf("%v, %v", rows, err)
	}
	for _, bad := range [][]string{{"-most", "1"}, {"-times", "0"}} {
		if err := run(bad, &out, io.Discard); err == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
}
