package packet

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/ingesttest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// TestOneBadOfMany: the good streams are read on, and the windows lack the
// ranks of the bad one from where it is bad.
func TestOneBadOfMany(t *testing.T) {
	windows := ingesttest.Windows(1, 8, ingesttest.Shape{Ranks: 3, Steps: 2, Stages: 2})
	perRank := files(linesOf(windows, 2), func(l line) string { return fmt.Sprint("rank", l.rank) })
	bad := strings.SplitAfter(perRank["rank1"], "\n")
	bad[5] = strings.Replace(bad[5], `"wall_ns":[`, `"wall_ns":[-`, 1)
	perRank["rank1"] = strings.Join(bad, "")

	r := open(perRank, Options{})
	got, err := ingesttest.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range got {
		if want := i >= 5; w.Has(input.NoteMissingRanks) != want {
			t.Errorf("window %d misses ranks %v", i, w.Missing())
		}
	}
	if len(got) != 8 {
		t.Errorf("%d windows, want 8", len(got))
	}
	s := r.Summaries()[1]
	if s.Name != "rank1" || !errors.Is(s.Err, input.ErrNegative) || !strings.HasPrefix(s.Err.Error(), "rank1:6[column ") {
		t.Errorf("summary %+v, want a negative number at rank1:6", s)
	}
	if s.Windows != 5 || s.Packets != 5 {
		t.Errorf("%d packets in %d windows, want 5 in 5", s.Packets, s.Windows)
	}

	got, err = ingesttest.ReadAll(open(perRank, Options{Policy: ingest.FirstError}))
	if !errors.Is(err, input.ErrNegative) {
		t.Errorf("first error: %v", err)
	}
	if diff := gocmp.Diff(windows[:len(got)], got); diff != "" {
		t.Errorf("windows before the first error (-want +got):\n%s", diff)
	}

	got, err = ingesttest.ReadAll(open(map[string]string{"rank1": perRank["rank1"]}, Options{}))
	if !errors.Is(err, input.ErrNegative) || len(got) > 0 {
		t.Errorf("alone: %d windows, %v", len(got), err)
	}
	_, err = ingesttest.ReadAll(open(map[string]string{"x": "{}", "y": "[]", "z": ""}, Options{}))
	if !errors.Is(err, input.ErrMissing) || !strings.HasPrefix(err.Error(), "x:1[") {
		t.Errorf("all bad: %v, want the refusal of x", err)
	}
}

// TestCannotJoin: packets that are valid one by one and not together refuse the
// streams that they came from, and no other.
func TestCannotJoin(t *testing.T) {
	windows := ingesttest.Windows(1, 4, ingesttest.Shape{Ranks: 2, Steps: 1, Stages: 1})
	for r := range 2 {
		windows[2].Durations[r] = trace.MaxTotal/2 - 1
	}
	other := ingesttest.Windows(2, 3, ingesttest.Shape{Ranks: 1, Steps: 1, Stages: 1})
	byFile := files(linesOf(windows, 1), func(l line) string { return fmt.Sprint("rank", l.rank) })
	byFile["z"] = joined(linesOf(other, 1))
	r := open(byFile, Options{})
	got, err := ingesttest.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(slices.Concat(windows[:2], other), slices.DeleteFunc(got, func(w *trace.Window) bool { return len(w.Notes) > 0 })); diff != "" {
		t.Errorf("windows differ (-want +got):\n%s", diff)
	}
	for _, s := range r.Summaries() {
		if bad := s.Name != "z"; errors.Is(s.Err, input.ErrOverflow) != bad {
			t.Errorf("%s: %v", s.Name, s.Err)
		}
	}
	got, err = ingesttest.ReadAll(open(map[string]string{"a": joined(linesOf(windows, 1))}, Options{}))
	if !errors.Is(err, input.ErrOverflow) || len(got) != 2 {
		t.Errorf("alone: %d windows, %v", len(got), err)
	}
	_, err = ingesttest.ReadAll(open(byFile, Options{Policy: ingest.FirstError}))
	if !errors.Is(err, input.ErrOverflow) {
		t.Errorf("first error: %v", err)
	}
}

// TestBadLineInOneFile: the windows before the bad line come first.
func TestBadLineInOneFile(t *testing.T) {
	windows := ingesttest.Windows(1, 4, ingesttest.Shape{Ranks: 3, Steps: 2, Stages: 2})
	lines := linesOf(windows, 2)
	for at := range lines {
		bad := slices.Clone(lines)
		bad[at].text = "{]\n"
		got, err := ingesttest.ReadAll(open(map[string]string{"a": joined(bad)}, Options{}))
		if want := fmt.Sprintf("a:%d[column 2]: ", at+1); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Fatalf("line %d: %v", at+1, err)
		}
		if diff := gocmp.Diff(windows[:at/3], got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("bad line %d (-want +got):\n%s", at+1, diff)
		}
	}
}

// TestTruncated cuts a file at every byte.
func TestTruncated(t *testing.T) {
	windows := ingesttest.Windows(1, 2, ingesttest.Shape{Ranks: 2, Steps: 2, Stages: 2})
	windows[1].Ranks[1].Host = "nöde 😀 \"x\""
	lines := linesOf(windows, 2)
	text := joined(lines)
	whole := func(n int) int {
		return strings.Count(text[:n], "}\n") + map[bool]int{true: 1}[strings.HasSuffix(text[:n], `"gather_ok":true}`)]
	}
	for n := range len(text) + 1 {
		got, err := ingesttest.ReadAll(open(map[string]string{"a": text[:n]}, Options{}))
		packets := whole(n)
		if packets == 0 {
			kind := input.ErrTruncated
			if n == 0 {
				kind = input.ErrEmpty
			}
			if !errors.Is(err, kind) || len(got) > 0 {
				t.Fatalf("first %d bytes: %d windows, error %v, want %v", n, len(got), err, kind)
			}
			continue
		}
		if err != nil {
			t.Fatalf("first %d bytes: %v", n, err)
		}
		ranks := 0
		for _, w := range got {
			ranks += len(w.Ranks)
		}
		if ranks != packets {
			t.Fatalf("first %d bytes: %d packets in the windows, want %d", n, ranks, packets)
		}
		ends := text[n-1] == '\n' || strings.HasSuffix(text[:n], `"gather_ok":true}`)
		last := got[len(got)-1]
		if last.Has(input.NoteTruncated) == ends {
			t.Fatalf("first %d bytes: notes %v", n, last.Notes)
		}
	}
}

// TestTruncatedNotes: which windows of a folder carry the note.
func TestTruncatedNotes(t *testing.T) {
	windows := ingesttest.Windows(1, 6, ingesttest.Shape{Ranks: 3, Steps: 2, Stages: 2})
	perRank := files(linesOf(windows, 2), func(l line) string { return fmt.Sprint("rank", l.rank) })
	lines := strings.SplitAfter(perRank["rank1"], "\n")
	perRank["rank1"] = strings.Join(lines[:3], "") + lines[3][:50] // cut in window 3
	got, err := ingesttest.ReadAll(open(perRank, Options{}))
	if err != nil || len(got) != 6 {
		t.Fatalf("%d windows, %v", len(got), err)
	}
	for i, w := range got {
		if w.Has(input.NoteTruncated) != (i >= 2) || w.Has(input.NoteMissingRanks) != (i >= 3) {
			t.Errorf("window %d: notes %v", i, w.Notes)
		}
	}
	if text := got[4].Notes[len(got[4].Notes)-1].Text; !strings.HasPrefix(text, "rank1:4 ends in the middle of a packet") {
		t.Errorf("note %q", text)
	}
	// Where something follows, the line is not the end of a killed job.
	_, err = ingesttest.ReadAll(open(map[string]string{"a": lines[0] + lines[1][:50] + "\n" + lines[2]}, Options{}))
	if !errors.Is(err, input.ErrTruncated) || !strings.HasPrefix(err.Error(), "a:2[") {
		t.Errorf("cut line before another: %v", err)
	}
	// Blank lines do not count as something.
	got, err = ingesttest.ReadAll(open(map[string]string{"a": lines[0] + lines[1][:50] + "\n\n \r\n"}, Options{}))
	if err != nil || len(got) != 1 || !got[0].Has(input.NoteTruncated) {
		t.Errorf("cut line before blank ones: %d windows, %v", len(got), err)
	}
}

// TestOddFiles are files that people have.
func TestOddFiles(t *testing.T) {
	windows := ingesttest.Windows(1, 2, ingesttest.Shape{Ranks: 2, Steps: 2, Stages: 2})
	text := joined(linesOf(windows, 2))
	for name, odd := range map[string]string{
		"CRLF":             strings.ReplaceAll(text, "\n", "\r\n"),
		"blank lines":      "\n\n" + strings.ReplaceAll(text, "\n", "\n\n \t\n"),
		"no last line end": strings.TrimSuffix(text, "\n"),
		"spaces around":    strings.ReplaceAll("  "+text, "\n", "  \n\t "),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ingesttest.ReadAll(open(map[string]string{"a": odd}, Options{}))
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(windows, got); diff != "" {
				t.Errorf("windows differ (-want +got):\n%s", diff)
			}
		})
	}
	for name, tt := range map[string]struct {
		text string
		kind error
	}{
		"empty":              {"", input.ErrEmpty},
		"blank":              {"\n \r\n\n", input.ErrEmpty},
		"line without end":   {`{"schema":"` + strings.Repeat("x", 3000), input.ErrTooLarge},
		"blanks without end": {strings.Repeat("\n", 3000), input.ErrTooLarge},
		"binary":             {"\x00\x01\x02", input.ErrFormat},
		"array of packets":   {"[" + text + "]", input.ErrType},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ingesttest.ReadAll(open(map[string]string{"a": tt.text}, Options{Limits: ingest.Limits{Line: 2000}}))
			if !errors.Is(err, tt.kind) {
				t.Errorf("error %v, want %v", err, tt.kind)
			}
			ingesttest.CheckPosition(t, err, "a")
		})
	}
}

// TestMixed: packets of one window that disagree.
func TestMixed(t *testing.T) {
	windows := ingesttest.Windows(1, 1, ingesttest.Shape{Ranks: 3, Steps: 4, Stages: 2})
	lines := linesOf(windows, 4)
	edit := func(rank int, old, new string) string {
		changed := slices.Clone(lines)
		changed[rank].text = strings.Replace(changed[rank].text, old, new, 1)
		return joined(changed)
	}
	for name, tt := range map[string]struct {
		text string
		note input.NoteKind
	}{
		"stage list":   {edit(1, "stage.0_cpu_wall", "other"), input.NoteStagesDiffer},
		"world size":   {edit(1, `"world_size":3`, `"world_size":4`), input.NoteWorldSizeChanged},
		"accumulation": {edit(1, `"accumulation":1`, `"accumulation":2`), input.NoteAccumulationChanged},
		"gather":       {edit(1, `"gather_ok":true`, `"gather_ok":false`), input.NoteGatherFailed},
		"a note":       {edit(1, `"gather_ok"`, `"notes":["rank 1 lost a window"],"gather_ok"`), input.NoteRecorder},
		"no wall time": {edit(1, `"wall_ns"`, `"wall"`), input.NoteWallMissing},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ingesttest.ReadAll(open(map[string]string{"a": tt.text}, Options{}))
			if err != nil || len(got) != 1 {
				t.Fatalf("%d windows, %v", len(got), err)
			}
			if !got[0].Has(tt.note) {
				t.Errorf("notes %v, want %v", got[0].Notes, tt.note)
			}
		})
	}
	t.Run("step gap", func(t *testing.T) {
		shifted := strings.ReplaceAll(lines[1].text, `"first_step":0`, `"first_step":2`)
		shifted = strings.Replace(shifted, `"steps":[0]`, `"steps":[2]`, 1)
		got, err := ingesttest.ReadAll(open(map[string]string{"a": lines[0].text + shifted + lines[2].text}, Options{}))
		if err != nil {
			t.Fatal(err)
		}
		var steps []string
		for _, w := range got {
			steps = append(steps, fmt.Sprintf("%d+%d without %v", w.FirstStep, w.Steps(), w.Missing().IDs()))
		}
		if want := "[0+2 without [1] 2+2 without [] 4+2 without [0 2]]"; fmt.Sprint(steps) != want {
			t.Errorf("windows %v, want %s", steps, want)
		}
	})
}
