package ingest

import (
	"bufio"
	"io"

	"github.com/sfstat/sfstat/internal/bug"
)

// aheadChunk is how much stands between the goroutine that decompresses and the one that parses.
const aheadChunk = 128 << 10

// readAhead reads r in a goroutine, which ends at the end of r, or after stop when the read that it
// is in returns. It calls atEnd then.
func readAhead(r io.Reader, atEnd func()) (ahead io.Reader, stop func()) {
	from, to := io.Pipe()
	go func() {
		defer atEnd()
		to.CloseWithError(pump(to, r))
	}()
	return bufio.NewReaderSize(from, aheadChunk), func() { from.Close() }
}

// pump is [io.CopyBuffer] in chunks that are full, where a panic of the decoder is an error.
func pump(to io.Writer, r io.Reader) (err error) {
	defer bug.Contain("", &err) // the Source knows where
	chunk := make([]byte, aheadChunk)
	for err == nil {
		var n int
		n, err = readFull(r, chunk)
		if _, stopped := to.Write(chunk[:n]); stopped != nil {
			return stopped
		}
	}
	if err == io.EOF {
		return nil
	}
	return err
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
