package campaign

import (
	"strings"
	"testing"
)

const pairedSpec = `name: cost
runner: local
groups:
  - {name: e1, families: [nofault], ranks: [8], seeds: [0-5], windows: 2, steps: 20, events: "off", recorder: ["off", "on"], published: E1}
`

func TestPairedRefuses(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"simulated", "local", "simulator", "a simulated job has no recorder"},
		{"off alone", `["off", "on"]`, `["off"]`, "expected [off, on]"},
		{"twice", `["off", "on"]`, `["off", "off"]`, "expected [off, on]"},
		{"profiler", `published: E1`, `profiler: pytorch`, "would count as cost"},
		{"neither", `["off", "on"]`, `["of"]`, "expected one of on, off"},
	} {
		if _, err := ParseSpec("cost.yaml", []byte(strings.Replace(pairedSpec, c.old, c.new, 1))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, expected %q", c.name, err, c.want)
		}
	}
	plan := func(text string) Task {
		t.Helper()
		s, err := ParseSpec("cost.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		tasks, err := s.Plan()
		if err != nil {
			t.Fatal(err)
		}
		return tasks[0]
	}
	with, on := plan(pairedSpec), plan(strings.Replace(pairedSpec, `["off", "on"]`, `["on"]`, 1))
	if !with.Paired || on.Paired || with.Hash == on.Hash {
		t.Errorf("paired %v with hash %s, on alone %v with %s", with.Paired, with.Hash, on.Paired, on.Hash)
	}
}
