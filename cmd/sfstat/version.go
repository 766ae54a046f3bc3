package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
)

// version is stamped by the linker (-X main.version=…); without a stamp, what
// the Go tool knows about the build is used.
var version string

// thisVersion is that of this program.
func thisVersion() string {
	info, _ := debug.ReadBuildInfo()
	return buildVersion(version, info)
}

// buildVersion prefers the stamp, then the module version that "go install"
// records, then the revision that a build inside a checkout records.
func buildVersion(stamp string, info *debug.BuildInfo) string {
	if stamp != "" {
		return stamp
	}
	if info == nil {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	settings := make(map[string]string, len(info.Settings))
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	revision := settings["vcs.revision"]
	if revision == "" {
		return "devel"
	}
	v := "devel-" + revision[:min(12, len(revision))]
	if settings["vcs.modified"] == "true" {
		v += "-dirty"
	}
	return v
}

func versionText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "sfstat %s (%s %s/%s)\n", thisVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
