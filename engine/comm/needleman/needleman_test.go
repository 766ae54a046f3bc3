package needleman

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// table is scores in full, with windows around what is not Never.
type table struct {
	score [][]int32
	open  bool // windows are everything
}

func (t table) Size() (int, int) {
	if len(t.score) == 0 {
		return 0, 0
	}
	return len(t.score), len(t.score[0])
}

func (t table) Window(i int) (from, to int) {
	_, m := t.Size()
	if t.open {
		return 0, m
	}
	from, to = m, 0
	for j, s := range t.score[i] {
		if s > Never {
			from, to = min(from, j), max(to, j+1)
		}
	}
	return from, to
}

func (t table) Row(dst []int32, i, from int) { copy(dst, t.score[i][from:]) }

func (t table) Best(i int) (best int32) {
	for _, s := range t.score[i] {
		best = max(best, s)
	}
	return best
}

// plain is the recurrence as the textbook has it: a full table.
func plain(t table, gap int32) int32 {
	n, m := t.Size()
	h := make([][]int32, n+1)
	for i := range h {
		h[i] = make([]int32, m+1)
		for j := range h[i] {
			h[i][j] = Never
			if i == 0 && j == 0 {
				h[0][0] = 0
			}
			if i > 0 {
				h[i][j] = max(h[i][j], h[i-1][j]-gap)
			}
			if j > 0 {
				h[i][j] = max(h[i][j], h[i][j-1]-gap)
			}
			if i > 0 && j > 0 {
				h[i][j] = max(h[i][j], h[i-1][j-1]+t.score[i-1][j-1])
			}
		}
	}
	return h[n][m]
}

// price adds up what an alignment scores, by the definition.
func price(t table, gap int32, pairs []Pair) int64 {
	n, m := t.Size()
	sum := -int64(n+m-2*len(pairs)) * int64(gap)
	for _, p := range pairs {
		sum += int64(t.score[p.Row][p.Column])
	}
	return sum
}

// without is the table in which a pair must not be.
func (t table) without(i, j int) table {
	c := table{open: t.open}
	for _, row := range t.score {
		c.score = append(c.score, append([]int32(nil), row...))
	}
	c.score[i][j] = Never
	return c
}

// cases makes tables of the kinds that bands get wrong: few symbols, repeats with shifts, runs lost
// on one side, wandering windows, anything at all.
func cases(rng *rand.Rand, kind int) (t table, gap int32, width int) {
	n, m := rng.IntN(40), rng.IntN(40)
	gap, width = rng.Int32N(9), 1+rng.IntN(4)
	t = table{score: make([][]int32, n), open: rng.IntN(2) == 0}
	period, shift, symbols := 1+rng.IntN(6), rng.IntN(8), 1+rng.IntN(4)
	a, b := make([]int, n), make([]int, m)
	for i := range a {
		a[i] = i % period
		if kind == 0 {
			a[i] = rng.IntN(symbols)
		}
	}
	for j := range b {
		b[j] = (j + shift) % period
		if kind == 0 {
			b[j] = rng.IntN(symbols)
		}
	}
	for i := range t.score {
		t.score[i] = make([]int32, m)
		for j := range m {
			s := int32(-15)
			if a[i] == b[j] {
				s = 5
			}
			switch {
			case kind == 2:
				s = rng.Int32N(30) - 20
			case kind == 3 && (j < i-shift || j > i+period):
				s = Never
			case kind == 4 && rng.IntN(3) == 0:
				s = Never
			case kind == 5 && (j > i || i > j+3*shift): // the best path is below the diagonal
				s = Never
			case kind == 6 && (j < i || j > i+3*shift): // or above it
				s = Never
			case kind >= 5 && max(i-j, j-i) == 3*shift:
				s = 25
			}
			t.score[i][j] = s
		}
	}
	return t, gap, width
}

// The banded, certified, row-saving solution is the textbook's, the pairs add up to
// it, and margins are those of solving again without the pair.
func TestSolveEqualsPlain(t *testing.T) {
	for kind := range 7 {
		t.Run(fmt.Sprint("kind=", kind), func(t *testing.T) {
			banded := 0
			for seed := range uint64(2000) {
				rng := rand.New(rand.NewPCG(seed, uint64(kind)))
				tab, gap, width := cases(rng, kind)
				got, err := solve(tab, gap, width)
				if err != nil {
					t.Fatal(err)
				}
				if want := plain(tab, gap); got.Score != int64(want) || price(tab, gap, got.Pairs) != got.Score {
					t.Fatalf("seed %d: score %d, pairs add up to %d, want %d", seed, got.Score, price(tab, gap, got.Pairs), want)
				}
				if seed%10 == 0 {
					checkMargins(t, tab, gap, got)
				}
				if !got.whole {
					banded++
				}
			}
			t.Logf("%d of 2000 proved in a band", banded)
			if banded < 30 {
				t.Errorf("%d of 2000 were solved in a band: certificates are hardly tried", banded)
			}
		})
	}
}

// checkMargins solves again without each pair. A band's margin may be less, by what it
// cannot see, never more.
func checkMargins(t *testing.T, tab table, gap int32, got *Result) {
	t.Helper()
	for _, p := range got.Pairs {
		want := min(got.Score-int64(plain(tab.without(p.Row, p.Column), gap)), 1<<30)
		if int64(p.Margin) > want && want < 1<<26 || got.whole && int64(p.Margin) != want && want < 1<<26 {
			t.Fatalf("pair %+v: margin %d by solving again, whole table %v", p, want, got.whole)
		}
	}
}

// Long sequences take the path through several pieces.
func TestLong(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	n := 1500
	tab := table{score: make([][]int32, n), open: true}
	for i := range tab.score {
		tab.score[i] = make([]int32, n-100)
		for j := range tab.score[i] {
			tab.score[i][j] = rng.Int32N(20) - 17
			if j == i-i/15 {
				tab.score[i][j] = 9
			}
		}
	}
	const gap, width = 3, 8
	got, err := solve(tab, gap, width)
	if err != nil {
		t.Fatal(err)
	}
	if want := plain(tab, gap); got.Score != int64(want) || price(tab, gap, got.Pairs) != got.Score {
		t.Errorf("score %d, pairs add up to %d, want %d", got.Score, price(tab, gap, got.Pairs), want)
	}
}

// The example that the thesis works out by hand (Heidelberg 2026, appendix A.1): GCAT against GGAT, 1, −1 and −1, has a score of 2, by
// three letters that match and one that does not.
func TestWorkedExample(t *testing.T) {
	const a, b = "GCAT", "GGAT"
	tab := table{score: make([][]int32, len(a)), open: true}
	for i := range a {
		for j := range b {
			s := int32(-1)
			if a[i] == b[j] {
				s = 1
			}
			tab.score[i] = append(tab.score[i], s)
		}
	}
	got, err := Solve(tab, 1)
	if err != nil || got.Score != 2 || len(got.Pairs) != 4 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, p := range got.Pairs {
		if p.Row != i || p.Column != i {
			t.Errorf("pair %d is %+v", i, p)
		}
	}
}

// Scores that could run over are refused, and so are gaps that pay.
func TestRefused(t *testing.T) {
	big := table{score: [][]int32{{1 << 28}}}
	if _, err := Solve(big, 0); err == nil {
		t.Error("scores that run over are accepted")
	}
	if _, err := Solve(table{score: [][]int32{{1}}}, -1); err == nil {
		t.Error("a gap that pays is accepted")
	}
}

// Nothing on either side is an alignment without pairs.
func TestEmpty(t *testing.T) {
	if r, err := Solve(table{}, 5); err != nil || len(r.Pairs) != 0 {
		t.Errorf("nothing at all: %v, %v", r, err)
	}
}
