package trainlog

import (
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/trace"
)

// long is the log of a job, which no memory holds: lines of all ranks for each step. A step takes [restOf] µs beside its parts.
type long struct {
	steps, ranks int
	step, rank   int
	rest         []byte
}

func restOf(step, rank int) int { return step*7919%5003 + rank }

func (l *long) Read(p []byte) (n int, err error) {
	for len(l.rest) < len(p) && l.step < l.steps {
		l.rest = fmt.Appendf(l.rest, "[rank%d]: step %d data_time: 100us forward_time: 200us time: %dus\n", l.rank, l.step, 300+restOf(l.step, l.rank))
		if l.rank++; l.rank == l.ranks {
			l.step, l.rank = l.step+1, 0
		}
	}
	if len(l.rest) == 0 {
		return 0, io.EOF
	}
	n = copy(p, l.rest)
	l.rest = append(l.rest[:0], l.rest[n:]...)
	return n, nil
}

// live returns the bytes that are in use.
func live() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestMemory: a step of which two times are always the same takes 2 bytes until it is handed on, and nothing from there on, however many there are.
func TestMemory(t *testing.T) {
	const (
		few, many = 20_000, 160_000
		ofStep    = 2 // bytes
	)
	var held [2]int64
	for i, steps := range []int{few, many} {
		var b Builder
		before := live()
		if err := b.Read(&long{steps: steps, ranks: 2}, "x", -1, ""); err != nil {
			t.Fatal(err)
		}
		held[i] = live() - before
		least := held[i]
		if err := b.Each("x", func(*trace.Window) bool {
			least = min(least, live()-before)
			return true
		}); err != nil {
			t.Fatal(err)
		}
		if i == 1 && least > held[1] {
			t.Errorf("behind the last window %d bytes are held of %d", least, held[1])
		}
		runtime.KeepAlive(&b)
	}
	if each := float64(held[1]-held[0]) / (2 * (many - few)); each > 1.3*ofStep {
		t.Errorf("%.0f bytes a step, want %d", each, ofStep)
	}
}

// TestLong: a log with more durations than a window has gives several, which follow one another, and nothing is lost.
func TestLong(t *testing.T) {
	const steps, ranks = 45_000, 8
	var b Builder
	if err := b.Read(&long{steps: steps, ranks: ranks}, "x", -1, ""); err != nil {
		t.Fatal(err)
	}
	next, windows := int64(0), int64(0)
	if err := b.Each("x", func(w *trace.Window) bool {
		if w.FirstStep != next || w.Index != windows || len(w.Durations) > mostDurations || !slices.Equal(w.Schema.Stages, []string{"data.next_wait", "model.fwd_loss_cpu_wall", "step.rest"}) {
			t.Fatalf("window %d, of %q, begins at %d, want %d", w.Index, w.Schema.Stages, w.FirstStep, next)
		}
		for i, ns := range w.Durations {
			step, stage, rank := int(next)+i/(3*ranks), i/ranks%3, i%ranks
			if want := []int64{100_000, 200_000, int64(restOf(step, rank)) * 1000}[stage]; ns != want {
				t.Fatalf("step %d, stage %d, rank %d: %d ns, want %d", step, stage, rank, ns, want)
			}
		}
		next, windows = next+int64(w.Steps()), windows+1
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if next != steps || windows < 2 {
		t.Errorf("%d steps in %d windows", next, windows)
	}
}

// TestRows: rows that are moved, cut and widened are those of a plain table, across pieces.
func TestRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 20 {
		r, want, width := rows{}, [][]int64{}, 0
		for range 3 {
			for range rng.IntN(3 * rowsOfPiece / 2) {
				step := rng.Int64N(1000)
				r.append(step)
				row := append([]int64{step}, slices.Repeat([]int64{notTimed}, width)...)
				for c := range width {
					row[1+c] = rng.Int64N(1000)
				}
				copy(r.row(r.n-1), row[1:])
				want = append(want, row)
			}
			switch rng.IntN(3) {
			case 0:
				r.widen()
				width++
				for i := range want {
					want[i] = append(want[i], notTimed)
				}
			case 1:
				n := len(want) / 2
				r.cut(n)
				want = want[:n]
			default:
				for k := 1; k < len(want); k++ {
					r.move(k-1, k)
					copy(want[k-1], want[k])
				}
			}
		}
		if r.n != len(want) {
			t.Fatalf("%d rows, want %d", r.n, len(want))
		}
		for i, row := range want {
			if r.step(i) != row[0] || !slices.Equal(r.row(i), row[1:]) {
				t.Fatalf("row %d: %d %v, want %v", i, r.step(i), r.row(i), row)
			}
		}
	}
}

// TestMatch: the steps that all ranks logged are the intersection of theirs, in whatever order and how often each was logged.
func TestMatch(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for range 200 {
		ranks, times := 2+rng.IntN(3), []map[int64]int64{}
		var b Builder
		for rank := range ranks {
			var text strings.Builder
			last := map[int64]int64{} // the later of two lines of a step counts
			for range 1 + rng.IntN(12) {
				step, ns := rng.Int64N(8), 1+rng.Int64N(1000)
				fmt.Fprintf(&text, "step %d time: %dns\n", step, ns)
				last[step] = ns
			}
			times = append(times, last)
			if err := b.Read(strings.NewReader(text.String()), fmt.Sprint(rank), rank, ""); err != nil {
				t.Fatal(err)
			}
		}
		var common []int64
		union := map[int64]bool{}
		for rank := range ranks {
			for step := range times[rank] {
				union[step] = true
			}
		}
		for step := range int64(8) {
			if !slices.ContainsFunc(times, func(m map[int64]int64) bool { _, has := m[step]; return !has }) {
				common = append(common, step)
			}
		}
		j, err := b.job()
		if err != nil {
			t.Fatal(err)
		}
		left := j.match()
		if j.n != len(common) || left != len(union)-len(common) {
			t.Fatalf("%d steps and %d others, want %v and %d", j.n, left, common, len(union)-len(common))
		}
		for i, step := range common {
			for r, track := range j.tracks {
				if row := j.row(r, i); track.step(row) != step || !slices.Contains(track.row(row), times[r][step]) {
					t.Fatalf("step %d of rank %d: step %d, %v, want %d", step, r, track.step(row), track.row(row), times[r][step])
				}
			}
		}
	}
}
