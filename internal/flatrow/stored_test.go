package flatrow

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type word string

type sample struct {
	A    int64
	B    uint64
	C    float64
	D    bool
	E    string
	F    word
	G, H *int64
	I    *string
	J    *float64
}

// TestStored: rows are read as they were written, null apart from zero; bytes cut off, or
// too many, are refused.
func TestStored(t *testing.T) {
	zero, empty, huge := int64(0), "", math.Inf(1)
	var r Reader[sample]
	for _, want := range []sample{
		{},
		{A: math.MinInt64, B: math.MaxUint64, C: -0.1, D: true, E: "a,\r\n\"b\"", F: "{}", G: &zero, I: &empty, J: &huge},
		{E: "ä", F: "{}", H: &zero},
	} {
		b := Append(nil, &want)
		var got sample
		if err := r.Read(b, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		for cut := range b {
			if r.Read(b[:cut], &got) == nil {
				t.Errorf("%d of %d bytes are a row", cut, len(b))
			}
		}
		if r.Read(append(b, 0), &got) == nil {
			t.Error("a byte behind the row is a part of it")
		}
	}
	var got sample
	if err := r.Read(Append(nil, &sample{E: "a\xff\xfe"}), &got); err != nil || got.E != "a��" {
		t.Errorf("%q: %v", got.E, err)
	}
}
