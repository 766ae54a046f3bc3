package trainlog

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The forms as regular expressions.
var (
	stepWord = regexp.MustCompile(`(?i)\b(?:global_step|train_step|step|iteration|iter|itr|update)s?\b["']?\s*[:=#]?\s*\[?\s*(\d{1,15})\b`)
	rankWord = regexp.MustCompile(`(?i)\[rank[ :=_]*(\d{1,7})\]|\brank[ :=]+(\d{1,7})\b`)
	timeWord = regexp.MustCompile(`(?i)\b([a-z][a-z_/ ]*?)["']?\s*(?:\((ms|us|s|sec)\))?["']?\s*[:=]\s*(\d+(?:\.\d*)?(?:e[-+]?\d+)?)\s*(ms|us|s|sec|seconds)?(?:[\s,|)\]}]|$)`)
)

// asExpressions compares what a line is read as with what the expressions find in it.
func asExpressions(t *testing.T, line string) {
	t.Helper()
	want, wantOK := int64(0), false
	if m := stepWord.FindStringSubmatch(line); m != nil {
		want, _ = strconv.ParseInt(m[1], 10, 64)
		wantOK = true
	}
	if step, ok := stepOf([]byte(line)); ok != wantOK || step != want {
		t.Errorf("%q: step %d, %v, want %d, %v", line, step, ok, want, wantOK)
	}
	want, wantOK = 0, false
	if m := rankWord.FindStringSubmatch(line); m != nil {
		want, _ = strconv.ParseInt(m[1]+m[2], 10, 64)
		wantOK = true
	}
	if rank, ok := rankIn([]byte(line)); ok != wantOK || int64(rank) != want {
		t.Errorf("%q: rank %d, %v, want %d, %v", line, rank, ok, want, wantOK)
	}
	var got, expected []string
	for _, m := range timeWord.FindAllStringSubmatch(line, -1) {
		expected = append(expected, strings.TrimSpace(m[1])+" is "+m[3]+strings.ToLower(m[2]+m[4]))
	}
	for from := 0; ; {
		x, end := nextTiming([]byte(line), from)
		if end < 0 {
			break
		}
		got, from = append(got, strings.TrimSpace(string(x.name))+" is "+string(x.number)+x.unit), end
	}
	if strings.Join(got, "; ") != strings.Join(expected, "; ") {
		t.Errorf("%q: times %q, want %q", line, got, expected)
	}
}

// TestScan: real lines, and random ones of their parts, are read as the expressions read them.
func TestScan(t *testing.T) {
	files, err := filepath.Glob("../../fixtures/trainlog/*/*.log")
	if err != nil || len(files) == 0 {
		t.Fatal("no logs", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			asExpressions(t, string(line))
		}
	}
	parts := []string{"step", "Steps", "global_step", "iter", "ITERATION", "rank", "[RANK", "_", " ", " ", " ", "  ", ":", "=", "#", "[", "]", "(", ")", "(ms)", "(sec)", "(seconds)", "\"", "'",
		"time", "data_time", "elapsed time per", "s", "ms", "us", "sec", "seconds", "e", "e-3", "E+", ".", "1", "12", "0.5", "1234567890123456", "|", ",", "}", "/", "x", "\t", "\n", "-", "ss"}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		var s strings.Builder
		for range 1 + rng.IntN(14) {
			s.WriteString(parts[rng.IntN(len(parts))])
		}
		if asExpressions(t, s.String()); t.Failed() {
			break
		}
	}
}

// TestNeeded: what a line lacks by its words is not found in it either, whatever the case of its letters.
func TestNeeded(t *testing.T) {
	all, rng := standard(), rand.New(rand.NewPCG(3, 4))
	needed := func(line string) {
		has := all.words.Find([]byte(line))
		if _, ok := rankIn([]byte(line)); ok && !has.ContainsAny(&all.rank) {
			t.Errorf("%q: a rank without its letters", line)
		}
		if epochOf([]byte(line)) >= 0 && !has.ContainsAny(&all.epoch) {
			t.Errorf("%q: an epoch without its letters", line)
		}
		if isValidation([]byte(line)) && !has.ContainsAny(&all.validation) {
			t.Errorf("%q: validation without its letters", line)
		}
		for _, d := range all.list {
			for i, p := range d.steps {
				if _, ok := p.find([]byte(line), 0); ok && !has.ContainsAll(&d.stepNeeds[i]) {
					t.Errorf("%q: a step of %s without its words", line, d.Dialect)
				}
			}
			for i := range d.times {
				if _, ok := d.times[i].at.find([]byte(line), 0); ok && !has.ContainsAll(&d.timeNeeds[i]) {
					t.Errorf("%q: a time of %s without its words", line, d.Dialect)
				}
			}
		}
	}
	for _, d := range all.list {
		needed(d.Sample)
	}
	words := append([]string{"rank", "epoch"}, validationWords[:]...)
	for range 2000 {
		var line strings.Builder
		for range 1 + rng.IntN(3) {
			for _, c := range []byte(words[rng.IntN(len(words))]) {
				line.WriteByte(c &^ (byte(rng.IntN(2)) << 5))
			}
			line.WriteString(" 3 ")
		}
		needed(line.String())
	}
}

// TestDecimal: numbers are those that strconv reads.
func TestDecimal(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		number := make([]byte, rng.IntN(20))
		for i := range number {
			number[i] = "0123456789.0123456789e-"[rng.IntN(23)]
		}
		want, err := strconv.ParseFloat(string(number), 64)
		if got, ok := decimal(number); ok != (err == nil) || ok && got != want {
			t.Errorf("%q: %v, %v, want %v, %v", number, got, ok, want, err)
		}
	}
}
