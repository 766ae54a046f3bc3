package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/sfstat/sfstat/internal/gpus"
	"github.com/sfstat/sfstat/internal/parallel"
)

// GPUs, and what they say, are those of package gpus.
type (
	Reading = gpus.Reading
	Reasons = gpus.Reasons
	GPUs    = gpus.GPUs
)

// Watch takes readings of all GPUs at intervals until it is stopped.
type Watch struct {
	gpus GPUs
	stop chan struct{}
	done parallel.Group

	mu       sync.Mutex
	readings [][]Reading // [gpu], in order of time
	failed   error       // the first reading that failed
}

// NewWatch begins to watch.
func NewWatch(gpus GPUs, every time.Duration) *Watch {
	w := &Watch{gpus: gpus, stop: make(chan struct{}), readings: make([][]Reading, gpus.Count())}
	w.done.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			w.read()
			select {
			case <-w.stop:
				return
			case <-tick.C:
			}
		}
	})
	return w
}

func (w *Watch) read() {
	for gpu := range w.readings {
		r, err := w.gpus.Read(gpu)
		w.mu.Lock()
		if err == nil {
			w.readings[gpu] = append(w.readings[gpu], r)
		} else if w.failed == nil {
			w.failed = fmt.Errorf("GPU %d: %w", gpu, err)
		}
		w.mu.Unlock()
	}
}

// Stop ends the watch and gives the first reading that failed, if any did.
func (w *Watch) Stop() error {
	close(w.stop)
	w.done.Wait()
	return w.failed
}

// State is what a GPU did during a chunk.
type State struct {
	GPU               int
	Samples           int // 0: none fell into it
	LeastSM, LeastMem int
	MaxSM             int
	Reasons           Reasons // any that held at some sample
	Busy              int     // percent, mean
	MostDegrees       int
	ECCErrors         uint64 // that came up since the reading before the chunk, if there is one
}

// Throttled reports whether the GPU was slowed down.
func (s State) Throttled() bool { return s.Reasons&gpus.Throttling != 0 }

// Doubtful reports whether times of this chunk tell of the GPU's troubles.
func (s State) Doubtful() bool { return s.Throttled() || s.ECCErrors > 0 }

// During sums up the readings of every GPU from begin to end, both included.
func (w *Watch) During(begin, end time.Time) []State {
	w.mu.Lock()
	defer w.mu.Unlock()
	states := make([]State, len(w.readings))
	for gpu, all := range w.readings {
		s := State{GPU: gpu}
		var before *Reading // the last one of before, or the first
		for i := range all {
			r := &all[i]
			if r.When.After(end) {
				break
			}
			if before == nil || r.When.Before(begin) {
				before = r
			}
			if r.When.Before(begin) {
				continue
			}
			if s.Samples == 0 {
				s.LeastSM, s.LeastMem = r.SM, r.Mem
			}
			s.Samples++
			s.LeastSM, s.LeastMem = min(s.LeastSM, r.SM), min(s.LeastMem, r.Mem)
			s.MaxSM, s.MostDegrees = max(s.MaxSM, r.MaxSM), max(s.MostDegrees, r.Degrees)
			s.Reasons |= r.Reasons
			s.Busy += r.Busy
			s.ECCErrors = r.ECCErrors - before.ECCErrors
		}
		if s.Samples > 0 {
			s.Busy /= s.Samples
		}
		states[gpu] = s
	}
	return states
}
