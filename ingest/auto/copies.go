package auto

import (
	"crypto/sha256"
	"io"
	"os"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace/input"
)

// beginnings is the files read so far by what they begin with, as far as a file is looked at to tell what it is. A copy, packed
// or not, would count every call twice.
type beginnings map[[sha256.Size]byte][]string

// checkDuplicate returns the error of a file that has the same bytes as one before it, nil for one that has not. Only files that begin alike
// are read to compare them; a pipe is read once and compared with nothing.
func (b beginnings) checkDuplicate(path string, src *ingest.Source, lim ingest.Limits) error {
	if info, err := os.Stat(path); path == ingest.Stdin || err != nil || !info.Mode().IsRegular() {
		return nil
	}
	head, err := src.Peek(sniffedFar)
	if err != nil && err != io.EOF {
		return nil // it is told when the file is read
	}
	key := sha256.Sum256(head)
	for _, other := range b[key] {
		if equal(path, other, lim) {
			return input.At(input.Pos{File: path}, copyError(other))
		}
	}
	b[key] = append(b[key], path)
	return nil
}

// equal reports whether two files have the same bytes, once they are unpacked.
func equal(x, y string, lim ingest.Limits) bool {
	a, err := sum(x, lim)
	b, err2 := sum(y, lim)
	return err == nil && err2 == nil && a == b
}

// sum returns the digest of a file's contents.
func sum(path string, lim ingest.Limits) (digest [sha256.Size]byte, err error) {
	src, err := ingest.Open(path, lim)
	if err != nil {
		return digest, err
	}
	defer src.Close()
	h := sha256.New()
	_, err = io.Copy(h, src)
	return [sha256.Size]byte(h.Sum(nil)), err
}

// copyError returns the error of a copy of a file.
func copyError(of string) error {
	return input.Bad(input.ErrDuplicate, "a copy of %s, byte for byte: it is left out, so that nothing counts twice", of)
}
