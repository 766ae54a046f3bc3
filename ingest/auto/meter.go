package auto

import "github.com/sfstat/sfstat/ingest"

// meter adds up what was read of all inputs, as they are stored.
type meter struct {
	report      func(done, total int64)
	done, total int64
	unknown     bool // the size of some input
	reported    int64
	finished    int64 // bytes of the units that were read
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
	m.finished = max(m.finished+size, m.done)
	m.add(m.finished - m.done)
}

// watch adds up what is read of src.
func (m *meter) watch(src *ingest.Source) *metered { return &metered{Source: src, add: m.add} }

func (m *meter) add(n int64) {
	m.done += n
	if m.done-m.reported >= reportEvery {
		m.say()
	}
}

func (m *meter) say() {
	m.reported = m.done
	if m.report == nil {
		return
	}
	total := m.total
	if m.unknown {
		total = 0
	}
	m.report(m.done, total)
}

// metered is a source that tells how much more of it was consumed.
type metered struct {
	*ingest.Source
	add  func(n int64)
	seen int64
}

func (m *metered) Read(p []byte) (int, error) {
	n, err := m.Source.Read(p)
	now := m.Source.Consumed()
	m.add(now - m.seen)
	m.seen = now
	return n, err
}
