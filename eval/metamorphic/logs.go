package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

// ncclLog is a debug log of NCCL or RCCL, of one process or of several of a host.
var ncclLog = &form{
	name: "NCCL logs",
	hosts: func(f *file) []string {
		return findGroups(f, regexp.MustCompile(`(?m)([A-Za-z][\w.-]*):\d+:\d+ \[\d+\] NCCL`))
	},
	can: map[edit]func(*file, *editing) ([]*file, error){
		rewrite:     unchanged,
		renameHosts: contentEdit(hostsInText),
		shift:       shiftLog,
		split:       splitLines,
	},
	together: concatenate,
	not: map[edit]string{
		renameRanks: "ranks stand in communicators, rings and addresses",
		reorder:     "lines of a log are in the order of the calls",
		addStage:    "a log has no stages",
		remove:      "the processes of a log share its communicators",
	},
	otherwise: "a log has times of lines, and not of steps",
}

// inspectorDump is a dump of NCCL's Inspector or RCCL's profiler, a line for a collective.
var inspectorDump = &form{
	name: "Inspector",
	hosts: func(f *file) []string {
		return append(findGroups(f, regexp.MustCompile(`"hostname":"([^"]+)"`)), findInName(f, regexp.MustCompile(`_(node\d+[\w.-]*?)_pid`))...)
	},
	can: map[edit]func(*file, *editing) ([]*file, error){
		rewrite:     unchanged,
		renameHosts: contentEdit(hostsInText),
		shift:       shiftInspector,
		split:       splitLines,
	},
	not: map[edit]string{
		renameRanks: "ranks are those of communicators",
		reorder:     "lines of a dump are in the order of the calls",
		merge:       "the name of a dump says whose it is",
		addStage:    "a dump has no stages",
		remove:      "the ranks of a dump are those of communicators",
	},
	otherwise: "times are in microseconds",
}

// trainLog is what a training program prints of its steps.
var trainLog = &form{
	name: "logs",
	ranks: func(f *file) []int {
		var out []int
		for _, text := range findGroups(f, taggedRank) {
			rank, _ := strconv.Atoi(text) // of digits
			if out = append(out, rank); rank > 1<<24 {
				return nil
			}
		}
		if out == nil {
			return rankInTheName(f)
		}
		slices.Sort(out)
		return out
	},
	can: map[edit]func(*file, *editing) ([]*file, error){
		rewrite:     unchanged,
		renameRanks: contentEdit(renameTags),
		renameHosts: unchanged,
		remove: contentEdit(func(text []byte, e *editing) ([]byte, error) {
			lines := slices.DeleteFunc(linesOf(text), func(line []byte) bool {
				m := taggedRank.FindSubmatch(line)
				return m != nil && string(m[1]) == strconv.Itoa(e.rank)
			})
			return bytes.Join(lines, nil), nil
		}),
		split: func(f *file, e *editing) ([]*file, error) { return splitAt(f, beginsStep) },
	},
	together: mergedLogs,
	not: map[edit]string{
		reorder:  "lines of a log are in the order of the steps",
		shift:    "a log has times of steps, and is on no clock",
		addStage: "a log has no table of stages",
		round:    "every program prints its times in another way",
	},
}

// Files that say nothing of times by themselves.
var (
	// stack is a dump of py-spy, of one rank.
	stack = &form{name: "stacks", ranks: rankInTheName, bystander: true,
		can: map[edit]func(*file, *editing) ([]*file, error){renameRanks: unchanged, renameHosts: unchanged}}
	// toolReport is what another tool says of the ranks of a job.
	toolReport = &form{name: "reports", bystander: true, can: map[edit]func(*file, *editing) ([]*file, error){
		renameRanks: func(*file, *editing) ([]*file, error) {
			return nil, notApplicable("a report of another tool names ranks in its own way")
		},
		renameHosts: contentEdit(hostsInText)}}
	// readings are what monitoring recorded of hosts.
	readings = &form{name: "monitoring", bystander: true, can: map[edit]func(*file, *editing) ([]*file, error){renameHosts: contentEdit(hostsInText),
		shift: func(*file, *editing) ([]*file, error) {
			return nil, notApplicable("readings of hosts are on the clocks of the ranks")
		}}}
)

// taggedRank is how programs and launchers say of whom a line is.
var taggedRank = regexp.MustCompile(`(?i)\[rank[ :_]?(\d+)\]`)

func renameTags(text []byte, e *editing) ([]byte, error) {
	return taggedRank.ReplaceAllFunc(text, func(tag []byte) []byte {
		digits := taggedRank.FindSubmatchIndex(tag)
		rank, _ := strconv.Atoi(string(tag[digits[2]:digits[3]])) // of digits
		return fmt.Appendf(nil, "%s%d%s", tag[:digits[2]], e.names.rank(rank), tag[digits[3]:])
	}), nil
}

// findGroups returns the first groups of all matches in a file, each once.
func findGroups(f *file, pattern *regexp.Regexp) (out []string) {
	text, err := f.plain()
	if err != nil {
		return nil
	}
	for _, m := range pattern.FindAllSubmatch(text, -1) {
		if s := string(m[1]); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// findInName returns the first group of a pattern in the name of a file, nil where it has none.
func findInName(f *file, pattern *regexp.Regexp) []string {
	if m := pattern.FindStringSubmatch(f.name); m != nil {
		return []string{m[1]}
	}
	return nil
}

func hostsInText(text []byte, e *editing) ([]byte, error) {
	return []byte(hostsIn(string(text), e.names)), nil
}

// stamp is a line's time in seconds since 1970, before the host.
var stamp = regexp.MustCompile(`^(\[rank\d+\]:)?(1\d{9})(\.\d+ ?)`)

// shiftLog shifts the lines of a host.
func shiftLog(f *file, e *editing) ([]*file, error) {
	if !slices.Contains(f.form.hosts(f), e.host) {
		return []*file{f}, nil
	}
	return contentEdit(func(text []byte, e *editing) ([]byte, error) {
		if e.ns%1e9 != 0 {
			return nil, notApplicable("lines are shifted by whole seconds")
		}
		any := false
		lines := linesOf(text)
		for i, line := range lines {
			m := stamp.FindSubmatch(line)
			if m == nil {
				continue
			}
			seconds, _ := strconv.ParseInt(string(m[2]), 10, 64) // of ten digits
			lines[i], any = fmt.Appendf(nil, "%s%d%s%s", m[1], seconds+e.ns/1e9, m[3], line[len(m[0]):]), true
		}
		if !any {
			return nil, notApplicable("lines are without seconds since 1970")
		}
		return bytes.Join(lines, nil), nil
	})(f, e)
}

// stampInJSON is a time in microseconds since 1970.
var stampInJSON = regexp.MustCompile(`("(?:dump_timestamp_us|(?:coll|kernel)_(?:start|stop|record)_ts)":)(1\d{15})\b`)

func shiftInspector(f *file, e *editing) ([]*file, error) {
	if !slices.Contains(f.form.hosts(f), e.host) {
		return []*file{f}, nil
	}
	return contentEdit(func(text []byte, e *editing) ([]byte, error) {
		if !stampInJSON.Match(text) {
			return nil, notApplicable("times are on the clocks of devices")
		}
		return stampInJSON.ReplaceAllFunc(text, func(at []byte) []byte {
			m := stampInJSON.FindSubmatch(at)
			us, _ := strconv.ParseInt(string(m[2]), 10, 64) // of 16 digits
			return fmt.Appendf(nil, "%s%d", m[1], us+e.ns/1000)
		}), nil
	})(f, e)
}

// beginsStep is a line that says which step it is of; what programs print below it is of that step.
var beginsStep = regexp.MustCompile(`(?i)\b(?:step|iteration|iter|it)\b[\s:=\[(]*\d`)

// splitLines puts the first half of a file's lines into one file and the rest into another.
func splitLines(f *file, _ *editing) ([]*file, error) { return splitAt(f, regexp.MustCompile("")) }

// splitAt puts the lines of a file into two, the second of which begins at a line of a kind, the first behind the middle.
func splitAt(f *file, begins *regexp.Regexp) ([]*file, error) {
	text, err := f.plain()
	if err != nil {
		return nil, err
	}
	lines := linesOf(text)
	if len(lines) < 2 {
		return []*file{f}, nil
	}
	if json.Valid(text) {
		return nil, notApplicable("the file is one document")
	}
	at := slices.IndexFunc(lines[len(lines)/2:], begins.Match)
	if at < 0 {
		return nil, notApplicable("no line says which step it is of")
	}
	at += len(lines) / 2
	return halves(f, bytes.Join(lines[:at], nil), bytes.Join(lines[at:], nil)), nil
}

// mergedLogs returns logs in one, where every line of a step says of whom it is.
func mergedLogs(files []*file) ([]*file, error) {
	for _, f := range files {
		text, err := f.plain()
		if err != nil {
			return nil, err
		}
		if !taggedRank.Match(text) {
			return nil, notApplicable("only the name of a log says whose it is")
		}
	}
	out, err := concatenate(files)
	if err != nil {
		return nil, err
	}
	dir, _ := splitName(out[0].name)
	return []*file{out[0].withName(dir + "all.log")}, nil
}
