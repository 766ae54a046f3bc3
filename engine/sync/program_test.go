package sync

import (
	"testing"
	"unsafe"
)

// The latest calls stay, however long a job is.
func TestArrivalsAreBounded(t *testing.T) {
	var j Program
	j.Prepare()
	for i := range int64(3) {
		r := Rank{ID: 0, Lost: 1}
		for k := range int64(maxKeptCalls) {
			r.Calls = append(r.Calls, Call{Enter: 1 + i*maxKeptCalls + k})
		}
		j.extend(r)
	}
	got := &j.Ranks[0]
	if len(got.Calls) != maxKeptCalls || got.Calls[0].Enter != 1+2*maxKeptCalls || got.Lost != 3+2*maxKeptCalls {
		t.Errorf("%d calls from %d on, %d lost", len(got.Calls), got.Calls[0].Enter, got.Lost)
	}
}

// TestCallIsSmall: what a ring of 16,384 ranks takes is calls, of 40 bytes.
func TestCallIsSmall(t *testing.T) {
	if got := unsafe.Sizeof(Call{}); got > 40 {
		t.Errorf("a call takes %d bytes, want 40 at most", got)
	}
}
