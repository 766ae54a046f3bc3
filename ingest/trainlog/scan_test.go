package trainlog

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The form of a time as one expression.
var timeWord = regexp.MustCompile(`(?i)\b([a-z][a-z_/ ]*?)["']?\s*(?:\((ms|us|s|sec)\))?["']?\s*[:=]\s*(\d+(?:\.\d*)?(?:e[-+]?\d+)?)\s*(ms|us|s|sec|seconds)?(?:[\s,|)\]}]|$)`)

// asExpressions compares what a line is read as with what the expressions find in it.
func asExpressions(t *testing.T, line string) {
	t.Helper()
	want, wantOK := int64(0), false
	if m := stepWord.FindStringSubmatch(line); m != nil {
		want, _ = strconv.ParseInt(m[1], 10, 64)
		wantOK = true
	}
	if step, ok := stepOf([]byte(line)); ok != wantOK || step != want {
		t.Errorf("%q: step %d, %v, want %d, %v", line, step, ok, want, wantOK)
	}
	want, wantOK = 0, false
	if m := rankWord.FindStringSubmatch(line); m != nil {
		want, _ = strconv.ParseInt(m[1]+m[2], 10, 64)
		wantOK = true
	}
	if rank, ok := rankIn([]byte(line)); ok != wantOK || int64(rank) != want {
		t.Errorf("%q: rank %d, %v, want %d, %v", line, rank, ok, want, wantOK)
	}
	var got, expected []string
	for _, m := range timeWord.FindAllStringSubmatch(line, -1) {
		expected = append(expected, strings.ToLower(strings.TrimSpace(m[1]))+" is "+m[3]+strings.ToLower(m[2]+m[4]))
	}
	for rest := []byte(line); ; {
		var x timing
		var ok bool
		if x, rest, ok = nextTiming(rest); !ok {
			break
		}
		got = append(got, strings.TrimSpace(x.name)+" is "+x.number+x.unit)
	}
	if strings.Join(got, "; ") != strings.Join(expected, "; ") {
		t.Errorf("%q: times %q, want %q", line, got, expected)
	}
}

// TestScan: real lines are read as the expressions read them.
func TestScan(t *testing.T) {
	files, err := filepath.Glob("../../fixtures/trainlog/*/*.log")
	if err != nil || len(files) == 0 {
		t.Fatal("no logs", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			asExpressions(t, string(line))
		}
	}
}
