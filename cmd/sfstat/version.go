package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/report"
)

// version is stamped by the linker (-X main.version=…); without a stamp, what
// the Go tool knows about the build is used.
var version string

// build is what is known about this program.
type build struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func thisBuild() build {
	info, _ := debug.ReadBuildInfo()
	return build{Version: buildVersion(version, info), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
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
	b := thisBuild()
	_, err := fmt.Fprintf(w, "sfstat %s (%s %s)\n", b.Version, b.Go, b.Platform)
	return err
}

func (p *program) versionCommand() *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "print the version",
		Flags:     join([]cli.Flag{choiceFor(forOutput, choice("format", "how to write it", "text", "json"))}, screenFlags()),
		UsageText: "sfstat version\nsfstat version --format json",
		Action: func(c *cli.Context) error {
			if err := noOperands(c); err != nil {
				return err
			}
			return p.publish(c, nil, func(to report.Output) error {
				if to.Format == report.JSON {
					return to.JSON(thisBuild())
				}
				return versionText(to.W)
			})
		},
	}
}
