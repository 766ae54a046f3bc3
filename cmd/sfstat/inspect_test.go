package main

import "testing"

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{
		-1: "unknown", 0: "0 B", 999: "999 B", 1000: "1.0 kB", 22_608: "22.6 kB", 999_949: "999.9 kB", 999_960: "1.0 MB",
		5_000_000_000: "5.0 GB", 1 << 62: "4611.7 PB",
	} {
		if got := size(n); got != want {
			t.Errorf("%d: %q, expected %q", n, got, want)
		}
	}
}
