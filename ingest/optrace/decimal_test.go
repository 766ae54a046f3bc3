package optrace

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func TestParseDecimal(t *testing.T) {
	for _, bad := range []string{"", "-", ".", "e5", "1e", "1e+", "nan", "inf", "0x10", "1_000", "1.2.3", "1,5", "1e99999", "--1", strings.Repeat("1", 2000)} {
		if d, ok := parseDecimal([]byte(bad)); ok {
			t.Errorf("%q was read as %+v", bad, d)
		}
	}
}

// Rounding to nanoseconds agrees with exact rational arithmetic, for random
// digits and exponents.
func TestDecimalAgainstRationals(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	billion := big.NewRat(1e9, 1)
	for range 20000 {
		var b strings.Builder
		if rng.IntN(4) == 0 {
			b.WriteByte('-')
		}
		for range rng.IntN(9) {
			b.WriteByte('0' + byte(rng.IntN(10)))
		}
		b.WriteString(strconv.Itoa(rng.IntN(10)))
		if rng.IntN(2) == 0 {
			b.WriteByte('.')
			for range rng.IntN(9) {
				b.WriteByte("0123456789555"[rng.IntN(13)])
			}
		}
		if rng.IntN(3) == 0 {
			b.WriteString("e" + strconv.Itoa(rng.IntN(24)-22))
		}
		text := b.String()
		d, ok := parseDecimal([]byte(text))
		if !ok {
			t.Fatalf("%q was refused", text)
		}
		exact, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatal(text)
		}
		_, whole := d.integer()
		if whole != exact.IsInt() {
			t.Fatalf("%q: whole %v", text, whole)
		}
		d.exp += 9
		got, ok := d.round()
		exact.Mul(exact, billion)
		// half away from zero: floor(|x| + 1/2)
		want := new(big.Rat).Abs(exact)
		want.Add(want, big.NewRat(1, 2))
		n := new(big.Int).Quo(want.Num(), want.Denom())
		if exact.Sign() < 0 {
			n.Neg(n)
		}
		if n.IsInt64() != ok || ok && got != n.Int64() {
			t.Fatalf("%q s is %d ns (%v), expected %s", text, got, ok, n)
		}
	}
}

// More digits than an int64 holds lose only what is below the nanosecond of a
// real time.
func TestManyDigits(t *testing.T) {
	for text, want := range map[string]int64{"46.12345678949999999999999999": 46123456789, "46.123456789500000000000000001": 46123456790,
		"9300000000.000000000001": 0, "0.00000000000000000001": 0} {
		d, ok := parseDecimal([]byte(text))
		d.exp += 9
		if ns, fits := d.round(); !ok || ns != want || fits != (want != 0 || text[0] == '0') {
			t.Errorf("%s s is %d ns (%v), expected %d", text, ns, fits, want)
		}
	}
}

func TestToNanoseconds(t *testing.T) {
	for _, c := range []struct {
		x    float64
		ns   int64
		fits bool
	}{{0.1, 100000000, true}, {1e9 + 0.5, 1000000000500000000, true}, {-0.25, -250000000, true}, {46.12345678, 46123456780, true},
		{9.3e9, 0, false}, {math.MaxFloat64, 0, false}, {2.5e-9, 3, true}} {
		if ns, ok := toNanoseconds(c.x, 1e9); ns != c.ns || ok != c.fits {
			t.Errorf("%v s is %d ns (%v), expected %d", c.x, ns, ok, c.ns)
		}
	}
}
