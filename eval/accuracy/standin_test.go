package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/report"
)

// standIn makes the test's own binary stand in for sfstat: "engine" diagnoses as sfstat
// does by default, "silent" has nothing to say about any job, "broken" says nothing.
const standIn = "ACCURACY_STAND_IN"

func TestMain(m *testing.M) {
	mode := os.Getenv(standIn)
	if mode == "" {
		os.Exit(m.Run())
	}
	err := errors.New("broken")
	switch mode {
	case "engine":
		err = diagnosed(os.Args[len(os.Args)-1])
	case "silent":
		_, err = fmt.Println(`{"schema": "sfstat.verdict/4", "status": "no_straggler", "findings": []}`)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func diagnosed(path string) error {
	in, err := auto.Open([]string{path}, auto.Options{})
	if err != nil {
		return err
	}
	s := diagnose.New(diagnose.Options{})
	for {
		item, err := in.Next()
		if errors.Is(err, io.EOF) {
			return report.Output{W: os.Stdout, Format: report.JSON}.Verdict(s.Verdict())
		}
		for _, r := range item.Recordings() {
			err = errors.Join(err, s.Add(r))
		}
		if err != nil {
			return err
		}
	}
}

// fixtureDir is the folder of fixtures.
var fixtureDir = filepath.Join("..", "..", "fixtures")

// scored is the table of the runs in a folder of fixtures, by a stand-in.
func scored(t *testing.T, mode string, tasks []task, err error) []row {
	t.Helper()
	self, err2 := os.Executable()
	t.Setenv(standIn, mode)
	rows, err3 := scoreAll(program(self), tasks, 0)
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestFixtures: five recordings of a real job, as fixtures/README.md says what they are.
func TestFixtures(t *testing.T) {
	tasks, err := truthTable(filepath.Join(fixtureDir, "ddp"), "fixtures")
	for mode, wrong := range map[string]string{
		"engine": "",
		// Its steps take 0.3 s: of each delay of 120 ms, so that rank and stage are due.
		"silent": "e3-backward-r8-s0: false all-clear, e3-data-r8-s0: false all-clear, host-callback-r8-s0: false all-clear",
		"broken": "e3-backward-r8-s0: no verdict, e3-data-r8-s0: no verdict, host-callback-r8-s0: no verdict, nofault-r8-s0: no verdict, roles-r8-s0: no verdict",
	} {
		var got []string
		rows := scored(t, mode, tasks, err)
		for _, r := range rows {
			if !r.Right {
				got = append(got, r.Job+": "+r.Wrong)
			}
		}
		if len(rows) != 5 || strings.Join(got, ", ") != wrong {
			t.Errorf("%s: %d rows, wrong: %v\nwant 5 and %s", mode, len(rows), got, wrong)
		}
	}
	rows := scored(t, "engine", tasks, err)
	at := slices.IndexFunc(rows, func(r row) bool { return r.Job == "e3-data-r8-s0" })
	if r := rows[at]; r.Truth != "late" || r.TrueRanks != "2" || r.TrueStage != "data.next_wait" || r.Due != 1 || r.Status != "straggler" || r.Named != "2:data.next_wait" || r.Ranks != "2" {
		t.Errorf("%+v", r)
	}
	if r := rows[slices.IndexFunc(rows, func(r row) bool { return r.Job == "e3-backward-r8-s0" })]; r.Truth != "hidden" || !strings.Contains(r.Hides, "model.backward_cpu_wall:") {
		t.Errorf("%+v", r)
	}
}

// TestTables: a table is read as it was written, and shown by family.
func TestTables(t *testing.T) {
	tasks, err := truthTable(filepath.Join(fixtureDir, "ddp"), "fixtures")
	rows := scored(t, "silent", tasks, err)
	var csv, out bytes.Buffer
	if err := writeRows(&csv, rows); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(path, csv.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"table", path}, &out); err != nil {
		t.Fatal(err)
	}
	const want = `fixtures
  family         due  right   95 %       what is wrong
  backward       1    0 of 1  0–79.3     false all-clear 1
  data           1    0 of 1  0–79.3     false all-clear 1
  callback_host  1    0 of 1  0–79.3     false all-clear 1
  nofault        0    1 of 1  20.7–100
  roles          0    1 of 1  20.7–100
  all            3    2 of 5  11.8–76.9  false all-clear 3
`
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
	out.Reset()
	if err := run([]string{"compare", path, path}, &out); err != nil || !strings.Contains(out.String(), "all                               5     2           0         0         3") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// TestBounds: by statsmodels 0.14, proportion_confint(18, 20, method="wilson") and so on.
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		k, n int
		want string
	}{{18, 20, "69.9–97.2"}, {0, 84, "0–4.37"}, {300, 300, "98.7–100"}, {0, 0, "–"}} {
		if got := boundsOf(c.k, c.n); got != c.want {
			t.Errorf("%d of %d: %s, want %s", c.k, c.n, got, c.want)
		}
	}
}

// TestPage: the published page is the template with tables in it, and has those of its table.
func TestPage(t *testing.T) {
	var out bytes.Buffer
	rows := []row{{Source: "ddp", Family: "data", Job: "a", Right: true}, {Source: "ddp", Family: "backward", Job: "b", Due: 1, Wrong: "not named"}, {Source: "windows", Family: "slow, healthy", Job: "c", Right: true}}
	if err := writePage(&out, rows); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"\n| ddp | 1 | 1 of 2 | not named 1 |\n", "\n| windows | 0 | 1 of 1 |  |\n"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("the page has no %q:\n%s", line, out.String())
		}
	}
	published, err := os.ReadFile(filepath.Join("..", "..", "docs", "accuracy.md"))
	if err != nil {
		t.Fatal(err)
	}
	rest := string(published)
	for _, words := range regexp.MustCompile(`\{\{[^}]*\}\}`).Split(pageText, -1) {
		_, after, found := strings.Cut(rest, strings.TrimSpace(words))
		if !found {
			t.Fatalf("docs/accuracy.md lacks %q, or has it elsewhere: write it anew with make accuracy", words)
		}
		rest = after
	}
}

func TestRefused(t *testing.T) {
	for _, args := range [][]string{{}, {"rank"}, {"score"}, {"score", "-windows", "0"}, {"score", "-scenarios", t.TempDir()}, {"score", "x"}, {"compare", "a.csv"}, {"table"}, {"page", "none.csv"}} {
		if run(args, io.Discard) == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
