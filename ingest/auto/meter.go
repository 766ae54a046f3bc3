package auto

import (
	"sync/atomic"

	"github.com/sfstat/sfstat/ingest"
)

// meter adds up what was read of all inputs, as they are stored.
type meter struct {
	report   func(done, total int64)
	done     atomic.Int64
	total    int64
	unknown  bool // the size of some input
	reported int64
	finished int64 // bytes of the units that were read
}

// between reports lie at least so many bytes.
const reportEvery = 256 << 10

// expect adds an input of the given size to the total; it returns the size as
// far as it is known.
func (m *meter) expect(size int64) int64 {
	if size == ingest.UnknownSize {
		m.unknown = true
		return 0
	}
	m.total += size
	return size
}

// finish notes that inputs of the given size were read, or given up.
func (m *meter) finish(size int64) {
	m.finished = max(m.finished+size, m.done.Load())
	m.done.Store(m.finished)
	m.tell()
}

// tell reports if enough was read since it did.
func (m *meter) tell() {
	if m.done.Load()-m.reported >= reportEvery {
		m.say()
	}
}

func (m *meter) say() {
	m.reported = m.done.Load()
	if m.report == nil {
		return
	}
	total := m.total
	if m.unknown {
		total = 0
	}
	m.report(m.reported, total)
}

// metered is a source of which the meter counts what was consumed.
type metered struct {
	*ingest.Source
	m     *meter
	quiet bool // it is read in another goroutine, and who waits for that reports
	seen  int64
}

func (m *metered) Read(p []byte) (int, error) {
	n, err := m.Source.Read(p)
	now := m.Source.StoredBytes()
	m.m.done.Add(now - m.seen)
	if m.seen = now; !m.quiet {
		m.m.tell()
	}
	return n, err
}
