package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompare: two tables of five rows, of which four are of the same jobs.
func TestCompare(t *testing.T) {
	dir := t.TempDir()
	table := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	old := table("old.csv", "source,family,job,variant,right,wrong,due\ns,f,a,,true,,1\ns,f,b,,true,,1\ns,f,c,,false,not named,1\ns,g,a,,false,not named,1\ns,g,gone,,true,,\n")
	// Another order of columns, and one that the old table has not.
	new := table("new.csv", "more,job,family,source,right,wrong,variant,due\n1,a,f,s,true,,,1\n1,b,f,s,false,wrong stage,,1\n1,c,f,s,true,,,1\n1,a,g,s,false,unsure,,1\n1,b,f,s,true,,windows,1\n")
	var out bytes.Buffer
	if err := run([]string{"compare", old, new}, &out); err != nil {
		t.Fatal(err)
	}
	const want = `source  family  variant  jobs  both right  only new  only old  neither
s       f                3     1           1         1         0
s       g                1     0           0         0         1
all                      4     1           1         1         1

not compared: 1 rows only in the old table, 1 only in the new one

right in the old table only:
  s/f/b: wrong stage
`
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
	if err := run([]string{"compare", old, table("none.csv", "a,b\n1,2\n")}, &out); err == nil {
		t.Error("a file without the columns of a table is compared")
	}
}

// TestKeptTables: the tables that are kept have what scenarios.py, by its own scorer, says of the same
// programs on its jobs of seed 500: 286 of 400 are right, and all.
func TestKeptTables(t *testing.T) {
	for table, want := range map[string]int{"before-one-model": 286, "one-model": 400} {
		rows, err := readRows(filepath.Join("testdata", table+".csv.gz"))
		if err != nil {
			t.Fatal(err)
		}
		right, n := 0, 0
		for _, r := range rows {
			if seed := strings.TrimPrefix(r.Job, r.Family+"-"); r.Source == "scenarios" && r.Variant == "" && seed < "600" {
				n++
				if r.Right {
					right++
				}
			}
		}
		if right != want || n != 400 {
			t.Errorf("%s: %d of %d, want %d of 400", table, right, n, want)
		}
	}
}
