package tables

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/eval/simulate/pipeline"
)

// ownFolder writes a truth table, and files that are empty or copied from somewhere.
func ownFolder(t *testing.T, truth string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["truth.csv"] = ""
	for name, from := range files {
		text := []byte(truth)
		if from != "" {
			var err error
			if text, err = os.ReadFile(from); err != nil {
				t.Fatal(err)
			}
		} else if name != "truth.csv" {
			text = nil
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestReadOwn: columns stand in any order, under the names of campaigns too; a run may have several rows; families are
// those of the simulators, or somebody's own in their order.
func TestReadOwn(t *testing.T) {
	path := filepath.Join(ownFolder(t, `seeded_stage,run,hidden_rank,family,ranks,delay_ms,seed,notes,more,intermittent
forward,a,3,ours,8,12.5,7,x y,z,1
backward,a,4,ours,8,12.5,7,x y,z,1
,b,,,,,,,,
data,c,0,data,,,,,,
send,d,1,slow-edge,,,,,,
,e,2,,,,,,,
gc,f,2,theirs,,,,,,
,g,,healthy,,,,,,
`, map[string]string{}), "truth.csv")
	runs, err := readOwn(nil, path)
	if err != nil {
		t.Fatal(err)
	}
	var got []ownRun
	for _, r := range runs {
		got = append(got, *r)
	}
	want := []ownRun{
		{runCase{Run: "a", Family: named{0, "ours"}, Ranks: 8, Seed: 7, Delay: 12.5, Intermittent: true, Notes: "x y", Hidden: []hiddenRank{{3, "forward"}, {4, "backward"}}}, 2},
		{runCase{Run: "b", Family: simulate.NoFault, Hidden: []hiddenRank{}}, 4},
		{runCase{Run: "c", Family: simulate.Data, Hidden: []hiddenRank{{0, "data"}}}, 5},
		{runCase{Run: "d", Family: pipeline.SlowEdge, Hidden: []hiddenRank{{1, "send"}}}, 6},
		{runCase{Run: "e", Family: named{1, "fault"}, Hidden: []hiddenRank{{2, ""}}}, 7},
		{runCase{Run: "f", Family: named{2, "theirs"}, Hidden: []hiddenRank{{2, "gc"}}}, 8},
		{runCase{Run: "g", Family: simulate.NoFault, Hidden: []hiddenRank{}}, 9},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(ownRun{}, named{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOwnRefused: what is wrong with a table is said with its line, what was found and what is expected.
func TestOwnRefused(t *testing.T) {
	for name, test := range map[string]struct{ truth, want string }{
		"nothing":            {"", "truth.csv: no header, expected run,rank,stage"},
		"no rows":            {"run,rank,stage\n", "the table has no rows"},
		"no stage":           {"run,rank\na,1\n", "truth.csv:1: the header run,rank has no column stage"},
		"no name":            {"run,rank,stage\n,1,x\n", `truth.csv:2: column run is "", expected the name of a file or folder`},
		"outside":            {"run,rank,stage\n../a,1,x\n", `truth.csv:2: column run is "../a"`},
		"no rank":            {"run,rank,stage\na,,x\n", `truth.csv:2: stage is "x" and rank is empty`},
		"a negative rank":    {"run,rank,stage\na,-1,x\n", `truth.csv:2: column rank is "-1", expected a whole number`},
		"a seed":             {"run,rank,stage,seed\na,1,x,y\n", `truth.csv:2: column seed is "y"`},
		"a delay":            {"run,rank,stage,delay_ms\na,1,x,NaN\n", `truth.csv:2: column delay_ms is "NaN", expected milliseconds`},
		"healthy with rank":  {"run,rank,stage,family\na,1,x,none\n", `truth.csv:2: family is "none" and rank is "1"`},
		"faulty and healthy": {"run,rank,stage\na,1,x\nb,,\na,,\n", "truth.csv:4: run a stands in line 2 too"},
		"a rank twice":       {"run,rank,stage\nb,,\na,1,x\na,1,x\n", `truth.csv:4: run a has rank 1 and stage "x" in line 3 too`},
		"no recording":       {"run,rank,stage\nc,1,x\n", "truth.csv:2: run c: no file or folder of that name"},
		"two recordings":     {"run,rank,stage\ntwo,1,x\n", "truth.csv:2: run two: two.csv, two.jsonl are all of that name"},
		"an empty one":       {"run,rank,stage\nempty,1,x\n", "empty.jsonl"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := ownFolder(t, test.truth, map[string]string{"two.jsonl": "", "two.csv": "", "empty.jsonl": "", "two.md": ""})
			if _, err := Open(nil, dir, nil); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, expected %q", err, test.want)
			}
		})
	}
}

// TestOwnRecordings: runs are files, folders, or the archives of runs/, windows and operators; each is scored by its row,
// and comes from what was read.
func TestOwnRecordings(t *testing.T) {
	made := t.TempDir()
	g := campaign.Group{Name: "a", Families: []simulate.Family{simulate.Data, simulate.NoFault}, Ranks: []int{8}, Seeds: []uint64{1}, Delays: []simulate.Millis{60}}
	g.HiddenRanks = []int{2}
	s := &campaign.Spec{Name: "c", Groups: []campaign.Group{g}}
	execute(t, made, s)
	faulty, healthy := filepath.Join(made, "runs", "a-data-60ms-r8-s1.parquet"), filepath.Join(made, "runs", "a-nofault-r8-s1.parquet")
	dir := ownFolder(t, "run,rank,stage,family\nslow,2,data.next_wait,ours\nmistaken,3,data.next_wait,ours\ncalm,,,\n",
		map[string]string{"slow.parquet": faulty, "mistaken/windows.parquet": faulty, "runs/calm.parquet": healthy})
	e, err := Open(nil, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got [][]string
	for i, r := range e.score.Runs {
		got = append(got, []string{r.Run, r.family(), string(r.Verdict.Answer), string(r.Second.Hybrid.Answer), string(r.Second.Blame.Answer), e.rows[i].Input})
	}
	want := [][]string{{"slow", "ours", "right", "right", "right", "slow.parquet"}, {"mistaken", "ours", "wrong", "wrong", "wrong", "mistaken"},
		{"calm", "nofault", "none", "none", "none", "runs/calm.parquet"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	made2, err := e.Tables()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, a := range made2 {
		names = append(names, a.Name)
		if len(a.Cells) > 0 {
			t.Errorf("%s is compared with published figures", a.Name)
		}
	}
	if want := []string{"healthy", "groups", "detectability-runs"}; !slices.Equal(names, want) {
		t.Errorf("tables %v, expected %v", names, want)
	}
}
