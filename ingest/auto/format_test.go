package auto

import "testing"

// Every format has one row, and every row that is opened says what it gives.
func TestRows(t *testing.T) {
	rows := map[Format]int{}
	for _, r := range formats {
		rows[r.format]++
		if r.open != nil && r.gives == nothing {
			t.Errorf("%s is opened and gives nothing", r.name)
		}
	}
	for f := Unknown; f <= Empty; f++ {
		if rows[f] != 1 || f.String() == "invalid" {
			t.Errorf("format %d has %d rows", f, rows[f])
		}
	}
}
