package main

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/report"
)

// passedOver counts, for each folder that was given, the files in it that are no
// input and say so by themselves: neither hidden, nor the same as another, nor
// of what another command or a later part of this one reads.
func passedOver(names []string, read []auto.Input) []report.Problem {
	why := make(map[string]map[string]int)
	for _, in := range read {
		if in.Skipped == "" || in.Skipped == "hidden" || in.Format.Readable() || in.Format == auto.NCCLLog ||
			strings.HasPrefix(in.Skipped, "the same ") || strings.HasPrefix(in.Skipped, "a link ") {
			continue
		}
		folder := folderOf(names, in.Path)
		if why[folder] == nil {
			why[folder] = make(map[string]int)
		}
		why[folder][in.Skipped]++
	}
	var out []report.Problem
	for _, folder := range slices.Sorted(maps.Keys(why)) {
		n := 0
		var kinds []string
		for _, kind := range slices.Sorted(maps.Keys(why[folder])) {
			n += why[folder][kind]
			kinds = append(kinds, fmt.Sprintf("%d × %s", why[folder][kind], kind))
		}
		out = append(out, report.Problem{Path: folder, PassedOver: n, Err: errors.New(counted(n, "file") + " passed over: " + strings.Join(kinds, ", "))})
	}
	return out
}

// refused are the problems that are no files passed over.
func (in *inputs) refused() []report.Problem {
	return slices.DeleteFunc(slices.Clone(in.problems), func(x report.Problem) bool { return x.PassedOver > 0 })
}

// folderOf is the name, of those given, of the folder that a file was found in.
func folderOf(names []string, path string) string {
	best := filepath.Dir(path)
	found := false
	for _, name := range names {
		inside := strings.HasPrefix(path, strings.TrimSuffix(name, string(filepath.Separator))+string(filepath.Separator))
		if inside && (!found || len(name) < len(best)) {
			best, found = name, true
		}
	}
	return best
}

// remarkNCCL says what NCCL left in the folders given that no verdict is made of.
// What was named is told as refused.
func (p *program) remarkNCCL(c *cli.Context, in inputs) {
	n := 0
	for _, x := range in.read {
		if x.Skipped != "" && x.Format == auto.NCCLLog {
			n++
		}
	}
	if n > 0 {
		p.remark(c, "%s: passed over %s of NCCL, which sfstat comm reads, and sfstat diagnose beside exports of Nsight Systems", prefix(c.Command.Name), counted(n, "debug log"))
	}
}
