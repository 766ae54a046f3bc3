package devicefile

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/devicetime"
	"github.com/sfstat/sfstat/trace/input"
)

func example() *devicetime.Run {
	return &devicetime.Run{Run: "job", Notes: []input.Note{{Kind: input.NoteRecorder, Text: "steps 1 are left out"}}, Ranks: []devicetime.Rank{
		{Rank: trace.Rank{ID: 0, Host: "n0", Role: trace.Role{{Axis: "dp"}, {Axis: "tp", Index: 1}}}, Steps: []devicetime.Step{
			{Step: 4, Start: 100, End: 900, First: 110, Last: 880, Compute: 600, Communication: 200, Memory: 10, Idle: 40, ExposedComm: 90},
			{Step: 5, Start: 900, End: 1500, First: 900, Last: 900}}},
		{Rank: trace.Rank{ID: 3, LocalRank: -1}, Steps: []devicetime.Step{{Step: 4, Start: 0, End: 10}}},
	}}
}

func text(t testing.TB) string {
	var b bytes.Buffer
	if err := Write(&b, example()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestRoundTrip(t *testing.T) {
	got, err := Read(strings.NewReader(text(t)), "x", ingest.Limits{})
	if d := cmp.Diff(example(), got); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct{ old, changed, want string }{
		{Schema, "sfstat.device/2", `x:1: schema "sfstat.device/2"`},
		{`"ranks":2`, `"ranks":3`, "2 ranks, the header says 3"},
		{`"rank":3`, `"rank":0`, "x:3: rank 0 behind rank 0"},
		{`"rank":3`, `"rank":-3`, "x:3: rank -3"},
		{"[4,100,900,", "[4,1000,900,", "x:2: step 4 lasts from 1000 to 900"},
		{"[5,900,", "[5,800,", "x:2: step 5 lasts from 800 to 1500 ns, the one before it until 900"},
		{"110,880", "90,880", "has work from 90 to 880"},
		{"880,600", "880,801", "takes 800 ns and has 801 ns"},
		{`"tp":1`, `"tp":-1`, "negative coordinate"},
		{`"steps":[[4,0`, `"steps":[],"x":[[4,0`, "rank 3 has no steps"},
		{"[4,100", `["4",100`, "x:2: "},
		{"[4,100,900,", "[4,100,900,110,", "x:2: a step of 11 numbers, expected 10"},
		{"[4,100,900,", "[4,100,", "x:2: a step of 9 numbers, expected 10"},
		{"}\n{", "} {", "x:1: more than one value"},
	} {
		_, err := Read(strings.NewReader(strings.Replace(text(t), c.old, c.changed, 1)), "x", ingest.Limits{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.changed, err, c.want)
		}
	}
	for n := range text(t) {
		if got, err := Read(strings.NewReader(text(t)[:n]), "x", ingest.Limits{}); err == nil && !cmp.Equal(got, example()) {
			t.Fatalf("cut after %d bytes it is read as %+v", n, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(text(f)))
	f.Add([]byte(`{"schema":"sfstat.device/1","ranks":1}` + "\n" + `{"rank":0,"steps":[[0,0,9,0,9,9,9,9,9,9]]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := Read(bytes.NewReader(b), "x", ingest.Limits{Line: 1 << 16})
		if err != nil {
			var placed *input.Error
			if !errors.As(err, &placed) {
				t.Errorf("%v has no place", err)
			}
			return
		}
		var out bytes.Buffer
		if err := Write(&out, d); err != nil {
			t.Fatal(err)
		}
		again, err := Read(&out, "x", ingest.Limits{})
		if diff := cmp.Diff(d, again); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	})
}
