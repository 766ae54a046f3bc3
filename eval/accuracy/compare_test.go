package main

import (
	"bytes"
	"os"
	"path/filepath"
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
	old := table("old.csv", "source,family,job,variant,right,wrong\ns,f,a,,true,\ns,f,b,,true,\ns,f,c,,false,not named\ns,g,a,,false,not named\ns,g,gone,,true,\n")
	// Another order of columns, and one that the old table has not.
	new := table("new.csv", "more,job,family,source,right,wrong,variant\n1,a,f,s,true,,\n1,b,f,s,false,wrong stage,\n1,c,f,s,true,,\n1,a,g,s,false,unsure,\n1,b,f,s,true,,windows\n")
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
