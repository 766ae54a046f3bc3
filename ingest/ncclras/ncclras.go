// Package ncclras reads reports of NCCL's RAS subsystem in JSON, as ncclras -f json (NCCL 2.28.7 on) prints them and
// Ray Train and SGLang ask for them: of every communicator, which ranks answered, how many calls of each
// operation each of them has launched, and which ranks are missing.
//
// A file holds one report or several behind each other. The rank of a process is the one that it has in the
// largest communicator, which in PyTorch is that of all processes; processes outside of it are left out with
// a note. Counts are of launches on the host: a rank may be ahead of others for a moment, and only a second
// report shows whether it stays so.
//
// NCCL 2.28.9 writes missing ranks without the comma before their status; it is put in. Stamps are local time of an
// unknown zone, and read as UTC. Cost: O(bytes); a file has at most maxBytes.
//
// Source of the form: src/ras/client_support.cc of NCCL 2.28 to 2.30.
package ncclras

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/nccl"
)

// maxBytes bounds a file: a report has some 600 bytes for each rank of a communicator.
const maxBytes = 256 << 20

// report is one as written, as far as it is needed.
type report struct {
	Stamp         string         `json:"timestamp"`
	Communicators []communicator `json:"communicators"`
}

type communicator struct {
	Hash    string   `json:"hash"`
	Size    int      `json:"size"`
	Ranks   []member `json:"ranks"`
	Missing []member `json:"missing_ranks"`
}

type member struct {
	Rank   int    `json:"rank"`
	Host   string `json:"host"`
	PID    int64  `json:"pid"`
	Device int64  `json:"cuda_dev"`
	Status struct {
		Error        int  `json:"async_error"`
		Abort        bool `json:"abort_flag"`
		Unresponsive bool `json:"unresponsive"`
		Dead         bool `json:"considered_dead"`
	} `json:"status"`
	Counts map[string]int64 `json:"collective_counts"`
}

// Recognise reports whether text, the beginning of a file, is of a report.
func Recognise(text []byte) bool {
	return bytes.Contains(text, []byte(`"communicators_count"`)) && bytes.Contains(text, []byte(`"secondary_hash"`))
}

// noComma is where NCCL 2.28.9 leaves it out.
var noComma = regexp.MustCompile(`("nvml_dev":\s*-?\d+)(\s*"status")`)

// Read reads the reports of a file. Processes of a report have the time at which it was made as Written.
func Read(src io.Reader, name string, lim ingest.Limits) (*comms.Record, error) {
	most := min(lim.Scale(ingest.StoredSize(src)).Line, maxBytes)
	text, err := io.ReadAll(io.LimitReader(src, most+1))
	if err == nil && int64(len(text)) > most {
		err = input.At(input.Pos{File: name}, input.Bad(input.ErrTooLarge, "reports of more than %d MiB: give the last ones", most>>20))
	}
	if err != nil {
		return nil, err
	}
	text = noComma.ReplaceAll(text, []byte("$1,$2"))
	c := &comms.Record{Sources: []comms.Source{{Name: name, Path: name, Kind: comms.SourceRAS}}}
	d := json.NewDecoder(bytes.NewReader(text))
	for n := 0; ; n++ {
		var r report
		err := d.Decode(&r)
		if errors.Is(err, io.EOF) && n > 0 {
			return c, nil
		}
		pos := input.Pos{File: name, Offset: max(1, d.InputOffset())}
		if err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				pos.Offset = int64(len(text))
			}
			return nil, input.At(pos, input.Bad(input.ErrFormat, "no report of NCCL's RAS up to here (%v): write it again, ncclras -f json > ras_1.json", err))
		}
		if err := add(c, &r); err != nil {
			return nil, input.At(pos, err)
		}
	}
}

// identity tells the processes of a report apart. One that drives several devices has a rank for each.
type identity struct {
	host        string
	pid, device int64
}

func (m *member) identity() identity { return identity{m.Host, m.PID, m.Device} }

// add adds a report.
func add(c *comms.Record, r *report) error {
	var world *communicator
	for i := range r.Communicators {
		if x := &r.Communicators[i]; world == nil || x.Size > world.Size {
			world = x
		}
	}
	if world == nil {
		return input.Bad(input.ErrEmpty, "a report without a communicator: NCCL had none yet")
	}
	at := int64(0)
	if t, err := time.Parse(time.DateTime, r.Stamp); err == nil {
		at = t.UnixNano()
	}
	processes := map[identity]int{}
	for _, members := range [...][]member{world.Ranks, world.Missing} {
		for i := range members {
			m := &members[i]
			if m.Rank < 0 || m.Rank >= world.Size || world.Size > trace.MaxRanks {
				return input.Bad(input.ErrRange, "rank %d of a communicator of %d", m.Rank, world.Size)
			}
			processes[m.identity()] = len(c.Processes)
			c.Processes = append(c.Processes, comms.Process{Rank: m.Rank, Host: m.host(), LocalRank: -1, PID: max(0, m.PID), Device: m.Device, Written: at})
		}
	}
	outside := 0
	for i := range r.Communicators {
		n, err := addCommunicator(c, &r.Communicators[i], processes)
		if outside += n; err != nil {
			return err
		}
	}
	if outside > 0 {
		c.Notes = append(c.Notes, input.Note{Kind: input.NoteRecorder, Text: fmt.Sprintf("ranks of communicators whose processes are not in the largest one are left out: %d", outside)})
	}
	return nil
}

// host returns the host of a member, "" where NCCL does not know it.
func (m *member) host() string {
	if m.Host == "unknown" {
		return ""
	}
	return m.Host
}

// addCommunicator adds the members of a communicator, and returns how many are of processes that are not known.
func addCommunicator(c *comms.Record, x *communicator, processes map[identity]int) (outside int, err error) {
	id, err := strconv.ParseUint(x.Hash, 0, 64)
	if err != nil {
		return 0, input.Bad(input.ErrFormat, "a communicator with the hash %.40q", x.Hash)
	}
	for i, m := range append(append([]member(nil), x.Ranks...), x.Missing...) {
		p, known := processes[m.identity()]
		if !known {
			outside++
			continue
		}
		g := comms.Group{Process: p, ID: id, Name: x.Hash, Rank: m.Rank, Size: x.Size, FromStart: true, Enqueued: -1, Completed: -1}
		if g.Unanswered = i >= len(x.Ranks); !g.Unanswered {
			g.Launched = m.launchCounts()
		}
		c.Groups = append(c.Groups, g)
		if e := m.Status.Error; e != 0 && e != inProgress {
			c.Warnings = append(c.Warnings, comms.Warning{Process: p, Text: fmt.Sprintf("NCCL reports %s on communicator %s", errorName(e), x.Hash)})
		}
		if m.Status.Abort {
			c.Warnings = append(c.Warnings, comms.Warning{Process: p, Text: "communicator " + x.Hash + " was aborted"})
		}
	}
	return outside, nil
}

// launchCounts returns the counts of a member, by the names of operations.
func (m *member) launchCounts() (out []comms.Launched) {
	for _, name := range slices.Sorted(maps.Keys(m.Counts)) {
		if op := nccl.ParseOp(name); op != nccl.UnknownOp && m.Counts[name] >= 0 {
			out = append(out, comms.Launched{Op: op, N: m.Counts[name]})
		}
	}
	return out
}

const inProgress = 7 // an error code that is none

// errorName returns NCCL's name of an error.
func errorName(code int) string {
	names := [...]string{1: "an unhandled CUDA error", 2: "a system error", 3: "an internal error", 4: "an invalid argument", 5: "invalid usage", 6: "an error of another process"}
	if code > 0 && code < len(names) {
		return names[code]
	}
	return "error " + strconv.Itoa(code)
}
