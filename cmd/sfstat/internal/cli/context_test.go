package cli

import (
	"errors"
	"testing"
)

// TestParseShare: a share is a number, as a part or in percent; more than the whole is asked about only where percent may be meant.
func TestParseShare(t *testing.T) {
	for text, want := range map[string]float64{"0.05": 0.05, "5%": 0.05, " 50 % ": 0.5, "1": 1, "-1%": -0.01} {
		if got, err := parseShare(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"inf", "-inf", "inf%", "+Inf %", "nan", "NaN%", "1e400", "1e308", "five", ""} {
		got, err := parseShare(text)
		var percent notShare
		if err == nil || errors.As(err, &percent) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	_, err := parseShare("5")
	if want := "5 is 500 %: write 5% or 0.05"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
