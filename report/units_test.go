package report

import (
	"math"
	"testing"

	"github.com/sfstat/sfstat/internal/table"
)

func TestLength(t *testing.T) {
	for _, c := range []struct {
		ns   float64
		want string
	}{
		{0, "0 ns"}, {1, "1 ns"}, {17, "17 ns"}, {137.5, "138 ns"}, {999.4, "999 ns"}, {999.6, "1.00 µs"}, {1234, "1.23 µs"},
		{9996, "10.0 µs"}, {121e3, "121 µs"}, {999499, "999 µs"}, {999600, "1.00 ms"}, {34.25e6, "34.2 ms"}, {120.6e6, "121 ms"},
		{1.5e9, "1.50 s"}, {99.96e9, "100 s"}, {4321e9, "4321 s"}, {-2e6, "-2.00 ms"}, {math.NaN(), "–"}, {math.Inf(1), "–"},
	} {
		if got := length(c.ns); got != c.want {
			t.Errorf("length(%v) = %q, want %q", c.ns, got, c.want)
		}
	}
}

func TestNumbers(t *testing.T) {
	check := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	check(table.Percent(0.5839), "58.4 %")
	check(table.Percent(1), "100.0 %")
	check(table.Percent(-0.0001), "0.0 %")
	check(table.Percent(math.NaN()), "–")
	check(table.Grouped(0), "0")
	check(table.Grouped(999), "999")
	check(table.Grouped(137413), "137 413")
	check(table.Grouped(-1234567), "-1 234 567")
	check(table.Counted(1, "run"), "1 run")
	check(table.Counted(1200, "run"), "1 200 runs")
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{-1: "", 0: "0 B", 999: "999 B", 1000: "1 kB", 22_608: "22.6 kB", 999_600: "1 MB", 5_000_000_000: "5 GB"} {
		if got := Size(n); got != want {
			t.Errorf("%d: %q, expected %q", n, got, want)
		}
	}
}
