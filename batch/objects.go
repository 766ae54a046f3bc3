package batch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/batch/findings"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/internal/objectstore"
	"github.com/sfstat/sfstat/internal/parallel"
)

// Objects are files to the readers: those of a chunk are fetched to a folder of their
// own, which has their names as paths, and removed when the chunk is judged. What is
// told of them has their names.

// splitPaths parts paths into names of objects and others.
func splitPaths(paths []string) (objects, local []string) {
	for _, p := range paths {
		if objectstore.IsURL(p) {
			objects = append(objects, p)
		} else {
			local = append(local, p)
		}
	}
	return objects, local
}

// schemeEnd parts the scheme of an object's name from its bucket.
const schemeEnd = "://"

// folderOf returns the folder of a file or an object.
func folderOf(name string) string {
	if !objectstore.IsURL(name) {
		return filepath.Dir(name)
	}
	scheme, rest, _ := strings.Cut(name, schemeEnd)
	return scheme + schemeEnd + path.Dir(rest)
}

// joinName returns the name of a file in a folder.
func joinName(folder, file string) string {
	if !objectstore.IsURL(folder) {
		return filepath.Join(folder, file)
	}
	return strings.TrimSuffix(folder+"/"+file, "/")
}

// list adds the objects below names to the files. As in a folder, hidden ones are
// skipped.
func (p *plan) list(ctx context.Context, names []string, from *objectstore.Client) error {
	seen := make(map[string]bool)
	for _, name := range names {
		if from == nil {
			return fmt.Errorf("%s: objects cannot be read here: copy them to a folder", name)
		}
		all, err := from.List(ctx, name)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return fmt.Errorf("%s: there is no such object, and none below it", name)
		}
		there, folders := make(map[string]bool), make(map[string]bool)
		for _, o := range all {
			there[o.Name] = true
			for up := folderOf(o.Name); len(up) > len(name) && !folders[up]; up = folderOf(up) {
				folders[up] = true
			}
		}
		for _, o := range all {
			below := strings.TrimPrefix(o.Name, name)
			switch {
			case seen[o.Name]:
			case isHidden(below), there[auto.WholeXPlane(o.Name)]:
				p.skipped++
			case !isPath(o.Name), folders[o.Name]:
				p.refused = append(p.refused, findings.Refused{Path: o.Name, Error: "no file can have this name: copy the object to another"})
			default:
				p.Files = append(p.Files, file{Path: o.Name, Size: o.Size, ETag: o.ETag})
			}
			seen[o.Name] = true
		}
	}
	slices.SortStableFunc(p.Files, func(a, b file) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

// isHidden reports whether a part of a path begins with a dot.
func isHidden(below string) bool {
	return slices.ContainsFunc(strings.Split(below, "/"), func(part string) bool { return strings.HasPrefix(part, ".") && part != "." && part != ".." })
}

// longestName is that of a file, in bytes.
const longestName = 255

// isPath reports whether an object's name is a path below a folder, and the only
// name of what it leads to.
func isPath(name string) bool {
	_, rest, _ := strings.Cut(name, schemeEnd)
	long := slices.ContainsFunc(strings.Split(rest, "/"), func(part string) bool { return len(part) > longestName })
	return !long && filepath.IsLocal(filepath.FromSlash(rest)) && path.Clean(rest) == rest && !strings.ContainsRune(rest, 0) &&
		(filepath.Separator == '/' || !strings.ContainsRune(rest, filepath.Separator))
}

// headBytes is how much of an object says what it holds: more than a reader looks
// at, packed or not.
const headBytes = 512 << 10

// contentsReader returns a function that finds the contents of a file, and of an object by its first bytes.
func contentsReader(ctx context.Context, from *objectstore.Client) holder {
	return func(f file) (auto.Held, error) {
		if !objectstore.IsURL(f.Path) {
			return auto.Peek(disk.OS{}, f.Path, ingest.Limits{}), nil
		}
		dir, err := os.MkdirTemp("", "sfstat-batch-*")
		if err != nil {
			return auto.Held{}, err
		}
		defer os.RemoveAll(dir)
		head := filepath.Join(dir, filepath.Base(f.Path))
		if err := from.FetchHead(ctx, f.object(), headBytes, head); err != nil {
			return auto.Held{}, fmt.Errorf("%s: %w", f.Path, err)
		}
		return auto.Peek(disk.OS{}, head, ingest.Limits{}), nil
	}
}

func (f *file) object() objectstore.Object {
	return objectstore.Object{Name: f.Path, Size: f.Size, ETag: f.ETag}
}

// copies are the objects of a chunk on this machine. The zero value is none.
type copies struct {
	dir    string           // "": no input is an object
	failed map[string]error // by name
}

// objectsPrefix begins the names of folders of copies, in that of the parts.
const objectsPrefix = "objects-"

// fetch copies the objects of units in parallel. Unreadable objects are in failed; an error is one of this machine, or
// of a store that stopped answering.
func (b *work) fetch(ctx context.Context, units []unit) (*copies, error) {
	var wanted []file
	for _, u := range units {
		for _, f := range append(u.files[:len(u.files):len(u.files)], u.beside...) {
			if objectstore.IsURL(f.Path) {
				wanted = append(wanted, f)
			}
		}
	}
	c := &copies{failed: make(map[string]error)}
	if len(wanted) == 0 {
		return c, nil
	}
	// Two units may share a file that is beside one.
	slices.SortFunc(wanted, func(a, b file) int { return strings.Compare(a.Path, b.Path) })
	wanted = slices.CompactFunc(wanted, func(a, b file) bool { return a.Path == b.Path })
	var err error
	if c.dir, err = os.MkdirTemp(b.parts.dir, objectsPrefix); err != nil {
		return c, err
	}
	errs := make([]error, len(wanted))
	parallel.Do(len(wanted), objectstore.AtOnce, func(i int) {
		if ctx.Err() == nil {
			errs[i] = b.o.Objects.Fetch(ctx, wanted[i].object(), c.path(wanted[i].Path))
		}
	})
	if ctx.Err() != nil {
		return c, context.Cause(ctx)
	}
	return c, b.sort(ctx, c, wanted, errs)
}

// sort sorts objects: unreadable ones become problems of their inputs, an unreadable store an error of the run.
func (b *work) sort(ctx context.Context, c *copies, wanted []file, errs []error) error {
	answers := false
	for i, err := range errs {
		if err == nil {
			continue
		}
		var local *os.PathError
		if errors.As(err, &local) {
			return fmt.Errorf("%s: %w", wanted[i].Path, err)
		}
		if !errors.Is(err, objectstore.ErrChanged) && !answers {
			if answers = b.o.Objects.Answers(ctx, wanted[i].object()); !answers {
				return fmt.Errorf("%s: %w: what is judged is kept, go on with --resume", wanted[i].Path, err)
			}
		}
		c.failed[wanted[i].Path] = err
	}
	return nil
}

func (c *copies) remove() {
	if c.dir != "" {
		_ = os.RemoveAll(c.dir)
	}
}

// path returns the path of the copy of an object, and of a file its own.
func (c *copies) path(name string) string {
	if !objectstore.IsURL(name) {
		return name
	}
	scheme, rest, _ := strings.Cut(name, schemeEnd)
	return filepath.Join(c.dir, scheme, filepath.FromSlash(rest))
}

// name returns the name of an object by the path of its copy, the inverse of path.
func (c *copies) name(path string) string {
	rest, ok := strings.CutPrefix(path, c.dir+string(filepath.Separator))
	if c.dir == "" || !ok {
		return path
	}
	scheme, rest, _ := strings.Cut(filepath.ToSlash(rest), "/")
	return scheme + schemeEnd + rest
}

// problem returns the problem of a copy, worded without the path of the copy.
func (c *copies) problem(path string, err error) findings.Refused {
	p := problemOf(path, err)
	p.Path = c.name(path)
	if c.dir != "" {
		slash := string(filepath.Separator)
		for _, scheme := range []string{"s3", "gs"} {
			p.Error = strings.ReplaceAll(p.Error, c.dir+slash+scheme+slash, scheme+schemeEnd)
		}
	}
	return p
}
