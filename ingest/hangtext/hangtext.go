// Package hangtext reads what programs print when a job stands still: who reports, in which call, how far it got, and
// whom it misses.
//
//	[PG ID 0 PG GUID 0(default_pg) Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=501, OpType=ALLREDUCE, …) ran for 600023 milliseconds …
//	… last enqueued NCCL work: 501, last completed NCCL work: 500.                PyTorch: watchdog, monitoring thread
//	Detected mismatch between collectives on ranks. Rank 1 is running collective: CollectiveFingerPrint(SequenceNumber=7, …
//	Timed out waiting 1800000ms for recv operation to complete                    Gloo, in the traceback of the rank
//	[Rank 0]: Ranks 1, 2 failed to pass monitoredBarrier in 30000 ms
//	Stalled ranks:  /  3: [allreduce.a]                                           Horovod; before 0.19 [missing ranks: 3]
//	Barrier timed out. … timed out task names: /job:jax_worker/replica:0/task:3   JAX
//
// Beside these it takes the stacks that Python's faulthandler prints ("Thread 0x… (most recent call first):"), and the tracebacks of
// ranks that ended, in package file unwound.go.
//
// A text becomes the calls that its ranks wait in and how far each of them got, as a Flight Recorder dump has them. The
// rank in a message of PyTorch is that in the group; the one that torchrun puts before the line is that of the job. Of a
// group that is not of all ranks the latter is needed, else the message is counted and left out.
//
// Sources of the forms: ProcessGroupNCCL.cpp and ProcessGroupWrapper.cpp of PyTorch 1.10 to 2.15, ProcessGroupGloo.cpp,
// stall_inspector.cc of Horovod 0.16 to 0.28, coordination_service.cc of XLA.
//
// Cost: O(bytes); memory grows with the ranks that report.
package hangtext

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/nccl"
)

// marks are words of which one is in every line that counts.
var marks = []string{"ollective operation timeout", "ast enqueued", "CollectiveFingerPrint(", "failed to pass monitoredBarrier", "Stalled ranks:", "Missing ranks:",
	"[missing ranks:", "arrier timed out", "imed out task", callFirst, callLast, exitCode, localRank, firstFailure, glooWaited}

var (
	prefixRank  = regexp.MustCompile(`\[(?:rank|default)(\d{1,7})\]`)
	groupRank   = regexp.MustCompile(`\[(?:PG (?:ID \S+ PG GUID )?([^\s(\]]+?)\s?(?:\(([^)]*)\))? )?Rank (\d{1,7})\]`)
	work        = regexp.MustCompile(`(?i)collective operation timeout: \w+\((?:SeqNum=(\d{1,15}), )?OpType=(\w+)`)
	elements    = regexp.MustCompile(`NumelIn=(\d{1,15}), NumelOut=(\d{1,15})`)
	ran         = regexp.MustCompile(`ran for (\d{1,15}) milliseconds`)
	atWork      = regexp.MustCompile(`(?i)(?:at NCCL work|at work(?: sequence id)?): (\d{1,15})`)
	status      = regexp.MustCompile(`(?i)last enqueued (?:\w+ )?work: (-?\d{1,15}),(?: last started (?:\w+ )?work: -?\d{1,15},)? last completed (?:\w+ )?work: (-?\d{1,15})`)
	fingerprint = regexp.MustCompile(`Rank (\d{1,7}) is running collective: CollectiveFingerPrint\((?:SequenceNumber=(\d{1,15}), ?)?OpType=(\w+)(?:, TensorShape=\[([0-9, ]*)\], TensorDtypes=(\w+))?`)
	barrier     = regexp.MustCompile(`Ranks? ((?:\d{1,7}(?:, ?)?)+) failed to pass monitoredBarrier in (\d{1,15}) ?ms`)
	missing     = regexp.MustCompile(`(?:([^\s:]+) )?\[missing ranks: ?((?:\d{1,7}(?:, ?)?)+)\]`)
	stalled     = regexp.MustCompile(`(?:^|>:|\] ?|\s)(\d{1,7}): ?\[([^\]]*)\]?`)
	glooWait    = regexp.MustCompile(`Timed out waiting (\d{1,15})ms for (?:recv|send) operation to complete`)
	tasks       = regexp.MustCompile(`task:(\d{1,7})`)
	// timedOutTasks parts the tasks that wait from those that they wait for.
	timedOutTasks = regexp.MustCompile(`(?i)timed out task`)
	number        = regexp.MustCompile(`\d{1,7}`)
)

// glooWaited is in Gloo's message of a time-out.
const glooWaited = "operation to complete"

// group is a process group, or what stands for one.
type group struct{ name, desc string }

// member is a rank in a group.
type member struct {
	of   group
	rank int
}

// memberState is what is known of a member.
type memberState struct {
	seq                 int64 // of the call that it waits in; −1: not known
	op                  string
	shape, dtype        string
	in, out             int64 // elements that the call takes and gives; −1: not known
	ran                 int64 // for how long it has waited, ns; 0: not known
	enqueued, completed int64 // −1: not known
	timedOut, missing   bool
	line                int64
}

// Scanner takes the lines of a log. Its zero value is ready.
type Scanner struct {
	Rank  int   // that the name of the file tells, where nothing else does; −1: none
	Last  int64 // line of the file that counted last; 0: none did
	First int64 // line that counted first

	words   ingest.Words // [marks]
	any     ingest.Has
	members map[member]*memberState
	unknown int   // messages that do not tell the rank
	list    group // whose missing ranks the next lines name
	until   int64 // line at which such a list ends

	unwound processOutput

	kept      map[member]*memberState // what other files said
	top, news int64                   // largest number of a step so far, and new ones behind the last message
	recovered []string                // messages behind which steps went on
}

// Begin begins a file, whose rank its name tells; −1: it tells none.
func (s *Scanner) Begin(rank int) {
	s.Rank, s.kept = rank, maps.Clone(s.members)
	s.First, s.Last, s.top, s.news = 0, 0, -1, 0
	for _, p := range s.unwound.of {
		s.unwound.close(p)
	}
}

// wentOn is how many new steps behind messages of a time-out show that the job went on.
const wentOn = 2

// Step takes that a step of a number follows, −1 where the line does not tell it.
func (s *Scanner) Step(number int64) {
	if number >= 0 && number <= s.top {
		return
	}
	s.top = max(s.top, number)
	if s.Last == 0 {
		return
	}
	if s.news++; s.news < wentOn {
		return
	}
	s.recovered = append(s.recovered, fmt.Sprintf("in line %d", s.First))
	if s.First != s.Last {
		s.recovered[len(s.recovered)-1] = fmt.Sprintf("in lines %d to %d", s.First, s.Last)
	}
	s.members = maps.Clone(s.kept)
	s.First, s.Last, s.news = 0, 0, 0
}

// Line takes the line of a number.
func (s *Scanner) Line(line []byte, at int64) { s.MarkedLine(line, at, s.hasMark(line)) }

// Words returns the words of which one is in every line that counts by itself.
func Words() []string { return marks }

// MarkedLine takes the line of a number, of which it is known whether it has one of the [Words].
func (s *Scanner) MarkedLine(line []byte, at int64, marked bool) {
	listed := s.list != group{} && at <= s.until
	open := s.unwound.open > 0
	if !listed && !open && !marked {
		return
	}
	text := string(line[:min(len(line), 1<<14)])
	if s.unwind(text, at) {
		return
	}
	if open && !listed && !marked {
		return
	}
	if listed && s.entry(text, at) {
		return
	}
	before := len(s.members)
	s.pytorch(text, at)
	s.gloo(text, at)
	s.fingerprints(text, at)
	s.lists(text, at)
	if len(s.members) > before {
		s.Last = at
	}
}

// hasMark reports whether a line has one of the marks.
func (s *Scanner) hasMark(line []byte) bool {
	if s.any == (ingest.Has{}) {
		s.any, _ = s.words.Set(marks...)
	}
	has := s.words.Find(line)
	return has.ContainsAny(&s.any)
}

// memory returns what is known of a member.
func (s *Scanner) memory(m member, at int64) *memberState {
	if s.members == nil {
		s.members = map[member]*memberState{}
	}
	x := s.members[m]
	if x == nil {
		x = &memberState{seq: -1, enqueued: -1, completed: -1, in: -1, out: -1, line: at}
		if len(s.members) < trace.MaxRanks {
			s.members[m] = x
		}
	}
	if s.Last, s.news = at, 0; s.First == 0 {
		s.First = at
	}
	return x
}

// rankOf returns the rank of the job that a line is of, −1 where it does not tell.
func (s *Scanner) rankOf(text string, inGroup int, g group) int {
	if all := prefixRank.FindAllStringSubmatch(text, 2); all != nil { // that of torchrun, which is of the node, stands first
		return atoi(all[len(all)-1][1])
	}
	if inGroup >= 0 && g.hasAllRanks() {
		return inGroup
	}
	return s.Rank
}

// hasAllRanks reports whether a group is that of all ranks, or none is named.
func (g group) hasAllRanks() bool {
	return g.name == "" || g.name == "0" || strings.HasPrefix(g.desc, "default")
}

func atoi(text string) int { n, _ := strconv.Atoi(text); return n }

func atoi64(text string) int64 { n, _ := strconv.ParseInt(text, 10, 64); return n }

// pytorch takes a message of the watchdog or of the monitoring thread.
func (s *Scanner) pytorch(text string, at int64) {
	w, st := work.FindStringSubmatch(text), status.FindStringSubmatch(text)
	if w == nil && st == nil {
		return
	}
	g, inGroup := group{"0", "default_pg"}, -1
	if m := groupRank.FindStringSubmatch(text); m != nil {
		inGroup = atoi(m[3])
		if m[1] != "" && !(group{m[1], m[2]}).hasAllRanks() {
			g = group{m[1], m[2]}
		}
	}
	rank := s.rankOf(text, inGroup, g)
	if rank < 0 || rank >= trace.MaxRanks {
		s.unknown++
		return
	}
	x := s.memory(member{g, rank}, at)
	if w != nil {
		x.seq, x.op, x.timedOut = max(x.seq, atoi64(w[1])), strings.ToLower(w[2]), true
		if m := ran.FindStringSubmatch(text); m != nil {
			x.ran = atoi64(m[1]) * 1e6
		}
		if m := elements.FindStringSubmatch(text); m != nil {
			x.in, x.out = atoi64(m[1]), atoi64(m[2])
		}
	} else if m := atWork.FindStringSubmatch(text); m != nil && x.seq < 0 {
		x.seq, x.timedOut = atoi64(m[1]), true
	}
	if st != nil {
		x.enqueued, x.completed = max(x.enqueued, atoi64(st[1])), max(x.completed, atoi64(st[2]))
		x.timedOut = x.timedOut || x.enqueued > x.completed
	}
}

// gloo takes Gloo's message of a time-out, which ends the traceback of a rank that waited: the call is the innermost one of PyTorch's in it.
func (s *Scanner) gloo(text string, at int64) {
	m := glooWait.FindStringSubmatch(text)
	if m == nil {
		return
	}
	rank, _ := cutRank(text)
	if rank < 0 {
		rank = s.Rank
	}
	if rank < 0 || rank >= trace.MaxRanks {
		s.unknown++
		return
	}
	x := s.memory(member{group{"0", "default_pg"}, rank}, at)
	x.seq, x.timedOut, x.ran = max(x.seq, 0), true, atoi64(m[1])*1e6
	if p := s.unwound.of[rank]; p != nil {
		p.ended = "" // for want of the others
		for _, f := range p.stack {
			if x.op == "" && strings.HasSuffix(f.File, "distributed_c10d.py") {
				x.op = strings.TrimPrefix(strings.ReplaceAll(f.Function, "_", ""), "i")
			}
		}
	}
}

// fingerprints takes what ranks run that do not run the same.
func (s *Scanner) fingerprints(text string, at int64) {
	for _, m := range fingerprint.FindAllStringSubmatch(text, 16) {
		rank := atoi(m[1])
		if rank >= trace.MaxRanks {
			continue
		}
		x := s.memory(member{group{"0", "default_pg"}, rank}, at)
		x.op, x.shape, x.dtype, x.timedOut = strings.ToLower(m[3]), m[4], m[5], true
		if x.seq = 0; m[2] != "" {
			x.seq = atoi64(m[2])
		}
	}
}

// lists takes messages that name the missing ranks.
func (s *Scanner) lists(text string, at int64) {
	if m := barrier.FindStringSubmatch(text); m != nil {
		waited := atoi64(m[2]) * 1e6
		g := group{"barrier", "all ranks"}
		s.miss(g, m[1], "monitored_barrier", at)
		s.waits(text, g, "monitored_barrier", waited, at)
	}
	if m := missing.FindStringSubmatch(text); m != nil {
		g := group{"Horovod", "Horovod"}
		s.miss(g, m[2], m[1], at)
		s.waits(text, g, m[1], 0, at)
	}
	_, after, found := strings.Cut(text, "Stalled ranks:")
	if !found {
		_, after, found = strings.Cut(text, "Missing ranks:")
	}
	if found {
		s.list, s.until = group{"Horovod", "Horovod"}, at+1
		s.waits(text, s.list, "", 0, at)
		s.entry(after, at)
	}
	if place := timedOutTasks.FindStringIndex(text); place != nil {
		i, g := place[0], group{"JAX", "JAX"}
		for _, m := range tasks.FindAllStringSubmatch(text[i:], 64) {
			s.memory(member{g, atoi(m[1])}, at).missing = true
		}
		s.list, s.until = g, at+1
		for _, m := range tasks.FindAllStringSubmatch(text[:i], 64) {
			if x := s.memory(member{g, atoi(m[1])}, at); !x.missing {
				x.seq, x.op, x.timedOut = 0, "barrier", true
			}
		}
	}
}

// entry takes a line of a list of missing ranks.
func (s *Scanner) entry(text string, at int64) (ok bool) {
	if s.list.name == "JAX" {
		for _, m := range tasks.FindAllStringSubmatch(text, 64) {
			s.memory(member{s.list, atoi(m[1])}, at).missing, ok = true, true
		}
	} else if m := stalled.FindStringSubmatch(text); m != nil {
		op, _, _ := strings.Cut(m[2], ",")
		x := s.memory(member{s.list, atoi(m[1])}, at)
		x.missing, x.op, ok = true, strings.TrimSpace(op), true
	}
	if ok {
		s.until = at + 1
	}
	return ok
}

// miss notes ranks that are missing.
func (s *Scanner) miss(g group, list, op string, at int64) {
	for _, n := range number.FindAllString(list, 4096) {
		if rank := atoi(n); rank < trace.MaxRanks {
			x := s.memory(member{g, rank}, at)
			x.missing, x.op = true, op
		}
	}
}

// waits notes that the rank which reports waits: where nothing tells it rank 0, which Horovod and monitored barriers let
// report.
func (s *Scanner) waits(text string, g group, op string, waited, at int64) {
	rank := s.Rank
	if m := groupRank.FindStringSubmatch(text); m != nil {
		rank = atoi(m[3])
	} else if m := prefixRank.FindStringSubmatch(text); m != nil {
		rank = atoi(m[1])
	} else if told, _ := cutRank(text); told >= 0 {
		rank = told
	}
	if x := s.memory(member{g, max(0, rank)}, at); !x.missing {
		x.seq, x.op, x.timedOut, x.ran = 0, op, true, waited
	}
}

// HasFindings reports whether anything was said of ranks that stand still.
func (s *Scanner) HasFindings() bool { return len(s.members)+s.unknown+s.unwound.looked > 0 }

// dumped is when all reports are taken to be written, for want of dates.
const dumped = int64(1e18)

// Record returns what the text of a file says; nil where it names no rank.
func (s *Scanner) Record(name string) *comms.Record {
	c := &comms.Record{Sources: []comms.Source{{Name: name, Path: name, Kind: comms.SourceHangText}}}
	if s.unknown > 0 {
		c.Notes = append(c.Notes, input.Note{Kind: input.NoteRecorder, Text: fmt.Sprintf("%s: %d messages of time-outs in groups of some ranks do not tell the rank of the job, and are left out", name, s.unknown)})
	}
	if n := len(s.recovered); n > 0 {
		c.Notes = append(c.Notes, input.Note{Kind: input.NoteRecovered, Text: fmt.Sprintf("messages of a time-out %s are followed by %d steps or more: the job went on, or was started again", s.recovered[n-1], wentOn)})
	}
	if len(s.members) == 0 && s.unwound.looked == 0 {
		if len(s.recovered) > 0 {
			return c
		}
		return nil
	}
	keys := slices.SortedFunc(maps.Keys(s.members), func(a, b member) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.of.name, b.of.name))
	})
	for _, k := range keys {
		if p := len(c.Processes) - 1; p < 0 || c.Processes[p].Rank != k.rank {
			c.Processes = append(c.Processes, comms.Process{Rank: k.rank, LocalRank: -1, Device: -1, Clock: 0, Written: dumped})
		}
	}
	defer s.stand(c)
	for _, k := range keys {
		x, p := s.members[k], slices.IndexFunc(c.Processes, func(p comms.Process) bool { return p.Rank == k.rank })
		if x.seq < 0 && x.enqueued > x.completed && x.completed >= 0 { // calls end in order
			x.seq = x.completed + 1
		}
		if x.seq >= 0 { // it may have launched others behind the call that it waits in
			x.enqueued = x.seq
		}
		g := comms.Group{Process: p, Name: k.of.name, Desc: k.of.desc, Rank: -1, Enqueued: x.enqueued, Completed: x.completed, TimedOut: x.timedOut, Members: s.membersOf(k.of)}
		c.Groups = append(c.Groups, g)
		if x.missing || x.seq < 0 {
			continue
		}
		if x.op == "" {
			if x.op = s.opOf(k.of); x.op == "" && x.seq == 0 {
				x.op = "a call"
			}
			x.op = cmp.Or(x.op, "call")
		}
		call := comms.UnknownCall(p)
		call.Group, call.Seq, call.Name, call.Op, call.State = len(c.Groups)-1, x.seq, x.op, nccl.UnknownOp, comms.Started
		call.HasEnter, call.Enter, call.Line = true, dumped-max(1, x.ran), x.line
		switch {
		case x.shape != "" || x.dtype != "":
			call.Tensors = &comms.Tensors{InSizes: [][]int64{sizes(x.shape)}, InTypes: []string{x.dtype}}
		case x.in >= 0:
			call.Tensors = &comms.Tensors{InSizes: [][]int64{{x.in}}, OutSizes: [][]int64{{x.out}}}
		}
		c.Calls = append(c.Calls, call)
	}
	return c
}

// opOf returns the operation that members of a group are missing from.
func (s *Scanner) opOf(g group) (op string) {
	for k, x := range s.members {
		if k.of == g && x.op != "" && (op == "" || x.op < op) {
			op = x.op
		}
	}
	return op
}

// sizes reads a shape.
func sizes(text string) (out []int64) {
	for _, n := range strings.Split(text, ",") {
		if n = strings.TrimSpace(n); n != "" {
			out = append(out, atoi64(n))
		}
	}
	return out
}

// membersOf returns the ranks of a group as far as reports show them: up to the largest of those that report, where
// fewer are silent than report; else those that report.
func (s *Scanner) membersOf(g group) []int {
	var ranks []int
	for k := range s.members {
		if k.of == g {
			ranks = append(ranks, k.rank)
		}
	}
	slices.Sort(ranks)
	most := ranks[len(ranks)-1]
	if g.hasAllRanks() && g.name == "0" {
		most = max(most, s.largestRank())
	}
	if !g.hasAllRanks() || most+1-len(ranks) >= len(ranks) {
		return ranks
	}
	for ranks = ranks[:0]; len(ranks) <= most; {
		ranks = append(ranks, len(ranks))
	}
	return ranks
}

// largestRank returns the largest rank of which PyTorch says that it waits in a group, or Python where it is.
func (s *Scanner) largestRank() (most int) {
	for k := range s.members {
		if _, err := strconv.Atoi(k.of.name); err == nil {
			most = max(most, k.rank)
		}
	}
	for rank := range s.unwound.of {
		most = max(most, rank)
	}
	return max(most, s.unwound.most)
}

// Read takes the lines of a log.
func (s *Scanner) Read(src io.Reader, name string, lim ingest.Limits) error {
	lines := ingest.NewTerminalLines(src, name, lim)
	for {
		line, _, err := lines.NextCut()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		s.Line(line, lines.Pos().Line)
	}
}
