// Package draws says how many draws a statistical test takes: few in every run
// of the tests, which finds what broke, and all in make calibrate, which is
// what the documentation quotes.
package draws

import (
	"os"
	"testing"
)

// Calibrate is the environment variable that asks for all draws.
const Calibrate = "SFSTAT_CALIBRATE"

// Of returns all where Calibrate is set, else few; it logs which.
func Of(t testing.TB, few, all int) int {
	t.Helper()
	if os.Getenv(Calibrate) != "" {
		t.Logf("all %d draws", all)
		return all
	}
	t.Logf("%d of %d draws: %s=1 takes all", few, all, Calibrate)
	return few
}
