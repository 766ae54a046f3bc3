package packet

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/ingesttest"
	"github.com/sfstat/sfstat/trace"
)

// line is one packet with what orders it.
type line struct {
	run          string
	window, rank int
	first        int64
	text         string
}

// linesOf are the packets of the windows, window-major, each cut into chunks
// of at most so many steps.
func linesOf(windows []*trace.Window, chunk int) []line {
	var lines []line
	for _, w := range windows {
		for r := range w.Ranks {
			p := w.Part(r)
			S, T := len(p.Schema.Stages), p.Steps()
			for from := 0; from < T; from += chunk {
				to := min(T, from+chunk)
				q := *p
				q.FirstStep += int64(from)
				q.Durations = p.Durations[from*S : to*S]
				if p.Wall != nil {
					q.Wall = p.Wall[from:to]
				}
				q.Side = nil
				for _, c := range p.Side {
					c.Samples = slices.DeleteFunc(slices.Clone(c.Samples), func(s trace.Sample) bool {
						return s.Step < q.FirstStep || s.Step >= q.FirstStep+int64(to-from)
					})
					if len(c.Samples) > 0 {
						q.Side = append(q.Side, c)
					}
				}
				lines = append(lines, line{w.Run, int(w.Index), p.Rank.ID, q.FirstStep, string(Append(nil, &q)) + "\n"})
			}
		}
	}
	return lines
}

func joined(lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text)
	}
	return b.String()
}

// files splits lines over files by name.
func files(lines []line, name func(l line) string) map[string]string {
	out := make(map[string]string)
	for _, l := range lines {
		out[name(l)] += l.text
	}
	return out
}

func open(files map[string]string, o Options) *Reader {
	var streams []Stream
	for name, text := range files { // in random order
		streams = append(streams, Stream{Name: name, R: strings.NewReader(text)})
	}
	return NewReader(streams, o)
}

func sorted(windows []*trace.Window) []*trace.Window {
	out := slices.Clone(windows)
	slices.SortFunc(out, func(a, b *trace.Window) int {
		return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Index, b.Index), cmp.Compare(a.FirstStep, b.FirstStep))
	})
	return out
}

// TestArrangements: however the packets of some windows are spread over files
// and ordered in them, the same windows come out, in order.
func TestArrangements(t *testing.T) {
	const ranks = 6
	var windows []*trace.Window
	for seed := range uint64(3) {
		windows = append(windows, ingesttest.Windows(seed, 9, ingesttest.Shape{Ranks: ranks, Steps: 7, Stages: 3})...)
	}
	windows[4].Side, windows[5].Wall = nil, nil
	windows[6].GatherFailed = []int{2, 5}
	windows[6].Notes = []trace.Note{{Kind: trace.NoteGatherFailed, Text: "the recorder could not gather the window on ranks 2,5"}}
	windows[7].DataWait, windows[8].Accumulation = trace.DataWaitUnknown, 4
	byRank := func(a, b line) int { return cmp.Or(cmp.Compare(a.run, b.run), cmp.Compare(a.rank, b.rank)) }
	byWindow := func(a, b line) int { return cmp.Compare(a.window, b.window) }
	one := func(line) string { return "all" }
	orders := []struct {
		name  string
		order func(rng *rand.Rand, lines []line)
		file  func(l line) string
	}{
		{"one file, by window", func(*rand.Rand, []line) {}, one},
		{"one file, by rank", func(_ *rand.Rand, lines []line) { slices.SortStableFunc(lines, byRank) }, one},
		{"one file, runs interleaved", func(_ *rand.Rand, lines []line) { slices.SortStableFunc(lines, byWindow) }, one},
		{"one file, ranks of a window in any order", shuffleWithin, one},
		{"file per rank", func(*rand.Rand, []line) {}, func(l line) string { return fmt.Sprint("rank", l.rank) }},
		{"file per rank and run", func(*rand.Rand, []line) {}, func(l line) string { return fmt.Sprint(l.run, "rank", l.rank) }},
		{"file per rank, runs interleaved", func(_ *rand.Rand, lines []line) { slices.SortStableFunc(lines, byWindow) }, func(l line) string { return fmt.Sprint("rank", l.rank) }},
		{"file per run", func(*rand.Rand, []line) {}, func(l line) string { return l.run }},
		{"file per window", func(*rand.Rand, []line) {}, func(l line) string { return fmt.Sprint("w", l.window) }},
		{"file per node, by window", func(*rand.Rand, []line) {}, func(l line) string { return fmt.Sprint("node", l.rank/2) }},
		{"file per node, by rank", func(_ *rand.Rand, lines []line) { slices.SortStableFunc(lines, byRank) }, func(l line) string { return fmt.Sprint("node", l.rank/2) }},
		{"file per node, any order in a window", shuffleWithin, func(l line) string { return fmt.Sprint("node", l.rank%2) }},
		{"rotated files per rank", func(*rand.Rand, []line) {}, func(l line) string { return fmt.Sprint("rank", l.rank, ".", l.window/4) }},
	}
	for _, tt := range orders {
		for _, chunk := range []int{7, 3} {
			t.Run(fmt.Sprintf("%s, %d steps in a packet", tt.name, chunk), func(t *testing.T) {
				lines := linesOf(windows, chunk)
				tt.order(rand.New(rand.NewPCG(5, uint64(chunk))), lines)
				got, err := ingesttest.ReadAll(open(files(lines, tt.file), Options{}))
				if err != nil {
					t.Fatal(err)
				}
				if diff := gocmp.Diff(windows, sorted(got)); diff != "" {
					t.Errorf("windows differ (-want +got):\n%s", diff)
				}
				for i := 1; i < len(got); i++ {
					if a, b := got[i-1], got[i]; a.Run == b.Run && a.Index >= b.Index {
						t.Errorf("window %d of %s after window %d", b.Index, b.Run, a.Index)
					}
				}
			})
		}
	}
}

// shuffleWithin shuffles the packets of each window, keeping each rank's own in
// order of steps.
func shuffleWithin(rng *rand.Rand, lines []line) {
	for from := 0; from < len(lines); {
		to := from
		for to < len(lines) && lines[to].run == lines[from].run && lines[to].window == lines[from].window {
			to++
		}
		keys := rng.Perm(64)
		slices.SortStableFunc(lines[from:to], func(a, b line) int {
			return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(keys[a.rank], keys[b.rank]))
		})
		from = to
	}
}

func TestContract(t *testing.T) {
	windows := ingesttest.Windows(1, 5, ingesttest.Shape{Ranks: 4, Steps: 3, Stages: 2})
	text := joined(linesOf(windows, 3))
	ingesttest.Reader(t, windows, func() (ingest.WindowReader, error) {
		return NewReader([]Stream{{"a.jsonl", strings.NewReader(text)}}, Options{}), nil
	})
}

// TestStreaming: windows must come out while the input is still being read.
func TestStreaming(t *testing.T) {
	windows := ingesttest.Windows(1, 50, ingesttest.Shape{Ranks: 4, Steps: 3, Stages: 2})
	lines := linesOf(windows, 3)
	for _, name := range []string{"one file", "file per rank"} {
		t.Run(name, func(t *testing.T) {
			byFile := files(lines, func(l line) string {
				if name == "one file" {
					return "all"
				}
				return fmt.Sprint("rank", l.rank)
			})
			r := open(byFile, Options{})
			for n := range windows {
				if _, err := r.Next(); err != nil {
					t.Fatal(err)
				}
				// A packet beyond the window for each stream that is one ahead.
				if most := int64(4*(n+1) + len(byFile)); r.count+int64(len(r.heads)) > most {
					t.Fatalf("%d packets read for %d windows, want at most %d", r.count+int64(len(r.heads)), n+1, most)
				}
			}
		})
	}
}

// TestMissing: which windows come without which ranks, and that windows need
// not wait for the end where that is promised.
func TestMissing(t *testing.T) {
	windows := ingesttest.Windows(1, 100, ingesttest.Shape{Ranks: 3, Steps: 2, Stages: 2})
	lines := linesOf(windows, 2)
	one := func(line) string { return "all" }
	perRank := func(l line) string { return fmt.Sprint("rank", l.rank) }
	tests := []struct {
		name    string
		file    func(line) string
		drop    func(l line) bool
		atMost  int // packets that wait at any time
		missing func(window int) string
	}{
		{"skipped in one file", one, func(l line) bool { return l.rank == 1 && l.window == 5 }, 3 * (Patience + 2),
			func(w int) string { return map[int]string{5: "[1]"}[w] }},
		{"skipped in its own file", perRank, func(l line) bool { return l.rank == 1 && l.window == 5 }, 6,
			func(w int) string { return map[int]string{5: "[1]"}[w] }},
		{"two skipped in one file", one, func(l line) bool { return l.rank < 2 && l.window%10 == 5 }, 3 * (Patience + 2),
			func(w int) string { return map[bool]string{true: "[0 1]"}[w%10 == 5] }},
		{"died in one file", one, func(l line) bool { return l.rank == 1 && l.window >= 10 }, 2*Silence + 6,
			func(w int) string { return map[bool]string{true: "[1]"}[w >= 10] }},
		{"died with its own file", perRank, func(l line) bool { return l.rank == 1 && l.window >= 10 }, 6,
			func(w int) string { return map[bool]string{true: "[1]"}[w >= 10] }},
		{"never there in one file", one, func(l line) bool { return l.rank == 1 }, 200,
			func(int) string { return "[1]" }},
		{"file not given", perRank, func(l line) bool { return l.rank == 1 }, 200,
			func(int) string { return "[1]" }},
		{"late start", one, func(l line) bool { return l.rank == 1 && l.window < 10 }, 30,
			func(w int) string { return map[bool]string{true: "[1]"}[w < 10] }},
		{"whole window nobody reported", one, func(l line) bool { return l.window == 50 }, 6,
			func(int) string { return "" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			kept := slices.DeleteFunc(slices.Clone(lines), tt.drop)
			r := open(files(kept, tt.file), Options{})
			reported := make(map[int64]bool)
			for _, l := range kept {
				reported[int64(l.window)] = true
			}
			got := readWaiting(t, r, tt.atMost)
			if len(got) != len(reported) {
				t.Fatalf("%d windows, want %d", len(got), len(reported))
			}
			for i, w := range got {
				if i > 0 && w.Index <= got[i-1].Index {
					t.Errorf("window %d after %d", w.Index, got[i-1].Index)
				}
				missing := ""
				if m := w.Missing(); len(m) > 0 {
					missing = fmt.Sprint(m)
				}
				if want := tt.missing(int(w.Index)); missing != want {
					t.Errorf("window %d misses %q, want %q", w.Index, missing, want)
				}
				if (missing != "") != w.Has(trace.NoteMissingRanks) {
					t.Errorf("window %d: notes %v for missing %q", w.Index, w.Notes, missing)
				}
			}
		})
	}
}

// readWaiting reads all windows and checks how many packets wait at most.
func readWaiting(t *testing.T, r *Reader, atMost int) []*trace.Window {
	var got []*trace.Window
	for {
		w, err := r.Next()
		if err == io.EOF {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, w)
		waits := 0
		for _, n := range r.order {
			for _, open := range n.open {
				waits += len(open.parts)
			}
		}
		if waits > atMost {
			t.Fatalf("%d packets wait after window %d, want at most %d", waits, w.Index, atMost)
		}
	}
}

// TestRestart: a run that counts its windows anew after a restart gives all of
// its windows, complete.
func TestRestart(t *testing.T) {
	windows := ingesttest.Windows(1, 20, ingesttest.Shape{Ranks: 3, Steps: 2, Stages: 2})
	for _, w := range windows[12:] {
		w.Index -= 12
	}
	lines := linesOf(windows, 2)
	for name, file := range map[string]func(line) string{
		"one file":      func(line) string { return "all" },
		"file per rank": func(l line) string { return fmt.Sprint("rank", l.rank) },
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ingesttest.ReadAll(open(files(lines, file), Options{}))
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(sorted(windows), sorted(got)); diff != "" {
				t.Errorf("windows differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDuplicates(t *testing.T) {
	windows := ingesttest.Windows(1, 6, ingesttest.Shape{Ranks: 3, Steps: 4, Stages: 2})
	lines := linesOf(windows, 4)
	half := linesOf(windows, 2)
	tests := []struct {
		name   string
		files  map[string]string
		at     string   // position of the error
		also   []string // in the message
		before int      // windows that come first
	}{
		{"at once", map[string]string{"a": joined(slices.Insert(slices.Clone(lines), 1, lines[0]))}, "a:2", []string{"rank 0", "a:1"}, 0},
		{"within the window", map[string]string{"a": joined(slices.Insert(slices.Clone(lines), 3, lines[0]))}, "a:4", []string{"rank 0", "a:1"}, 1},
		{"after the window was closed", map[string]string{"a": joined(append(slices.Clone(lines), lines[1]))}, "a:19", []string{"rank 1", "a:1"}, 6},
		{"overlap in part", map[string]string{"a": joined(slices.Insert(slices.Clone(lines), 1, half[1]))}, "a:2", []string{"rank 0", "step 2", "a:1"}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ingesttest.ReadAll(open(tt.files, Options{}))
			if !errors.Is(err, trace.ErrDuplicate) || !strings.HasPrefix(fmt.Sprint(err), tt.at+": ") {
				t.Fatalf("error %v, want a duplicate at %s", err, tt.at)
			}
			for _, s := range tt.also {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("error %q does not mention %q", err, s)
				}
			}
			if len(got) != tt.before {
				t.Errorf("%d windows before the error, want %d", len(got), tt.before)
			}
		})
	}
	t.Run("file given twice", func(t *testing.T) {
		r := open(map[string]string{"a": joined(lines), "b": joined(lines)}, Options{})
		got, err := ingesttest.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(windows, got); diff != "" {
			t.Errorf("windows differ (-want +got):\n%s", diff)
		}
		if s := r.Summaries(); s[0].Err != nil || !errors.Is(s[1].Err, trace.ErrDuplicate) {
			t.Errorf("refusals %v and %v, want only the second file refused", s[0].Err, s[1].Err)
		}
	})
}

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
		if want := i >= 5; w.Has(trace.NoteMissingRanks) != want {
			t.Errorf("window %d misses ranks %v", i, w.Missing())
		}
	}
	if len(got) != 8 {
		t.Errorf("%d windows, want 8", len(got))
	}
	s := r.Summaries()[1]
	if s.Name != "rank1" || !errors.Is(s.Err, trace.ErrNegative) || !strings.HasPrefix(s.Err.Error(), "rank1:6[column ") {
		t.Errorf("summary %+v, want a negative number at rank1:6", s)
	}
	if s.Windows != 5 || s.Packets != 5 {
		t.Errorf("%d packets in %d windows, want 5 in 5", s.Packets, s.Windows)
	}

	got, err = ingesttest.ReadAll(open(perRank, Options{Policy: ingest.FirstError}))
	if !errors.Is(err, trace.ErrNegative) {
		t.Errorf("first error: %v", err)
	}
	if diff := gocmp.Diff(windows[:len(got)], got); diff != "" {
		t.Errorf("windows before the first error (-want +got):\n%s", diff)
	}

	got, err = ingesttest.ReadAll(open(map[string]string{"rank1": perRank["rank1"]}, Options{}))
	if !errors.Is(err, trace.ErrNegative) || len(got) > 0 {
		t.Errorf("alone: %d windows, %v", len(got), err)
	}
	_, err = ingesttest.ReadAll(open(map[string]string{"x": "{}", "y": "[]", "z": ""}, Options{}))
	if !errors.Is(err, trace.ErrMissing) || !strings.HasPrefix(err.Error(), "x:1[") {
		t.Errorf("all bad: %v, want the refusal of x", err)
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
			kind := trace.ErrTruncated
			if n == 0 {
				kind = trace.ErrEmpty
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
		if last.Has(trace.NoteTruncated) == ends {
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
		if w.Has(trace.NoteTruncated) != (i >= 2) || w.Has(trace.NoteMissingRanks) != (i >= 3) {
			t.Errorf("window %d: notes %v", i, w.Notes)
		}
	}
	if text := got[4].Notes[len(got[4].Notes)-1].Text; !strings.HasPrefix(text, "rank1:4 ends in the middle of a packet") {
		t.Errorf("note %q", text)
	}
	// Where something follows, the line is not the end of a killed job.
	_, err = ingesttest.ReadAll(open(map[string]string{"a": lines[0] + lines[1][:50] + "\n" + lines[2]}, Options{}))
	if !errors.Is(err, trace.ErrTruncated) || !strings.HasPrefix(err.Error(), "a:2[") {
		t.Errorf("cut line before another: %v", err)
	}
	// Blank lines do not count as something.
	got, err = ingesttest.ReadAll(open(map[string]string{"a": lines[0] + lines[1][:50] + "\n\n \r\n"}, Options{}))
	if err != nil || len(got) != 1 || !got[0].Has(trace.NoteTruncated) {
		t.Errorf("cut line before blank ones: %d windows, %v", len(got), err)
	}
}

// TestPending: what waits is bounded.
func TestPending(t *testing.T) {
	windows := ingesttest.Windows(1, 60, ingesttest.Shape{Ranks: 4, Steps: 40, Stages: 5})
	lines := linesOf(windows, 40)
	total := int64(0)
	for _, w := range windows {
		for r := range w.Ranks {
			total += size(w.Part(r))
		}
	}
	byRank := slices.Clone(lines)
	slices.SortStableFunc(byRank, func(a, b line) int { return cmp.Compare(a.rank, b.rank) })

	t.Run("by rank, over the limit", func(t *testing.T) {
		got, err := ingesttest.ReadAll(open(map[string]string{"a": joined(byRank)}, Options{Limits: ingest.Limits{Pending: total / 2}}))
		if !errors.Is(err, trace.ErrTooLarge) || len(got) > 0 {
			t.Fatalf("%d windows, %v", len(got), err)
		}
		for _, s := range []string{"a:1: ", "rank 3 of window 0", "order the packets by window, or write one file per rank"} {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("error %q does not say %q", err, s)
			}
		}
	})
	t.Run("by rank, within the limit", func(t *testing.T) {
		got, err := ingesttest.ReadAll(open(map[string]string{"a": joined(byRank)}, Options{Limits: ingest.Limits{Pending: total}}))
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(windows, got); diff != "" {
			t.Errorf("windows differ (-want +got):\n%s", diff)
		}
	})
	t.Run("a rank never reports", func(t *testing.T) {
		kept := slices.DeleteFunc(slices.Clone(lines), func(l line) bool { return l.rank == 2 })
		limit := total / 10
		r := open(map[string]string{"a": joined(kept)}, Options{Limits: ingest.Limits{Pending: limit}})
		n := 0
		for ; ; n++ {
			w, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if m := w.Missing(); !slices.Equal(m, []int{2}) {
				t.Errorf("window %d misses %v", w.Index, m)
			}
			if r.used > limit/2 {
				t.Errorf("%d bytes wait after window %d, the limit is %d", r.used, w.Index, limit)
			}
		}
		if n != len(windows) {
			t.Errorf("%d windows, want %d", n, len(windows))
		}
	})
	t.Run("one window over the limit", func(t *testing.T) {
		_, err := ingesttest.ReadAll(open(map[string]string{"a": joined(lines)}, Options{Limits: ingest.Limits{Pending: 4000}}))
		if !errors.Is(err, trace.ErrTooLarge) {
			t.Errorf("error %v", err)
		}
	})
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
		"empty":              {"", trace.ErrEmpty},
		"blank":              {"\n \r\n\n", trace.ErrEmpty},
		"line without end":   {`{"schema":"` + strings.Repeat("x", 3000), trace.ErrTooLarge},
		"blanks without end": {strings.Repeat("\n", 3000), trace.ErrTooLarge},
		"binary":             {"\x00\x01\x02", trace.ErrFormat},
		"array of packets":   {"[" + text + "]", trace.ErrType},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ingesttest.ReadAll(open(map[string]string{"a": tt.text}, Options{Limits: ingest.Limits{Line: 2000}}))
			if !errors.Is(err, tt.kind) {
				t.Errorf("error %v, want %v", err, tt.kind)
			}
			ingesttest.Placed(t, err, "a")
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
		note trace.NoteKind
	}{
		"stage list":   {edit(1, "stage.0_cpu_wall", "other"), trace.NoteStagesChanged},
		"world size":   {edit(1, `"world_size":3`, `"world_size":4`), trace.NoteWorldSizeChanged},
		"accumulation": {edit(1, `"accumulation":1`, `"accumulation":2`), trace.NoteAccumulationChanged},
		"gather":       {edit(1, `"gather_ok":true`, `"gather_ok":false`), trace.NoteGatherFailed},
		"no wall time": {edit(1, `"wall_ns"`, `"wall"`), trace.NoteWallMissing},
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
			steps = append(steps, fmt.Sprintf("%d+%d without %v", w.FirstStep, w.Steps(), w.Missing()))
		}
		if want := "[0+2 without [1] 2+2 without [] 4+2 without [0 2]]"; fmt.Sprint(steps) != want {
			t.Errorf("windows %v, want %s", steps, want)
		}
	})
}

// FuzzReader: no input makes the reader panic; windows are valid, refusals
// have a position, and the way the input is cut into streams does not matter
// for whether it is read.
func FuzzReader(f *testing.F) {
	windows := ingesttest.Windows(1, 3, ingesttest.Shape{Ranks: 2, Steps: 2, Stages: 2})
	lines := linesOf(windows, 1)
	f.Add([]byte(joined(lines)))
	slices.Reverse(lines)
	f.Add([]byte(joined(lines)))
	f.Add([]byte(joined(lines)[:700]))
	f.Add([]byte(full + "\n" + bare + "\r\n\n" + bare))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, streams := range [][]Stream{
			{{"a", bytes.NewReader(data)}},
			{{"a", bytes.NewReader(data)}, {"b", bytes.NewReader(data[len(data)/2:])}},
		} {
			r := NewReader(streams, Options{Limits: ingest.Limits{Line: 1 << 16, Pending: 1 << 16}})
			got, err := ingesttest.ReadAll(r)
			for _, w := range got {
				if err := w.Validate(); err != nil {
					t.Fatalf("invalid window: %v", err)
				}
			}
			var placed *trace.RecordError
			if err != nil && !errors.As(err, &placed) {
				t.Fatalf("error without a position: %v", err)
			}
			if err == nil && len(got) == 0 {
				t.Fatal("no windows and no error")
			}
		}
	})
}

// shared is a folder of inputs with known truth, outside the repository.
func shared(t testing.TB, sub string) string {
	dir := os.Getenv("SFSTAT_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	dir = filepath.Join(dir, sub)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no shared data: %v", err)
	}
	return dir
}

// TestSharedRuns reads recorded runs and compares every packet with what
// encoding/json makes of it.
func TestSharedRuns(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join(shared(t, "data/ddp"), "*.jsonl"))
	if len(paths) == 0 {
		t.Fatal("no runs")
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ingesttest.ReadAll(NewReader([]Stream{{path, bytes.NewReader(data)}}, Options{}))
		if err != nil {
			t.Fatal(err)
		}
		var again bytes.Buffer
		out := NewWriter(&again)
		packets := 0
		for _, w := range got {
			if len(w.Notes) > 0 || len(w.Missing()) > 0 {
				t.Errorf("%s: notes %v", path, w.Notes)
			}
			if err := out.Write(w); err != nil {
				t.Fatal(err)
			}
			packets += len(w.Ranks)
		}
		input := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
		if packets != len(input) {
			t.Errorf("%s: %d packets, want %d", path, packets, len(input))
		}
		for i, line := range bytes.Split(bytes.TrimSpace(again.Bytes()), []byte("\n")) {
			want, err := reference(input[i])
			if err != nil {
				t.Fatal(err)
			}
			have, err := reference(line)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(want, have); diff != "" {
				t.Fatalf("%s:%d (-want +got):\n%s", path, i+1, diff)
			}
		}
	}
}

// producer writes the packets of windows as they are asked for.
type producer struct {
	windows []*trace.Window // each again and again, with the next number
	left    int
	next    int64
	buf     []byte
}

func (p *producer) Read(b []byte) (int, error) {
	for len(p.buf) == 0 {
		if p.left == 0 {
			return 0, io.EOF
		}
		p.left--
		w := *p.windows[p.next%int64(len(p.windows))]
		w.Index, w.FirstStep, w.Side = p.next, p.next*int64(w.Steps()), nil
		p.next++
		for r := range w.Ranks {
			p.buf = append(Append(p.buf, w.Part(r)), '\n')
		}
	}
	n := copy(b, p.buf)
	p.buf = p.buf[n:]
	return n, nil
}

// TestMemory: what the reader holds does not grow with the input.
func TestMemory(t *testing.T) {
	windows := ingesttest.Windows(1, 2, ingesttest.Shape{Ranks: 8, Steps: 50, Stages: 5})
	one := int64(8 * len(windows[0].Durations))
	heap := func(n int) int64 {
		r := NewReader([]Stream{{"x", &producer{windows: windows, left: n + 3}}}, Options{})
		defer r.Close()
		for range n {
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
		}
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		runtime.KeepAlive(r)
		return int64(m.HeapAlloc)
	}
	heap(5)
	if short, long := heap(5), heap(1000); long-short > 10*one {
		t.Errorf("%d bytes more after 1000 windows than after 5; a window has %d", long-short, one)
	}
}
