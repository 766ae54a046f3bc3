package comm

import (
	"testing"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// units are all-reduces of so many bytes, counted from first, every gap nanoseconds; 0 bytes are left out.
func units(first, gap int64, bytes ...int64) (list []launchUnit) {
	for i, b := range bytes {
		if b != 0 {
			list = append(list, launchUnit{Count: first + int64(i), calls: []*comms.Call{{Op: nccl.AllReduce, Bytes: b, Peer: -1}}, Time: 1000 + gap*int64(i), HasTime: gap > 0})
		}
	}
	return list
}

func TestShift(t *testing.T) {
	jitter := func(list []launchUnit, at ...int64) []launchUnit {
		for i := range list {
			list[i].Time += at[list[i].Count%int64(len(at))] * 10_000
		}
		return list
	}
	uneven := []int64{0, 3, 1, 4, 1, 5, 9, 2, 6, 5, 3}
	for _, tt := range []struct {
		name   string
		of, in []launchUnit
		want   int64
		ok     bool
	}{
		{"the same", units(0, 0, 1, 2, 3, 4), units(0, 0, 1, 2, 3, 4), 0, true},
		{"lines lost, counted from 100", units(100, 0, 1, 0, 3, 0, 5, 6), units(0, 0, 1, 2, 3, 4, 5, 6), 100, true},
		{"a window of many", units(0, 0, 1, 2, 3, 4, 5, 6, 7, 8), units(0, 0, 4, 5, 6), 3, true},
		{"sizes that nobody knows", units(5, 0, 1, 2, 3), units(0, 0, -1, -1, -1), 0, false},
		{"all alike: any will do", units(0, 0, 7, 7, 7, 7), units(0, 0, 7, 7, 7), 0, false},
		{"another job", units(0, 0, 1, 2, 3), units(0, 0, 4, 5, 6), 0, false},
		{"contradicted", units(0, 0, 1, 2, 3, 9, 5, 6), units(0, 0, 1, 2, 3, 4, 5, 6), 0, false},
		{"too little in common", units(0, 0, 1, 1, 1, 1, 1, 2), units(0, 0, 2, 3, 3, 3, 3, 3), 0, false},
		{"nothing", nil, units(0, 0, 1), 0, false},
		{"all alike, uneven times", jitter(units(2, 100_000, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7), uneven...), jitter(units(3, 100_000, 7, 7, 7, 7, 7, 7, 7, 7, 7), uneven...), 0, true},
		{"all alike, even times", units(0, 100_000, 7, 7, 7, 7, 7, 7), units(0, 100_000, 7, 7, 7, 7, 7), 0, false},
	} {
		if d, ok := countShift(tt.of, tt.in); d != tt.want && tt.ok || ok != tt.ok {
			t.Errorf("%s: %d, %t, want %d, %t", tt.name, d, ok, tt.want, tt.ok)
		}
	}
	of := units(0, 0, 7, 7, 7)
	of[1].After, of[1].Before = 1150, 1250 // what stands next to it in the log began then
	if d, ok := countShift(of, units(0, 100, 7, 7, 7, 7)); !ok || d != -1 {
		t.Errorf("bounded: %d, %t, want -1", d, ok)
	}
	for d, want := range []bool{true, false} {
		if _, ok := tryShift(units(0, 0, 1, 0, 3), units(0, 0, 1, 2, 3), int64(d)); ok != want {
			t.Errorf("shift of %d: %t, want %t", d, ok, want)
		}
	}
	many := make([]int64, 20_000)
	for i := range many {
		many[i] = 7
	}
	if _, ok := countShift(units(0, 0, many...), units(0, 0, many...)); ok {
		t.Error("one of very many is taken")
	}
}
