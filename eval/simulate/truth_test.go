package simulate

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sfstat/sfstat/trace/input"
)

func TestTruthTable(t *testing.T) {
	specs := []func(*Spec){
		func(*Spec) {},
		func(s *Spec) { s.Faults = []Fault{{Family: Data, Ranks: []int{2}, Delay: 120, When: When{Every: 10}}} },
		func(s *Spec) {
			s.Run, s.Accumulation, s.Schedule.Windows = "e6, again", 4, 3
			s.Faults = []Fault{{Family: CallbackSync, Ranks: []int{5, 1}, Delay: 7.5, Windows: []int{1}}}
			s.Layout = []Axis{{"dp", 4}, {"pp", 2}}
			s.Work = []WorkFactor{{Where: map[string]int{"pp": 1}, Factor: 1.4}}
		},
	}
	var rows []TruthRow
	for _, change := range specs {
		s := DefaultSpec()
		change(&s)
		g, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, g.Truth().Rows()...)
	}
	const want = `run,family,ranks,seed,delay_ms,hidden_rank,seeded_stage,intermittent,accumulation,notes
sim-nofault-r8-s0,nofault,8,0,0,,,0,1,
sim-data-120ms-r8-s0,data,8,0,120,2,data.next_wait,1,1,
"e6, again",callback_sync,8,0,7.5,1,callbacks.cpu_wall,0,4,roles aba
"e6, again",callback_sync,8,0,7.5,5,callbacks.cpu_wall,0,4,roles aba
`
	var out bytes.Buffer
	if err := WriteTruth(&out, rows); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	back, err := ReadTruth("truth.csv", &out)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rows, back); diff != "" {
		t.Errorf("rows read back (-want +got):\n%s", diff)
	}
}

// TestReadTruthByName: columns may stand in any order, and others beside them.
func TestReadTruthByName(t *testing.T) {
	const text = `notes,who,accumulation,intermittent,seeded_stage,hidden_rank,delay_ms,seed,ranks,family,run
x,me,4,1,s,3,1.5,9,8,backward_comm,r
`
	got, err := ReadTruth("t", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []TruthRow{{Run: "r", Family: BackwardComm, Ranks: 8, Seed: 9, Delay: 1.5, HiddenRank: 3, Stage: "s", Intermittent: true, Accumulation: 4, Notes: "x"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestReadTruthErrors(t *testing.T) {
	const header = "run,family,ranks,seed,delay_ms,hidden_rank,seeded_stage,intermittent,accumulation,notes\n"
	tests := []struct {
		text string
		kind error
		says string
	}{
		{"", input.ErrTruncated, "header"},
		{"run,family\n", input.ErrMissing, `"ranks"`},
		{header + "a,data,8,0,1,2,s,0,1,\nb,data,eight,0,1,2,s,0,1,\n", input.ErrType, `t:3: column ranks is "eight"`},
		{header + "a,gremlins,8,0,1,2,s,0,1,\n", input.ErrType, "t:2: "},
		{header + "a,data,8,0,NaN,2,s,0,1,\n", input.ErrType, "delay_ms"},
		{header + "a,data,8,0,1e9,2,s,0,1,\n", input.ErrRange, "delay_ms"},
		{header + "a,data,8,-1,1,2,s,0,1,\n", input.ErrType, "seed"},
		{header + "a,data,8,0,1,8,s,0,1,\n", input.ErrTooLarge, "hidden rank 8"},
		{header + "a,data,8,0,1,-7,s,0,1,\n", input.ErrTooLarge, "hidden rank -7"},
		{header + "a,data,0,0,1,,s,0,1,\n", input.ErrTooLarge, "0 ranks"},
		{header + "a,data,8,0,1,2,s,maybe,1,\n", input.ErrType, "intermittent"},
		{header + "a,data,8\n", input.ErrFormat, "line 2"},
		{header + "\"a,data\n", input.ErrFormat, "line 2"},
	}
	for _, test := range tests {
		_, err := ReadTruth("t", strings.NewReader(test.text))
		if !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%q: error is %v, want %v that says %q", test.text, err, test.kind, test.says)
		}
	}
}

// FuzzReadTruth: what is read can be written and read again, the same.
func FuzzReadTruth(f *testing.F) {
	f.Add([]byte("run,family,ranks,seed,delay_ms,hidden_rank,seeded_stage,intermittent,accumulation,notes\na,data,8,0,120.0,2,data.next_wait,1,4,x\n"))
	f.Add([]byte("run,family,ranks,seed,delay_ms,hidden_rank,seeded_stage,intermittent,accumulation,notes\na,nofault,8,0,0,,,0,1,\n"))
	f.Add([]byte("run\n\"\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		rows, err := ReadTruth("fuzz", bytes.NewReader(text))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := WriteTruth(&out, rows); err != nil {
			t.Fatal(err)
		}
		again, err := ReadTruth("again", &out)
		if err != nil {
			t.Fatal(err)
		}
		// Line ends inside a quoted cell are rewritten by the CSV reader.
		for i := range again {
			if again[i].Delay != rows[i].Delay || again[i].HiddenRank != rows[i].HiddenRank || again[i].Ranks != rows[i].Ranks {
				t.Errorf("row %d: %+v reads back as %+v", i, rows[i], again[i])
			}
		}
	})
}
