package batch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"github.com/gofrs/flock"
	"github.com/klauspost/compress/gzip"

	"github.com/sfstat/sfstat/batch/findings"
	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/internal/table"
)

// What lies in the folder of the parts of an output that is not finished.
const (
	partsSuffix = ".parts"
	lockName    = "lock"
	planName    = "plan"
)

// parts is the folder beside an output where its parts lie until all are there.
type parts struct {
	output string
	dir    string
	on     disk.Disk
	lock   *flock.Flock
	whole  sync.Map // numbers of parts that were read to their end
}

// ErrUnfinished: there are parts of an earlier batch, and nobody said whether to go
// on with them.
var ErrUnfinished = errors.New("unfinished")

// openParts makes the folder of the parts of an output, or goes on with one that
// was left by the same plan. Nobody else can until it is released.
func openParts(on disk.Disk, output, mark string, resume Resume) (*parts, error) {
	p := &parts{output: output, dir: output + partsSuffix, on: on}
	switch err := on.Mkdir(p.dir, 0o777); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: %w: create the folder %s, or name another output", output, fs.ErrNotExist, filepath.Dir(output))
	case err != nil && !errors.Is(err, fs.ErrExist):
		return nil, err
	}
	if err := p.take(); err != nil {
		return nil, err
	}
	err := atomicfile.RemoveStaleOf(on, output) // of one that was killed when all its parts were there
	if err == nil {
		err = p.claim(mark, resume)
	}
	if err != nil {
		p.release()
		return nil, err
	}
	return p, nil
}

// take takes the lock of the folder, which ends with the process.
func (p *parts) take() error {
	path := filepath.Join(p.dir, lockName)
	p.lock = flock.New(path)
	got, err := p.lock.TryLock()
	if err != nil {
		return err
	}
	if got {
		// Who finished meanwhile has removed the file that was locked: then there is
		// another under its name, or none.
		again := flock.New(path)
		if other, err := again.TryLock(); err != nil || other {
			_ = again.Close()
			got = false
		}
	}
	if !got {
		_ = p.lock.Close()
		return fmt.Errorf("another sfstat batch is writing %s: wait for it, or name another output", p.output)
	}
	return nil
}

// claim notes the plan that the parts are of.
func (p *parts) claim(mark string, resume Resume) error {
	path := filepath.Join(p.dir, planName)
	old, err := disk.ReadFile(p.on, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return atomicfile.WriteFileOn(p.on, path, func(w io.Writer) error { _, err := io.WriteString(w, mark+"\n"); return err })
	case err != nil:
		return err
	case resume == FromStart:
		return fmt.Errorf("%s holds %s of an earlier batch: go on with --resume, or remove that folder (%w)", p.dir, table.Counted(p.countComplete(), "part"), ErrUnfinished)
	case strings.TrimSpace(string(old)) != mark:
		return fmt.Errorf("%s is of other inputs, options or another version: remove that folder to begin anew (%w)", p.dir, ErrUnfinished)
	}
	return nil
}

// countComplete returns how many parts are complete.
func (p *parts) countComplete() int {
	list, _ := filepath.Glob(filepath.Join(escapePattern(p.dir), "*.part"))
	return len(list)
}

// escapePattern returns a path in which a pattern means nothing.
func escapePattern(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func (p *parts) path(chunk int) string { return filepath.Join(p.dir, fmt.Sprintf("%06d.part", chunk)) }

// has reports whether a part is there, whole: one that is not is made again.
func (p *parts) has(chunk int) bool {
	if _, known := p.whole.Load(chunk); known {
		return true
	}
	if readPart(p.on, p.path(chunk), func(struct{}) error { return nil }) != nil {
		return false
	}
	p.whole.Store(chunk, true)
	return true
}

// release gives the folder free for others.
func (p *parts) release() { _ = p.lock.Close() }

// remove takes the folder away; the lock goes last.
func (p *parts) remove() {
	entries, _ := p.on.ReadDir(p.dir)
	for _, e := range entries {
		if e.Name() != lockName {
			_ = p.on.Remove(filepath.Join(p.dir, e.Name()))
		}
	}
	_ = p.on.Remove(filepath.Join(p.dir, lockName))
	_ = p.lock.Close()
	_ = p.on.Remove(p.dir)
}

// A part is entries as lines of JSON in a file of gzip, whose length and checksum at the end find what a file
// system lost or changed.

// entry is one of what was found.
type entry struct {
	Row     *findings.Row     `json:"row,omitempty"`
	Window  *findings.Window  `json:"window,omitempty"`
	Refused *findings.Refused `json:"refused,omitempty"`
}

// writePart writes a part of what find finds.
func writePart(w io.Writer, find func(found func(entry) error) error) error {
	packed, err := gzip.NewWriterLevel(w, gzip.NoCompression)
	if err != nil {
		return err
	}
	lines := json.NewEncoder(packed)
	if err := find(func(r entry) error { return lines.Encode(r) }); err != nil {
		return err
	}
	return packed.Close()
}

// readPart hands the entries of a part to each, as far as T has their fields.
func readPart[T any](on disk.Disk, path string, each func(T) error) error {
	f, err := on.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	damaged := func(err error) error {
		return fmt.Errorf("%s: no part of this batch, or not whole (%w): go on with --resume", path, err)
	}
	packed, err := gzip.NewReader(f)
	if err != nil {
		return damaged(err)
	}
	for lines := json.NewDecoder(packed); ; {
		var r T
		if err := lines.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return damaged(err)
		}
		if err := each(r); err != nil {
			return err
		}
	}
}
