package sample

import (
	"errors"
	"fmt"
	"time"
)

// GPUs returns what reads the GPUs of this machine every so often: NVML where this program has it and finds the
// driver's library, else nvidia-smi. without says why not NVML, nil with it; the error why neither.
func GPUs(every time.Duration) (gpus Source, without, err error) {
	gpus, without = openNVML(every)
	if without == nil {
		return gpus, nil, nil
	}
	smi, err := openSMI()
	if err != nil {
		return nil, without, fmt.Errorf("%w, and %w", without, err)
	}
	return smi, without, nil
}

// Reader returns a sentence on what this program reads GPUs on this machine.
func Reader() string {
	gpus, without, err := GPUs(time.Second)
	switch {
	case err != nil:
		return fmt.Sprintf("No GPU can be read here: %v.", err)
	case without != nil:
		defer gpus.Close()
		return fmt.Sprintf("GPUs are read by nvidia-smi: %v.", without)
	}
	defer gpus.Close()
	return fmt.Sprintf("This program reads %s.", gpus.Name())
}

// Built says in a sentence by what this program can read GPUs, on whatever machine.
const Built = "GPUs are read " + built + "."

// errBuilt is why a program without NVML does not read by it.
var errBuilt = errors.New("this program was built without NVML")
