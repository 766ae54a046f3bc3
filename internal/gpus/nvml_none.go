//go:build !cgo || !linux

package gpus

import "errors"

// Open cannot load the driver's library without cgo.
func Open() (GPUs, error) {
	return nil, errors.New("this build cannot load the NVIDIA driver's library: it needs Linux and a C compiler (CGO_ENABLED=1)")
}
