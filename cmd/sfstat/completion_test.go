package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/report"
)

func words(found []cli.Candidate) []string {
	var out []string
	for _, c := range found {
		out = append(out, c.Word)
	}
	return out
}

func TestCandidates(t *testing.T) {
	cases := []struct {
		line string // words; the last is being typed
		want string
	}{
		{"d", "diagnose doctor"},
		{"diagnose --form", "--format"},
		{"diagnose --format ", "text json csv md github"},
		{"diagnose --format j", "json"},
		{"diagnose --format=j", "--format=json"},
		{"diagnose run --fail-on ", "strong supported ambiguous unseen too_little_data"},
		{"--format json diag", "diagnose"},
		{"convert --to ", "packets csv parquet perfetto"},
		{"convert -o ", ""},
		{"simulate --fault slow-w", "slow-worker"},
		{"simulate --fault=late", "--fault=late-start"},
		{"simulate --to ", "packets csv parquet"},
		{"diagnose ", ""},
		{"diagnose -- --for", ""},
		{"completion ", "bash zsh fish"},
		{"completion bash ", ""},
		{"schema comm-", "comm-matrix comm-schedule comm-steps comm-topology"},
		{"schema comm ", ""},
		{"help dia", "diagnose"},
		{"--print", "--print-gates"},
		{"camp", "campaign"},
		{"campaign rep", "report"},
		{"campaign run --out", "--output"},
		{"campaign report --table-format ", "md csv latex"},
		{"campaign report t", ""},
		{"help campaign s", "sources"},
		{"help diagnose ", ""},
		{"--vers", "--version"},
		{"nonsense --format ", "text json csv md github"},
	}
	app, closed := testApp(), map[string][]string{"completion": shells, "schema": report.SchemaNames()}
	for _, c := range cases {
		got := strings.Join(words(app.Candidates(strings.Split(c.line, " "), closed)), " ")
		if got != c.want {
			t.Errorf("%q: %q, expected %q", c.line, got, c.want)
		}
	}
	for _, line := range [][]string{nil, {""}, {"--quiet", ""}} {
		if got := words(app.Candidates(line, closed)); !slices.Contains(got, "diagnose") || slices.Contains(got, "completion") || slices.Contains(got, "__complete") {
			t.Errorf("%q: %q, expected the commands", line, got)
		}
	}
}

// TestShells has the real shells complete real command lines, each where it is
// installed; bash always is.
func TestShells(t *testing.T) {
	drivers := map[string]string{
		"bash": `source "$SCRIPT"
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sfstat; printf '%s\n' "${COMPREPLY[@]}"`,
		"zsh": `compdef() { :; }; _files() { :; }
_describe() { local -a list; list=("${(@P)2}"); print -l -- "${list[@]%%:*}"; }
source "$SCRIPT"
words=("$@"); CURRENT=$#; _sfstat`,
		"fish": `source "$SCRIPT"
complete -C "$argv" | string replace -r '\t.*' ''; true`,
	}
	for shell, driver := range drivers {
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("%s is not installed: its script is not tried here", shell)
			continue
		}
		t.Run(shell, func(t *testing.T) {
			_, script, _ := runArgs(t, nil, "completion", shell)
			file := filepath.Join(t.TempDir(), "sfstat."+shell)
			if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
				t.Fatal(err)
			}
			for line, want := range map[string][]string{
				"sfstat fron":                    {"frontier"},
				"sfstat diagnose --format j":     {"json"},
				"sfstat diagnose run --fail-on ": {"strong", "supported", "ambiguous", "unseen", "too_little_data"},
			} {
				args := []string{"-c", driver, "driver"}
				if shell == "fish" {
					args = []string{"--no-config", "-c", driver, line}
				} else {
					args = append(args, strings.Split(line, " ")...)
				}
				cmd := exec.Command(path, args...)
				cmd.Env = append(os.Environ(), "SCRIPT="+file, "HOME="+t.TempDir())
				out, err := cmd.CombinedOutput()
				got := strings.Fields(string(out))
				slices.Sort(got)
				slices.Sort(want)
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("%q: %q (%v), expected %q", line, out, err, want)
				}
			}
		})
	}
}

func TestBashCompletesAfterAnEqualsSign(t *testing.T) {
	_, script, _ := runArgs(t, nil, "completion", "bash")
	cmd := exec.Command("bash", "-c", script+`
COMP_WORDS=(sfstat diagnose --format = js); COMP_CWORD=4; _sfstat; echo "${COMPREPLY[@]}"
COMP_WORDS=(sfstat diagnose --format =); COMP_CWORD=3; _sfstat; echo "${COMPREPLY[@]}"`)
	out, err := cmd.CombinedOutput()
	if want := "json\ntext json csv md github\n"; err != nil || string(out) != want {
		t.Errorf("%q (%v), expected %q", out, err, want)
	}
}
