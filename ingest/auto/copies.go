package auto

import (
	"crypto/sha256"
	"io"
	"os"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace/input"
)

// beginnings maps the beginnings of files read so far to their paths, up to the length needed to recognise a format. A
// copy, packed or not, would count each call twice.
type beginnings map[[sha256.Size]byte][]string

// checkDuplicate returns an error for a file with the bytes of an earlier file. Only files with equal beginnings are
// compared; a pipe is read once and not compared.
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
		if haveEqualBytes(path, other, lim) {
			return input.At(input.Pos{File: path}, copyError(other))
		}
	}
	b[key] = append(b[key], path)
	return nil
}

// haveEqualBytes reports whether two files have the same bytes after unpacking.
func haveEqualBytes(x, y string, lim ingest.Limits) bool {
	a, err := digestOf(x, lim)
	b, err2 := digestOf(y, lim)
	return err == nil && err2 == nil && a == b
}

// digestOf returns the digest of a file's unpacked bytes.
func digestOf(path string, lim ingest.Limits) (digest [sha256.Size]byte, err error) {
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
