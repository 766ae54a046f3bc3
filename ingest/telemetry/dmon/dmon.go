// Package dmon reads the tables that dcgmi dmon and nvidia-smi dmon print line by line:
//
//	#Entity   SMCLK   TMPTR   POWER            # gpu    pwr  gtemp  mtemp    sm
//	ID                                         # Idx      W      C      C     %
//	GPU 0     1755    61      402.1                0    402     61     58    99
//
// The header comes again every screen. Neither prints a time by itself, but for
// nvidia-smi dmon -o DT; where one stands before the line, as ts, date or a logger puts
// it there, it is read, and else the readings have none. Entities other than GPUs, and
// columns that are not known, are passed over.
package dmon

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/telemetry"
	"github.com/sfstat/sfstat/trace/health"
	"github.com/sfstat/sfstat/trace/input"
)

// Recognise reports whether text, the beginning of a file, is such a table.
func Recognise(text []byte) bool {
	n := 0
	for line := range bytes.Lines(text) {
		if n++; n > 20 {
			break
		}
		if _, ok := headerOf(strings.Fields(string(line))); ok {
			return true
		}
	}
	return false
}

// column is one behind the entity; known is false for what is passed over.
type column struct {
	telemetry.Field
	known bool
}

// table is how the lines are to be read.
type table struct {
	dcgm    bool
	columns []column
}

// headerOf reads a header. What stands before the mark is a stamp.
func headerOf(words []string) (t table, ok bool) {
	at := slices.IndexFunc(words, func(w string) bool { return w[0] == '#' })
	if at < 0 {
		return t, false
	}
	words = slices.Clone(words[at:])
	if words[0] = words[0][1:]; words[0] == "" {
		words = words[1:]
	}
	if len(words) > 2 && strings.EqualFold(words[0], "date") && strings.EqualFold(words[1], "time") {
		words = words[2:] // of the stamp
	}
	if len(words) < 2 || !strings.EqualFold(words[0], "entity") && words[0] != "gpu" {
		return t, false
	}
	t.dcgm = strings.EqualFold(words[0], "entity")
	for _, w := range words[1:] {
		f, known := telemetry.FieldOf(w)
		t.columns = append(t.columns, column{f, known})
	}
	return t, true
}

// Read reads one file. An error is of the input, or says that there is no reading in it.
func Read(r io.Reader, name string, o telemetry.Options) (*health.Record, error) {
	lines := ingest.NewLines(r, name, o.Limits, nil)
	b := telemetry.NewBuilder(name)
	var t table
	for {
		line, _, err := lines.NextCut()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		words := strings.Fields(string(line))
		if len(words) == 0 {
			continue
		}
		if h, ok := headerOf(words); ok {
			t = h
			continue
		}
		if len(t.columns) > 0 && !t.line(b, o, line) && !passed(words) {
			b.Wrong(lines.Pos())
		}
	}
	if b.Empty() {
		return nil, input.At(input.Pos{File: name}, input.Bad(input.ErrEmpty, "a table of dcgmi dmon or nvidia-smi dmon without a reading that is known: ask for clocks, temperature, power (dcgmi dmon -e 100,101,112,150,155,310,311)"))
	}
	return b.Finish(), nil
}

// passed reports whether a line is one that holds no readings of GPUs: the second of a
// header, or of another entity.
func passed(words []string) bool {
	last := words[len(words)-1]
	return strings.EqualFold(last, "id") || slices.ContainsFunc(words, func(w string) bool {
		return w[0] == '#' || slices.Contains([]string{"GPU-I", "GPU-CI", "Switch", "NvSwitch", "NvLink", "Link", "CPU", "CPU-Core", "ConnectX"}, w)
	})
}

// line adds the readings of a line; it reports whether it is one of a GPU.
func (t *table) line(b *telemetry.Builder, o telemetry.Options, line []byte) bool {
	s, rest, stamped := o.CutStamp(line)
	if !stamped {
		rest = line
	}
	words := strings.Fields(string(rest))
	if t.dcgm {
		if len(words) == 0 || words[0] != "GPU" {
			return false
		}
		words = words[1:]
	}
	if len(words) < 2 {
		return false
	}
	n, err := strconv.Atoi(words[0])
	if err != nil || n < 0 || n > maxDevice {
		return false
	}
	if len(words)-1 != len(t.columns) {
		return false
	}
	row := telemetry.Row{Device: n, At: b.Time(s)}
	for i, c := range t.columns {
		if c.known {
			b.Set(&row, c.Field, words[1+i])
		}
	}
	b.End(&row)
	return true
}

// maxDevice bounds the index of a GPU on its host.
const maxDevice = 4095
