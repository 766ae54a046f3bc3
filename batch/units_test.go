package batch

import (
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/ingest/auto"
)

// TestUnitsOfRanks: files that ranks wrote apart are read together, in folders of their own, of hosts, and in one, whatever their format; other Parquet
// files, and other folders, by themselves.
func TestUnitsOfRanks(t *testing.T) {
	for want, paths := range map[string][]string{
		"a/rank0/m.csv a/rank1/m.csv":                               {"a/rank0/m.csv", "a/rank1/m.csv"},
		"a/rank0/m.parquet a/rank1/m.parquet":                       {"a/rank0/m.parquet", "a/rank1/m.parquet"},
		"a/rank_0.parquet a/rank_1.parquet":                         {"a/rank_0.parquet", "a/rank_1.parquet"},
		"a/x.csv a/y.csv | b/x.csv":                                 {"a/x.csv", "a/y.csv", "b/x.csv"},
		"a/1.parquet | a/2.parquet":                                 {"a/1.parquet", "a/2.parquet"},
		"a/node0/m.csv a/node1/m.csv":                               {"a/node0/m.csv", "a/node1/m.csv"},
		"a/node0/x.parquet a/node1/x.parquet":                       {"a/node0/x.parquet", "a/node1/x.parquet"},
		"a/node0/x.parquet | a/node0/y.parquet":                     {"a/node0/x.parquet", "a/node0/y.parquet"},
		"node0/a/m.csv node1/a/m.csv | node0/b/m.csv node1/b/m.csv": {"node0/a/m.csv", "node0/b/m.csv", "node1/a/m.csv", "node1/b/m.csv"},
		"a/node0/rank0/m.csv a/node1/rank4/m.csv | b/node0/m.csv":   {"a/node0/rank0/m.csv", "a/node1/rank4/m.csv", "b/node0/m.csv"},
		"a/rank0/m.csv a/rank1/m.csv | b/rank0/m":                   {"a/rank0/m.csv", "a/rank1/m.csv", "b/rank0/m"},
	} {
		var files []file
		for _, p := range paths {
			files = append(files, file{Path: p})
		}
		list, err := unitsOf(files, func(file) (auto.Held, error) { return auto.Held{Windows: true}, nil })
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, u := range list {
			var names []string
			for _, f := range u.files {
				names = append(names, f.Path)
			}
			slices.Sort(names)
			got = append(got, strings.Join(names, " "))
		}
		slices.Sort(got)
		if text := strings.Join(got, " | "); text != want {
			t.Errorf("%v: %q, want %q", paths, text, want)
		}
	}
}
