package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed corpus.yaml
var corpusText []byte

// corpus is which paths below a root are recordings, and why what is none of them is there.
type corpus struct {
	Recordings []string
	Others     map[string]string
}

// corpora returns the corpora of all roots, by name.
func corpora() (out map[string]corpus, err error) {
	d := yaml.NewDecoder(bytes.NewReader(corpusText))
	d.KnownFields(true)
	return out, d.Decode(&out)
}

// findRecordings returns the recordings below a root, by name.
func (c *corpus) findRecordings(name, root string) (out []*recording, err error) {
	for _, pattern := range c.Recordings {
		paths, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(strings.TrimSuffix(pattern, "/"))))
		if err != nil {
			return nil, err
		}
		for _, p := range paths {
			info, err := os.Stat(p)
			if err != nil {
				return nil, err
			}
			if strings.HasSuffix(pattern, "/") && !info.IsDir() {
				continue
			}
			rel, err := filepath.Rel(root, p)
			if err != nil {
				return nil, err
			}
			out = append(out, &recording{name: path.Join(name, filepath.ToSlash(rel)), path: p})
		}
	}
	slices.SortFunc(out, func(a, b *recording) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

// stray returns the files below a root that are of no recording and of no kind that is listed.
func (c *corpus) stray(root string, all []*recording) (out []string, err error) {
	return out, filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		if !c.explains(filepath.ToSlash(rel)) && !slices.ContainsFunc(all, func(r *recording) bool { return r.has(p) }) {
			out = append(out, rel)
		}
		return nil
	})
}

// explains reports whether a file is listed as none of a recording. A pattern without a folder is of all of
// them, and one that begins with a star of all names that end so.
func (c *corpus) explains(rel string) bool {
	for pattern := range c.Others {
		for _, name := range []string{rel, path.Base(rel)} {
			if ok, _ := path.Match(pattern, name); ok {
				return true
			}
		}
		folder, isFolder := strings.CutSuffix(pattern, "/*")
		if isFolder && strings.HasPrefix(rel, folder+"/") {
			return true
		}
	}
	return false
}

// has reports whether a file is of a recording: it, in it, or beside it.
func (r *recording) has(p string) bool {
	return p == r.path || strings.HasPrefix(p, r.path+string(filepath.Separator)) || slices.Contains(companions(r.path), p)
}

// kindOf returns the column of a recording: the form of its files, or of those that go together.
func kindOf(files []*file) string {
	var forms []string
	for _, f := range files {
		if f.form != partner && !f.form.bystander && !slices.Contains(forms, f.form.name) {
			forms = append(forms, f.form.name)
		}
	}
	slices.Sort(forms)
	switch {
	case len(forms) == 1:
		return forms[0]
	case slices.Equal(forms, []string{ncclLog.name, export.name}):
		return "NCCL+Nsight"
	case len(forms) == 0:
		return "refused"
	}
	return "several"
}

// load reads a recording, and asks what is claimed of it as it is.
func load(r *recording) (*subject, error) {
	files, err := r.files()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	r.kind = kindOf(files)
	if len(files) == 0 {
		return &subject{r, nil, &spoken{refused: "no file of a known format"}}, nil
	}
	base, err := verdictOf(files, asFolder)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	return &subject{r, files, base}, nil
}
