package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// memory is what the program had of the system when it last gave some back.
type memory struct{ held uint64 }

// mostIdle is by how much memory may grow before it is given back, bytes.
const mostIdle = 64 << 20

// giveBack gives the system what is not in use. An idle program would keep for
// long what a large input took.
func (m *memory) giveBack() {
	if memoryInUse() < m.held+mostIdle {
		return
	}
	debug.FreeOSMemory()
	m.held = memoryInUse()
}

// memoryInUse returns the bytes that the program has of the system.
func memoryInUse() uint64 {
	of := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(of)
	return of[0].Value.Uint64() - of[1].Value.Uint64()
}

// usual is what the program keeps within where what is in use is much less, and tight where it is not much more than
// that leaves, bytes.
const (
	usual = 224 << 20
	tight = 254 << 20
)

// keepWithin makes garbage collection start earlier than by its share, where the program would take more than usual and uses
// much less. GOMEMLIMIT has priority.
func keepWithin() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(usual)
		runtime.SetFinalizer(new(cycle), (*cycle).end)
	}
}

// cycle is unreachable from the beginning, so that each collection finds it.
type cycle struct{ _ *byte }

// end makes room as collections by share do, where as much is in use as to have them follow one another otherwise.
func (c *cycle) end() {
	of := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(of)
	debug.SetMemoryLimit(limitFor(int64(of[0].Value.Uint64())))
	runtime.SetFinalizer(c, (*cycle).end)
}

// limitFor returns how much the program may take before garbage is collected early, bytes.
func limitFor(live int64) int64 {
	switch {
	case live < usual*5/8:
		return usual
	case live < tight*4/5:
		return tight
	}
	return 2*live + usual
}
