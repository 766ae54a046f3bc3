package tables

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/trace"
)

const pairedSpec = `name: cost
runner: local
groups:
  - {name: e1, families: [nofault], ranks: [8], seeds: [0-5], windows: 2, steps: 20, events: "off", recorder: ["off", "on"], published: E1}
`

// timed makes simulated runs and leaves times beside them, with 0.1 % for the recorder.
type timed struct {
	campaign.Simulation
	dir, packets string
}

func (m timed) Make(ctx context.Context, t *campaign.Task, keep func(*trace.Window) error) error {
	base := 200_000_000 + 1000*t.Spec.Seed
	pairs := fmt.Sprintf("pair,base_ns,with_ns,first\nx,%d,%d,on\nx,%d,%d,off\n", base, base+200_000+10_000*t.Spec.Seed, base, base+190_000)
	if err := os.WriteFile(filepath.Join(m.packets, "pairs.csv"), []byte(pairs), 0o666); err != nil {
		return err
	}
	if err := t.KeepPairs(m.dir, m.packets); err != nil {
		return err
	}
	return m.Simulation.Make(ctx, t, keep)
}

// TestPairedRuns: times without the recorder and with it become Table 7, a run is a
// block.
func TestPairedRuns(t *testing.T) {
	s, err := campaign.ParseSpec("cost.yaml", []byte(pairedSpec))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "cost")
	if _, err := campaign.Execute(t.Context(), dir, s, campaign.Execution{Maker: timed{dir: dir, packets: t.TempDir()}, Workers: 1}); err != nil {
		t.Fatal(err)
	}
	made := tablesOf(t, dir, s)["table-7"]
	if len(made.Table.Rows) != 1 || len(made.Inputs) != 6 {
		t.Fatalf("%+v of %d inputs", made.Table.Rows, len(made.Inputs))
	}
	row := made.Table.Records()[0]
	// 200 to 250 µs and 190 µs more of 200 ms: 208 in the mean.
	if got := strings.Join(row[:5], " "); got != "8 gloo cpu 6 0.104 %" || row[7] != "0.019 %" || !strings.Contains(row[5], " to ") {
		t.Errorf("row %q", row)
	}
	if len(made.Cells) != 1 || !strings.HasPrefix(made.Cells[0].Reason, "The estimate is 0.104 % here, of 6 runs;") {
		t.Errorf("cells beside the published ones: %+v", made.Cells)
	}
	run := filepath.Join(dir, campaign.OverheadName, campaign.PairedName, "e1-nofault-r8-s3.csv")
	if err := os.Remove(run); err != nil {
		t.Fatal(err)
	}
	if _, err := tablesIn(dir); err == nil || !strings.Contains(err.Error(), "e1-nofault-r8-s3.csv: ") {
		t.Errorf("without the times of a run: %v", err)
	}
}
