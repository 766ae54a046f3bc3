package main

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	cases := []struct {
		from, imports string
		want          string // part of the complaint; "" for none
	}{
		{"trace", "slices", ""},
		{"trace", "os", "pure"},
		{"trace", module + "/engine/frontier", "may import trace"},
		{"engine/frontier", module + "/trace", ""},
		{"engine/frontier", module + "/engine/ks", "may import trace"},
		{"engine/ks", module + "/internal/student", ""},
		{"engine/frontier", "log", "pure"},
		{"engine/blame", module + "/engine/zscore", "may import trace"},
		{"engine/blame", module + "/engine/ks", "may import"},
		{"engine/ks", module + "/engine/ks/internal/ecdf", ""},
		{"ingest/packet", module + "/ingest", ""},
		{"ingest/packet", module + "/engine/frontier", "may import"},
		{"ingest/auto", module + "/archive", ""},
		{"diagnose", module + "/engine/frontier", ""},
		{"diagnose", module + "/report", "may import"},
		{"report", module + "/diagnose", ""},
		{"report", module + "/eval/simulate", "may import"},
		{"report", module + "/engine/gates", "decides nothing"},
		{"report", module + "/engine/delay", "decides nothing"},
		{"eval/campaign/tables", module + "/report", "may import"},
		{"report", "github.com/urfave/cli/v2", "only cmd"},
		{"report", "golang.org/x/text/width", ""},
		{"ingest/optrace", "github.com/parquet-go/parquet-go", ""},
		{"fixtures/optrace/make", "github.com/parquet-go/parquet-go/compress/zstd", ""},
		{"archive", "github.com/parquet-go/parquet-go/compress/zstd", ""},
		{"report", "github.com/parquet-go/parquet-go", "only fixtures, archive, internal/flatrow, internal/parquet, ingest/optrace, tests"},
		{"cmd/sfstat", "github.com/rogpeppe/go-internal/testscript", "only tests"},
		{"cmd/sfstat", module + "/report", ""},
		{"cmd/sfstat", "golang.org/x/term", ""},
		{"cmd/other", module + "/cmd/sfstat", "may import"},
		{"eval/campaign", module + "/cmd/sfstat", "may import"},
		{"nowhere", "fmt", "no layer is set"},
	}
	for _, c := range cases {
		t.Run(c.from+" imports "+c.imports, func(t *testing.T) {
			got := check([]pkg{{ImportPath: module + "/" + c.from, Name: "name", Imports: []string{c.imports}}})
			switch {
			case c.want == "" && len(got) > 0:
				t.Errorf("refused: %v", got)
			case c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)):
				t.Errorf("got %q, expected one complaint with %q", got, c.want)
			}
		})
	}
	through := []pkg{{ImportPath: module + "/engine/x", Imports: []string{"lib", "fmt"}}, {ImportPath: "lib", Imports: []string{"lib/deep"}},
		{ImportPath: "lib/deep", Imports: []string{"database/sql"}}, {ImportPath: "fmt", Imports: []string{"os"}, Standard: true}}
	if got := check(through); len(got) != 1 || !strings.Contains(got[0], "engine/x reaches database/sql through lib/deep") {
		t.Errorf("an engine that links a database: %q", got)
	}
	if got := check([]pkg{{ImportPath: module + "/engine/util", Name: "util"}}); len(got) != 1 {
		t.Errorf("a package named util passed: %v", got)
	}
}

// TestModule holds the module itself to the rules.
func TestModule(t *testing.T) {
	t.Chdir("../..")
	pkgs, err := list()
	if err != nil {
		t.Fatal(err)
	}
	if len(pkgs) < 5 {
		t.Fatalf("go list found %d packages: the check would pass on nothing", len(pkgs))
	}
	for _, line := range check(pkgs) {
		t.Error(line)
	}
}
