package auto

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestMissingParts: a part that has no file between those that have one is named.
func TestMissingParts(t *testing.T) {
	part := func(n int) string {
		rows := stepRows(0, 1)
		for i := range rows {
			rows[i].Step += int64(3 * n)
		}
		return csvOf(rows)
	}
	log := func(n int) string {
		out := ""
		for step := range 5 {
			out += fmt.Sprintf("INFO step %d time 0.12%d data_time 0.01\n", 5*n+step, n)
		}
		return out
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  string // files that are named
	}{
		"all":                {map[string]string{"j/part-0.csv": part(0), "j/part-1.csv": part(1), "j/part-2.csv": part(2)}, ""},
		"one":                {map[string]string{"j/part-0.csv": part(0), "j/part-2.csv": part(2), "j/part-3.csv": part(3)}, "part-1.csv"},
		"zeros before":       {map[string]string{"j/part-0007.csv": part(7), "j/part-0008.csv": part(8), "j/part-0010.csv": part(10)}, "part-0009.csv"},
		"by tens":            {map[string]string{"j/s0.csv": part(0), "j/s10.csv": part(1), "j/s20.csv": part(2)}, ""},
		"two alone":          {map[string]string{"j/part-0.csv": part(0), "j/part-2.csv": part(2)}, ""},
		"logs":               {map[string]string{"j/train.log": log(2), "j/train.log.2": log(0)}, "train.log.1"},
		"all logs":           {map[string]string{"j/train.log": log(2), "j/train.log.1": log(1), "j/train.log.2": log(0)}, ""},
		"logs of ranks":      {map[string]string{"j/rank_0.log": log(1), "j/rank_0.log.1": log(0), "j/rank_3.log": log(1), "j/rank_3.log.1": log(0)}, ""},
		"older logs, a hole": {map[string]string{"j/rank_0.log.1": log(3), "j/rank_0.log.2": log(2), "j/rank_0.log.4": log(0)}, "rank_0.log.3"},
	} {
		r, _, err := read(t, Options{}, folderOf(t, c.files))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, p := range r.Problems() {
			if !strings.Contains(p.Err.Error(), "is not there, between ") {
				t.Errorf("%s: %v", name, p.Err)
			}
			got = append(got, filepath.Base(p.Path))
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
	}
}
