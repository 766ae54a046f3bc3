package packet

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/ingesttest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

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
		{"late start", one, func(l line) bool { return l.rank == 1 && l.window < 10 }, 33,
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
					missing = fmt.Sprint(m.IDs())
				}
				if want := tt.missing(int(w.Index)); missing != want {
					t.Errorf("window %d misses %q, want %q", w.Index, missing, want)
				}
				if (missing != "") != w.Has(input.NoteMissingRanks) {
					t.Errorf("window %d: notes %v for missing %q", w.Index, w.Notes, missing)
				}
			}
		})
	}
}

// readWaiting reads all windows and checks how many packets are read at most
// that are not in a window that came.
func readWaiting(t *testing.T, r *Reader, atMost int) []*trace.Window {
	var got []*trace.Window
	came := int64(0) // packets
	for {
		w, err := r.Next()
		if err == io.EOF {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		if waits := r.count - came; waits > int64(atMost) {
			t.Fatalf("%d packets wait before window %d, want at most %d", waits, w.Index, atMost)
		}
		got = append(got, w)
		came += int64(len(w.Ranks))
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
		if !errors.Is(err, input.ErrTooLarge) || len(got) > 0 {
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
			if m := w.Missing(); !slices.Equal(m.IDs(), []int{2}) {
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
		if !errors.Is(err, input.ErrTooLarge) {
			t.Errorf("error %v", err)
		}
	})
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
			p.buf = append(appendPacket(p.buf, w.Part(r)), '\n')
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
		r := NewReader([]Stream{{Name: "x", R: &producer{windows: windows, left: n + 3}}}, Options{})
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
