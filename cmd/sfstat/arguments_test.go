package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
)

func testApp() *cli.App {
	return newProgram(strings.NewReader(""), io.Discard, io.Discard).app()
}

// understood is what of a command line is carried out: the command, the flags that were given, "--" and the arguments.
func understood(req cli.Request) (words []string) {
	c := req.Context(context.Background())
	if c == nil {
		return nil
	}
	words = strings.Fields(c.Title())
	for _, f := range c.Command.Flags {
		if c.IsSet(f.Name) {
			words = append(words, "--"+f.Name+"="+c.Text(f.Name))
		}
	}
	return append(append(words, "--"), c.Args...)
}

func TestFlagsStandAnywhere(t *testing.T) {
	want := []string{"sfstat", "diagnose", "--strict=true", "--format=json", "--", "a", "b"}
	for _, line := range []string{
		"diagnose a b --format json --strict",
		"diagnose a --format=json b --strict",
		"diagnose --format json --strict a b",
		"--format json diagnose a --strict b",
		"--format json --strict diagnose -- a b",
		"diagnose -format json a -strict -- b",
	} {
		req, err := testApp().Parse(strings.Fields(line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if got := understood(req); !slices.Equal(got, want) || req.Name != "diagnose" {
			t.Errorf("%s: %q of command %q, expected %q", line, got, req.Name, want)
		}
	}
}

func TestWhatLooksLikeAFlagIsKept(t *testing.T) {
	cases := map[string][]string{
		"diagnose -":                        {"sfstat", "diagnose", "--", "-"},
		"diagnose -- --format":              {"sfstat", "diagnose", "--", "--format"},
		"convert in -o -":                   {"sfstat", "convert", "--output=-", "--", "in"},
		"convert in -o=a=b":                 {"sfstat", "convert", "--output=a=b", "--", "in"},
		"frontier x --meet-after -weird":    {"sfstat", "frontier", "--meet-after=-weird", "--", "x"},
		"convert in -oout":                  {"sfstat", "convert", "--output=out", "--", "in"},
		"run/ --strict":                     {"sfstat", "diagnose", "--strict=true", "--", "run/"},
		"-":                                 {"sfstat", "diagnose", "--", "-"},
		"selfcheck --color auto --no-color": {"sfstat", "selfcheck", "--color=never", "--"},
		"help campaign run":                 nil,
		"--print-gates --gates x":           {"sfstat", "--print-gates=true", "--gates=x", "--"},
		"diagnose diagnose":                 {"sfstat", "diagnose", "--", "diagnose"},
		"campaign run -o out spec":          {"sfstat", "campaign", "run", "--output=out", "--", "spec"},
		"-o out campaign spec run":          nil, // what follows the group is its command
		"-o out campaign run run":           {"sfstat", "campaign", "run", "--output=out", "--", "run"},
		"campaign -q report -- --format":    {"sfstat", "campaign", "report", "--quiet=true", "--", "--format"},
	}
	for line, want := range cases {
		req, err := testApp().Parse(strings.Fields(line))
		if (err != nil) != (want == nil) && !req.Help {
			t.Errorf("%s: %v", line, err)
		} else if got := understood(req); err == nil && !slices.Equal(got, want) {
			t.Errorf("%s: %q, expected %q", line, got, want)
		}
	}
}

func TestUsageErrors(t *testing.T) {
	cases := map[string]string{
		"diagnos":                            `unknown command "diagnos"; did you mean diagnose?`,
		"xyzzy":                              `"xyzzy" is no command, and no file or folder here; see`,
		"diagnose --formt json x":            "unknown flag --formt; did you mean --format?",
		"diagnose --form json x":             "unknown flag --form; did you mean --format?",
		"diagnose --json x":                  "unknown flag --json; did you mean --format json?",
		"comm --topology x":                  "unknown flag --topology; did you mean --show topology?",
		"comm --matrix x":                    "unknown flag --matrix; did you mean --show matrix?",
		"comm x --steps":                     "unknown flag --steps; did you mean --show steps?",
		"comm --steps x":                     "unknown flag --steps; did you mean --show steps?",
		"diagnose -z x":                      "unknown flag -z;",
		"diagnose x --format":                "flag --format needs a value",
		"diagnose --output --format json x":  "flag --output needs a value, found the flag --format",
		"diagnose x --format xml":            `--format is "xml", expected text, json, csv, md or github`,
		"diagnose x --format=":               `--format is "", expected`,
		"simulate --fail-on strong":          "flag --fail-on belongs to diagnose, report, compare, watch, frontier, overhead, campaign sources, not to simulate",
		"campaign":                           "needs a command: run",
		"campaign rum x":                     `"rum" is not a command of it, expected run`,
		"campaign reprt x":                   "did you mean report?",
		"campaign run x --truth y":           "flag --truth belongs to simulate, not to campaign run",
		"selfcheck --steps 3":                "flag --steps belongs to",
		"--print-gates --format json":        "flag --format belongs to commands: give one",
		"diagnose --print-gates x":           "flag --print-gates stands without a command: sfstat --print-gates",
		"diagnose x --strict=perhaps":        `--strict is "perhaps", expected true or false`,
		"simulate --ranks 1e3":               `--ranks is "1e3", expected a whole number`,
		"watch x --every soon":               `--every is "soon", expected a time such as 500ms`,
		"campaign report x --table-format x": `--table-format is "x", expected md, csv or latex`,
		"--formt":                            "unknown flag --formt; did you mean --format?",
		"--formt json diagnose x":            "unknown flag --formt; did you mean --format?",
	}
	for line, want := range cases {
		if code, _, got := runArgs(t, nil, strings.Fields(line)...); code != exitBadInput || !strings.Contains(got, want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: exit code %d and %q, expected %q", line, code, got, want)
		}
	}
}

// Whether a flag takes a value does not depend on the command, since flags may stand
// before it.
func TestFlagsAreOfOneKindInAllCommands(t *testing.T) {
	kind := make(map[string]bool)
	for _, c := range testApp().Runnable() {
		for _, f := range c.Flags {
			for _, name := range []string{f.Name, f.Short} {
				takes := f.Is != "bool"
				if before, seen := kind[name]; seen && before != takes && name != "" {
					t.Errorf("flag %s of %s takes a value in one command and none in another", name, c.Name)
				}
				kind[name] = takes
			}
		}
	}
}

func TestSuggestion(t *testing.T) {
	candidates := []string{"format", "from", "output", "tau", "tie_tolerance"}
	for typed, want := range map[string]string{"formt": "format", "form": "format", "FORMAT": "format", "ouptut": "output", "taw": "tau", "tie_tolerence": "tie_tolerance", "xyzzy": "", "": ""} {
		got := cli.Suggestion(typed, candidates, "--")
		if want != "" {
			want = "; did you mean --" + want + "?"
		}
		if got != want {
			t.Errorf("%s: %q, expected %q", typed, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, line := range []string{"diagnose a --format json", "--", "-", "--=", "-o", "campaign", "campaign run x -o y", "campaign -- run --", "diagnose --format=json -- -x", "=", "--color=always selfcheck", "--print-gates --gates=x", "help x"} {
		f.Add(line)
	}
	app := testApp()
	f.Fuzz(func(t *testing.T, line string) {
		req, err := app.Parse(strings.Split(line, " "))
		if err != nil || req.Name == "" || req.Help {
			return
		}
		// What was understood is in order, and understood as itself.
		words := understood(req)
		again, err := app.Parse(words[1:])
		if err != nil || !slices.Equal(understood(again), words) {
			t.Fatalf("%q became %q, then %q (%v)", line, words, understood(again), err)
		}
	})
}
