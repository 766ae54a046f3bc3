package input

import (
	"errors"
	"testing"
)

func TestPosAndErrors(t *testing.T) {
	cases := []struct {
		pos  Pos
		want string
	}{
		{Pos{}, "input"},
		{Pos{File: "a.jsonl", Line: 12}, "a.jsonl:12"},
		{Pos{File: "a.parquet", Inside: "row 88"}, "a.parquet[row 88]"},
		{Pos{File: "a.csv", Line: 3, Inside: "column wall_ns"}, "a.csv:3[column wall_ns]"},
		{Pos{File: "a.bin", Offset: 40}, "a.bin@byte 40"},
	}
	for _, c := range cases {
		if got := c.pos.String(); got != c.want {
			t.Errorf("%#v prints %q, want %q", c.pos, got, c.want)
		}
	}
	err := At(Pos{File: "f", Line: 1}, Bad(ErrNegative, "wall is %d", -3))
	if !errors.Is(err, ErrNegative) || err.Error() != "f:1: wall is -3 (negative)" {
		t.Errorf("error %q", err)
	}
	if again := At(Pos{File: "g"}, err); again.Error() != err.Error() {
		t.Errorf("a second position replaced the first: %q", again)
	}
	if At(Pos{}, nil) != nil {
		t.Error("At(nil) is an error")
	}
}
