//go:build cgo && linux && nvml

package sample

import (
	"fmt"
	"sync"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/sfstat/sfstat/internal/parallel"
)

// xids hears the Xid errors of GPUs, which NVML reports as events, and tells them as DCGM does: as the number of the
// last error. An error that comes again is told after a 0, for the number alone would not show it.
type xids struct {
	gpus   []*gpu
	set    nvml.EventSet
	last   map[int]float64 // by index, of those that are heard
	work   parallel.Group
	mutex  sync.Mutex
	heard  map[int][]Metric // since the last sample
	failed error
	closed bool
}

const xidMetric = "DCGM_FI_DEV_XID_ERRORS"

// eventWaitMS is for how long one wait for an event lasts, ms: the program ends no faster.
const eventWaitMS = 250

// listen registers for the Xid errors of the GPUs that report them.
func listen(lib nvml.Interface, gpus []*gpu) *xids {
	x := &xids{gpus: gpus, last: make(map[int]float64), heard: make(map[int][]Metric)}
	set, r := lib.EventSetCreate()
	if r != nvml.SUCCESS {
		return x
	}
	x.set = set
	for _, g := range gpus {
		if g.device == nil {
			continue
		}
		kinds, r := g.device.GetSupportedEventTypes()
		if r == nvml.SUCCESS && kinds&nvml.EventTypeXidCriticalError != 0 && g.device.RegisterEvents(nvml.EventTypeXidCriticalError, set) == nvml.SUCCESS {
			x.last[g.index] = 0
		}
	}
	if len(x.last) > 0 {
		x.work.Go(x.wait)
	}
	return x
}

// wait waits for events until it is closed, or until there is no hearing them.
func (x *xids) wait() {
	for {
		e, r := x.set.Wait(eventWaitMS)
		if !x.hear(e, r, time.Now()) {
			return
		}
		if isLost(r) { // one GPU is; the others are heard, and a wait may return at once
			time.Sleep(eventWaitMS * time.Millisecond)
		}
	}
}

// hear notes what a wait returned; it reports whether to go on.
func (x *xids) hear(e nvml.EventData, r nvml.Return, at time.Time) bool {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	switch {
	case x.closed:
		return false
	case r == nvml.SUCCESS && e.EventType == nvml.EventTypeXidCriticalError:
		x.add(e, at)
	case r != nvml.SUCCESS && r != nvml.ERROR_TIMEOUT && !isLost(r):
		x.failed = fmt.Errorf("Xid errors are not heard any more: %v", r)
		return false
	}
	return true
}

// add notes an event.
func (x *xids) add(e nvml.EventData, at time.Time) {
	for _, g := range x.gpus {
		if g.device != e.Device {
			continue
		}
		code := float64(e.EventData)
		if code == x.last[g.index] {
			x.heard[g.index] = append(x.heard[g.index], Metric{xidMetric, g.labels, 0, at.Add(-time.Millisecond)})
		}
		x.heard[g.index] = append(x.heard[g.index], Metric{xidMetric, g.labels, code, at})
		x.last[g.index] = code
	}
}

// take returns the errors of each GPU since the last sample, and the number of the last one; the error says why there
// will be none.
func (x *xids) take() (heard map[int][]Metric, err error) {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	heard = x.heard
	x.heard = make(map[int][]Metric)
	if x.failed != nil {
		return heard, x.failed
	}
	for _, g := range x.gpus {
		if code, ok := x.last[g.index]; ok {
			heard[g.index] = append(heard[g.index], Metric{Name: xidMetric, Labels: g.labels, Value: code})
		}
	}
	return heard, nil
}

// close ends the wait.
func (x *xids) close() {
	x.mutex.Lock()
	x.closed = true
	x.mutex.Unlock()
	x.work.Wait()
	if x.set != nil {
		x.set.Free()
	}
}
