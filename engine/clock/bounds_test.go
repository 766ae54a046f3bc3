package clock

import (
	"math"
	"testing"
)

// between returns bounds at eleven times over 10 ms of a clock that gains so many ns in them, each half a room away on either side.
func boundsOf(gains, half int64) *bounds {
	b := &bounds{}
	for i := range int64(11) {
		b.addUpper(i*1_000_000, gains*i/10+half)
		b.addLower(i*1_000_000, gains*i/10-half)
	}
	return b
}

// TestDriftDoublesRoom: a drift is taken if it leaves more than twice the room: of 1000 ns a clock that gains 440 leaves
// 560 without one, and one that gains 550 leaves 450.
func TestDriftDoublesRoom(t *testing.T) {
	for gains, drifts := range map[int64]bool{440: false, 550: true} {
		f, ok := boundsOf(gains, 500).fitLine()
		if !ok || f.Drifts != drifts || f.contradicted != 0 {
			t.Errorf("gains %d: %+v, want a drift: %v", gains, f, drifts)
		}
		if want := float64(gains) / 1e7; drifts && math.Abs(f.Drift-want) > 1e-7 {
			t.Errorf("a drift of %v, want %v", f.Drift, want)
		}
		if !drifts && (f.Drift != 0 || f.Offset != 220 || f.halfWidth < 720 || f.halfWidth > 721) {
			t.Errorf("%+v, want the middle of 500 and -60, up to 720 from a clock that begins at -500", f)
		}
	}
}

// TestOneDirection: of bounds of one direction nothing is fitted; an offset moves to the nearest that they allow.
func TestOneDirection(t *testing.T) {
	b := &bounds{}
	b.addLower(5, 1030)
	b.addLower(6, 1050)
	if _, ok := b.fitLine(); ok {
		t.Error("fitted without an upper bound")
	}
	for offset, want := range map[int64]int64{0: 1050, 1049: 1050, 1070: 1070} {
		if got := b.clamp(offset); got != want {
			t.Errorf("at least 1030 and 1050: %d becomes %d, want %d", offset, got, want)
		}
	}
	b.addUpper(7, 1100)
	b.addUpper(8, 1080)
	for offset, want := range map[int64]int64{0: 1050, 1070: 1070, 2000: 1080} {
		if got := b.clamp(offset); got != want {
			t.Errorf("and at most 1100 and 1080: %d becomes %d, want %d", offset, got, want)
		}
	}
	for offset, want := range map[int64]int{1070: 0, 1040: 1, 1090: 1, 2000: 2, 0: 2} {
		if got := b.countBroken(Clock{Epoch: b.epoch, Offset: offset}); got != want {
			t.Errorf("%d breaks %d bounds, want %d", offset, got, want)
		}
	}
}
