package ingest

import (
	"errors"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/trace/input"
)

// TestScale: what may be held grows with what is stored, from what any input may take to
// what the machine may.
func TestScale(t *testing.T) {
	for _, c := range []struct {
		stored        int64
		line, pending int64
	}{
		{0, 16 << 20, 48 << 20},
		{4 << 20, 16 << 20, 48 << 20},
		{5_000_000, 20_000_000, 60_000_000},
		{100 << 20, 256 << 20, 1200 << 20},
		{1 << 62, 256 << 20, 2 << 30},
		{UnknownSize, 256 << 20, 2 << 30},
	} {
		if got := (Limits{}).Scale(c.stored); got.Line != c.line || got.Pending != c.pending {
			t.Errorf("stored in %d bytes: a line of %d and %d pending, expected %d and %d", c.stored, got.Line, got.Pending, c.line, c.pending)
		}
	}
	if got := (Limits{Line: 7, Pending: 9}).Scale(5); got.Line != 7 || got.Pending != 9 {
		t.Errorf("limits that are lower become %+v", got)
	}
}

// small says that it is stored in little, as what was decompressed does.
type small struct{ *strings.Reader }

func (small) Size() int64 { return 1000 }

// TestLineOfSmallFile: a line may not be much longer than the file that it is decompressed from.
func TestLineOfSmallFile(t *testing.T) {
	text := strings.Repeat("x", 17<<20)
	if _, err := NewLines(small{strings.NewReader(text)}, "a", Limits{}, nil).Next(); !errors.Is(err, input.ErrTooLarge) {
		t.Errorf("17 MiB out of 1000 bytes: %v", err)
	}
	if line, err := NewLines(strings.NewReader(text), "a", Limits{}, nil).Next(); err != nil || len(line) != len(text) {
		t.Errorf("17 MiB of a file that is as long: %d bytes, %v", len(line), err)
	}
}
