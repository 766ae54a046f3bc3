package flightrecorder

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/internal/draws"
	"github.com/sfstat/sfstat/internal/largedata"
	"github.com/sfstat/sfstat/trace/input"
)

const (
	wholeEvery   = 4096 // executions of which one mutates a whole dump
	measureEvery = 256
	mostChanges  = 8
	// What an execution may take: the heap's bytes by those of the input, and a
	// floor for inputs of a few bytes.
	mostTimes = 100
	floor     = 64 << 10
)

// Mutated dumps never make the reader panic, fail with an error of no kind, or allocate out
// of proportion to its input. Each dump is cut to its first one and two entries, about a
// kilobyte, so that mutations meet what matters. A mutated input has up to eight changes:
// bits, bytes, operations, lengths, parts that are cut off, doubled or of another dump.
func TestMutatedDumps(t *testing.T) {
	t.Run("made", func(t *testing.T) { mutate(t, "../../fixtures/flightrecorder") })
	t.Run("recorded", func(t *testing.T) { mutate(t, largedata.Need(t, "data/fr")) })
}

func mutate(t *testing.T, root string) {
	paths, _ := filepath.Glob(filepath.Join(root, "*", "fr_trace_0"))
	if len(paths) == 0 {
		t.Fatal("no dumps")
	}
	m := mutator{rng: rand.New(rand.NewPCG(1, 0))}
	for _, path := range paths {
		m.add(t, path)
	}
	for i := range draws.Of(t, 20_000, 4_000_000) {
		m.next(i%wholeEvery == wholeEvery-1)
		if err := m.execute(i%measureEvery == 0); err != nil {
			t.Fatalf("execution %d: %v\n%q", i, err, m.input)
		}
	}
	t.Logf("%d read, %d of them cut short, %d refused; at most %.1f times the input allocated", m.read, m.cut, m.refused, m.most)
}

// mutator makes mutated dumps and counts what becomes of them.
type mutator struct {
	rng                *rand.Rand
	short, long        [][]byte
	input              []byte
	reader             Reader
	read, cut, refused int
	most               float64 // heap bytes by input, of inputs of a kilobyte or more
}

// add takes a dump, whole and cut to its first entries.
func (m *mutator) add(t *testing.T, path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m.long = append(m.long, data)
	for entries := 1; entries <= 2; entries++ {
		cut := shortened(data, entries)
		if cut == nil {
			t.Fatalf("%s: no beginning of it is a dump of %d entries", path, entries)
		}
		m.short = append(m.short, cut)
	}
}

// shortened is the beginning of a dump, closed after so many entries.
func shortened(data []byte, entries int) []byte {
	var r Reader
	for n := range min(len(data), 1<<14) {
		cut := append(bytes.Clone(data[:n]), "eu."...)
		c, err := r.Read(bytes.NewReader(cut), "fr_trace_0")
		if err == nil && len(c.Calls) == entries && len(c.Notes) == 0 && c.Calls[entries-1].Retired {
			return cut
		}
	}
	return nil
}

// execute reads the input, measured with a new reader.
func (m *mutator) execute(measured bool) error {
	if !measured {
		return m.readWith(&m.reader)
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	before := memory.TotalAlloc
	err := m.readWith(new(Reader))
	runtime.ReadMemStats(&memory)
	size := memory.TotalAlloc - before
	if len(m.input) >= 1<<10 {
		m.most = max(m.most, float64(size)/float64(len(m.input)))
	}
	if err == nil && size > mostTimes*uint64(len(m.input))+floor {
		err = fmt.Errorf("%d bytes allocated for an input of %d", size, len(m.input))
	}
	return err
}

func (m *mutator) readWith(r *Reader) error {
	c, err := r.Read(bytes.NewReader(m.input), "fr_trace_0")
	switch {
	case err == nil:
		m.read++
		if slices.ContainsFunc(c.Notes, func(n input.Note) bool { return n.Kind == input.NoteTruncated }) {
			m.cut++
		}
	case errors.Is(err, input.ErrFormat), errors.Is(err, input.ErrTooLarge), errors.Is(err, input.ErrEmpty):
		m.refused++
	default:
		return fmt.Errorf("an error of no kind that readers have: %w", err)
	}
	return nil
}

// pickleOps are those of all pickle protocols, with what runs code.
const pickleOps = "(.012FIJKLMNPQRSTUVXabcdeghijlopqrstu})]G\x80\x81\x82\x83\x84\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x8e\x8f\x90\x91\x92\x93\x94\x95\x96\x97\x98BC"

// lengths are numbers that readers stumble over.
var lengths = [...]uint32{0, 1, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff}

// next makes the next input, of a whole dump or of a short one.
func (m *mutator) next(whole bool) {
	from := m.short
	if whole {
		from = m.long
	}
	m.input = append(m.input[:0], from[m.rng.IntN(len(from))]...)
	for range 1 + m.rng.IntN(mostChanges) {
		if len(m.input) > 0 {
			m.change(from)
		}
	}
}

// change changes the input once.
func (m *mutator) change(from [][]byte) {
	at := m.rng.IntN(len(m.input))
	switch m.rng.IntN(10) {
	case 0, 1:
		m.input[at] ^= 1 << m.rng.IntN(8)
	case 2:
		m.input[at] = byte(m.rng.Uint32())
	case 3, 4:
		m.input[at] = pickleOps[m.rng.IntN(len(pickleOps))]
	case 5: // the number behind an operation
		n := lengths[m.rng.IntN(len(lengths))]
		for i := 0; i < 4 && at+1+i < len(m.input); i++ {
			m.input[at+1+i] = byte(n >> (8 * i))
		}
	case 6:
		if m.rng.IntN(4) == 0 {
			m.input = m.input[:at]
		}
	case 7: // a part is left out
		m.input = slices.Delete(m.input, at, min(at+1+m.rng.IntN(32), len(m.input)))
	case 8: // a part comes twice, or many times
		part := m.input[at:min(at+1+m.rng.IntN(64), len(m.input))]
		m.input = slices.Insert(m.input, at, bytes.Repeat(part, 1+m.rng.IntN(1+m.rng.IntN(32)))...)
	case 9: // a part of another dump
		other := from[m.rng.IntN(len(from))]
		i := m.rng.IntN(len(other))
		m.input = slices.Insert(m.input, at, other[i:min(len(other), i+1+m.rng.IntN(128))]...)
	}
}
