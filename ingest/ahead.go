package ingest

import (
	"io"

	"github.com/sfstat/sfstat/internal/bug"
)

// Chunks of this size, this many of them, stand between the goroutine that
// decompresses and the one that parses.
const (
	aheadChunk = 128 << 10
	aheadDepth = 3
)

// ahead reads from r in its own goroutine. Chunks go round in a circle: free
// ones to the goroutine, full ones back.
type ahead struct {
	free chan []byte
	full chan chunk
	stop chan struct{}
	cur  []byte // the chunk being read, and
	rest []byte // what is left of it
	err  error
}

type chunk struct {
	buf []byte
	err error // after buf
}

// readAhead starts reading r. atEnd is called when the goroutine needs r no
// more: at the end of r, or after Stop.
func readAhead(r io.Reader, atEnd func()) *ahead {
	a := &ahead{
		free: make(chan []byte, aheadDepth),
		full: make(chan chunk, aheadDepth),
		stop: make(chan struct{}),
	}
	for range aheadDepth {
		a.free <- make([]byte, aheadChunk)
	}
	go a.run(r, atEnd)
	return a
}

func (a *ahead) run(r io.Reader, atEnd func()) {
	defer atEnd()
	for {
		var buf []byte
		select {
		case buf = <-a.free:
		case <-a.stop:
			return
		}
		n, err := decodeFull(r, buf[:aheadChunk])
		a.full <- chunk{buf[:n], err} // never blocks: full holds every chunk there is
		if err != nil {
			return
		}
	}
}

// decodeFull fills p as readFull does, and returns a panic of the decoder as an error.
func decodeFull(r io.Reader, p []byte) (n int, err error) {
	defer bug.Contain("", &err) // the Source knows where
	return readFull(r, p)
}

// readFull fills p as far as the input goes; unlike io.ReadFull it keeps the
// error that ended it.
func readFull(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = r.Read(p[n:])
		n += m
	}
	return n, err
}

func (a *ahead) Read(p []byte) (int, error) {
	for len(a.rest) == 0 {
		if a.err != nil {
			return 0, a.err
		}
		if a.cur != nil {
			a.free <- a.cur
		}
		c := <-a.full
		a.cur, a.rest, a.err = c.buf, c.buf, c.err
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// Stop ends the goroutine, at once or when the read that it is in returns.
func (a *ahead) Stop() { close(a.stop) }
