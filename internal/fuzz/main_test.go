package main

import (
	"errors"
	"fmt"
	"testing"
	"testing/fstest"
)

func TestTargets(t *testing.T) {
	text := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	all, err := targets(fstest.MapFS{
		"b/x_test.go":          text("package b\n\nfunc FuzzRead(f *testing.F) {\n}\n\nfunc FuzzA(f *testing.F) {}\nfunc TestFuzz(t *testing.T) {}\n"),
		"a/y_test.go":          text("func FuzzRead(f *testing.F) {}"),
		"a/y.go":               text("func FuzzNot(f *testing.F) {}"),
		"a/testdata/z_test.go": text("func FuzzNot(f *testing.F) {}"),
		".git/z_test.go":       text("func FuzzNot(f *testing.F) {}"),
	})
	if got, want := fmt.Sprint(all), "[a FuzzRead b FuzzA b FuzzRead]"; err != nil || got != want {
		t.Errorf("%s, %v; expected %s", got, err, want)
	}
}

func TestVerdict(t *testing.T) {
	failed := errors.New("exit status 1")
	for name, c := range map[string]struct {
		out   string
		err   error
		execs int
		why   string
	}{
		"well":                   {"fuzz: elapsed: 3s, execs: 900 (300/sec)\nfuzz: elapsed: 6s, execs: 1000 (33/sec)\nPASS\n", nil, 1000, ""},
		"hardly ran":             {"fuzz: elapsed: 20s, execs: 3 (0/sec)\nPASS\n", nil, 3, "FAILED: less than 1000"},
		"never ran":              {"PASS\n", nil, 0, "FAILED: less than 1000"},
		"finding":                {"fuzz: elapsed: 6s, execs: 5000 (33/sec)\n--- FAIL: FuzzRead\n    Failing input written to testdata\n", failed, 5000, "FAILED (exit status 1)"},
		"finding that timed out": {"fuzz: elapsed: 6s, execs: 5000 (33/sec)\n    context deadline exceeded\n    Failing input written to testdata\n", failed, 5000, "FAILED (exit status 1)"},
		"end of its time":        {"fuzz: elapsed: 6s, execs: 5000 (33/sec)\n--- FAIL: FuzzRead\n    context deadline exceeded\n", failed, 5000, ""},
		"does not compile":       {"x.go:1: undefined\n", failed, 0, "FAILED (exit status 1)"},
	} {
		if execs, why := verdict(c.out, c.err, 1000); execs != c.execs || why != c.why {
			t.Errorf("%s: %d, %q; expected %d, %q", name, execs, why, c.execs, c.why)
		}
	}
}
