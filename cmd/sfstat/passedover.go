package main

import (
	"maps"
	"path/filepath"
	"slices"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/live"
	"github.com/sfstat/sfstat/report"
)

// passedOver counts, for each folder that was given, the files in it that are no
// input, where that is news: not those of another command or a later part of this one.
func passedOver(names []string, read []auto.Input) []report.Problem {
	over := make(map[string]map[string]int) // by folder and kind
	for _, in := range read {
		if in.Skipped == "" || in.Known || in.Format.Readable() || in.Format == auto.NCCLLog {
			continue
		}
		folder := folderOf(names, in.Path)
		if over[folder] == nil {
			over[folder] = make(map[string]int)
		}
		over[folder][in.Skipped]++
	}
	var out []report.Problem
	for _, folder := range slices.Sorted(maps.Keys(over)) {
		out = append(out, report.Problem{Path: folder, PassedOver: over[folder]})
	}
	return out
}

// refusedProblems returns the problems that are no files passed over.
func refusedProblems(in live.Inputs) []report.Problem {
	return slices.DeleteFunc(slices.Clone(in.Problems), func(x report.Problem) bool { return len(x.PassedOver) > 0 })
}

// folderOf returns the folder, as it was named, in which a file was found.
func folderOf(names []string, path string) string {
	best := filepath.Dir(path)
	found := false
	for _, name := range names {
		rest, err := filepath.Rel(name, path)
		if err == nil && filepath.IsLocal(rest) && (!found || len(name) < len(best)) {
			best, found = name, true
		}
	}
	return best
}

// remarkNCCL remarks on files of NCCL in the given folders that no verdict reads. Files that were named are refused.
func (p *program) remarkNCCL(c *cli.Context, in live.Inputs) {
	n := 0
	for _, x := range in.Read {
		if x.Skipped != "" && x.Format == auto.NCCLLog {
			n++
		}
	}
	if n > 0 {
		p.remark(c, "%s: passed over %s of NCCL, which sfstat comm reads, and sfstat diagnose beside exports of Nsight Systems", c.Title(), table.Counted(n, "debug log"))
	}
}
