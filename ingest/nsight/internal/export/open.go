package export

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/nsight/internal/sqlite"
	"github.com/sfstat/sfstat/trace/input"
)

// Magic begins every SQLite file.
const Magic = sqlite.Magic

// File is an open export. It is not safe for use by several goroutines.
type File struct {
	path string
	file *os.File
	db   *sqlite.DB
}

// Open opens the export at path. An error of kind input.ErrFormat says that
// the file is none.
func Open(path string) (*File, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, input.At(input.Pos{File: path}, err)
	}
	return f, nil
}

func openFile(path string) (*File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, ingest.Unreadable(path, err)
	}
	f := &File{path: path, file: file}
	size, err := atRest(file, path)
	if err == nil {
		f.db, err = sqlite.Open(file, size)
	}
	if err == nil && !f.Has(kernelTable) && !f.Has(nvtxTable) && !f.Has(runtimeTable) && !f.Has(metaTable) {
		err = input.Bad(input.ErrFormat, "an SQLite database, but no export of Nsight Systems: none of the tables %s, %s, %s is in it",
			kernelTable, runtimeTable, nvtxTable)
	}
	if err != nil {
		return nil, errors.Join(explain(err), file.Close())
	}
	return f, nil
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// atRest refuses a file that is no SQLite database, is cut short, or that
// another program is in the middle of writing. It returns the size of one that is good.
func atRest(file *os.File, path string) (size int64, err error) {
	info, err := file.Stat()
	if err != nil {
		return 0, ingest.Unreadable(path, err)
	}
	if pid, ok := lockedBy(file); ok {
		return 0, input.Bad(input.ErrTruncated, "process %d has it locked and is writing it: let it finish, or stop it and export again", pid)
	}
	var head [100]byte
	n, err := io.ReadFull(file, head[:])
	switch {
	case err != nil && err != io.EOF && err != io.ErrUnexpectedEOF:
		return 0, ingest.Unreadable(path, err)
	case n == 0:
		return 0, input.Bad(input.ErrEmpty, "empty: the export may not have written anything yet")
	case !bytes.HasPrefix(head[:n], []byte(Magic)[:min(n, len(Magic))]):
		return 0, input.Bad(input.ErrFormat, "not an SQLite database: write one with nsys export --type sqlite")
	case n < len(head):
		return 0, input.Bad(input.ErrTruncated, "%d bytes of an SQLite database, whose header alone has %d: copy or export it again", n, len(head))
	}
	if err := checkHeader(head[:], info.Size()); err != nil {
		return 0, err
	}
	for suffix, what := range map[string]string{"-wal": "write-ahead log", "-journal": "rollback journal"} {
		if side, err := os.Stat(path + suffix); err == nil && side.Size() > 0 {
			return 0, input.Bad(input.ErrTruncated, "a %s (%s) lies beside it: another program is writing the file or was stopped while it did; let it finish, or export again",
				what, filepath.Base(path)+suffix)
		}
	}
	return info.Size(), nil
}

// checkHeader checks what the first 100 bytes say against the size of the file
// (https://sqlite.org/fileformat.html, section 1.3).
func checkHeader(head []byte, size int64) error {
	page := int64(binary.BigEndian.Uint16(head[16:]))
	if page == 1 {
		page = 65536
	}
	pages := int64(binary.BigEndian.Uint32(head[28:]))
	counted := binary.BigEndian.Uint32(head[24:]) == binary.BigEndian.Uint32(head[92:]) // else the count is from an old program
	if counted && pages*page > size {
		return input.Bad(input.ErrTruncated, "%d bytes of an SQLite database of %d: the export or a copy of it was cut short; copy or export it again", size, pages*page)
	}
	return nil
}

// explain says what was found, and what to do.
func explain(err error) error {
	var damage sqlite.Damage
	switch {
	case errors.As(err, &damage):
		return input.Bad(input.ErrFormat, "a damaged SQLite database (%v): export it again from the .nsys-rep", damage)
	case errors.Is(err, sqlite.ErrTooLarge):
		return input.Bad(input.ErrTooLarge, "%v", err)
	}
	return err
}
