package tables

import (
	"bytes"
	"context"
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
  - {name: e1, families: [nofault], ranks: [8], seeds: [0-5], windows: 2, steps: 20, recorder: ["off", wall, events], published: E1}
`

// timed makes simulated runs and leaves rounds beside them: 0.1 % for the recorder with wall
// times, 2 % with device times.
type timed struct {
	campaign.Simulation
	dir, packets string
}

func (m timed) Make(ctx context.Context, t *campaign.Task, keep func(*trace.Window) error) error {
	base, more := float64(200_000_000+1000*t.Spec.Seed), float64(200_000+10_000*t.Spec.Seed)
	rounds := []campaign.Round{
		{Run: t.ID, Number: 1, Arm: campaign.Wall, Base: campaign.Chunk{Wall: base}, With: campaign.Chunk{Wall: base + more}},
		{Run: t.ID, Number: 1, Arm: campaign.Events, Base: campaign.Chunk{Wall: base}, With: campaign.Chunk{Wall: base + 20*more}},
		{Run: t.ID, Number: 2, Arm: campaign.Wall, Base: campaign.Chunk{Wall: base}, With: campaign.Chunk{Wall: base + 190_000}},
		{Run: t.ID, Number: 2, Arm: campaign.Events, Base: campaign.Chunk{Wall: base}, With: campaign.Chunk{Wall: base + 3_800_000}},
	}
	var text bytes.Buffer
	if err := campaign.WriteRounds(&text, rounds); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(m.packets, "rounds.csv"), text.Bytes(), 0o666); err != nil {
		return err
	}
	if err := t.KeepRounds(m.dir, m.packets); err != nil {
		return err
	}
	return m.Simulation.Make(ctx, t, keep)
}

// TestArmsOfRuns: times without the recorder and under each arm become Table 7, a run is a
// block, and each arm stands against its gate.
func TestArmsOfRuns(t *testing.T) {
	s, err := campaign.ParseSpec("cost.yaml", []byte(pairedSpec))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "cost")
	if _, err := campaign.Execute(t.Context(), dir, s, campaign.Execution{Maker: timed{dir: dir, packets: t.TempDir()}, Workers: 1}); err != nil {
		t.Fatal(err)
	}
	e, err := Open(nil, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	var summary bytes.Buffer
	if err := e.WriteSummary(&summary); err != nil {
		t.Fatal(err)
	}
	// Of 200.000 to 200.005 ms: 0.200 to 0.250 ms more in the first round, 0.190 ms in the second.
	if want := "\ne1,overhead_wall,window,12,0.00103749,"; !strings.Contains(summary.String(), want) || !strings.Contains(summary.String(), "\ne1,overhead_events,window,12,0.0207497,") || strings.Contains(summary.String(), "overhead_sample") {
		t.Errorf("summary, expected a row %s:\n%s", want, summary.String())
	}
	made := tablesOf(t, dir, s)["table-7"]
	if len(made.Table.Rows) != 2 || len(made.Inputs) != 6 {
		t.Fatalf("%+v of %d inputs", made.Table.Rows, len(made.Inputs))
	}
	// 200 to 250 µs and 190 µs more of 200 ms: 208 in the mean, and twenty times that.
	for i, want := range []struct{ begins, gate string }{
		{"8 gloo wall 6 0.104 %", "3.0 % within 0.019 %"}, {"8 gloo events 6 2.075 %", "1.0 % above 0.004 %"},
	} {
		row := made.Table.Records()[i]
		if got := strings.Join(row[:5], " "); got != want.begins || strings.Join(row[7:10], " ") != want.gate || !strings.Contains(row[5], " to ") {
			t.Errorf("row %q, expected %q and %q", row, want.begins, want.gate)
		}
	}
	if len(made.Cells) != 2 || !strings.HasPrefix(made.Cells[0].Reason, "The estimate is 0.104 % here, of 6 runs;") {
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
