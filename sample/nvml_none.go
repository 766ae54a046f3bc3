//go:build !cgo || !linux || !nvml

package sample

import "time"

const built = "by nvidia-smi, for this program was built without NVML"

func openNVML(time.Duration) (Source, error) { return nil, errBuilt }
