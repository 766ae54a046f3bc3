package main

import (
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
	if held() < m.held+mostIdle {
		return
	}
	debug.FreeOSMemory()
	m.held = held()
}

// held returns the bytes that the program has of the system.
func held() uint64 {
	of := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(of)
	return of[0].Value.Uint64() - of[1].Value.Uint64()
}
