package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

func TestBuildVersion(t *testing.T) {
	of := func(version string) *debug.BuildInfo { return &debug.BuildInfo{Main: debug.Module{Version: version}} }
	cases := []struct {
		name, stamp string
		info        *debug.BuildInfo
		want        string
	}{
		{"stamp wins", "v1.2.3-4-gabc", of("v1.2.3"), "v1.2.3-4-gabc"},
		{"go install", "", of("v1.2.3"), "v1.2.3"},
		{"checkout", "", of("v0.0.0-20260102030405-0123456789ab+dirty"), "v0.0.0-20260102030405-0123456789ab+dirty"},
		{"no version control", "", of("(devel)"), "devel"},
		{"nothing known", "", nil, "unknown"},
	}
	for _, c := range cases {
		if got := buildVersion(c.stamp, c.info); got != c.want {
			t.Errorf("%s: %q, expected %q", c.name, got, c.want)
		}
	}
}

// TestVersionIsTheTag: make build on a tagged tree stamps the tag, on a later commit how far it is from
// there, and on a changed tree that it is changed.
func TestVersionIsTheTag(t *testing.T) {
	for _, tool := range []string{"git", "make"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s: %v", tool, err)
		}
	}
	makefile, err := os.ReadFile(filepath.FromSlash("../../Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	env := slices.DeleteFunc(os.Environ(), func(set string) bool {
		return strings.HasPrefix(set, "VERSION=") || strings.HasPrefix(set, "MAKEFLAGS=") || strings.HasPrefix(set, "GIT_")
	})
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, append(slices.Clone(env), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "Makefile"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	commit := func() {
		t.Helper()
		run("git", "add", "Makefile")
		run("git", "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-q", "-m", "x")
	}
	stamped := func(want string) {
		t.Helper()
		commands := run("make", "-n", "build")
		_, version, _ := strings.Cut(commands, "-X main.version=")
		if version, _, _ = strings.Cut(version, "'"); !strings.HasPrefix(version, want) || want == "v1.2.3" && version != want {
			t.Errorf("the version is %q, expected %s; make says\n%s", version, want, commands)
		}
	}
	run("git", "init", "-q")
	write(string(makefile))
	for _, needed := range []string{"go.mod", "internal/licenses/main.go"} { // what the licences are made from
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, needed)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, needed), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	commit()
	run("git", "-c", "user.name=x", "-c", "user.email=x@example.org", "tag", "-a", "v1.2.3", "-m", "x")
	stamped("v1.2.3")
	write(string(makefile) + "# changed\n")
	stamped("v1.2.3-dirty")
	commit()
	stamped("v1.2.3-1-g")
}
