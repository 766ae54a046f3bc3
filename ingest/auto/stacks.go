package auto

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/ingest/flightrecorder"
	"github.com/sfstat/sfstat/ingest/pyspy"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/recorded"
)

// stackFile is a dump of py-spy, and what its name tells.
type stackFile struct {
	path  string
	c     *comms.Record
	rank  int    // that the name tells; −1: none
	node  string // that it is of, "": the name tells none
	alone bool   // it has one process
}

// stackFolder returns the folder of dumps of one job: that above the folders of its ranks, and above those of its nodes.
func stackFolder(r *Reader, in *Input) string {
	folder, _, _ := stackPlace(in.Path, r.o.Rank)
	return folder
}

// stackPlace returns the folder of the dumps of a job that a dump is of, and the rank and node that the folders in it tell; −1, "".
func stackPlace(path string, pattern *regexp.Regexp) (folder string, rank int, node string) {
	if folder, rank = dirOf(path), -1; pattern != nil {
		return folder, rank, ""
	}
	if m := rankFolder.FindStringSubmatch(filepath.Base(folder)); m != nil {
		rank, _ = strconv.Atoi(m[1])
		folder = filepath.Dir(folder)
	}
	if name := filepath.Base(folder); nodeFolder.MatchString(name) {
		folder, node = filepath.Dir(folder), name
	}
	return folder, rank, node
}

// rankFolder is the name of a folder that has what was recorded of one rank.
var rankFolder = regexp.MustCompile(`(?i)^rank[-_.]?(\d{1,7})$`)

// nodeFolder is the name of a folder that has what was recorded on one node: "node3", "gpu-node-07", "ip-10-0-0-7".
var nodeFolder = regexp.MustCompile(`(?i)^(?:[a-z0-9.-]*[-_.])?(?:node|host|nid|server|worker|vm|machine)[-_.]?\d+(?:\.[a-z0-9.-]+)?$|^(?:ip[-_.])?\d{1,3}([-_.]\d{1,3}){3}$`)

// stacks hands on the dumps of py-spy in a folder, whose ranks are told or numbered.
func (u *unit) stacks(give func(part) bool) error {
	var files []*stackFile
	for _, in := range u.inputs {
		f, err := u.readStack(in)
		if err == nil {
			files = append(files, f)
			continue
		}
		if err := u.r.refuseFile(in.Path, err); err != nil {
			return err
		}
	}
	if len(files) == 0 {
		return nil
	}
	if err := rankStacks(files); err != nil {
		return err
	}
	for _, f := range files {
		if !give(part{Job: recorded.Job{Calls: f.c, Path: f.path}}) {
			break
		}
	}
	return nil
}

// readStack reads one dump.
func (u *unit) readStack(in *Input) (f *stackFile, err error) {
	defer bug.Contain(in.Path, &err)
	src, err := u.r.open(in)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	c, err := pyspy.Read(src, in.Path, u.r.o.Limits)
	if err != nil {
		return nil, err
	}
	f = &stackFile{path: in.Path, c: c, alone: len(c.Processes) == 1}
	_, rank, node := stackPlace(in.Path, u.r.o.Rank)
	f.rank, f.node = flightrecorder.RankOf(in.Path, u.r.o.Rank)
	if u.r.o.Rank == nil && (!f.alone || ofNode.MatchString(stem(in.Path))) {
		f.rank, f.node = -1, nodeIn(in.Path)
	}
	if rank >= 0 {
		f.rank = rank
	}
	f.node = cmp.Or(node, f.node)
	return f, nil
}

// ofNode is the name of a file whose number is that of a node.
var ofNode = regexp.MustCompile(`(?i)(?:node|host|nid|server|vm)[-_.]?\d+(?:\.[a-z]+)*$`)

// ofDump is what names of dumps begin with that says nothing of the node.
var ofDump = regexp.MustCompile(`(?i)^(?:(?:py-?spy|stacks?|traces?|dumps?|hang)[-_.])+`)

// nodeIn returns the node that the name of a dump of several processes tells; "" where it has no number.
func nodeIn(path string) string {
	name := ofDump.ReplaceAllString(stem(path), "")
	for ext := filepath.Ext(name); ext != "" && !strings.ContainsAny(ext, "0123456789"); ext = filepath.Ext(name) {
		name = strings.TrimSuffix(name, ext)
	}
	if !strings.ContainsAny(name, "0123456789") {
		return ""
	}
	return name
}

// stacked is one process of a dump.
type stacked struct {
	*comms.Process
	file *stackFile
	node string
}

// rankStacks gives the processes of all dumps their ranks: different ranks that dumps or file names say; else, where all
// say local ranks, numbers in the order of nodes; else numbers in the order of files.
func rankStacks(files []*stackFile) error {
	slices.SortStableFunc(files, func(a, b *stackFile) int { return naturally(a.path, b.path) })
	var all []stacked
	for _, f := range files {
		for i := range f.c.Processes {
			p := &f.c.Processes[i]
			switch {
			case f.alone && f.rank >= 0:
				p.Rank = f.rank
			case p.Rank < 0:
				p.Rank = p.LocalRank
			}
			p.Host = f.node
			node := f.node
			if node == "" && !f.alone {
				node = f.path
			}
			all = append(all, stacked{p, f, node})
		}
	}
	told, again, twice := 0, 0, map[int]stacked{}
	local := false
	for _, p := range all {
		if p.Rank >= 0 {
			told++
		}
		if before, has := twice[p.Rank]; has && p.Rank >= 0 {
			again++
			local = local || before.node != p.node || before.file == p.file
		}
		twice[p.Rank] = p
	}
	switch {
	case told == len(all) && !local:
		if again > 0 {
			files[0].note("stacks of ranks that were dumped more than once, of which the last counts: %d", again)
		}
	case told == len(all) && localRanks(all):
	case len(all) == 1:
		return input.At(input.Pos{File: files[0].path}, input.Bad(input.ErrMissing,
			"a dump of py-spy whose name does not tell its rank: name it pyspy_RANK.txt, or say where the rank stands with --rank-pattern"))
	default:
		numberProcesses(all)
	}
	return nil
}

func (f *stackFile) note(format string, args ...any) {
	f.c.Notes = append(f.c.Notes, input.Note{Kind: input.NoteRanksNumbered, Text: fmt.Sprintf(format, args...)})
}

// localRanks makes local ranks global ones, in the order of the nodes; false where a node has two processes of one.
func localRanks(all []stacked) bool {
	type place struct {
		node string
		rank int
	}
	most, seen, nodes := 0, map[place]*stackFile{}, []string{}
	for _, p := range all {
		at := place{p.node, p.Rank}
		if f, twice := seen[at]; twice && f == p.file {
			return false
		}
		seen[at], most = p.file, max(most, p.Rank)
		if !slices.Contains(nodes, p.node) {
			nodes = append(nodes, p.node)
		}
	}
	slices.SortStableFunc(nodes, naturally)
	for _, p := range all {
		p.LocalRank, p.Host = p.Rank, cmp.Or(p.Host, filepath.Base(p.node))
		p.Rank += slices.Index(nodes, p.node) * (most + 1)
	}
	var each []string
	for i, node := range nodes[:min(len(nodes), mostNumbered)] {
		each = append(each, fmt.Sprintf("from %d on of %s", i*(most+1), filepath.Base(node)))
	}
	all[0].file.note("processes tell their local ranks alone: ranks are numbered in the order of the nodes' names: %s", strings.Join(each, ", "))
	return true
}

// numberProcesses gives processes numbers in the order of the files.
func numberProcesses(all []stacked) {
	text := "nothing tells which rank a process is: they are numbered in the order of the file:"
	if all[0].file != all[len(all)-1].file {
		text = "nothing tells which rank a process is: they are numbered in the order of the files:"
	}
	for i, p := range all {
		if p.Rank = i; i < mostNumbered {
			text += fmt.Sprintf(" %d is process %d", i, p.PID)
			if p.node != "" {
				text += " of " + filepath.Base(p.node)
			}
			text += ","
		}
	}
	all[0].file.note("%s", strings.TrimRight(text, ","))
}

// mostNumbered of the processes of dumps are named in a note.
const mostNumbered = 64

// naturally compares names whose numbers count as such: node2 stands before node10.
func naturally(a, b string) int {
	for a != "" && b != "" {
		i, j := leadingDigits(a), leadingDigits(b)
		if i > 0 && j > 0 {
			x, y := strings.TrimLeft(a[:i], "0"), strings.TrimLeft(b[:j], "0")
			if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); c != 0 {
				return c
			}
			a, b = a[i:], b[j:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// leadingDigits returns how many digits a text begins with.
func leadingDigits(text string) int { return len(text) - len(strings.TrimLeft(text, "0123456789")) }
