package report

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/internal/table"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares got with a file of testdata. A missing file fails.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test ./report -update writes it", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", name, diff)
	}
}

// looks are the pages that have golden files: the words of every case, as text at one width, and each other form of the cases
// named. TestTextFits, TestColorOnlyColors and TestWordsAtAnyWidth hold what other widths and colour may change.
var looks = []struct {
	suffix string
	format Format
	style  Style
	cases  []string // all, where there are none
}{
	{"txt", Text, Style{Verbose: true}, nil},
	{"ansi", Text, Style{Color: true}, []string{"verdict-strong"}},
	{"120.txt", Text, Style{Width: 120}, []string{"verdict-strong"}},
	{"md", Markdown, Style{}, []string{"verdict-strong", "verdict-hostile", "compare-regression"}},
	{"csv", CSV, Style{}, []string{"verdict-strong", "frontier-groups", "ks-slow", "zscore-slow", "blame-slow", "whatif-slow", "overhead-many", "sources-odd", "compare-regression", "batch-month"}},
	{"json", JSON, Style{}, []string{"verdict-strong", "verdict-unseen", "frontier-groups", "ks-slow", "blame-slow", "whatif-slow", "overhead-many", "sources-odd", "compare-regression", "batch-month"}},
}

// Accounts without a golden file: the words of amongRuns stand in frontier-several-runs too, those of amongVerdicts in the
// verdict of the same case, which TestAccountsWithinVerdicts holds.
var (
	amongRuns     = []string{"frontier-nothing", "frontier-unseen", "frontier-stage-only"}
	amongVerdicts = []string{"frontier-below-floor", "frontier-one-rank"}
)

// to is where tests write.
func to(w io.Writer, f Format, s Style, problems ...Problem) Output {
	return Output{W: w, Format: f, Style: s, Problems: problems}
}

// rendered calls f with every verdict and every frontier of the cases, and with
// every table over operator traces and every overhead, in one format. Those named "empty" and "telemetry-limited" have refused inputs.
func rendered(t *testing.T, format Format, s Style, f func(name string, out []byte)) {
	t.Helper()
	for _, c := range verdictCases {
		var in []Problem
		if c.name == "telemetry-limited" || c.name == "empty" {
			in = testProblems()
		}
		var verdict, account bytes.Buffer
		if err := to(&verdict, format, s, in...).Verdict(c.make()); err != nil {
			t.Fatalf("verdict %s: %v", c.name, err)
		}
		if err := to(&account, format, s, in...).Frontier(results(c.make())); err != nil {
			t.Fatalf("frontier %s: %v", c.name, err)
		}
		f("verdict-"+c.name, verdict.Bytes())
		f("frontier-"+c.name, account.Bytes())
	}
	renderedTraces(t, format, s, func(_, name string, out []byte) { f(name, out) })
	renderedOverheads(t, format, s, f)
	renderedSources(t, format, s, f)
	renderedComparisons(t, format, s, f)
	renderedBatches(t, format, s, f)
}

func TestGolden(t *testing.T) {
	written := []string{"claims.txt", "fields.txt"}
	for _, l := range looks {
		rendered(t, l.format, l.style, func(name string, out []byte) {
			if l.cases == nil && !slices.Contains(amongRuns, name) && !slices.Contains(amongVerdicts, name) || slices.Contains(l.cases, name) {
				golden(t, name+"."+l.suffix, out)
				written = append(written, name+"."+l.suffix)
			}
		})
	}
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !slices.Contains(written, f.Name()) {
			t.Errorf("testdata/%s is of no case", f.Name())
		}
	}
}

// TestAccountsWithinVerdicts: an account writes the same paragraphs as the verbose verdict of its case.
func TestAccountsWithinVerdicts(t *testing.T) {
	pages := make(map[string]string)
	rendered(t, Text, Style{Verbose: true}, func(name string, out []byte) { pages[name] = string(out) })
	for _, name := range amongVerdicts {
		verdict := pages["verdict-"+strings.TrimPrefix(name, "frontier-")]
		for paragraph := range strings.SplitSeq(strings.TrimSpace(pages[name]), "\n\n") {
			if !strings.Contains(verdict, paragraph) {
				t.Errorf("%s: its verdict lacks\n%s", name, paragraph)
			}
		}
	}
}

var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

// No line is wider than asked, in runes and in terminal columns, at any width; nor does one end in spaces.
func TestTextFits(t *testing.T) {
	widths := []int{0, 1}
	for w := 60; w <= 200; w += 7 {
		widths = append(widths, w)
	}
	for _, w := range widths {
		s := Style{Width: w, Verbose: w%2 == 0}
		rendered(t, Text, s, func(name string, out []byte) {
			for i, line := range strings.Split(string(out), "\n") {
				if n := max(len([]rune(line)), glyph.Columns(line)); n > s.width() {
					t.Errorf("width %d: %s:%d is %d columns: %s", w, name, i+1, n, line)
				}
				if strings.TrimRight(line, " ") != line {
					t.Errorf("width %d: %s:%d ends in spaces: %q", w, name, i+1, line)
				}
			}
		})
	}
}

// The words of a page beside its tables are the same, in the same order, at any width: a wider page only breaks its lines
// elsewhere.
func TestWordsAtAnyWidth(t *testing.T) {
	for name, d := range documents(t) {
		d = slices.DeleteFunc(d, func(b block) bool { _, isTable := b.(*table.Table); return isTable })
		words := func(width int) string {
			var out bytes.Buffer
			newTextWriter(&out, Style{Width: width}).document(d)
			return strings.Join(strings.Fields(out.String()), " ")
		}
		wide := words(200)
		for w := 60; w < 200; w++ {
			if narrow := words(w); narrow != wide {
				t.Errorf("%s at %d columns:\n%s", name, w, cmp.Diff(wide, narrow))
				break
			}
		}
	}
}

// documents returns the documents of all cases by their names.
func documents(t *testing.T) map[string]document {
	t.Helper()
	if err := analyzed(); err != nil {
		t.Fatal(err)
	}
	all := map[string]document{"batch": batchDocument(archive(), nil, nil), "sources-odd": sourcesDocument(comparison()), "sources-alike": sourcesDocument(alike())}
	for _, c := range verdictCases {
		v := c.make()
		all["verdict-"+c.name], all["frontier-"+c.name] = verdictDocument(v, testProblems(), Style{Verbose: true}), frontierDocument(results(v))
	}
	for _, c := range tracedCases {
		all["ks-"+c.name], all["zscore-"+c.name] = completionsDocument([]Completions{c.completions}), outliersDocument([]Outliers{c.outliers})
		all["blame-"+c.name], all["whatif-"+c.name] = blameDocument([]Blame{c.blame}), whatifDocument([]WhatIf{c.whatif})
	}
	for _, c := range overheadCases {
		all["overhead-"+c.name] = overheadDocument(accountOf(t, c.name))
	}
	for i, c := range comparisonCases {
		all["compare-"+c.name] = Style{Verbose: true}.comparisonDocument(comparisonOfCase(t, i))
	}
	return all
}

// Colour adds escape sequences and nothing else; without it there are none.
func TestColorOnlyColors(t *testing.T) {
	for _, w := range []int{60, 80, 120} {
		plain := map[string]string{}
		rendered(t, Text, Style{Width: w}, func(name string, out []byte) { plain[name] = string(out) })
		rendered(t, Text, Style{Width: w, Color: true}, func(name string, out []byte) {
			if got := sgr.ReplaceAllString(string(out), ""); got != plain[name] {
				t.Errorf("width %d: %s without colour differs:\n%s", w, name, cmp.Diff(plain[name], got))
			}
		})
		for name, s := range plain {
			if strings.Contains(s, "\x1b") {
				t.Errorf("width %d: %s has an escape sequence that nobody asked for", w, name)
			}
		}
	}
}

var escaped = regexp.MustCompile(`\\.`)

// codeSpan is a code span of one or of two backticks.
var codeSpan = regexp.MustCompile("(^|[^\\\\`])(``.*?[^`]``|`[^`\n]+`)")

// What an input wrote cannot reach a terminal, a page or a spreadsheet as
// anything but visible text.
func TestHostileNames(t *testing.T) {
	for _, f := range []Format{Text, Markdown, CSV} {
		rendered(t, f, Style{Width: 200}, func(name string, out []byte) {
			for i, line := range strings.Split(strings.TrimSuffix(string(out), "\n"), "\n") {
				if line != glyph.Visible(line) {
					t.Errorf("%v %s:%d: %q", f, name, i+1, line)
				}
			}
			if f == Markdown {
				prose := escaped.ReplaceAllString(codeSpan.ReplaceAllString(string(out), ""), "")
				for _, bad := range []string{"<img", "](javascript", "@everyone", "`"} {
					if strings.Contains(prose, bad) {
						t.Errorf("%s: %s outside a code span", name, bad)
					}
				}
			}
			if f == CSV && regexp.MustCompile(`(?m)(^|,|")[=@]`).Match(out) {
				t.Errorf("%s has a cell that a spreadsheet runs", name)
			}
		})
	}
}

// A table of Markdown has the same number of cells in every row.
func TestMarkdownTables(t *testing.T) {
	cells := func(line string) int {
		return strings.Count(line, "|") - strings.Count(line, `\|`)
	}
	rendered(t, Markdown, Style{}, func(name string, out []byte) {
		want := 0
		for i, line := range strings.Split(string(out), "\n") {
			switch {
			case !strings.HasPrefix(line, "|"):
				want = 0
			case want == 0:
				want = cells(line)
			case cells(line) != want:
				t.Errorf("%s:%d has %d bars, the head of its table %d: %s", name, i+1, cells(line), want, line)
			}
		}
	})
}

func TestManyWindowsStayReadable(t *testing.T) {
	var out bytes.Buffer
	if err := to(&out, Text, Style{Verbose: true}).Verdict(manyWindowsCase()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n > 100 {
		t.Errorf("%d lines for 1000 windows, expected at most 100", n)
	}
	if !strings.Contains(out.String(), "The first and the last 20 of 1000 are shown.") {
		t.Errorf("nothing says that windows were left out:\n%s", out.String())
	}
}

func TestFormatNames(t *testing.T) {
	for name, want := range map[string]Format{"text": Text, "json": JSON, "csv": CSV, "markdown": Markdown, "md": Markdown, "latex": LaTeX} {
		var f Format
		if err := f.UnmarshalText([]byte(name)); err != nil || f != want {
			t.Errorf("%q is %v, %v, want %v", name, f, err, want)
		}
	}
	var f Format
	if err := f.UnmarshalText([]byte("yaml")); err == nil || !strings.Contains(err.Error(), `"yaml"`) {
		t.Errorf("yaml: %v", err)
	}
	if err := to(&bytes.Buffer{}, Format(9), Style{}).Verdict(strongCase()); err == nil {
		t.Error("format 9 was written")
	}
}

// The error of a failed write comes back.
func TestWriteError(t *testing.T) {
	for f := Text; f <= Markdown; f++ {
		if err := to(full{}, f, Style{}).Verdict(strongCase()); err == nil {
			t.Errorf("verdict as %v: the failed write is not reported", f)
		}
		if err := to(full{}, f, Style{}).Frontier(results(strongCase())); err == nil {
			t.Errorf("frontier as %v: the failed write is not reported", f)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, fmt.Errorf("no space left on device") }
