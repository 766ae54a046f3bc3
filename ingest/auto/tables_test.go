package auto

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/sfstat/sfstat/trace"
)

// stepRow is a step of a rank in a table of a training loop.
type stepRow struct {
	Step int64 `json:"step" parquet:"step"`
	Rank int64 `json:"rank" parquet:"rank"`
	Data int64 `json:"data_ns" parquet:"data_ns"`
	Back int64 `json:"backward_ns" parquet:"backward_ns"`
}

// stepRows returns three steps of ranks.
func stepRows(ranks ...int64) (out []stepRow) {
	for step := range int64(3) {
		for _, r := range ranks {
			out = append(out, stepRow{step, r, 1000 + step, 5000 + r})
		}
	}
	return out
}

// later returns rows whose steps come behind the first three.
func later(rows []stepRow) []stepRow {
	for i := range rows {
		rows[i].Step += 3
	}
	return rows
}

// onHost returns a table with the rank on a host in place of the rank.
func onHost(text string) string { return strings.Replace(text, "rank", "local_rank", 1) }

// unranked returns a table of JSON objects without the rank.
func unranked(text string) string { return strings.ReplaceAll(text, `"rank":0,`, "") }

// bare returns the table of a rank that does not say it.
func bare(rank int64) string {
	out := ""
	for line := range strings.Lines(csvOf(stepRows(rank))) {
		step, rest, _ := strings.Cut(line, ",")
		_, rest, _ = strings.Cut(rest, ",")
		out += step + "," + rest
	}
	return out
}

func csvOf(rows []stepRow) string {
	text := "step,rank,data_ns,backward_ns\n"
	for _, r := range rows {
		text += fmt.Sprintf("%d,%d,%d,%d\n", r.Step, r.Rank, r.Data, r.Back)
	}
	return text
}

func jsonOf(rows []stepRow) string {
	text := ""
	for _, r := range rows {
		line, _ := json.Marshal(r)
		text += string(line) + "\n"
	}
	return text
}

func parquetRows(t *testing.T, rows []stepRow) string {
	var b bytes.Buffer
	if err := parquet.Write(&b, rows); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestTablesOfOneJob: tables that name their ranks are of one run where no rank is in two of them, whichever folder or file each rank or host
// has, and of as many runs as there are files where ranks come again.
func TestTablesOfOneJob(t *testing.T) {
	named := strings.ReplaceAll(csvOf(stepRows(0, 1)), "\n", ",mine\n")
	named = strings.Replace(named, ",mine", ",run", 1)
	others := strings.ReplaceAll(csvOf(stepRows(2, 3)), "\n", ",mine\n")
	others = strings.Replace(others, ",mine", ",run", 1)
	for name, c := range map[string]struct {
		files map[string]string
		want  string // runs with their ranks and the hosts of these
		parts bool   // of a job, each by itself
	}{
		"a file for each rank":    {map[string]string{"j/a.csv": csvOf(stepRows(0)), "j/b.csv": csvOf(stepRows(1))}, "j 0 1", false},
		"a folder for each rank":  {map[string]string{"j/rank0/m.csv": csvOf(stepRows(0)), "j/rank1/m.csv": csvOf(stepRows(1))}, "j 0 1", false},
		"a file for each host":    {map[string]string{"j/node0.csv": csvOf(stepRows(0, 1)), "j/node1.csv": csvOf(stepRows(2, 3))}, "j 0:node0 1:node0 2:node1 3:node1", false},
		"a folder for each host":  {map[string]string{"j/node0/m.csv": csvOf(stepRows(0, 1)), "j/node1/m.csv": csvOf(stepRows(2, 3))}, "j 0:node0 1:node0 2:node1 3:node1", false},
		"jobs below hosts":        {map[string]string{"node0/a/rank_0.csv": bare(0), "node1/a/rank_1.csv": bare(0), "node0/b/rank_0.csv": bare(1), "node1/b/rank_1.csv": bare(1)}, "a 0:node0 1:node1, b 0:node0 1:node1", false},
		"hosts and ranks":         {map[string]string{"j/node0/rank_0.csv": csvOf(stepRows(0)), "j/node1/rank_1.csv": csvOf(stepRows(1))}, "j 0:node0 1:node1", false},
		"JSON lines":              {map[string]string{"j/node0.jsonl": jsonOf(stepRows(0, 1)), "j/node1.jsonl": jsonOf(stepRows(2))}, "j 0:node0 1:node0 2:node1", false},
		"Parquet":                 {map[string]string{"j/rank0/m.parquet": parquetRows(t, stepRows(0)), "j/rank1/m.parquet": parquetRows(t, stepRows(1))}, "j 0 1", false},
		"two runs by name":        {map[string]string{"j/x-node0.csv": csvOf(stepRows(0)), "j/x-node1.csv": csvOf(stepRows(1)), "j/y-node0.csv": csvOf(stepRows(0)), "j/y-node1.csv": csvOf(stepRows(1))}, "x 0:node0 1:node1, y 0:node0 1:node1", false},
		"two runs by folder":      {map[string]string{"x/a.csv": csvOf(stepRows(0)), "x/b.csv": csvOf(stepRows(1)), "y/a.csv": csvOf(stepRows(0)), "y/b.csv": csvOf(stepRows(1))}, "x 0 1, y 0 1", false},
		"a run and its copy":      {map[string]string{"j/a.csv": csvOf(stepRows(0)), "j/b.csv": csvOf(stepRows(1)), "j/c.csv": strings.Replace(csvOf(stepRows(0, 1)), "backward", "back", 1)}, "c 0 1, j 0 1", false},
		"a run that rows name":    {map[string]string{"j/a.csv": named, "j/b.csv": others}, "mine 0 1 2 3", false},
		"stretches of steps":      {map[string]string{"j/part-9.csv": csvOf(stepRows(0, 1)), "j/part-10.csv": csvOf(later(stepRows(0, 1)))}, "j 0 1, j 0 1", false},
		"stretches of hosts":      {map[string]string{"j/node0/p-0.csv": csvOf(stepRows(0)), "j/node0/p-1.csv": csvOf(later(stepRows(0))), "j/node1/p-0.csv": csvOf(stepRows(1)), "j/node1/p-1.csv": csvOf(later(stepRows(1)))}, "j 0:node0 1:node1, j 0:node0 1:node1", false},
		"stretches of two runs":   {map[string]string{"j/x-0.csv": csvOf(stepRows(0)), "j/x-1.csv": csvOf(later(stepRows(0))), "j/y-0.csv": csvOf(stepRows(0)), "j/y-1.csv": csvOf(later(stepRows(0)))}, "x 0, x 0, y 0, y 0", false},
		"ranks on hosts":          {map[string]string{"j/node10.csv": onHost(csvOf(stepRows(0, 1))), "j/node9.csv": onHost(csvOf(stepRows(0)))}, "j 0:node9 1:node10 2:node10", false},
		"ranks on hosts, runs":    {map[string]string{"j/a.csv": onHost(csvOf(stepRows(0, 1))), "j/b.csv": onHost(csvOf(stepRows(0, 1)))}, "a 0 1, b 0 1", false},
		"JSON lines without rank": {map[string]string{"j/rank_0.jsonl": unranked(jsonOf(stepRows(0))), "j/rank_1.jsonl": unranked(jsonOf(stepRows(0)))}, "j 0 1", false},
		"names count all ranks":   {map[string]string{"j/node0/rank_0.csv": bare(0), "j/node1/rank_2.csv": bare(0), "j/node1/rank_3.csv": bare(0)}, "j 0:node0 2:node1 3:node1", true},
		"names count on hosts":    {map[string]string{"j/node0/rank_0.csv": bare(0), "j/node0/rank_2.csv": bare(0), "j/node1/rank_0.csv": bare(0)}, "j 0:node0 2:node0 3:node1", true},
		"two runs, one rank each": {map[string]string{"j/x_rank0.csv": bare(0), "j/x_rank1.csv": bare(0), "j/y_rank0.csv": bare(0), "j/y_rank1.csv": bare(0)}, "x 0 1, y 0 1", false},
		"a gap on a host":         {map[string]string{"j/node0.csv": onHost(csvOf(stepRows(0, 2))), "j/node1.csv": onHost(csvOf(stepRows(0)))}, "j 0:node0 2:node0 3:node1", true},
		"runs of the same ranks":  {map[string]string{"j/a.csv": csvOf(stepRows(0, 1)), "j/b.csv": strings.ReplaceAll(csvOf(stepRows(0, 1)), ",100", ",200")}, "a 0 1, b 0 1", false},
		"other columns elsewhere": {map[string]string{"j/a.csv": csvOf(stepRows(0, 1)), "j/b.csv": strings.Replace(csvOf(stepRows(2, 3)), "data", "eval", 1)}, "a 0 1, b 2 3", true},
	} {
		_, windows, err := read(t, Options{}, folderOf(t, c.files))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, w := range windows {
			if w.Steps() != 3 || !c.parts && len(w.Missing()) > 0 {
				t.Errorf("%s: %s has %d steps, without ranks %v", name, w.Run, w.Steps(), w.Missing())
			}
		}
		if text := strings.ReplaceAll(listRuns(windows), ".csv", ""); text != c.want {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
	}
}

// listRuns returns the run of each window with its ranks and their hosts, sorted.
func listRuns(windows []*trace.Window) string {
	var runs []string
	for _, w := range windows {
		text := w.Run
		for _, r := range w.Ranks {
			if text += fmt.Sprintf(" %d", r.ID); r.Host != "" {
				text += ":" + r.Host
			}
		}
		runs = append(runs, text)
	}
	slices.Sort(runs)
	return strings.Join(runs, ", ")
}
