// Command mutateddumps reads mutated Flight Recorder dumps, many millions of
// them, and fails for one that makes the reader panic, take long, or allocate
// out of proportion to its input.
//
//	go run ./eval/mutateddumps -n 1000000 -seed 1 ../shared/data/fr/*/fr_trace_0
//
// Each dump is cut to its first one and two entries, about a kilobyte, so that
// mutations meet what matters; one execution in 4,096 mutates the whole dump. A
// mutated input has up to eight changes: bits, bytes, operations, lengths, parts
// that are cut off, doubled or taken from another dump. The same seed gives the
// same inputs. Allocation is measured on one execution in 256, with a new reader:
// bytes of the heap, at most 100 times the input and 64 KiB.
//
// An input that fails is written to -o, and exit status is 1.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/sfstat/sfstat/ingest/flightrecorder"
	"github.com/sfstat/sfstat/trace/input"
)

const (
	wholeEvery   = 4096
	measureEvery = 256
	mostChanges  = 8
	// What an execution may take: the heap's bytes by those of the input, and a
	// floor for inputs of a few bytes; and time, which other work on the machine
	// lengthens.
	mostTimes = 100
	floor     = 64 << 10
	mostTime  = 2 * time.Second
)

func main() {
	n := flag.Int64("n", 1_000_000, "executions")
	seed := flag.Uint64("seed", 1, "of the mutations")
	out := flag.String("o", "failing-dump", "where an input that fails is written")
	flag.Parse()
	t := trial{rng: rand.New(rand.NewPCG(*seed, 0))}
	for _, path := range flag.Args() {
		if err := t.add(path); err != nil {
			fmt.Fprintln(os.Stderr, "mutateddumps:", err)
			os.Exit(2)
		}
	}
	if len(t.short) == 0 {
		fmt.Fprintln(os.Stderr, "mutateddumps: no dumps given")
		os.Exit(2)
	}
	begin := time.Now()
	err := t.run(*n)
	fmt.Printf("seed %d: %s, %.0f s\n", *seed, &t.count, time.Since(begin).Seconds())
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutateddumps:", err)
		if err := os.WriteFile(*out, t.input, 0o666); err != nil {
			fmt.Fprintln(os.Stderr, "mutateddumps:", err)
		}
		os.Exit(1)
	}
}

// trial mutates dumps and reads them.
type trial struct {
	rng         *rand.Rand
	short, long [][]byte
	input       []byte
	reader      flightrecorder.Reader
	memory      runtime.MemStats
	count       counts
}

// counts say what became of the inputs.
type counts struct {
	executions, read, cut, refused, measured int64
	mostTimes                                float64 // heap bytes by input, of inputs of a kilobyte or more
}

func (c *counts) String() string {
	return fmt.Sprintf("%d executions, %d read, %d of them cut short, %d refused; allocation measured %d times, at most %.1f times the input",
		c.executions, c.read, c.cut, c.refused, c.measured, c.mostTimes)
}

// add takes a dump, whole and cut to its first entries.
func (t *trial) add(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	t.long = append(t.long, data)
	for entries := 1; entries <= 2; entries++ {
		cut := shortened(data, entries)
		if cut == nil {
			return fmt.Errorf("%s: no beginning of it is a dump of %d entries", path, entries)
		}
		t.short = append(t.short, cut)
	}
	return nil
}

// shortened is the beginning of a dump, closed after so many entries.
func shortened(data []byte, entries int) []byte {
	var r flightrecorder.Reader
	for n := range min(len(data), 1<<14) {
		cut := append(bytes.Clone(data[:n]), "eu."...)
		c, err := r.Read(bytes.NewReader(cut), "fr_trace_0")
		if err == nil && len(c.Calls) == entries && len(c.Notes) == 0 && c.Calls[entries-1].Retired {
			return cut
		}
	}
	return nil
}

// run reads n mutated dumps.
func (t *trial) run(n int64) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	for range n {
		from := t.short
		if t.count.executions%wholeEvery == wholeEvery-1 {
			from = t.long
		}
		t.input = append(t.input[:0], from[t.rng.IntN(len(from))]...)
		for range 1 + t.rng.IntN(mostChanges) {
			t.mutate(from)
		}
		t.count.executions++
		if t.count.executions%measureEvery == 0 {
			err = t.measure()
		} else {
			err = t.execute(&t.reader)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// execute reads the input.
func (t *trial) execute(r *flightrecorder.Reader) error {
	begin := time.Now()
	c, err := r.Read(bytes.NewReader(t.input), "fr_trace_0")
	if d := time.Since(begin); d > mostTime {
		return fmt.Errorf("%v for %d bytes", d, len(t.input))
	}
	switch {
	case err == nil:
		t.count.read++
		for _, n := range c.Notes {
			if n.Kind == input.NoteTruncated {
				t.count.cut++
			}
		}
	case errors.Is(err, input.ErrFormat), errors.Is(err, input.ErrTooLarge), errors.Is(err, input.ErrEmpty):
		t.count.refused++
	default:
		return fmt.Errorf("an error of no kind that readers have: %w", err)
	}
	return nil
}

// measure reads the input with a new reader and compares what it allocates.
func (t *trial) measure() error {
	runtime.ReadMemStats(&t.memory)
	before := t.memory.TotalAlloc
	err := t.execute(new(flightrecorder.Reader))
	runtime.ReadMemStats(&t.memory)
	bytes := t.memory.TotalAlloc - before
	t.count.measured++
	if len(t.input) >= 1<<10 {
		t.count.mostTimes = max(t.count.mostTimes, float64(bytes)/float64(len(t.input)))
	}
	if err == nil && bytes > mostTimes*uint64(len(t.input))+floor {
		err = fmt.Errorf("%d bytes allocated for an input of %d", bytes, len(t.input))
	}
	return err
}

// operations are those of all pickle protocols, with what runs code.
const operations = "(.012FIJKLMNPQRSTUVXabcdeghijlopqrstu})]G\x80\x81\x82\x83\x84\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x8e\x8f\x90\x91\x92\x93\x94\x95\x96\x97\x98BC"

// lengths are numbers that readers stumble over.
var lengths = [...]uint32{0, 1, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff}

// mutate changes the input once.
func (t *trial) mutate(from [][]byte) {
	if len(t.input) == 0 {
		return
	}
	at := t.rng.IntN(len(t.input))
	switch t.rng.IntN(10) {
	case 0, 1:
		t.input[at] ^= 1 << t.rng.IntN(8)
	case 2:
		t.input[at] = byte(t.rng.Uint32())
	case 3, 4:
		t.input[at] = operations[t.rng.IntN(len(operations))]
	case 5: // the number behind an operation
		n := lengths[t.rng.IntN(len(lengths))]
		for i := 0; i < 4 && at+1+i < len(t.input); i++ {
			t.input[at+1+i] = byte(n >> (8 * i))
		}
	case 6:
		if t.rng.IntN(4) == 0 {
			t.input = t.input[:at]
		}
	case 7: // a part is left out
		n := min(1+t.rng.IntN(32), len(t.input)-at)
		t.input = append(t.input[:at], t.input[at+n:]...)
	case 8: // a part comes twice, or many times
		n := min(1+t.rng.IntN(64), len(t.input)-at)
		part := bytes.Clone(t.input[at : at+n])
		t.insert(at, bytes.Repeat(part, 1+t.rng.IntN(1+t.rng.IntN(32))))
	case 9: // a part of another dump
		other := from[t.rng.IntN(len(from))]
		i := t.rng.IntN(len(other))
		t.insert(at, other[i:min(len(other), i+1+t.rng.IntN(128))])
	}
}

func (t *trial) insert(at int, part []byte) {
	tail := bytes.Clone(t.input[at:])
	t.input = append(append(t.input[:at], part...), tail...)
}
