package telemetry

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// The lines that dcgmi dmon and nvidia-smi dmon print:
//
//	#Entity   SMCLK   TMPTR   POWER            # gpu    pwr  gtemp  mtemp    sm
//	ID                                         # Idx      W      C      C     %
//	GPU 0     1755    61      402.1                0    402     61     58    99
//
// The header comes again every screen. Neither prints a time by itself, but for
// nvidia-smi dmon -o DT, and -o T without a date, which is none; where one stands before the line, as ts, date or a logger puts
// it there, it is read, and else the readings have none. Entities other than GPUs, and
// columns that are not known, are passed over.

// isLines reports whether one of the first lines is a header of theirs.
func isLines(text []byte) bool {
	n := 0
	for line := range bytes.Lines(text) {
		if n++; n > 20 {
			break
		}
		if _, ok := headerOf(wordsOf(line)); ok {
			return true
		}
	}
	return false
}

// wordsOf returns the words of a line, between blanks or, under --format csv, commas.
func wordsOf(line []byte) []string {
	return strings.FieldsFunc(string(line), func(r rune) bool { return unicode.IsSpace(r) || r == ',' })
}

// column is one behind the entity; known is false for what is passed over.
type column struct {
	field
	known bool
}

// lineTable is how the lines are to be read.
type lineTable struct {
	dcgm    bool
	commas  bool // nvidia-smi dmon --format csv
	columns []column
}

// headerOf reads a header. What stands before the mark is a stamp.
func headerOf(words []string) (t lineTable, ok bool) {
	at := slices.IndexFunc(words, func(w string) bool { return w[0] == '#' })
	if at < 0 {
		return t, false
	}
	words = slices.Clone(words[at:])
	if words[0] = words[0][1:]; words[0] == "" {
		words = words[1:]
	}
	for len(words) > 1 && (strings.EqualFold(words[0], "date") || strings.EqualFold(words[0], "time")) {
		words = words[1:] // of the stamp
	}
	if len(words) < 2 || !strings.EqualFold(words[0], "entity") && words[0] != "gpu" {
		return t, false
	}
	t.dcgm = strings.EqualFold(words[0], "entity")
	for _, w := range words[1:] {
		f, known := fieldOf(w)
		t.columns = append(t.columns, column{f, known})
	}
	return t, true
}

// clock is a time of day.
var clock = regexp.MustCompile(`^\d{2}:\d{2}:\d{2}$`)

func readLines(f *file) error {
	var t lineTable
	return f.lines(func(line []byte) bool {
		words := wordsOf(line)
		if len(words) == 0 {
			return true
		}
		if h, ok := headerOf(words); ok {
			t = h
			t.commas = bytes.IndexByte(line, ',') >= 0
			return true
		}
		if t.commas {
			line = bytes.ReplaceAll(line, []byte(","), []byte(" "))
		}
		return len(t.columns) == 0 || t.line(f, line) || isSkipped(words)
	})
}

// isSkipped reports whether a line is one that holds no readings of GPUs: the second of a
// header, or of another entity.
func isSkipped(words []string) bool {
	last := words[len(words)-1]
	return strings.EqualFold(last, "id") || slices.ContainsFunc(words, func(w string) bool {
		return w[0] == '#' || slices.Contains([]string{"GPU-I", "GPU-CI", "Switch", "NvSwitch", "NvLink", "Link", "CPU", "CPU-Core", "ConnectX"}, w)
	})
}

// line adds the readings of a line; it reports whether it is one of a GPU.
func (t *lineTable) line(f *file, line []byte) bool {
	s, rest, stamped := f.o.cutStamp(line)
	if !stamped {
		rest = line
	}
	words := wordsOf(rest)
	if len(words) > 0 && clock.MatchString(words[0]) {
		words = words[1:] // nvidia-smi dmon -o T
	}
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
	row := row{Device: n, At: f.timeOf(s)}
	for i, c := range t.columns {
		if c.known {
			f.set(&row, c.field, words[1+i])
		}
	}
	f.end(&row)
	return true
}
