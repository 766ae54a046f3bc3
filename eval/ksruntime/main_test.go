package main

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"testing"
)

// TestRun: a row for each series and number of workers, in a form that can be
// drawn.
func TestRun(t *testing.T) {
	figure := filepath.Join(t.TempDir(), "f.svg")
	var out bytes.Buffer
	if err := run([]string{"-most", "16", "-times", "3", "-figure", figure}, &out); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(rows) != 5 || rows[1][1] != "8" || rows[2][1] != "16" || rows[4][0] != series[1].name {
		t.Errorf("%v, %v", rows, err)
	}
	if text, err := os.ReadFile(figure); err != nil || !bytes.Contains(text, []byte("time of analysis (s)")) {
		t.Errorf("the figure: %v", err)
	}
	for _, bad := range [][]string{{"-most", "1"}, {"-times", "0"}, {"-most", "8", "-times", "1", "-figure", "x.gif"}} {
		if err := run(bad, &out); err == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
}
