package largedata

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPath: the variable counts before the folder beside the repository.
func TestPath(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SFSTAT_SHARED", "")
	if got, want := Path(t, "data/x"), filepath.Join(here, "../../../shared/data/x"); got != want {
		t.Errorf("beside the repository: %s, want %s", got, want)
	}
	dir := t.TempDir()
	t.Setenv("SFSTAT_SHARED", dir)
	if got, want := Need(t, "."), dir; got != want {
		t.Errorf("by the variable: %s, want %s", got, want)
	}
	var seen watched
	if Need(&seen, "absent"); !strings.HasPrefix(seen.skipped, "absent is not here") {
		t.Errorf("a test whose data are not there is told %q", seen.skipped)
	}
}

// watched is a test that goes on when it is skipped.
type watched struct {
	testing.TB
	skipped string
}

func (w *watched) Helper() {}

func (w *watched) Skipf(format string, args ...any) { w.skipped = fmt.Sprintf(format, args...) }
