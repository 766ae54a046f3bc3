package hangtext

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
)

// What Python prints of a process: faulthandler all of its threads, the innermost call first, a traceback the calls that an
// exception went through, the innermost last; and what torchrun says of a process that ended.
//
//	Fatal Python error: Segmentation fault
//
//	Current thread 0x00007f8f (most recent call first):
//	  File "/job/train.py", line 25 in fetch
//
//	Traceback (most recent call last):
//	  File "/job/train.py", line 25, in fetch
//	    raise ValueError(x)
//	ValueError: no such sample
//
//	Root Cause (first observed failure):
//	  rank      : 3 (local_rank: 3)
//	  exitcode  : -9 (pid: 1234)

// Marks of the first lines of these.
const (
	callFirst = "(most recent call first)"
	callLast  = "(most recent call last)"
	exitCode  = "exitcode"
	localRank = "(local_rank:"
	// firstFailure is in the head of what torchrun says of the process that it saw fail first.
	firstFailure = "first observed failure"
)

var (
	linePrefix  = regexp.MustCompile(`^\s*(?:\[(?:rank|default)(\d{1,7})\]: ?|(\d{1,6}): |\[1,(\d{1,6})\]<std(?:err|out)>: ?)`)
	threadHead  = regexp.MustCompile(`^(?:Current thread|Thread) 0x[0-9a-f]+.* \(most recent call first\):`)
	lookedFrame = regexp.MustCompile(`^  File "([^"]*)", line (\d{1,9}|\?\?\?) in (.+)$`)
	raisedFrame = regexp.MustCompile(`^  File "([^"]*)", line (\d{1,9}), in (.+)$`)
	exception   = regexp.MustCompile(`^[A-Za-z_][A-Za-z_0-9.]*(?:: .*)?$`)
	ofProcess   = regexp.MustCompile(`^\s*rank\s*: (\d{1,7}) \(local_rank: \d+\)`)
	exited      = regexp.MustCompile(`^\s*exitcode\s*: (-?\d{1,5}) `)
)

// processOutput is what was printed of processes, by rank.
type processOutput struct {
	of     map[int]*process
	open   int // processes of which lines are to come
	looked int // stacks of faulthandler
	failed int // rank of which torchrun speaks
	most   int // the largest of these
	begun  bool
	first  []int // ranks that torchrun saw fail first
}

// process is what was printed of one.
type process struct {
	open   byte // of a 'l'ook of faulthandler, or of a 'r'aised exception; 0: of neither
	frames []comms.Frame
	stack  []comms.Frame // the last that is whole; of faulthandler's threads the main one, which is the last
	ended  string
	line   int64
}

// mostOfException is how much of the text of an exception is kept.
const mostOfException = 160

// cutRank returns the rank that a launcher put before a line, −1 where it put none, and the line without it.
func cutRank(text string) (rank int, rest string) {
	rank, rest = -1, text
	for m := linePrefix.FindStringSubmatch(rest); m != nil; m = linePrefix.FindStringSubmatch(rest) {
		rank, rest = atoi(m[1]+m[2]+m[3]), rest[len(m[0]):] // that of PyTorch, which is the job's, stands behind that of torchrun
	}
	return rank, rest
}

// unwind takes a line of a stack, a traceback or what torchrun says; it reports whether it was one.
func (s *Scanner) unwind(text string, at int64) bool {
	rank, text := cutRank(text)
	if m := ofProcess.FindStringSubmatch(text); m != nil {
		s.unwound.failed = atoi(m[1])
		if s.unwound.failed < trace.MaxRanks {
			s.unwound.most = max(s.unwound.most, s.unwound.failed)
		}
		if s.unwound.begun {
			s.unwound.first, s.unwound.begun = append(s.unwound.first, s.unwound.failed), false
		}
		return true
	}
	if strings.Contains(text, firstFailure) {
		s.unwound.begun = true
		return true
	}
	if rank < 0 {
		rank = s.Rank
	}
	p := s.unwound.of[rank]
	switch {
	case threadHead.MatchString(text):
		s.begin(rank, 'l', at)
		return true
	case strings.HasPrefix(text, "Traceback "+callLast):
		s.begin(rank, 'r', at)
		return true
	case strings.Contains(text, exitCode):
		return s.exits(text)
	case p == nil || p.open == 0:
		return false
	}
	form := lookedFrame
	if p.open == 'r' {
		form = raisedFrame
	}
	m := form.FindStringSubmatch(text)
	switch {
	case m != nil && len(p.frames) < 1000:
		p.frames = append(p.frames, comms.Frame{File: m[1], Line: atoi(m[2]), Function: m[3]})
		return true
	case p.open == 'r' && (text == "" || text[0] == ' ' || text[0] == '|'): // lines of the source
		return true
	}
	if p.open == 'r' && exception.MatchString(text) && len(p.frames) > 0 {
		slices.Reverse(p.frames)
		p.stack, p.ended, p.line = p.frames, strings.TrimSpace(text[:min(len(text), mostOfException)]), at
	}
	s.unwound.close(p)
	return false
}

// close ends the stack of a process that is open.
func (u *processOutput) close(p *process) {
	if p.open == 0 {
		return
	}
	if p.open == 'l' && len(p.frames) > 0 {
		p.stack, p.ended = p.frames, ""
	}
	p.frames, p.open = nil, 0
	u.open--
}

// begin opens a stack of a rank.
func (s *Scanner) begin(rank int, kind byte, at int64) {
	u := &s.unwound
	if rank >= trace.MaxRanks || len(u.of) >= trace.MaxRanks && u.of[rank] == nil {
		return
	}
	if u.of == nil {
		u.of = map[int]*process{}
	}
	p := u.of[rank]
	if p == nil {
		p = &process{line: at}
		u.of[rank] = p
	}
	u.close(p)
	u.open++
	if p.open = kind; kind == 'l' {
		u.looked++
	}
}

// exits takes how a process ended, by torchrun. Those that it or a watchdog ended itself say nothing.
func (s *Scanner) exits(text string) bool {
	m := exited.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	const aborted, terminated = -6, -15
	if code := atoi(m[1]); code != 0 && code != aborted && code != terminated {
		s.unwound.exit(fmt.Sprintf("exit code %d%s", code, signalOf(code)))
	}
	return true
}

// exit keeps how the process that torchrun speaks of ended, where no exception says it.
func (u *processOutput) exit(how string) {
	if p := u.of[u.failed]; p != nil && p.ended != "" {
		return
	}
	if u.of == nil {
		u.of = map[int]*process{}
	}
	if u.of[u.failed] == nil {
		u.of[u.failed] = &process{}
	}
	u.of[u.failed].ended = how
}

// signalOf returns the signal that an exit code stands for.
func signalOf(code int) string {
	switch code {
	case -9:
		return " (SIGKILL, as when memory runs out)"
	case -11:
		return " (SIGSEGV)"
	case -7:
		return " (SIGBUS, as when shared memory is full)"
	}
	return ""
}

// stand adds to a record where processes are. Tracebacks count where ranks were waited for, or faulthandler printed stacks.
func (s *Scanner) stand(c *comms.Record) {
	untold := 0
	for _, rank := range slices.Sorted(maps.Keys(s.unwound.of)) {
		p := s.unwound.of[rank]
		s.unwound.close(p) // by the end of the file
		switch {
		case p.stack == nil && p.ended == "":
		case rank < 0:
			untold++
		default:
			i := slices.IndexFunc(c.Processes, func(have comms.Process) bool { return have.Rank == rank })
			if i < 0 {
				i = len(c.Processes)
				c.Processes = append(c.Processes, comms.Process{Rank: rank, LocalRank: -1, Device: -1})
			}
			c.Processes[i].Stack, c.Processes[i].Ended = p.stack, p.ended
		}
	}
	if untold > 0 {
		c.Notes = append(c.Notes, s.untold())
	}
}

// untold notes stacks and tracebacks of which nothing tells the rank, with how the last of them ends.
func (s *Scanner) untold() input.Note {
	text := "a stack that tells no rank is left out"
	if p := s.unwound.of[-1]; p.ended != "" {
		text = fmt.Sprintf("a traceback in line %d tells no rank: %s, in %s", p.line, p.ended, p.stack[0].Function)
	}
	return input.Note{Kind: input.NoteRecorder, Text: text}
}

// Exits reports how ranks ended, those first that torchrun saw fail first; nothing of ranks that it or a watchdog ended.
func (s *Scanner) Exits() (texts []string) {
	ranks := slices.SortedFunc(maps.Keys(s.unwound.of), func(a, b int) int {
		return cmp.Or(cmp.Compare(s.order(a), s.order(b)), cmp.Compare(a, b))
	})
	for _, rank := range ranks {
		p := s.unwound.of[rank]
		if s.unwound.close(p); rank < 0 || p.ended == "" {
			continue
		}
		text := fmt.Sprintf("rank %d ended: %s", rank, strings.TrimRight(p.ended, "."))
		if len(p.stack) > 0 {
			text += fmt.Sprintf(", in %s (%s:%d)", p.stack[0].Function, filepath.Base(p.stack[0].File), p.stack[0].Line)
		}
		if s.order(rank) < len(s.unwound.first) {
			text += "; torchrun saw it fail first"
		}
		texts = append(texts, text)
	}
	return texts
}

// order returns when torchrun saw a rank fail among those that failed first.
func (s *Scanner) order(rank int) int {
	if at := slices.Index(s.unwound.first, rank); at >= 0 {
		return at
	}
	return len(s.unwound.first)
}
