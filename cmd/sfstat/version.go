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

// programVersion returns the version of this program.
func programVersion() string {
	info, _ := debug.ReadBuildInfo()
	return buildVersion(version, info)
}

// buildVersion prefers the stamp, then the module version that go records: of a
// release, or of the revision in a checkout.
func buildVersion(stamp string, info *debug.BuildInfo) string {
	switch {
	case stamp != "":
		return stamp
	case info == nil:
		return "unknown"
	case info.Main.Version == "" || info.Main.Version == "(devel)":
		return "devel"
	}
	return info.Main.Version
}

func versionText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "sfstat %s (%s %s/%s)\n", programVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
