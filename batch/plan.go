// Package batch judges archives: every run below folders, a row for each finding of one, and if asked
// for a row for each window.
//
//  1. The files are listed and parted into units, which are read together: a
//     Parquet file by itself, the other files of a folder as one; and a whole folder as
//     one where it holds more than stage times (units.go). Consecutive units make chunks
//     of a few megabytes. Both depend on the files alone.
//  2. Threads take a chunk each, read it as a stream, and write what they find to a
//     part file, whole or not at all. Where there are fewer chunks than threads, the others
//     judge windows and stretches of one run beside the one that reads it
//     ([diagnose.Beside]).
//  3. The parts are put together in the order of the chunks, so that the bytes of
//     the output do not depend on threads, nor on how often the work was killed and
//     taken up.
//
// Memory is a window for each thread, whatever the size of the archive, and the
// accounts of a stretch of a run.
package batch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sfstat/sfstat/batch/findings"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/internal/flatrow"
	"github.com/sfstat/sfstat/internal/objectstore"
	"github.com/sfstat/sfstat/trace/input"
)

// file is an input as it was when the work was planned.
type file struct {
	Path     string
	Size     int64
	Modified int64  // nanoseconds; only compared
	ETag     string `json:",omitempty"` // of an object
}

// changeReason reports why a file is not what was planned with; "" where it is. An object
// that is not was not fetched.
func (f *file) changeReason() string {
	if objectstore.IsURL(f.Path) {
		return ""
	}
	now := stat(f.Path)
	switch {
	case now.Size > f.Size:
		return fmt.Sprintf("it grew from %d to %d bytes", f.Size, now.Size)
	case now.Size != f.Size:
		return fmt.Sprintf("it shrank from %d to %d bytes", f.Size, now.Size)
	case now.Modified != f.Modified:
		return "it was written to"
	}
	return ""
}

func stat(path string) file {
	f := file{Path: path}
	if info, err := os.Stat(path); err == nil {
		f.Size, f.Modified = info.Size(), info.ModTime().UnixNano()
	}
	return f
}

// chunk is consecutive units.
type chunk struct {
	units []unit
	bytes int64
}

// plan is all work, in order.
type plan struct {
	Files   []file
	Options string // what decides on the rows beside the files
	chunks  []chunk
	skipped int
	refused []findings.Refused
}

// problemOf returns the problem with an input.
func problemOf(path string, err error) findings.Refused {
	p := findings.Refused{Path: path, Error: reason(path, err)}
	if b := bug.PanicOf(err); b != nil {
		p.Bug = string(b.Stack)
	}
	return p
}

// Chunks are small enough for their work to be lost when it is killed, some for
// each thread and shard even of a small archive, and of the largest a few thousand. The
// last are smaller, so that threads end together. The rows do not depend on them.
const (
	usualChunk  = 2 << 20
	fewChunks   = 32
	mostChunks  = 4000
	chunksAhead = 4 // for each shard
	lastChunks  = 8
)

// newPlan lists the files and objects of paths. those are not inputs: what is written.
func newPlan(ctx context.Context, paths []string, o *Options, those ...string) (*plan, error) {
	p := &plan{Options: fmt.Sprintf("%s of %d shard %d windows %t", o.Settings, o.Shard.Of, o.Shard.Index, o.Windows.Format != flatrow.Nowhere)}
	objects, local := splitPaths(paths)
	for _, l := range auto.List(o.Disk, local) {
		switch {
		case l.Err != nil:
			p.refused = append(p.refused, problemOf(l.Path, l.Err))
		case l.Skipped != "" || isInAny(l.Path, those):
			p.skipped++
		case isPipe(l.Path):
			p.refused = append(p.refused, problemOf(l.Path, notRegular))
		default:
			p.Files = append(p.Files, stat(l.Path))
		}
	}
	if err := p.list(ctx, objects, o.Objects); err != nil {
		return nil, err
	}
	if len(p.Files) == 0 && len(p.refused) > 0 {
		return nil, errors.New(p.refused[0].Path + ": " + p.refused[0].Error)
	}
	if len(p.Files) == 0 {
		return nil, input.Bad(input.ErrEmpty, "there are no files in %s", strings.Join(paths, ", "))
	}
	all, err := unitsOf(p.Files, contentsReader(ctx, o.Objects))
	if err != nil {
		return nil, err
	}
	p.divide(all, int64(max(fewChunks, chunksAhead*o.Shard.Of)))
	return p, nil
}

// notRegular: what cannot be read a second time, or to an end.
var notRegular = input.Bad(input.ErrType, "not a regular file: batch reads files; save what the pipe gives to one")

func isPipe(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular()
}

// divide makes chunks of units, few of them at least where there are as many.
func (p *plan) divide(all []unit, few int64) {
	var total int64
	for _, f := range p.Files {
		total += f.Size
	}
	least, most := max(total/mostChunks, 1), min(usualChunk, total/few)
	left := total
	for _, u := range all {
		n := len(p.chunks)
		if n == 0 || p.chunks[n-1].bytes >= max(least, min(most, left/lastChunks)) {
			p.chunks = append(p.chunks, chunk{})
			n++
		}
		c := &p.chunks[n-1]
		c.units = append(c.units, u)
		for _, f := range u.files {
			c.bytes += f.Size
			left -= f.Size
		}
	}
}

// isInAny reports whether a path is one of those, or below one.
func isInAny(path string, those []string) bool {
	for _, w := range those {
		if rel, err := filepath.Rel(w, path); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

// mark returns a mark, the same for plans that lead to the same rows in the same parts: another build that calls itself by the
// same version may make other chunks.
func (p *plan) mark() string {
	parts := make([][2]int64, len(p.chunks))
	for i, c := range p.chunks {
		parts[i] = [2]int64{int64(len(c.units)), c.bytes}
	}
	text, _ := json.Marshal(struct {
		*plan
		Parts [][2]int64
	}{p, parts}) // of strings and numbers
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// reason returns the error of an input without its name: "line 3: …", "row group 0: …".
func reason(path string, err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	rest, named := strings.CutPrefix(text, path)
	if !named || rest == "" {
		return text
	}
	switch rest[0] {
	case '[':
		return strings.Replace(rest[1:], "]: ", ": ", 1)
	case '@':
		return rest[1:]
	case ':':
		if rest = strings.TrimSpace(rest[1:]); rest != "" && rest[0] >= '0' && rest[0] <= '9' {
			return "line " + rest
		}
		return rest
	}
	return text
}
