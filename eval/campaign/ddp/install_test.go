package ddp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInstall: all that the job imports of ours is there, and what was there
// is replaced.
func TestInstall(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 {
		i, err := Install(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{i.Job, filepath.Join(i.PythonPath, "sfstat_job", "plan.py"),
			filepath.Join(i.PythonPath, "sfstat_job", "__init__.py"), filepath.Join(i.PythonPath, "sfstat_recorder", "recorder.py")} {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if string(text) == "old" {
				t.Errorf("%s was not replaced", path)
			}
			if err := os.WriteFile(path, []byte("old"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestInstallWhereNothingCanBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Install(filepath.Join(file, "below")); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("error is %v, expected one about %s", err, file)
	}
}
