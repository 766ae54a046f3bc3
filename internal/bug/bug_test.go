package bug

import (
	"errors"
	"strings"
	"testing"
)

func indexed(list []int, at int) int { return list[at] }

func TestContained(t *testing.T) {
	if err := Guard("a.jsonl", func() {}); err != nil {
		t.Errorf("no panic, and the error %v", err)
	}
	err := Guard("a.jsonl", func() { indexed(nil, 3) })
	var b *Error
	if !errors.As(err, &b) || !strings.Contains(string(b.Stack), "bug.indexed") {
		t.Fatalf("%v, expected an Error with the stack of what panicked", err)
	}
	if want := "a.jsonl: this is a bug in sfstat, please report it: runtime error: index out of range [3] with length 0"; err.Error() != want {
		t.Errorf("%q, expected %q", err, want)
	}
	again := Guard("the whole folder", func() { panic(err) })
	if again != err {
		t.Errorf("%v, expected the Error that was the panic, with its stack and its place", again)
	}
	if err := Guard("", func() { panic("boom") }); err.Error() != "this is a bug in sfstat, please report it: boom" {
		t.Error(err)
	}
}

func TestContain(t *testing.T) {
	read := func() (n int, err error) {
		defer Contain("x", &err)
		n = 3
		panic("boom")
	}
	if n, err := read(); n != 3 || err == nil {
		t.Errorf("%d, %v", n, err)
	}
}
