package ddp

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sfstat/sfstat/eval/simulate"
)

var update = flag.Bool("update", false, "write testdata anew")

// vector is what the job and the simulator must agree on: when the faults of a
// run strike. The Python tests read it.
type vector struct {
	Spec  simulate.Spec        `json:"spec"`
	Truth []simulate.TrueFault `json:"truth"`
}

var vectorSpecs = []string{
	"ranks: 4\nschedule: {windows: 1, steps: 6, warmup: 2}\nfaults: [{family: data, delay_ms: 120}]",
	"ranks: 4\nschedule: {windows: 3, steps: 5, warmup: 3, gap: 2}\nfaults: [{family: callback_sync, delay_ms: 60, windows: [1]}]",
	"ranks: 8\nseed: 3\nschedule: {windows: 2, steps: 25, warmup: 1, gap: 4}\nfaults: [{family: backward_comm, delay_ms: 30, ranks: [5, 2], every: 10, from: 3}, {family: optimizer_host, delay_ms: 9, until: 30, from: 7}]",
	"ranks: 4\naccumulation: 4\nschedule: {windows: 2, steps: 4, warmup: 0}\nfaults: [{family: forward_device, delay_ms: 8}, {family: backward, delay_ms: 10, every: 2}, {family: backward_comm, delay_ms: 4, windows: [0]}]",
	"ranks: 4\nlayout: [{axis: dp, size: 2}, {axis: pp, size: 2}]\nwork: [{where: {pp: 1}, factor: 1.5}, {ranks: [3], stages: [data.next_wait], factor: 2}]\nschedule: {windows: 1, steps: 3, warmup: 1}\nfaults: [{family: forward_host, delay_ms: 20, every: 2}]",
}

func TestVector(t *testing.T) {
	var vectors []vector
	for _, text := range vectorSpecs {
		s, err := simulate.ParseSpec("vector", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if s, err = s.ResolvedSpec(); err != nil {
			t.Fatal(err)
		}
		g, err := simulate.New(s)
		if err != nil {
			t.Fatal(err)
		}
		vectors = append(vectors, vector{s, g.Truth().Faults})
	}
	got, err := json.MarshalIndent(vectors, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	path := filepath.Join("testdata", "vector.json")
	if *update {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the simulator does: go test ./eval/campaign/ddp -run Vector -update writes it anew", path)
	}
}

// TestPython runs the tests of the job that need no PyTorch.
func TestPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3: the tests of the job's Python did not run")
	}
	cmd := exec.CommandContext(t.Context(), python, "-W", "error", "-m", "unittest", "discover", "-t", ".", "-s", "tests")
	cmd.Dir = "python"
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
