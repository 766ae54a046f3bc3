package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/internal/largedata"
)

// TestConvertedFolder: what profilers recorded of a job of eight ranks gives the
// same answers after it was converted. The script kineto has a job of four.
func TestConvertedFolder(t *testing.T) {
	t.Parallel()
	traces := largedata.Need(t, "data/kineto/gen8")
	folder := filepath.Join(t.TempDir(), "job")
	if code, _, stderr := runArgs(t, nil, "convert", traces, "-o", folder+"/", "--to", "parquet"); code != 0 {
		t.Fatal(stderr)
	}
	for _, command := range []string{"diagnose", "zscore", "ks", "blame", "frontier"} {
		_, want, _ := runArgs(t, nil, command, traces, "--format", "json")
		want = withoutProblems(want) // other files lie beside the traces
		code, got, stderr := runArgs(t, nil, command, folder, "--strict", "--format", "json")
		if got = withoutProblems(got); code != 0 || got != want || !strings.HasPrefix(got, "{") {
			t.Errorf("%s: exit code %d, %d bytes that are not the %d of the traces: %s", command, code, len(got), len(want), stderr)
		}
	}
}

// withoutProblems is a report without the inputs that were refused, and without the division of the devices'
// time, for which it takes the kernels: tables hold none.
func withoutProblems(report string) string {
	var v map[string]any
	if json.Unmarshal([]byte(report), &v) != nil {
		return report
	}
	delete(v, "problems")
	delete(v, "devices")
	out, err := json.Marshal(v)
	if err != nil {
		return report
	}
	return string(out)
}
