package nsight

import (
	"strings"
	"testing"

	"github.com/sfstat/sfstat/internal/bug"
)

// TestReadPanics: an export that meets a bug, in a goroutine of its own, leaves the others alone.
func TestReadPanics(t *testing.T) {
	paths := []string{"../../fixtures/sources/nsight/node0.sqlite", "../../fixtures/sources/nsight/node1.sqlite"}
	want, problems := Read(paths[1:], Options{})
	if len(want.Ranks) == 0 || problems != nil {
		t.Fatal(problems)
	}
	defer func() { readFile = read }()
	readFile = func(path string, o Options) (content, error) {
		if path == paths[0] {
			panic("boom")
		}
		return read(path, o)
	}
	got, problems := Read(paths, Options{})
	if len(got.Ranks) != len(want.Ranks) {
		t.Errorf("%d ranks, expected %d", len(got.Ranks), len(want.Ranks))
	}
	if len(problems) != 1 || problems[0].Path != paths[0] || bug.PanicOf(problems[0].Err) == nil || !strings.HasPrefix(problems[0].Err.Error(), paths[0]+": this is a bug") {
		t.Errorf("problems %v, expected a bug in %s", problems, paths[0])
	}
}
