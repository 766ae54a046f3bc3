package table

import "testing"

// TestProse: a number and its unit stay together, words do not, and markup is text.
func TestProse(t *testing.T) {
	for text, want := range map[string]string{
		"24.8 ms of every 213 ms step": "24.8\u00a0ms of every 213\u00a0ms step",
		"by 11 %.":                     "by 11\u00a0%.",
		"1.5 GB/s, 16 KiB, 8 B":        "1.5\u00a0GB/s, 16\u00a0KiB, 8\u00a0B",
		"8 ranks, 3 steps, 2 states":   "8 ranks, 3 steps, 2 states",
		"<b>5 s":                       "&lt;b&gt;5\u00a0s",
	} {
		if got := Prose(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
