package communication

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/engine/comm/align"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/plots"
	"github.com/sfstat/sfstat/trace/nccl"
)

const fixture = "../../../fixtures/comm"

// folder is a campaign's folder with the job of the fixtures as its only recording, and what it knows of it.
func folder(t *testing.T, known ...string) (dir, job string) {
	t.Helper()
	dir = t.TempDir()
	job = filepath.Join(dir, Folder, "job")
	if err := os.MkdirAll(job, 0o777); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(fixture + "/run/*")
	if err != nil || len(files) != 6 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, name := range known {
		files = append(files, filepath.Join(fixture, name))
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err == nil {
			err = os.WriteFile(filepath.Join(job, filepath.Base(f)), text, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir, job
}

func read(t *testing.T, dir string) *Recording {
	t.Helper()
	list, err := Read(dir)
	if err != nil || len(list) != 1 || list[0].Name != "job" {
		t.Fatalf("%v, %v", list, err)
	}
	return list[0]
}

// The rows are those that the generator of the job makes: every rank calls 24 all-reduces for tensors, 6 for gradients
// and 3 on all ranks; ranks 0 and 2 are the first of a tensor group, 0 and 1 of a data group, 0 of all, and print as many
// tuning lines; one line of rank 1 is cut short.
func TestCounts(t *testing.T) {
	dir, _ := folder(t)
	var got []string
	for _, c := range read(t, dir).Counts() {
		got = append(got, fmt.Sprint(c))
	}
	count := func(rank int, lines, tunings, damaged int64) string {
		return fmt.Sprint(Count{[]int{rank}, numbers{Op: nccl.AllReduce, Lines: lines, Tunings: tunings, Damaged: damaged, Calls: 33, Launches: 33, Kernels: 33}})
	}
	if want := []string{count(0, 66, 33, 0), count(1, 40, 6, 1), count(2, 57, 24, 0), count(3, 33, 0, 0)}; !slices.Equal(got, want) {
		t.Errorf("counts\n%v, want\n%v", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Pairs that the truth lacks are wrong, and those that only it has are missed.
func TestScore(t *testing.T) {
	dir, job := folder(t, truthName)
	r := read(t, dir)
	for m := range methods {
		s, err := r.Score(m)
		if err != nil {
			t.Fatal(err)
		}
		if m < Alone && s.Certain > 0 || m >= Alone && (s.F1() != 1 || s.Certain != 132 || s.CertainRight != 132) {
			t.Errorf("%v: %+v", m, s)
		}
	}
	text, err := os.ReadFile(filepath.Join(job, truthName))
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.SplitAfter(string(text), "\n")
	changed := strings.Join(rows[:121], "") // 120 of 132 pairs
	for i := range 30 {
		changed += fmt.Sprintf("nccl.node0.4000.log,%d,node0.sqlite,1,%d\n", 1000+i, i)
	}
	if err := os.WriteFile(filepath.Join(job, truthName), []byte(changed), 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := read(t, dir).Score(Default)
	if err != nil || s.Precision() != 120./132 || s.Recall() != 120./150 || s.F1() != 2*120./(132+150) || s.Certain != 132 || s.CertainRight != 120 {
		t.Errorf("%+v, %v", s, err)
	}
}

// The sliding window collapses where calls are lost and not where kernels are, and the alignment has the thesis's mean of
// 0.893; what differs has a reason.
func TestLosses(t *testing.T) {
	made, why, err := LossTable()
	if err != nil {
		t.Fatal(err)
	}
	checkTable(t, "losses", made)
	rows := made.Records()
	for row, want := range [][2]float64{{1, 1}, {0.9, 0.9}, {0, 0.9}, {0, 0.8}, {0.5, 0.893}} {
		for k, least := range want {
			got, err := strconv.ParseFloat(rows[row][1+k], 64)
			if err != nil || got < least || got > least+0.1 && least < 1 {
				t.Errorf("%v, column %d, expected %v and a bit", rows[row], 1+k, least)
			}
		}
		for _, column := range []string{"sliding window", "alignment"} {
			if why[[2]string{rows[row][0], column}] == "" {
				t.Errorf("no reason for %s of %s", column, rows[row][0])
			}
		}
	}
}

// What is not known makes no table; the inputs of a table are all files of its recordings.
func TestTables(t *testing.T) {
	for _, tt := range []struct {
		known     []string
		published bool
		want      []string
		files     int
	}{
		{nil, false, []string{"nccl-counts"}, 6},
		{[]string{truthName}, false, []string{"nccl-counts", "nccl-alignment"}, 7},
		{[]string{truthName, modelName}, false, []string{"nccl-counts", "nccl-alignment", "nccl-theory", "nccl-volumes"}, 8},
		{[]string{truthName, modelName}, true, []string{"nccl-counts", "nccl-alignment", "nccl-theory", "nccl-volumes", "nccl-losses", "nccl-layouts", "nccl-operations"}, 8},
	} {
		dir, _ := folder(t, tt.known...)
		list, err := Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		tables, _, err := Evaluate(list, tt.published)
		var names []string
		for _, a := range tables {
			names = append(names, a.Name)
			if generated := slices.Contains([]string{"nccl-losses", "nccl-layouts", "nccl-operations"}, a.Name); len(a.Inputs) != tt.files && !generated {
				t.Errorf("%s is of %d files, want %d", a.Name, len(a.Inputs), tt.files)
			}
			if !tt.published && len(a.Cells) > 0 {
				t.Errorf("%s is compared with published figures", a.Name)
			}
			checkTable(t, a.Name, a.Table)
		}
		if err != nil || !slices.Equal(names, tt.want) {
			t.Errorf("with %v: %v, %v, want %v", tt.known, names, err, tt.want)
		}
	}
	if list, err := Read(t.TempDir()); err != nil || list != nil {
		t.Errorf("without recordings: %v, %v", list, err)
	}
}

func checkTable(t *testing.T, name string, made *table.Table) {
	t.Helper()
	if len(made.Rows) == 0 {
		t.Errorf("%s is empty", name)
	}
	for i, row := range made.Records() {
		if text := strings.Join(row, "|"); len(made.Rows[i]) != len(made.Columns) || strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("%s: row %q under %q", name, row, made.Heads())
		}
	}
}

// Gradients of the fixture's model are reduced in two buckets of half the size each, and its tensors as often as the
// model says: by hand from fixtures/comm/make and the rules of docs/method-communication.md.
func TestVolumes(t *testing.T) {
	dir, _ := folder(t, modelName)
	list := []*Recording{read(t, dir)}
	rows := VolumeTable(list).Records()
	want := [][]string{
		{"job", "0-3", "DP", "AllReduce", "0.1385", "0.1384", "0.999", "2.000", "0.500"},
		{"job", "0-3", "TP", "AllReduce", "0.05033", "0.05033", "1.000", "1.000", "1.000"},
	}
	if !slices.EqualFunc(rows, want, slices.Equal[[]string]) {
		t.Errorf("volumes %q, want %q", rows, want)
	}
	made, _ := TheoryTable(list)
	theory := made.Records()
	for i, want := range []string{"job 1.00", none, none, "job 1.00", none} {
		if row := theory[i]; row[1] != row[2] || row[len(row)-1] != want {
			t.Errorf("row %q: the formula gives %s, published is %s; recorded want %s", row[0], row[2], row[1], want)
		}
	}
}

// What is wrong with a recording is told with its file.
func TestReadRefuses(t *testing.T) {
	for name, tt := range map[string]struct{ file, text, want string }{
		"no logs at all":       {"nccl.node0.4000.log", "hello\n", ""}, // passed over: the others are there
		"a torn export":        {"node0.sqlite", "SQLite format 3\x00torn", "node0.sqlite"},
		"a model of 3 ranks":   {modelName, "layers: 2\nhidden: 8\nsequence: 8\nvocabulary: 8\nmicrobatch: 1\nglobal_batch: 3\nelement_bytes: 2\ndp: 3\niterations: 1\n", "model.yaml: the model has dp·tp·cp·pp = 3·1·1·1 = 3 ranks"},
		"a model with a typo":  {modelName, "layerz: 2\n", "model.yaml"},
		"a model of no layers": {modelName, "hidden: 2\n", "layers is 0"},
		"a truth of nothing":   {truthName, "", "truth.csv: no header, expected log_file,line"},
		"a truth without head": {truthName, "a,1,b,2,3\n", `truth.csv:1: the header has no column "log_file", expected log_file,line`},
		"a truth of words":     {truthName, "log_file,line,sqlite_file,global_pid,correlation_id\na,one,b,2,3\n", `truth.csv:2: line is "one", expected an integer`},
		"a truth that repeats": {truthName, "log_file,line,sqlite_file,global_pid,correlation_id,certain\na,1,b,2,3,true\na,1,b,2,3,false\n", "truth.csv:3: the pair stands twice"},
		"a truth cut short":    {truthName, "log_file,line,sqlite_file,global_pid,correlation_id\na,1\n", "truth.csv: record on line 2: wrong number of fields"},
	} {
		dir, job := folder(t)
		if err := os.WriteFile(filepath.Join(job, tt.file), []byte(tt.text), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := Read(dir)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	dir, job := folder(t)
	if err := os.RemoveAll(job); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(job, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "job") {
		t.Errorf("an empty recording: %v", err)
	}
}

func FuzzTruth(f *testing.F) {
	text, err := os.ReadFile(filepath.Join(fixture, truthName))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add("log_file,line,sqlite_file,global_pid,correlation_id\n\"a\",1,b,2,3")
	f.Fuzz(func(t *testing.T, text string) {
		truth, err := ParseTruth("t", strings.NewReader(text))
		if (err == nil) == (truth == nil) {
			t.Errorf("%v, %v", truth, err)
		}
	})
}

// Every recording has its figures, and all of a known truth have one together.
func TestFigures(t *testing.T) {
	for _, tt := range []struct {
		known []string
		want  int
	}{{nil, 7}, {[]string{truthName, modelName}, 8}} {
		dir, _ := folder(t, tt.known...)
		list, err := Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		_, figures, err := Evaluate(list, false)
		if err != nil || len(figures) != tt.want {
			t.Errorf("with %v: %d figures, %v, want %d", tt.known, len(figures), err, tt.want)
		}
		for _, f := range figures {
			if _, err := f.Figure.Draw(plots.Column); err != nil || len(f.Inputs) != 6+len(tt.known) || f.Name != "alignment" && !strings.HasSuffix(f.Name, "-job") {
				t.Errorf("%s is of %d files: %v", f.Name, len(f.Inputs), err)
			}
		}
	}
	if made, figures, err := Evaluate(nil, false); err != nil || made != nil || figures != nil {
		t.Errorf("without recordings: %v, %v, %v", made, figures, err)
	}
}

// Calls that only NVTX tells stand in no log: where the truth is of logs, they are neither right nor wrong.
func TestScoreOfToldCalls(t *testing.T) {
	dir, job := folder(t, truthName)
	const gone = "nccl.node1.4021.log"
	if err := os.Remove(filepath.Join(job, gone)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"node0.sqlite", "node1.sqlite"} {
		text, err := os.ReadFile(filepath.Join(fixture, "payloads", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(job, name), text, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(job, truthName))
	if err != nil {
		t.Fatal(err)
	}
	rows := slices.DeleteFunc(strings.SplitAfter(string(text), "\n"), func(row string) bool { return strings.HasPrefix(row, gone) })
	if err := os.WriteFile(filepath.Join(job, truthName), []byte(strings.Join(rows, "")), 0o666); err != nil {
		t.Fatal(err)
	}
	r := read(t, dir)
	if told := len(r.Result.Matches); told != 132 {
		t.Errorf("%d pairs are told, want 132", told)
	}
	for _, m := range []Method{Thesis, Default} {
		if s, err := r.Score(m); err != nil || s.True != 99 || s.Found != 99 || s.Right != 99 {
			t.Errorf("%v: %+v, %v, want 99 of all", m, s, err)
		}
	}
}

// What the reasons of Table 4.5 claim: which windows and mixes give the published figures of the sliding window together, and that the alignment
// then has more than its own; the scoring of the
// text aligns equal sequences in full, whatever they are; and a fifth of the calls costs it what a fifth of the kernels does.
func TestLimitsOfTheLossTable(t *testing.T) {
	together, err := slidingTogether()
	if err != nil || !slices.Equal(together, [][2]int{{6, 4}, {7, 4}}) {
		t.Errorf("operations and windows with the published figures: %v, %v", together, err)
	}
	for _, found := range together {
		s := &lossScenarios[3]
		if f, err := s.score(align.ByThesis, lossNames[:found[0]]); err != nil || f.least <= s.alignment {
			t.Errorf("%d operations: the alignment has %v, published %v, %v", found[0], f, s.alignment, err)
		}
	}
	for n := 1; n <= len(lossNames); n++ {
		if f, err := lossScenarios[0].score(align.ByThesis, lossNames[:n]); err != nil || f.least != 1 {
			t.Errorf("equal sequences of %d operations have an F1 of %v, %v", n, f, err)
		}
	}
	for n := leastMix; n <= len(lossNames); n++ {
		kernels, err := lossScenarios[1].score(align.ByThesis, lossNames[:n])
		if err != nil {
			t.Fatal(err)
		}
		calls, err := lossScenarios[2].score(align.ByThesis, lossNames[:n])
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(kernels.all-calls.all) > 0.005 {
			t.Errorf("%d operations: %.3f where kernels are lost, %.3f where calls are", n, kernels.all, calls.all)
		}
	}
}
