package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const sample = `package p

func f(a, b int) int {
	if a < b && !(a == 0) {
		a += 3
		a++
	}
	g()
	return min(a, -b) * 2
}

func g() {}

const share = 0.5

var none = 0.0
`

// TestFind: the errors at each place of a small file, by hand.
func TestFind(t *testing.T) {
	places, err := findIn("p.go", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, list := range places {
		for _, m := range list {
			got = append(got, brief(m.From)+" → "+brief(m.To))
		}
	}
	want := []string{"func f → return at once", "a < b && !(a == 0) → a < b || !(a == 0)", "a < b → a <= b", "a < b → a >= b", "!(a == 0) → (a == 0)", "a == 0 → a != 0", "0 → 1",
		"a += 3 → a -= 3", "a += 3 → nothing", "3 → 4", "3 → 2", "3 → 6", "a++ → a--", "a++ → nothing", "g() → nothing",
		"min(a, -b) * 2 → min(a, -b) / 2", "min → max", "-b → b", "2 → 3", "2 → 1", "2 → 4", "0.5 → (0.5*1.2)", "0.5 → (0.5/1.2)", "0.5 → (0.5*2.0)", "0.5 → (0.5/2.0)"}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	m := places[0][0]
	if text := string(m.text); !strings.Contains(text, "func f(a, b int) int { return *new(int)\n") || m.number != 3 || m.within != (span{3, 10}) || m.Line != "func f(a, b int) int {" {
		t.Errorf("%+v:\n%s", m.identity, text)
	}
}

// TestLot: one seed draws one lot, each place once, without what is known to be equal.
func TestLot(t *testing.T) {
	places, err := findIn("p.go", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	draw := func(known map[identity]bool) (out []string) {
		for _, m := range lot(places, known, rand.New(rand.NewPCG(5, 0))) {
			out = append(out, m.String())
		}
		return out
	}
	a := draw(nil)
	if b := draw(nil); len(a) != len(places) || !slices.Equal(a, b) {
		t.Errorf("%d of %d places: %v, then %v", len(a), len(places), a, b)
	}
	known := map[identity]bool{{File: "p.go", Line: "g()", From: "g()", To: ""}: true}
	if b := draw(known); len(b) != len(a)-1 || slices.ContainsFunc(b, func(s string) bool { return strings.Contains(s, "g() → nothing") }) {
		t.Errorf("with g() known: %v", b)
	}
}

// TestLists: the files of mutants fit the code as it is.
func TestLists(t *testing.T) {
	t.Chdir("../..")
	list, err := readMutants("internal/mutants/judge.yaml")
	if err != nil || len(list) != 28 {
		t.Fatalf("%d mutants, %v; want 28", len(list), err)
	}
	known, err := equivalents("internal/mutants/equivalent.yaml")
	if err != nil {
		t.Fatal(err)
	}
	places, err := find(packages, regexp.MustCompile(""))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range places {
		for _, m := range p {
			delete(known, m.identity)
		}
	}
	for id := range known {
		t.Errorf("equivalent.yaml: there is no such place any more: %+v", id)
	}
}

// TestSlow: of what go test -v prints, tests that are worth a run of their own, the quickest first.
func TestSlow(t *testing.T) {
	printed := "=== RUN   TestA\n--- PASS: TestA (6.00s)\n    --- PASS: TestA/part (5.90s)\n--- PASS: TestB (0.20s)\n--- PASS: TestC (3.00s)\n--- SKIP: TestD (4.00s)\n--- PASS: ExampleE (0.01s)\nPASS\n"
	if got := slow(printed); !slices.Equal(got, []string{"TestB", "TestC", "TestA"}) {
		t.Errorf("%v", got)
	}
	if got := slow("--- PASS: TestA (0.05s)\n"); got != nil {
		t.Errorf("of a quick package %v", got)
	}
}

// TestRuns: a slow test is run where it reaches the mutant's function, and where that cannot be told.
func TestRuns(t *testing.T) {
	profile := "mode: set\n" + module + "p/a.go:3.20,8.2 2 1\n" + module + "p/a.go:10.13,10.20 1 0\n" + module + "p/b.go:1.2,30.4 9 1\n"
	s := suite{folder: "p", args: []string{"./p"}, slow: []slowTest{{"TestA", coveredLines(profile)}, {"TestB", nil}}}
	runs := func(within span) string {
		return fmt.Sprint(s.runs(&mutant{identity: identity{File: "p/a.go"}, within: within}))
	}
	quick, a, b := "[-test.skip ^(TestA|TestB)$]", "[-test.run ^(TestA)$]", "[-test.run ^(TestB)$]"
	for within, want := range map[span]string{{3, 8}: quick + " " + a, {8, 9}: quick + " " + a, {10, 12}: quick, {}: quick + " " + a + " " + b} {
		if got := runs(within); got != "["+want+"]" {
			t.Errorf("a function in lines %v: %s, want %s", within, got, want)
		}
	}
	script := suite{args: []string{"-run", "TestScripts", "./cmd"}}
	if got := fmt.Sprint(script.runs(&mutant{})); got != "[[-test.run TestScripts]]" {
		t.Errorf("some tests of a package: %s", got)
	}
}

// TestRefused: a list says what is wrong with it.
func TestRefused(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	code := write("p.go", sample)
	_, err := readMutants(write("list.yaml", "- {name: twice, file: "+code+", from: a, to: b}\n"))
	if err == nil || !strings.Contains(err.Error(), "times, expected once: give more of the text around it") {
		t.Errorf("a text that stands more than once: %v", err)
	}
	if _, err := equivalents(write("equivalent.yaml", "- {file: p.go, line: g(), from: g(), to: ''}\n")); err == nil || !strings.Contains(err.Error(), "has no reason") {
		t.Errorf("no reason: %v", err)
	}
}

// TestSummary: counts and the mutants alive.
func TestSummary(t *testing.T) {
	m := func(file string, n int) *mutant {
		return &mutant{identity: identity{File: file, From: "a", To: "b"}, number: n}
	}
	got := summary([]result{{m("x/a.go", 9), alive, ""}, {m("x/a.go", 3), killed, ""}, {m("y/b.go", 1), timedOut, ""}, {m("x/a.go", 2), alive, ""}})
	want := `  package  drawn  killed  timed out  alive  found
        x      3       1          0      2   33 %
        y      1       0          1      0  100 %
      all      4       1          1      2   50 %

alive:
x/a.go:2: a → b
x/a.go:9: a → b
`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
