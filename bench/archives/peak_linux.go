package main

import (
	"os"
	"syscall"
)

// peakOf is the largest memory that a process that has ended had, bytes.
func peakOf(s *os.ProcessState) int64 {
	if use, ok := s.SysUsage().(*syscall.Rusage); ok {
		return use.Maxrss << 10
	}
	return 0
}
