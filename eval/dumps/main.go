// Command dumps writes Flight Recorder dumps of a simulated data-parallel job,
// in the form of PyTorch 2.15: a pickle of each rank, fr_trace_RANK.
//
//	go run ./eval/dumps -ranks 4 -steps 16 -late 2 -o fixtures/flightrecorder/late
//	go run ./eval/dumps -ranks 4 -steps 12 -missing 3 -o fixtures/flightrecorder/hang
//	go run ./eval/dumps -ranks 1024 -steps 700 -ring 2000 -late 7 -o /tmp/dumps
//
// A step is data and forward, two all-reduces of buckets that backward enters
// without waiting, and a barrier. All hosts have one clock.
package main

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

type job struct {
	ranks, steps, ring int
	late, missing      int
	delay              float64 // ms
	seed               uint64
}

func main() {
	var j job
	flag.IntVar(&j.ranks, "ranks", 8, "ranks of the job")
	flag.IntVar(&j.steps, "steps", 40, "steps, of three calls each")
	flag.IntVar(&j.ring, "ring", 2000, "calls that a dump keeps")
	flag.IntVar(&j.late, "late", -1, "rank that loses -delay inside backward in every step")
	flag.Float64Var(&j.delay, "delay", 40, "ms")
	flag.IntVar(&j.missing, "missing", -1, "rank that never enters the last barrier")
	flag.Uint64Var(&j.seed, "seed", 1, "of all that varies")
	out := flag.String("o", "", "folder of the dumps, which is made")
	flag.Parse()
	if *out == "" {
		fmt.Fprintln(os.Stderr, "dumps: -o FOLDER is missing")
		os.Exit(2)
	}
	if err := j.write(*out); err != nil {
		fmt.Fprintln(os.Stderr, "dumps:", err)
		os.Exit(1)
	}
}

// call is one entry to be written.
type call struct {
	at   int64
	kind int // of kinds
	done bool
}

// kinds are the three calls of a step.
var kinds = [...]struct {
	name, function, library string
	elements                int64
	line                    int64
}{
	{"gloo:all_reduce", "backward", "/opt/venv/lib/python3.12/site-packages/torch/_tensor.py", 263168, 66},
	{"gloo:all_reduce", "backward", "/opt/venv/lib/python3.12/site-packages/torch/_tensor.py", 263168, 66},
	{"gloo:barrier", "barrier", "/opt/venv/lib/python3.12/site-packages/torch/distributed/distributed_c10d.py", 0, 71},
}

// write runs the job and writes the dump of every rank.
func (j job) write(folder string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	calls := make([][]call, j.ranks)
	rng := rand.New(rand.NewPCG(j.seed, 0))
	now := make([]float64, j.ranks) // ms
	const epoch = 1_790_000_000_000_000_000
	for step := range j.steps {
		last := step == j.steps-1
		released := 0.0
		for r := range j.ranks {
			now[r] += 60 + 2*rng.NormFloat64()
			calls[r] = append(calls[r], call{epoch + int64(now[r]*1e6), 0, true})
			now[r] += 25 + rng.NormFloat64()
			if r == j.late {
				now[r] += j.delay
			}
			calls[r] = append(calls[r], call{epoch + int64(now[r]*1e6), 1, true})
			released = max(released, now[r])
		}
		behind := 0.0
		for r := range j.ranks {
			now[r] = released + 5 + 0.2*rng.Float64()
			if hangs := last && j.missing >= 0; !hangs || r != j.missing {
				calls[r] = append(calls[r], call{epoch + int64(now[r]*1e6), 2, !hangs})
			}
			behind = max(behind, now[r])
		}
		for r := range now {
			now[r] = behind + 0.3 + 0.1*rng.Float64()
		}
	}
	members := j.members()
	for r := range calls {
		path := filepath.Join(folder, fmt.Sprintf("fr_trace_%d", r))
		if err := os.WriteFile(path, j.dump(calls[r], members), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// pickle writes protocol 2 as TorchScript's pickler does: texts once, and from
// then on by their number in the memo.
type pickle struct {
	bytes.Buffer
	memo map[string]int
}

func (p *pickle) text(s string) {
	if i, ok := p.memo[s]; ok {
		if i < 256 {
			p.Write([]byte{'h', byte(i)})
			return
		}
		p.WriteByte('j')
		_ = binary.Write(p, binary.LittleEndian, uint32(i))
		return
	}
	p.WriteByte('X')
	_ = binary.Write(p, binary.LittleEndian, uint32(len(s)))
	p.WriteString(s)
	i := len(p.memo)
	p.memo[s] = i
	if i < 256 {
		p.Write([]byte{'q', byte(i)})
		return
	}
	p.WriteByte('r')
	_ = binary.Write(p, binary.LittleEndian, uint32(i))
}

func (p *pickle) number(x int64) {
	switch {
	case x >= 0 && x < 256:
		p.Write([]byte{'K', byte(x)})
	case x >= 0 && x < 65536:
		p.Write([]byte{'M', byte(x), byte(x >> 8)})
	case x == int64(int32(x)):
		p.WriteByte('J')
		_ = binary.Write(p, binary.LittleEndian, int32(x))
	default:
		p.Write([]byte{0x8a, 8})
		_ = binary.Write(p, binary.LittleEndian, x)
	}
}

func (p *pickle) flag(b bool) {
	if b {
		p.WriteByte(0x88)
	} else {
		p.WriteByte(0x89)
	}
}

// dict writes keys and values: text, whole numbers, flags, nil, or functions
// that write themselves.
func (p *pickle) dict(items ...any) {
	p.WriteString("}(")
	for _, x := range items {
		switch x := x.(type) {
		case string:
			p.text(x)
		case int:
			p.number(int64(x))
		case int64:
			p.number(x)
		case bool:
			p.flag(x)
		case nil:
			p.WriteByte('N')
		case func():
			x()
		}
	}
	p.WriteByte('u')
}

// list writes a list of what f writes.
func (p *pickle) list(n int, f func(int)) func() {
	return func() {
		p.WriteString("](")
		for i := range n {
			f(i)
		}
		p.WriteByte('e')
	}
}

// members are all ranks, as dumps write them.
func (j job) members() string {
	var s strings.Builder
	for r := range j.ranks {
		fmt.Fprintf(&s, ", %d", r)
	}
	return "[" + s.String()[2:] + "]"
}

// dump is the pickle of one rank.
func (j job) dump(calls []call, members string) []byte {
	p := &pickle{memo: map[string]int{}}
	kept := calls[max(0, len(calls)-j.ring):]
	completed := len(calls)
	if completed > 0 && !calls[completed-1].done {
		completed--
	}
	p.WriteString("\x80\x02")
	p.dict("version", "2.10",
		"pg_config", func() {
			p.dict("", func() { p.dict("name", "", "desc", "", "ranks", members) })
		},
		"comm_lib_version", "",
		"pg_status", func() {
			p.dict("0", func() {
				p.dict("last_enqueued_collective", len(calls), "last_started_collective", -1, "last_completed_collective", completed)
			})
		},
		"entries", p.list(len(kept), func(i int) { p.entry(kept[i], len(calls)-len(kept)+i) }))
	p.WriteByte('.')
	return p.Bytes()
}

// entry writes one call, the n-th of its rank.
func (p *pickle) entry(c call, n int) {
	k := kinds[c.kind]
	line := func(name, file string, at int64) func() {
		return func() { p.dict("name", name, "filename", file, "line", at) }
	}
	frames := []func(){line(k.function, k.library, 623), line("work", "train.py", k.line), line("<module>", "train.py", 96)}
	sizes := func() { p.WriteString("]") }
	types := sizes
	if k.elements > 0 {
		sizes = p.list(1, func(int) { p.list(1, func(int) { p.number(k.elements) })() })
		types = p.list(1, func(int) { p.text("Float") })
	}
	p.dict("frames", p.list(len(frames), func(i int) { frames[i]() }), "record_id", n, "pg_id", 0,
		"process_group", func() { p.WriteByte('('); p.text("0"); p.text("default_pg"); p.WriteByte('t') },
		"thread_name", "python3", "thread_id", "140715870849920", "collective_seq_id", n+1, "p2p_seq_id", 0, "op_id", n+1,
		"profiling_name", k.name, "time_created_ns", c.at, "input_sizes", sizes, "input_dtypes", types, "output_sizes", sizes, "output_dtypes", types,
		"state", "scheduled", "time_discovered_started_ns", nil, "time_discovered_completed_ns", nil, "retired", c.done, "timeout_ms", 1_800_000, "is_p2p", false)
}
