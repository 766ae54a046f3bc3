package decimal

import (
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, bad := range []string{"", "-", ".", "e5", "1e", "1e+", "nan", "inf", "0x10", "1_000", "1.2.3", "1,5", "1e99999", "--1", strings.Repeat("1", 2000)} {
		if d, ok := Parse(bad); ok {
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
		d, ok := Parse(text)
		if !ok {
			t.Fatalf("%q was refused", text)
		}
		exact, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatal(text)
		}
		_, whole := d.Integer()
		if whole != exact.IsInt() {
			t.Fatalf("%q: whole %v", text, whole)
		}
		d = d.Shift(9)
		got, ok := d.Round()
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
		d, ok := Parse(text)
		d = d.Shift(9)
		if ns, fits := d.Round(); !ok || ns != want || fits != (want != 0 || text[0] == '0') {
			t.Errorf("%s s is %d ns (%v), expected %d", text, ns, fits, want)
		}
	}
}
