//go:build !linux

package main

import "errors"

// addressLimit returns 0: other systems do not hold a program to a limit of addresses.
func addressLimit() (bytes uint64, ok bool) { return 0, false }

func runLimited(uint64) (code int, err error) { return 0, errors.ErrUnsupported }
