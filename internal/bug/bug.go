// Package bug contains panics. A panic is a bug of ours, and an error of the file or the run
// that was worked on: the others are still read and judged.
//
// [Contain] and [Guard] stand where one file or one run ends and the next begins, and
// nowhere else. A panic in a goroutine comes there too where it was started by a
// parallel.Group.
package bug

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// Error is a panic that was contained.
type Error struct {
	Where string // the file or the run that was worked on; "": not known
	What  any    // the value of the panic
	Stack []byte // of the goroutine that panicked
}

func (e *Error) Error() string {
	text := fmt.Sprintf("this is a bug in sfstat, please report it: %v", e.What)
	if e.Where == "" {
		return text
	}
	return e.Where + ": " + text
}

// PanicOf returns the panic that an error is of; nil: of none.
func PanicOf(err error) *Error {
	var e *Error
	errors.As(err, &e)
	return e
}

// Contain turns a panic into err. It must be deferred itself:
//
//	defer bug.Contain(path, &err)
//
// An [Error] that comes as a panic, from another goroutine, keeps its stack.
func Contain(where string, err *error) {
	what := recover()
	if what == nil {
		return
	}
	e, ok := what.(*Error)
	if !ok {
		e = &Error{What: what, Stack: debug.Stack()}
	}
	if e.Where == "" {
		e.Where = where
	}
	*err = e
}

// Guard calls work, and returns its panic as an error.
func Guard(where string, work func()) (err error) {
	defer Contain(where, &err)
	work()
	return nil
}
