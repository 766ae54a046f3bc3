package optrace

import (
	"testing"

	"github.com/sfstat/sfstat/ingest"
)

// TestMaxRows: a trace of a large job, of eight bytes a row, is read whatever its size; of a file that holds next to nothing a million rows are.
func TestMaxRows(t *testing.T) {
	lim := ingest.Limits{}.OrDefault()
	for stored := int64(1 << 10); stored < 1<<28; stored *= 2 {
		if most := maxRows(lim, stored); most < min(stored/8, lim.Pending/rowBytes) {
			t.Errorf("%d rows of %d bytes", most, stored)
		}
	}
	if most := maxRows(lim, 20_000); most > 1<<20 {
		t.Errorf("%d rows of 20 kB", most)
	}
	if most := maxRows(lim, ingest.UnknownSize); most != lim.Pending/rowBytes {
		t.Errorf("%d rows of an input whose size is not known, want %d", most, lim.Pending/rowBytes)
	}
}
