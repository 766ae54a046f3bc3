package ddp

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/recorder"
)

//go:embed python/job.py python/sfstat_job/*.py
var files embed.FS

// Installed is where the job lies.
type Installed struct {
	Job        string // the program of a rank
	PythonPath string // folder of the packages sfstat_job and sfstat_recorder
}

// Install writes the job and the recorder below dir, which is made if it is
// not there. Each file is complete or not there; what is there is replaced.
func Install(dir string) (Installed, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Installed{}, err
	}
	job, err := fs.Sub(files, "python")
	if err != nil {
		return Installed{}, err
	}
	for _, from := range []fs.FS{job, recorder.Files()} {
		if err := copyTree(dir, from); err != nil {
			return Installed{}, err
		}
	}
	return Installed{Job: filepath.Join(dir, "job.py"), PythonPath: dir}, nil
}

// Digest returns the SHA-256 of all that Install writes, in hexadecimal: whose job and
// recorder made a run.
func Digest() (string, error) {
	hash := sha256.New()
	for _, from := range []fs.FS{files, recorder.Files()} {
		err := fs.WalkDir(from, ".", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := fs.ReadFile(from, path)
			fmt.Fprintf(hash, "%s %d\n", path, len(text))
			hash.Write(text)
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

func copyTree(dir string, from fs.FS) error {
	return fs.WalkDir(from, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		dest := filepath.Join(dir, filepath.FromSlash(path))
		if entry.IsDir() {
			return os.MkdirAll(dest, 0o777)
		}
		text, err := fs.ReadFile(from, path)
		if err != nil {
			return err
		}
		return atomicfile.WriteText(dest, text)
	})
}
