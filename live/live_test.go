package live

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/ingest/auto/follow"
)

const (
	packet = `{"schema":"sfstat.packet/1","run":"job","window":0,"rank":0,"world_size":1,"stages":["data"],"first_step":0,"durations_ns":[[1]]}` + "\n"
	table  = "step,rank,data_ms,backward_ms\n0,0,10,90\n"
)

// TestDue: what is read of a file at each look.
func TestDue(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		writes     []bool // whether something is appended before each look
		want       []bool
	}{
		"still":       {"job.csv", table, []bool{true, false, false, false}, []bool{true, false, false, false}},
		"packets":     {"job.jsonl", packet, []bool{true, true, true, false}, []bool{true, true, true, false}},
		"once still":  {"job.csv", table, []bool{true, true, false, false}, []bool{true, false, true, false}},
		"restless":    {"job.csv", table, []bool{true, true, true, true, true, true, true}, []bool{true, false, false, false, false, false, true}},
		"not so long": {"job.csv", table, []bool{true, true, true, false, true}, []bool{true, false, false, true, false}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.file)
			files := follow.New(nil, []string{filepath.Dir(path)})
			var u changing
			text := ""
			for i, write := range c.writes {
				if write {
					text += c.text
					if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				now := files.Look()
				if len(now) != 1 {
					t.Fatalf("%d units", len(now))
				}
				due := u.due(now[0])
				if due {
					u.readAs(now[0])
				}
				if due != c.want[i] {
					t.Errorf("look %d: due %t, want %t", i, due, c.want[i])
				}
			}
		})
	}
}

// TestMarks: the last mark before all that verdicts are on is kept, and those after it.
func TestMarks(t *testing.T) {
	verdictFrom := func(step int64, earlier *diagnose.Earlier) *diagnose.Verdict {
		r := diagnose.RunVerdict{Run: "a", Windows: []diagnose.Window{{Main: &frontier.Result{FirstStep: step}}}, Earlier: earlier}
		return &diagnose.Verdict{Runs: []diagnose.RunVerdict{r}}
	}
	for name, c := range map[string]struct {
		verdict *diagnose.Verdict
		other   int64 // the last step of a second run, of which all windows are kept; 0: there is none
		want    []int64
	}{
		"all windows":      {verdictFrom(0, nil), 0, []int64{99, 199, 299}},
		"between marks":    {verdictFrom(250, &diagnose.Earlier{}), 0, []int64{199, 299}},
		"at a mark":        {verdictFrom(200, &diagnose.Earlier{}), 0, []int64{199, 299}},
		"within a window":  {verdictFrom(199, &diagnose.Earlier{}), 0, []int64{99, 199, 299}},
		"after all":        {verdictFrom(400, &diagnose.Earlier{}), 0, []int64{299}},
		"of another's too": {verdictFrom(250, &diagnose.Earlier{}), 9, []int64{99, 199, 299}},
	} {
		t.Run(name, func(t *testing.T) {
			u := judgedUnit{session: &session{}}
			for _, last := range []int64{99, 199, 299} {
				read := map[string]int64{"a": last}
				if c.other > 0 {
					read["b"] = c.other
				}
				u.session.marks = append(u.session.marks, bookmark{read: read})
			}
			u.begin(c.verdict)
			var got []int64
			for _, m := range u.session.marks {
				got = append(got, m.read["a"])
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("marks after steps %v, want %v", got, c.want)
			}
		})
	}
}

// TestBound: accounts are dropped of the runs that grew longest ago, and never of the last.
func TestBound(t *testing.T) {
	unit := func(kept, used int) *judgedUnit { return &judgedUnit{session: &session{kept: kept, used: used}} }
	for name, c := range map[string]struct {
		units []*judgedUnit // the last was judged last
		want  []bool        // whose accounts are left
	}{
		"all fit":               {[]*judgedUnit{unit(mostLive/2, 1), unit(mostLive/2, 2)}, []bool{true, true}},
		"the oldest goes":       {[]*judgedUnit{unit(mostLive/2, 2), unit(mostLive/2, 1), unit(mostLive/2, 3)}, []bool{true, false, true}},
		"all grew at this look": {[]*judgedUnit{unit(mostLive, 3), unit(mostLive, 3)}, []bool{false, true}},
		"the last alone":        {[]*judgedUnit{unit(2*mostLive, 3)}, []bool{true}},
	} {
		t.Run(name, func(t *testing.T) {
			f := New(Options{})
			f.looks = 3
			for i, u := range c.units {
				f.units[string(rune('a'+i))] = u
			}
			f.dropOldest(c.units[len(c.units)-1])
			for i, u := range c.units {
				if (u.session != nil) != c.want[i] {
					t.Errorf("unit %d: accounts left: %t, want %t", i, u.session != nil, c.want[i])
				}
			}
		})
	}
}
