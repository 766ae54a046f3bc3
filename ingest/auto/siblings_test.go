package auto

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/ingesttest"
)

// of4 returns the tables of ranks 0 to 3 that do not say the rank, by a pattern of their names, with one of another name or content.
func of4(pattern string, odd int, name, content string) map[string]string {
	files := make(map[string]string)
	for rank := range 4 {
		if rank != odd {
			files["j/"+fmt.Sprintf(pattern, rank)] = bare(int64(rank))
		}
	}
	if name != "" {
		files["j/"+name] = content
	}
	return files
}

// TestOddTable: a table of a rank is read with those of the others however it is stored, whatever the order of its columns, and in
// whatever unit, and the other ranks have their times.
func TestOddTable(t *testing.T) {
	two := bare(2) // step,data_ns,backward_ns
	inMS := strings.NewReplacer("_ns", "_ms", ",100", ",0.00100", ",500", ",0.00500").Replace(two)
	turned := "step,backward_ns,data_ns\n0,5002,1000\n1,5002,1001\n2,5002,1002\n"
	objects := `{"step":0,"data_ns":1000,"backward_ns":5002}` + "\n" + `{"step":1,"data_ns":1001,"backward_ns":5002}` + "\n" + `{"step":2,"data_ns":1002,"backward_ns":5002}` + "\n"
	for name, files := range map[string]map[string]string{
		"another unit":          of4("rank_%d.csv", 2, "rank_2.csv", inMS),
		"no unit":               of4("rank_%d.csv", 2, "rank_2.csv", strings.ReplaceAll(two, "_ns", "")),
		"zeros before":          of4("rank_%d.csv", 2, "rank_02.csv", two),
		"another name":          of4("rank_%d.csv", 2, "timing-rank2.csv", two),
		"upper case":            of4("rank_%d.csv", 2, "RANK_2.CSV", strings.ReplaceAll(two, "data", "Data")),
		"gzip":                  of4("rank_%d.csv", 2, "rank_2.csv.gz", ingesttest.Gzip(t, two)),
		"tabs":                  of4("rank_%d.csv", 2, "rank_2.tsv", strings.ReplaceAll(two, ",", "\t")),
		"another order":         of4("rank_%d.csv", 2, "rank_2.csv", turned),
		"another stage":         of4("rank_%d.csv", 2, "rank_2.csv", strings.NewReplacer("backward_ns\n", "backward_ns,save_ns\n", "5002\n", "5002,9\n").Replace(two)),
		"column of the rank":    of4("rank_%d.csv", 2, "rank_2.csv", csvOf(stepRows(2))),
		"first, column":         of4("%d.csv", 0, "0.csv", csvOf(stepRows(0))),
		"numbers, column":       of4("%d.csv", 2, "2.csv", csvOf(stepRows(2))),
		"numbers, another name": of4("m%d.csv", 2, "rank2.csv", two),
		"two, column":           {"j/rank_0.csv": bare(0), "j/rank_1.csv": bare(1), "j/rank_2.csv": csvOf(stepRows(2)), "j/rank_3.csv": csvOf(stepRows(3))},
		"objects":               of4("rank_%d.csv", 2, "rank_2.jsonl", objects),
		"objects, column":       of4("rank_%d.csv", 2, "rank_2.jsonl", jsonOf(stepRows(2))),
		"Parquet, column":       of4("rank_%d.csv", 2, "rank_2.parquet", parquetRows(t, stepRows(2))),
	} {
		_, windows, err := read(t, Options{}, folderOf(t, files))
		if err != nil || len(windows) != 1 {
			t.Errorf("%s: %d windows, error %v", name, len(windows), err)
			continue
		}
		w := windows[0]
		if len(w.Ranks) != 4 || w.Steps() != 3 || w.WorldSize != 4 || len(w.Schema.Stages) != 2 {
			t.Errorf("%s: %d of %d ranks, %d steps, stages %v", name, len(w.Ranks), w.WorldSize, w.Steps(), w.Schema.Stages)
			continue
		}
		for r := range w.Ranks {
			if data, backward := w.Step(1)[r], w.Step(1)[4+r]; data != 1001 || backward != 5000+int64(r) {
				t.Errorf("%s: rank %d takes %d and %d ns in step 1, want 1001 and %d", name, r, data, backward, 5000+r)
			}
		}
	}
}

// TestOtherTables: tables of other stages, of ranks that are there, or of numbers far apart are not taken for the table of a rank.
func TestOtherTables(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		ranks int // in the run of the four
	}{
		"other stages":         {of4("rank_%d.csv", 2, "eval_2.csv", "step,eval_ns\n0,5\n1,5\n2,5\n"), 3},
		"far from the others":  {of4("rank_%d.csv", 2, "metrics-9.csv", bare(2)), 3},
		"a rank that is there": {of4("rank_%d.csv", -1, "metrics-2.csv", strings.ReplaceAll(bare(2), ",100", ",200")), 4},
	} {
		_, windows, err := read(t, Options{}, folderOf(t, c.files))
		if err != nil || len(windows) != 1 || len(windows[0].Ranks) != c.ranks {
			t.Errorf("%s: %d windows, %v", name, len(windows), err)
		}
	}
}

// TestLostFiles: a file that is left out beside the others of a job is named, with why, and its rank is missing where the job has it.
func TestLostFiles(t *testing.T) {
	junk := strings.Repeat("\x00\x01\x02\x03", 200)
	line := "INFO step %d time 0.12 data_time 0.01\n"
	logs := func(odd string) map[string]string {
		files := map[string]string{"j/rank_3.log": odd}
		for rank := range 3 {
			files[fmt.Sprintf("j/rank_%d.log", rank)] = fmt.Sprintf(line+line+line, 0, 1, 2)
		}
		return files
	}
	for name, c := range map[string]struct {
		files map[string]string
		file  string // that is named
		says  string
		world int
	}{
		"empty":             {of4("rank_%d.csv", 3, "rank_3.csv", ""), "rank_3.csv", "the file of rank 3 is empty", 4},
		"a header":          {of4("rank_%d.csv", 3, "rank_3.csv", "step,data_ns,backward_ns\n"), "rank_3.csv", "the file of rank 3 has the names of columns and no row", 4},
		"binary":            {of4("rank_%d.csv", 3, "rank_3.csv", junk), "rank_3.csv", "the file of rank 3 is binary data, and has no times of steps as the 3 others of its name", 4},
		"no Parquet":        {of4("rank_%d.csv", 3, "rank_3.parquet", junk), "rank_3.parquet", "the file of rank 3 is binary data", 4},
		"text":              {of4("rank_%d.csv", 3, "rank_3.csv", "OSError: no space left on device\n"), "rank_3.csv", "the file of rank 3 is text", 4},
		"empty, numbers":    {of4("%d.csv", 3, "3.csv", ""), "3.csv", "the file of rank 3 is empty", 4},
		"a copy":            {of4("rank_%d.csv", -1, "rank_3 (copy).csv", bare(3)), "rank_3 (copy).csv", "a copy of ", 4},
		"a packed copy":     {of4("rank_%d.csv", -1, "rank_3.csv.gz", ingesttest.Gzip(t, bare(3))), "rank_3.csv.gz", "a copy of ", 4},
		"a rank twice":      {of4("rank_%d.csv", -1, "rank_03.csv", strings.ReplaceAll(bare(3), ",100", ",200")), "rank_03.csv", "rank 3 is in ", 4},
		"a copy of a table": {map[string]string{"j/a.csv": csvOf(stepRows(0, 1)), "j/b.csv": csvOf(stepRows(0, 1))}, "b.csv", "a copy of ", 2},
		"an empty log":      {logs(""), "rank_3.log", "the file of rank 3 is empty", 3},
		"a copy of a log":   {map[string]string{"j/rank_0.log": fmt.Sprintf(line+line+line, 0, 1, 2), "j/rank_0_copy.log": fmt.Sprintf(line+line+line, 0, 1, 2)}, "rank_0_copy.log", "a copy of ", 1},
	} {
		r, windows, err := read(t, Options{}, folderOf(t, c.files))
		if err != nil || len(windows) != 1 {
			t.Errorf("%s: %d windows, error %v", name, len(windows), err)
			continue
		}
		p := r.Problems()
		if len(p) != 1 || filepath.Base(p[0].Path) != c.file || !strings.Contains(p[0].Err.Error(), c.says) {
			t.Errorf("%s: problems %v, want one with %s: %s", name, p, c.file, c.says)
		}
		if windows[0].WorldSize != c.world {
			t.Errorf("%s: %d ranks, want %d", name, windows[0].WorldSize, c.world)
		}
	}
}

// TestBrokenRows: a row of a rank's file that cannot be read is left out and named, and where most rows are such, the file is; alone
// or under ingest.FirstError either is an error.
func TestBrokenRows(t *testing.T) {
	const (
		header = "step,data_ns,backward_ns\n"
		first  = "0,1000,5003\n"
		second = "1,1001,5003\n"
		last   = "2,1002,5003\n"
	)
	object := func(row string) string {
		cells := strings.Split(strings.TrimSpace(row), ",")
		return fmt.Sprintf(`{"step":%s,"rank":3,"data_ns":%s,"backward_ns":%s}`+"\n", cells[0], cells[1], cells[2])
	}
	for name, c := range map[string]struct {
		file, text string
		says       string
		steps      string // that rank 3 is there in, as windows of all ranks
	}{
		"a cell":         {"rank_3.csv", header + first + "1,1x01,5003\n" + last, `line 3[column data_ns]: "1x01" is no time`, "02"},
		"the first cell": {"rank_3.csv", header + "0,1x00,5003\n" + second + last, `line 2[column data_ns]: "1x00" is no time`, "12"},
		"negative":       {"rank_3.csv", header + first + "1,-1001,5003\n" + last, `line 3[column data_ns]: "-1001"`, "02"},
		"a step":         {"rank_3.csv", header + first + "1.5,1001,5003\n" + last, `line 3[column step]: "1.5"`, "02"},
		"a row short":    {"rank_3.csv", header + first + "1,5003\n" + last, "line 3: 2 cells, the header has 3 columns", "02"},
		"a quote":        {"rank_3.csv", header + first + "1,10\"01,5003\n" + last, "line 3: quotes inside of a cell", "02"},
		"an object":      {"rank_3.jsonl", object(first) + object(second)[:20] + "\n" + object(last), "line 2: no JSON object", "02"},
		"most rows":      {"rank_3.csv", header + first + "1,5003\n2,5003\n", ":3: 2 cells, the header has 3 columns", ""},
		"all rows":       {"rank_3.csv", header + "0,5003\n1,5003\n2,5003\n", ":2: 2 cells, the header has 3 columns", ""},
		"columns":        {"rank_3.csv", strings.Replace(csvOf(stepRows(3)), "0,3,1000", "0,3,1x00", 1), `"1x00" is no time`, "12"},
	} {
		dir := folderOf(t, of4("rank_%d.csv", 3, c.file, c.text))
		r, windows, err := read(t, Options{}, dir)
		if err != nil || len(windows) == 0 {
			t.Errorf("%s: %d windows, error %v", name, len(windows), err)
			continue
		}
		steps := ""
		for _, w := range windows {
			for step := range w.Steps() {
				if len(w.Ranks) == 4 {
					steps += fmt.Sprint(w.FirstStep + int64(step))
				}
			}
		}
		if steps != c.steps || windows[0].WorldSize != 4 {
			t.Errorf("%s: of %d ranks, all in steps %q, want 4, %q", name, windows[0].WorldSize, steps, c.steps)
		}
		if p := r.Problems(); len(p) != 1 || filepath.Base(p[0].Path) != c.file || !strings.Contains(p[0].Err.Error(), c.says) {
			t.Errorf("%s: problems %v, want one of %s: %s", name, p, c.file, c.says)
		}
		if _, _, err := read(t, Options{Strict: ingest.FirstError}, dir); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: strict, error %v, want %s", name, err, c.says)
		}
		alone := strings.Replace(c.says, "line ", ":", 1)
		if _, _, err := read(t, Options{}, filepath.Join(dir, "j", c.file)); err == nil || !strings.Contains(err.Error(), alone) {
			t.Errorf("%s: alone, error %v, want %s", name, err, alone)
		}
	}
}

// TestStrangersStay: files of other kinds beside tables of ranks are passed over as before.
func TestStrangersStay(t *testing.T) {
	files := of4("rank_%d.csv", -1, "README.txt", "these are the times of four ranks\n")
	files["j/plot_1.png"] = "\x89PNG\r\n\x1a\n" + strings.Repeat("\x00", 100)
	files["j/rank_1.err"] = ""
	r, windows, err := read(t, Options{}, folderOf(t, files))
	if err != nil || len(windows) != 1 || len(r.Problems()) > 0 {
		t.Errorf("%d windows, error %v, problems %v", len(windows), err, r.Problems())
	}
}

// TestStepsFromOne: a rank that counts from 1 where the others count from 0 is compared with them step by step, in tables and in logs.
func TestStepsFromOne(t *testing.T) {
	const steps = 40
	tables, rows, logs := make(map[string]string), map[string]string{"j/m.csv": "step,rank,data_ms,back_ms\n"}, make(map[string]string)
	for rank := range 4 {
		name, first := fmt.Sprintf("j/rank_%d", rank), 0
		if rank == 2 {
			first = 1
		}
		tables[name+".csv"] = "step,data_ms,back_ms\n"
		for i := range steps {
			length := 100 + float64(37*i%41) + float64(rank)/100 // of the step, which differs from that of its neighbours
			tables[name+".csv"] += fmt.Sprintf("%d,10.00,%.2f\n", first+i, length)
			rows["j/m.csv"] += fmt.Sprintf("%d,%d,10.00,%.2f\n", first+i, rank, length)
			logs[name+".log"] += fmt.Sprintf("INFO step %d time %.5f data_time 0.01\n", first+i, length/1e3)
		}
	}
	for name, files := range map[string]map[string]string{"tables": tables, "one table": rows, "logs": logs} {
		_, windows, err := read(t, Options{}, folderOf(t, files))
		if err != nil || len(windows) != 1 {
			t.Errorf("%s: %d windows, error %v", name, len(windows), err)
			continue
		}
		w := windows[0]
		said := false
		for _, n := range w.Notes {
			said = said || strings.Contains(n.Text, "rank 2 counts its steps from 1")
		}
		last := w.Step(steps - 1)[len(w.Ranks):]
		if len(w.Ranks) != 4 || w.Steps() != steps || !said || last[2]-last[1] > 1e5 || last[1]-last[2] > 1e5 {
			t.Errorf("%s: %d ranks, %d steps, the last %v, notes %v", name, len(w.Ranks), w.Steps(), last, w.Notes)
		}
	}
}
