package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/internal/largedata"
)

// TestOneJobInAllForms: what is said of a job does not depend on how it is stored: as packets, in
// one file or one for each rank, as CSV or Parquet, compressed or not.
func TestOneJobInAllForms(t *testing.T) {
	jobs, err := filepath.Glob(filepath.Join(root, "fixtures", "ddp", "*.jsonl"))
	if err != nil || len(jobs) == 0 {
		t.Fatalf("no jobs: %v", err)
	}
	more, _ := filepath.Glob(filepath.Join(largedata.Path(t, "data/cases/composed"), "*", "packets.jsonl"))
	for _, job := range append(jobs, more...) {
		t.Run(filepath.Base(filepath.Dir(job))+"/"+filepath.Base(job), func(t *testing.T) {
			want, dir := saidOf(t, job), t.TempDir()
			for _, name := range []string{"a.csv", "b.csv.zst", "c.parquet", "d.jsonl.gz"} {
				to := filepath.Join(dir, name)
				if code := run([]string{"sfstat", "convert", job, "-o", to}, nil, io.Discard, io.Discard); code != exitDone {
					t.Fatalf("convert to %s: exit code %d", name, code)
				}
				if diff := cmp.Diff(want, saidOf(t, to)); diff != "" {
					t.Errorf("%s (-packets):\n%s", name, diff)
				}
			}
			if diff := cmp.Diff(want, saidOf(t, split(t, job, false))); diff != "" {
				t.Errorf("a file for each rank (-one file):\n%s", diff)
			}
			if diff := cmp.Diff(want, saidOf(t, split(t, job, true))); diff != "" {
				t.Errorf("a compressed file for each rank (-one file):\n%s", diff)
			}
		})
	}
}

// saidOf returns what diagnose says of a recording, but for how it was read.
func saidOf(t *testing.T, path string) map[string]any {
	t.Helper()
	var out, said bytes.Buffer
	if code := run([]string{"sfstat", "diagnose", "--format", "json", path}, nil, &out, &said); code != exitDone {
		t.Fatalf("diagnose %s: exit code %d, %s", path, code, said.String())
	}
	var all, kept map[string]any
	if err := json.Unmarshal(out.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	kept = make(map[string]any)
	for _, key := range []string{"run", "status", "headline", "why", "advice", "confidence", "findings", "run_gain_together", "limits", "coverage", "latent", "undecided"} {
		value, there := all[key]
		if !there {
			t.Fatalf("no %s", key)
		}
		kept[key] = value
	}
	return kept
}

// split writes the packets of each rank into a file of its own, and returns the folder.
func split(t *testing.T, path string, packed bool) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ranks := make(map[int]*bytes.Buffer)
	for line := range bytes.Lines(text) {
		var packet struct {
			Rank int `json:"rank"`
		}
		if json.Unmarshal(line, &packet) != nil {
			continue
		}
		if ranks[packet.Rank] == nil {
			ranks[packet.Rank] = &bytes.Buffer{}
		}
		ranks[packet.Rank].Write(line)
	}
	dir := t.TempDir()
	for rank, lines := range ranks {
		name, content := filepath.Join(dir, "rank"+strconv.Itoa(rank)+".jsonl"), lines.Bytes()
		if packed {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			if _, err := z.Write(content); err != nil {
				t.Fatal(err)
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			name, content = name+".gz", b.Bytes()
		}
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
