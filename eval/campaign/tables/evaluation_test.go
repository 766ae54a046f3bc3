package tables

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/eval/campaign"
)

func specOf(t *testing.T, path string) *campaign.Spec {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	s, err := campaign.ParseSpec(path, text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func small(t *testing.T) *campaign.Spec {
	return specOf(t, "../../../fixtures/campaign/small.yaml")
}

func execute(t *testing.T, dir string, s *campaign.Spec) {
	t.Helper()
	if _, err := campaign.Execute(t.Context(), dir, s, campaign.Execution{Version: "1"}); err != nil {
		t.Fatal(err)
	}
}

// TestPaperTables makes E3 as the paper had it. Its counts for the frontier
// are top-1 40/50, top-2 and candidate hit 50/50, with candidate sets of two at
// τ from 0.70 to 0.80 (Tables 4, 15); forward/device
// 10/10 in the first two and labelled, forward/host 10/10 first and labelled
// (Table 5).
func TestPaperTables(t *testing.T) {
	dir := t.TempDir()
	execute(t, dir, specOf(t, "../specs/e3.yaml"))
	artifacts, err := tablesIn(dir)
	if err != nil {
		t.Fatal(err)
	}
	made := make(map[string]Artifact)
	for _, a := range artifacts {
		made[a.Name] = a
	}
	for name, n := range map[string]int{"table-4": 50, "table-5": 20, "table-14": 50, "table-15": 50} {
		if got := len(made[name].Inputs); got != n {
			t.Errorf("%s has %d inputs, expected %d", name, got, n)
		}
	}
	check := func(name string, row, from int, want ...string) {
		t.Helper()
		got := made[name].Table.Records()[row][from : from+len(want)]
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s, row %d: %v, expected %v", name, row, got, want)
		}
	}
	check("table-4", 0, 0, "frontier", "40/50", "50/50", "50/50", "2.00", "2")
	check("table-4", 0, 6, "40/50", "50/50", "50/50", "2.00", "2")
	check("table-5", 0, 0, "forward_device", "forward_device_supported", "10", "0/10", "10/10", "10/10", "0/10", "10/10")
	check("table-5", 1, 0, "forward_host", "forward_host_overhead_suspected", "10", "10/10", "10/10", "10/10", "10/10", "10/10")
	check("table-14", 9, 0, "forward_host", "32", "120", "5", "5/5", "5/5")
	for row, want := range []string{"0.70 50/50 2.00 2", "0.75 50/50 2.00 2", "0.80 50/50 2.00 2", "0.85 50/50 2.20 3", "0.90 50/50 3.00 3"} {
		if r := made["table-15"].Table.Records()[row]; strings.Join(r[:4], " ") != want || strings.Join(r[1:4], " ") != strings.Join(r[4:], " ") {
			t.Errorf("table-15, row %d: %v, expected %v there and in the paper", row, r, want)
		}
	}
	differ := 0
	for _, a := range artifacts {
		for _, c := range a.Cells {
			count(&differ, c.Differs())
			if c.Differs() != (c.Reason != "") || c.Artifact != "table-4" && c.Differs() {
				t.Errorf("%+v: differs %v", c, c.Differs())
			}
		}
	}
	if differ == 0 {
		t.Error("nothing differs, where five methods were seen to")
	}
}

func TestTablesOfTheirGroupsOnly(t *testing.T) {
	s, dir := small(t), t.TempDir()
	s.Groups[0].Tables = []int{15}
	s.Groups = s.Groups[:1] // without the healthy one
	execute(t, dir, s)
	artifacts, err := tablesIn(dir)
	if err != nil || len(artifacts) != 2 || artifacts[0].Name != "table-15" || len(artifacts[0].Inputs) != 6 {
		t.Errorf("%+v, %v, expected table 15 of 6 runs, and the groups", artifacts, err)
	}
}

func TestTablesRefuseWhatIsNotFinished(t *testing.T) {
	s, dir := small(t), t.TempDir()
	if _, err := tablesIn(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
	execute(t, dir, s)
	archive := filepath.Join(dir, "runs", "e3-data-120ms-r8-s1.parquet")
	other, err := os.ReadFile(filepath.Join(dir, "runs", "e3-data-120ms-r8-s0.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(archive, other, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := tablesIn(dir); err == nil || !strings.Contains(err.Error(), "e3-data-120ms-r8-s1.parquet: SHA-256 is ") {
		t.Errorf("with an archive that was changed: %v", err)
	}
	if err := os.Remove(archive); err != nil {
		t.Fatal(err)
	}
	if _, err := tablesIn(dir); err == nil || !strings.Contains(err.Error(), "is gone; sfstat campaign run makes it anew") {
		t.Errorf("with an archive that is gone: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "rows", "e3-data-120ms-r8-s1.csv")); err != nil {
		t.Fatal(err)
	}
	if _, err := tablesIn(dir); err == nil || !strings.Contains(err.Error(), "1 of 7 runs are not done, the first is e3-data-120ms-r8-s1") {
		t.Errorf("with a run missing: %v", err)
	}
}
