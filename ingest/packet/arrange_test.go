package packet

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/ingesttest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
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
				lines = append(lines, line{w.Run, int(w.Index), p.Rank.ID, q.FirstStep, string(appendPacket(nil, &q)) + "\n"})
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

// TestAnyOrder: of streams that end, windows come out whole in whatever order their packets stand, as long as few enough wait; without that
// one is closed before all of its ranks have come.
func TestAnyOrder(t *testing.T) {
	windows := ingesttest.Windows(1, 40, ingesttest.Shape{Ranks: 6, Steps: 7, Stages: 3})
	backwards := linesOf(windows, 7)
	slices.Reverse(backwards)
	got, err := ingesttest.ReadAll(open(files(backwards, func(line) string { return "all" }), Options{Hold: 1 << 20}))
	if diff := gocmp.Diff(windows, got); diff != "" || err != nil {
		t.Errorf("backwards: %v, windows differ (-want +got):\n%s", err, diff)
	}
	for name, file := range map[string]func(l line) string{
		"one file":      func(line) string { return "all" },
		"file per rank": func(l line) string { return fmt.Sprint("rank", l.rank) },
		"file per node": func(l line) string { return fmt.Sprint("node", l.rank/2) },
	} {
		lines := linesOf(windows, 7)
		rand.New(rand.NewPCG(7, 1)).Shuffle(len(lines), func(i, k int) { lines[i], lines[k] = lines[k], lines[i] })
		got, err := ingesttest.ReadAll(open(files(lines, file), Options{Hold: 1 << 20}))
		if diff := gocmp.Diff(windows, got); diff != "" || err != nil {
			t.Errorf("%s: %v, windows differ (-want +got):\n%s", name, err, diff)
		}
		if got, err := ingesttest.ReadAll(open(files(lines, file), Options{})); err == nil && gocmp.Equal(windows, sorted(got)) {
			t.Errorf("%s: nothing waits, and yet all windows are whole", name)
		}
	}
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
	windows[6].Notes = []input.Note{{Kind: input.NoteGatherFailed, Text: "the recorder could not gather the window on ranks 2,5"}}
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
		{"one file, ranks up to three windows apart", func(_ *rand.Rand, lines []line) {
			slices.SortStableFunc(lines, func(a, b line) int {
				return cmp.Or(cmp.Compare(a.run, b.run), cmp.Compare(a.window+a.rank%4, b.window+b.rank%4))
			})
		}, one},
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
				again, err := ingesttest.ReadAll(open(files(lines, tt.file), Options{}))
				if diff := gocmp.Diff(got, again); diff != "" || err != nil {
					t.Errorf("the order of the files matters: %v\n%s", err, diff)
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

// TestElsewhere: a rank that reports on another run for a while is waited for.
func TestElsewhere(t *testing.T) {
	windows := ingesttest.Windows(1, 3*Silence, ingesttest.Shape{Ranks: 2, Steps: 2, Stages: 2})
	other := joined(linesOf(ingesttest.Windows(2, 3, ingesttest.Shape{Ranks: 1, Steps: 1, Stages: 1}), 1))
	perRank := files(linesOf(windows, 2), func(l line) string { return fmt.Sprint("rank", l.rank) })
	lines := strings.SplitAfter(perRank["rank1"], "\n")
	perRank["rank1"] = strings.Join(lines[:10], "") + other + strings.Join(lines[10:], "")
	got, err := ingesttest.ReadAll(open(perRank, Options{}))
	if err != nil {
		t.Fatal(err)
	}
	got = slices.DeleteFunc(got, func(w *trace.Window) bool { return w.Run != windows[0].Run })
	if diff := gocmp.Diff(windows, got); diff != "" {
		t.Errorf("windows differ (-want +got):\n%s", diff)
	}
}

// TestRestart: a run that counts its windows anew after a restart gives all of
// its windows, complete.
func TestRestart(t *testing.T) {
	windows := ingesttest.Windows(1, 3*Silence, ingesttest.Shape{Ranks: 3, Steps: 2, Stages: 2})
	for _, w := range windows[Silence+5:] {
		w.Index -= Silence + 5
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

// TestPatience: how far out of order the packets of a rank may come.
func TestPatience(t *testing.T) {
	windows := ingesttest.Windows(1, 12, ingesttest.Shape{Ranks: 3, Steps: 2, Stages: 2})
	for late := range Patience + 2 {
		lines := linesOf(windows, 2)
		slices.SortStableFunc(lines, func(a, b line) int {
			at := func(l line) float64 {
				if l.rank == 1 && l.window == 5 {
					return float64(5+late) + 0.5 // after that many later ones of its rank
				}
				return float64(l.window)
			}
			return cmp.Compare(at(a), at(b))
		})
		got, err := ingesttest.ReadAll(open(map[string]string{"a": joined(lines)}, Options{}))
		if late < Patience {
			if diff := gocmp.Diff(windows, got); diff != "" || err != nil {
				t.Errorf("%d windows late: %v\n%s", late, err, diff)
			}
		} else if !errors.Is(err, input.ErrFormat) || !strings.Contains(err.Error(), "rank 1 comes after window 5") {
			t.Errorf("%d windows late: %v", late, err)
		}
	}
}

// TestChunksAmongRuns: windows in several packets of a rank, with packets of
// another run between them.
func TestChunksAmongRuns(t *testing.T) {
	windows := ingesttest.Windows(1, 2, ingesttest.Shape{Ranks: 3, Steps: 4, Stages: 2})
	other := linesOf(ingesttest.Windows(2, 3, ingesttest.Shape{Ranks: 1, Steps: 1, Stages: 1}), 1)
	lines := linesOf(windows, 2) // r0a r0b r1a r1b r2a r2b, and again
	for _, order := range [][]int{
		{0, 2, -1, 3, 4, 5, -2, 1, 6, 7, 8, 9, 10, 11},
		{0, 1, 2, 3, 4, -1, 5, 6, 7, 8, -2, 9, 10, 11},
		{0, 1, 2, 4, -1, 3, -2, 5, 6, 7, 8, 9, 10, 11},
	} {
		var text string
		for _, i := range order {
			if i < 0 {
				text += other[-i].text
			} else {
				text += lines[i].text
			}
		}
		got, err := ingesttest.ReadAll(open(map[string]string{"a": text}, Options{}))
		if err != nil {
			t.Fatal(err)
		}
		got = slices.DeleteFunc(got, func(w *trace.Window) bool { return w.Run != windows[0].Run })
		if diff := gocmp.Diff(windows, got); diff != "" {
			t.Errorf("order %v: windows differ (-want +got):\n%s", order, diff)
		}
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
			if !errors.Is(err, input.ErrDuplicate) || !strings.HasPrefix(fmt.Sprint(err), tt.at+": ") {
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
	for name, second := range map[string]string{"file given twice": joined(lines), "file given in other packets": joined(half[1:])} {
		r := open(map[string]string{"a": joined(lines), "b": second}, Options{})
		got, err := ingesttest.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(windows, got); diff != "" {
			t.Errorf("windows differ (-want +got):\n%s", diff)
		}
		if s := r.Summaries(); s[0].Err != nil || !errors.Is(s[1].Err, input.ErrDuplicate) {
			t.Errorf("%s: refusals %v and %v, want only the second file refused", name, s[0].Err, s[1].Err)
		}
	}
}

// FuzzJoin spreads packets in any order over three streams: no order makes the
// reader panic, windows are valid, and unless something was refused every step
// of every rank comes out once.
func FuzzJoin(f *testing.F) {
	shape := ingesttest.Shape{Ranks: 3, Steps: 2, Stages: 1}
	pool := linesOf(ingesttest.Windows(1, 12, shape), 1)
	pool = append(pool, linesOf(ingesttest.Windows(2, 3, shape), 2)...)
	restarted := ingesttest.Windows(1, 14, shape)[12:]
	restarted[0].Index, restarted[1].Index = 0, 1
	pool = append(pool, linesOf(restarted, 2)...)
	huge := ingesttest.Windows(3, 2, shape)
	for k := range huge[1].Durations {
		huge[1].Durations[k] = trace.MaxTotal / 6
	}
	pool = append(pool, linesOf(huge, 2)...)
	all := make([]byte, len(pool))
	for i := range all {
		all[i] = byte(i)
	}
	f.Add(all, uint8(0))
	f.Add(all, uint8(1))
	f.Add(all[:40], uint8(7))
	slices.Reverse(all)
	f.Add(all, uint8(3))
	f.Fuzz(func(t *testing.T, order []byte, spread uint8) {
		if len(order) > 1<<10 { // the texts of more take longer to put together than to read
			return
		}
		texts := make(map[string]string)
		steps := 0
		for i, b := range order {
			l := pool[int(b)%len(pool)]
			texts[fmt.Sprint(i*int(spread)/3%3)] += l.text
			steps += strings.Count(l.text, "],[") + 1
		}
		r := open(texts, Options{Limits: ingest.Limits{Pending: 1 << 14}})
		got, err := ingesttest.ReadAll(r)
		for _, s := range r.Summaries() {
			ingesttest.NoBug(t, s.Err)
		}
		var placed *input.Error
		if err != nil && !errors.As(err, &placed) && len(order) > 0 {
			t.Fatalf("error without a position: %v", err)
		}
		for _, w := range got {
			if err := w.Validate(); err != nil {
				t.Fatalf("invalid window: %v", err)
			}
			steps -= w.Steps() * len(w.Ranks)
		}
		refused := err != nil || slices.ContainsFunc(r.Summaries(), func(s Summary) bool { return s.Err != nil })
		if !refused && steps != 0 {
			t.Fatalf("%d steps were lost", steps)
		}
	})
}
