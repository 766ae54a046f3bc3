package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// A reader that goes away (sfstat … | head) is an error of a write, which
	// ends the program in order; the signal would end it in the middle.
	signal.Ignore(syscall.SIGPIPE)
	if limit, ok := addressLimit(); ok {
		if code, err := runLimited(limit); err == nil {
			os.Exit(code)
		}
	}
	keepWithin()
	os.Exit(run(os.Args, os.Stdin, os.Stdout, os.Stderr))
}
