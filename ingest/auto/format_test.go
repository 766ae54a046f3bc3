package auto

import (
	"strings"
	"testing"
)

// Every format has one row, and every row that is opened says what it gives and
// what lists call it.
func TestRows(t *testing.T) {
	rows := map[Format]int{}
	for _, r := range formats {
		rows[r.format]++
		if r.read != nil && r.gives == Kinds(0) {
			t.Errorf("%s is opened and gives Kinds(0)", r.name)
		}
		if (r.read == nil) != (r.listed == "") {
			t.Errorf("%s: a list calls it %q, and it is opened: %t", r.name, r.listed, r.read != nil)
		}
	}
	for f := Unknown; f <= Empty; f++ {
		if rows[f] != 1 || f.String() == "invalid" {
			t.Errorf("format %d has %d rows", f, rows[f])
		}
	}
}

// A refusal lists all that its command reads, and Kinds(0) else.
func TestSupported(t *testing.T) {
	const packets, dumps, logs = "packets (JSON Lines)", "Flight Recorder", "NCCL debug logs"
	for name, c := range map[string]struct {
		kinds    Kinds
		has, not []string
	}{
		"verdict":  {everyKind, []string{packets, dumps, logs, "operator traces"}, nil},
		"windows":  {Windows, []string{packets, "stage times (CSV, Parquet)"}, []string{dumps, logs, "operator traces"}},
		"arrivals": {Windows | Entries, []string{packets, dumps}, []string{logs, "operator traces"}},
	} {
		t.Run(name, func(t *testing.T) {
			list := c.kinds.supportedInputs()
			for _, what := range c.has {
				if strings.Count(list, what) != 1 {
					t.Errorf("%q is not listed once: %s", what, list)
				}
			}
			for _, what := range c.not {
				if strings.Contains(list, what) {
					t.Errorf("%q is listed: %s", what, list)
				}
			}
		})
	}
}
