package ncclras

import (
	"bytes"
	"io"
	"regexp"
	"strconv"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
)

// A report in words names the ranks that others do not agree with, and counts the rest:
//
//	Group     Comms      Nodes     Ranks     Ranks     Ranks   Status  Errors
//	    #  in group   per comm  per node  per comm  in group
//	    0         1          2         4         8         8  RUNNING  MISMATCH
//
//	#0-0 (78db921d1c117b4a) MISMATCH
//	  Communicator ranks have different AllReduce operation counts
//	  7 ranks have launched up to operation 64
//	  Rank 7 has launched up to operation 60 -- GPU 3 managed by process 1650386 on node node1
//
// How many ranks a communicator has is in the table; those that no line names have launched what the counted ones have.

var (
	groupRow   = regexp.MustCompile(`^\s*(\d{1,6})\s+\d+\s+[\d-]+\s+[\d-]+\s+(\d{1,7})\s+\d+\s+[A-Z]+\s+([A-Z]+)`)
	oneOfGroup = regexp.MustCompile(`^#(\d{1,6})-\d+ \(([0-9a-f]{1,16})\) [A-Z]`)
	countsOf   = regexp.MustCompile(`^\s+Communicator ranks have different (\w+) operation counts`)
	severalAt  = regexp.MustCompile(`^\s+(\d{1,7}) ranks have (?:launched up to operation (\d{1,15})|not launched)`)
	rankAt     = regexp.MustCompile(`^\s+Rank (\d{1,7})(?: has (?:launched up to operation (\d{1,15})|(not launched) any operations))? -- (?:GPU (\S+)(?: managed by|,) process (\d{1,10})(?: on|,) node (\S+))?`)
	dataOf     = regexp.MustCompile(`^\s+Missing communicator data from \d+ rank`)
	theMissing = regexp.MustCompile(`^\s+The missing ranks?: ([0-9, ]+)`)
	digits     = regexp.MustCompile(`\d{1,7}`)
)

// RecogniseText reports whether text, the beginning of a file, is of a report in words.
func RecogniseText(text []byte) bool {
	return bytes.Contains(text, []byte("Job summary\n===")) && bytes.Contains(text, []byte("\nCommunicators...")) || oneOfGroup.Match(text)
}

// ReadText reads a report in words.
func ReadText(src io.Reader, name string, lim ingest.Limits) (*comms.Record, error) {
	lines := ingest.NewTerminalLines(src, name, lim)
	t := words{sizes: map[string]int{}}
	for {
		line, _, err := lines.NextCut()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := t.line(string(line)); err != nil {
			return nil, input.At(lines.Pos(), err)
		}
	}
	c := &comms.Record{Sources: []comms.Source{{Name: name, Path: name, Kind: comms.SourceRAS}}}
	r := t.report()
	if len(r.Communicators) == 0 {
		return nil, input.At(lines.Pos(), input.Bad(input.ErrMissing, "a report of NCCL's RAS in which no communicator is told: nobody is behind, or NCCL had none; ask again while the job stands still (ncclras -v > ras_1.txt)"))
	}
	return c, input.At(input.Pos{File: name}, add(c, r))
}

// words is a report in words that is read.
type words struct {
	sizes map[string]int // of communicators, by their group
	list  []told
	alike int // ranks of the largest communicator that the table calls well
}

// told is a communicator that differs.
type told struct {
	communicator
	op      string // of the counts that come
	usual   int64  // count of the ranks that are counted and not named; −1: none is
	several int64  // count of the ranks that come, of several alike; −1: they say it themselves
	silent  bool   // ranks that come are missing
	most    int    // the largest rank that is named
}

// line takes a line.
func (t *words) line(line string) error {
	if m := groupRow.FindStringSubmatch(line); m != nil {
		t.sizes[m[1]] = number(m[2])
		if m[3] == "OK" {
			t.alike = max(t.alike, number(m[2]))
		}
		return nil
	}
	if m := oneOfGroup.FindStringSubmatch(line); m != nil {
		t.list = append(t.list, told{communicator: communicator{Hash: "0x" + m[2], Size: t.sizes[m[1]]}, usual: -1, several: -1})
		return nil
	}
	if len(t.list) == 0 {
		return nil
	}
	x := &t.list[len(t.list)-1]
	if m := countsOf.FindStringSubmatch(line); m != nil {
		x.op, x.several, x.silent = m[1], -1, false
	} else if m := severalAt.FindStringSubmatch(line); m != nil && x.op != "" {
		x.several = int64(number(m[2]))
		x.usual = max(x.usual, x.several)
	} else if dataOf.MatchString(line) {
		x.op, x.silent, x.several = "", true, -1
	} else if m := theMissing.FindStringSubmatch(line); m != nil {
		for _, n := range digits.FindAllString(m[1], -1) {
			x.member(member{Rank: number(n)}, true)
		}
	} else if m := rankAt.FindStringSubmatch(line); m != nil {
		one := member{Rank: number(m[1]), Host: m[6], PID: int64(number(m[5])), Device: int64(number(m[4]))}
		count := int64(number(m[2]))
		if m[2] == "" && m[3] == "" {
			count = x.several
		}
		if x.op != "" && count >= 0 {
			one.Counts = map[string]int64{x.op: count}
		}
		x.member(one, x.silent)
	}
	if x.most >= trace.MaxRanks {
		return input.Bad(input.ErrRange, "rank %d", x.most)
	}
	return nil
}

// number returns the value of digits, 0 for other text.
func number(text string) int { n, _ := strconv.Atoi(text); return n }

// member adds what is said of a rank to what was.
func (x *told) member(m member, missing bool) {
	x.most = max(x.most, m.Rank)
	list := &x.Ranks
	if missing {
		list = &x.Missing
	}
	for i := range *list {
		had := &(*list)[i]
		if had.Rank != m.Rank {
			continue
		}
		if m.Host != "" {
			had.Host, had.PID, had.Device = m.Host, m.PID, m.Device
		}
		for op, n := range m.Counts {
			if had.Counts == nil {
				had.Counts = map[string]int64{}
			}
			had.Counts[op] = n
		}
		return
	}
	*list = append(*list, m)
}

// report returns the communicators that differ, with all their ranks. A rank whose process no line tells stands as one
// by itself.
func (t *words) report() *report {
	r := &report{}
	if len(t.list) == 0 && 0 < t.alike && t.alike < trace.MaxRanks {
		t.list = append(t.list, told{communicator: communicator{Hash: "0x0", Size: t.alike}, usual: -1})
	}
	for i := range t.list {
		x := &t.list[i]
		if x.Size = max(x.Size, x.most+1); x.Size > trace.MaxRanks {
			continue
		}
		named := make([]bool, x.Size)
		for _, list := range [...][]member{x.Ranks, x.Missing} {
			for _, m := range list {
				named[m.Rank] = true
			}
		}
		ops := map[string]bool{}
		for _, m := range x.Ranks {
			for op := range m.Counts {
				ops[op] = true
			}
		}
		for rank, known := range named {
			if known {
				continue
			}
			m := member{Rank: rank, PID: -1 - int64(rank) - int64(i)<<24, Counts: map[string]int64{}}
			for op := range ops {
				if x.usual >= 0 {
					m.Counts[op] = x.usual
				}
			}
			x.Ranks = append(x.Ranks, m)
		}
		r.Communicators = append(r.Communicators, x.communicator)
	}
	return r
}
