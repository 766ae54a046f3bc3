package trainlog

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/ingest"
)

// readBy reads a log line by line, by forms or, nil, without, and what a listener is given.
func readBy(t *testing.T, text string, by *forms) (b *Builder, heard []string) {
	t.Helper()
	b = &Builder{spreads: map[string]spread{}}
	b.Also = []Listener{{Words: []string{"watchdog", "c10d"}, Line: func(line []byte, number int64, has bool) {
		heard = append(heard, fmt.Sprintf("%d %v %s", number, has, line))
	}}}
	b.dialects = b.Dialects.joinBuiltin(b.Also...)
	l := lineReader{b: b, file: "a.log", rank: -1, dialects: b.dialects, forms: by}
	for lines := ingest.NewTerminalLines(strings.NewReader(text), "a.log", ingest.Limits{}); ; {
		line, _, err := lines.NextCut()
		if err == io.EOF {
			return b, heard
		}
		if l.at = lines.Pos().Line; err == nil {
			err = l.line(line)
		}
		if err != nil {
			return b, append(heard, err.Error())
		}
	}
}

// contentOf returns what a builder holds, for comparing.
func contentOf(b *Builder) (out []string) {
	for _, c := range b.columns {
		out = append(out, fmt.Sprint(c))
	}
	for _, t := range append(b.tracks, b.timers...) {
		of := *t
		of.rows = rows{}
		out = append(out, fmt.Sprintf("%+v", of))
		for i := range t.n {
			out = append(out, fmt.Sprint(t.step(i), t.row(i)))
		}
	}
	return out
}

// varied returns lines again and again, with other digits in each.
func varied(text string, times int, rng *rand.Rand) string {
	var s strings.Builder
	for range times {
		for _, c := range []byte(text) {
			if isDigit(c) && rng.IntN(2) == 0 {
				c = '0' + byte(rng.IntN(10))
			}
			s.WriteByte(c)
		}
		s.WriteByte('\n')
	}
	return s.String()
}

// sameByForms fails where forms change what is read.
func sameByForms(t *testing.T, text string) *forms {
	t.Helper()
	by := newForms()
	plain, heard := readBy(t, text, nil)
	got, gotHeard := readBy(t, text, by)
	if diff := gocmp.Diff(contentOf(plain), contentOf(got)); diff != "" {
		t.Fatalf("read by forms, without, of %.600q:\n%s", text, diff)
	}
	if diff := gocmp.Diff(heard, gotHeard); diff != "" {
		t.Fatalf("listeners, by forms and without, of %.600q:\n%s", text, diff)
	}
	return by
}

// TestFormsReadAlike reads by forms what every dialect prints, with other numbers in each line, as without.
func TestFormsReadAlike(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, d := range standard().list {
		sameByForms(t, varied(d.Sample, 40, rng))
	}
	for _, line := range []string{
		"[0/00][3/15] time: 0.5", "[1/1] (2/2) time: 0.5", "step 3 time: 1.5e+99", "step 3 time: 1.5e+05", "step 3 time: 2E-02", "Epoch [0/1][3/9] time: 0.5",
		"[12/10] time: 0.5", "[2/10][3/15] loss 3 time: 0.5", "0.00it/s|  5%| | 3/15 [00:12<02:56, 4.98it/s]", "step 7 time: 0.5 val time: 0.25 eval",
		"[rank3]: step 17 watchdog c10d time: 0.5", "step 1 time: 12345678901234567890", "step 1 time=5ns data=7us", "step: 5\ntime: 0.5", "step 3 dt: 0.5 data: 0.25",
		" 3: step 17 time: 1.5e-05 v100", "step 999999999999 time: 20000000", "epoch 3 step 17/20 time: 0.5", "rank 3000000 step 5 time: 0.5",
	} {
		for range 20 {
			sameByForms(t, varied(line, 60, rng))
		}
	}
}

// TestFormsAreFound counts the forms that are known behind a log: those of two lines in turn, and none of what several numbers tell together,
// other readers hear, or no number tells by itself.
func TestFormsAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		line func(i int) string
		want int
	}{
		"a step in three widths": {func(i int) string { return fmt.Sprintf("step %d time: 0.%04d loss: %.3f", i, i+1, 1/float64(i+1)) }, 1},
		"padded": {func(i int) string {
			return fmt.Sprintf("Epoch: [0] [%5d/9999] eta: 0:01:02 time: %.4f data: 0.0046", i, 0.25+float64(i))
		}, 1},
		"a line that says nothing between": {func(i int) string { return fmt.Sprintf("step %d time: 0.5%d\nsaved %d files", i, i, i) }, 2},
		"a word with a number":             {func(i int) string { return fmt.Sprintf("[default%d]: step %d time: 0.5%d", i%2, i/2, i) }, 2},
		"a stamp": {func(i int) string {
			return fmt.Sprintf("[titan] 2025-03-01 10:00:%02d,512 - step:  %d  loss: 10.9  tps: 301", i%60, i)
		}, 0},
		"what a listener hears": {func(i int) string { return fmt.Sprintf("watchdog: step %d time: 0.5%d", i, i) }, 0},
		"a time of nothing":     {func(i int) string { return fmt.Sprintf("step %d time: 0.0", i) }, 1},
	} {
		var s strings.Builder
		for i := range 300 {
			fmt.Fprintln(&s, c.line(i))
		}
		if by := sameByForms(t, s.String()); len(by.list) != c.want {
			t.Errorf("%s: %d forms, expected %d", name, len(by.list), c.want)
		}
	}
}

// TestFormsAreFew finds no more forms than lines were read for, and keeps the last of them.
func TestFormsAreFew(t *testing.T) {
	var s strings.Builder
	for i := range 400 {
		word := strings.Repeat("a", i+1)
		fmt.Fprintf(&s, "%s step %d time: 0.5\n%s step %d time: 0.5\n", word, i, word, i+1)
	}
	if by := sameByForms(t, s.String()); len(by.list) != 19 {
		t.Errorf("%d forms of 800 lines", len(by.list))
	}
	s.Reset()
	for i := range 40 * linesOfForm {
		fmt.Fprintf(&s, "%s step %d time: 0.5\n", strings.Repeat("b", 1+i/linesOfForm), i)
	}
	if by := sameByForms(t, s.String()); len(by.list) != mostKept {
		t.Errorf("%d forms are kept, expected %d", len(by.list), mostKept)
	}
}

// TestFormless checks that no form is kept where numbers are searched for, as words or by what a user says of a log.
func TestFormless(t *testing.T) {
	columns, _ := ParseColumns("number,step")
	numbered, err := ParseDialects("a.yaml", []byte("- {dialect: a, has: ['gpu 1 took'], step: 'step {step}', times: {'gpu 1 took {s}': step}, sample: 'step 1 gpu 1 took 2', gives: 'step 1: step 2s'}"))
	if err != nil {
		t.Fatal(err)
	}
	worded, err := ParseDialects("a.yaml", []byte("- {dialect: a, has: [h100], step: 'step {step}', times: {'h100 {s}': step}, sample: 'step 1 h100 2', gives: 'step 1: step 2s'}"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		b    Builder
		want bool
	}{"as usual": {Builder{}, true}, "columns": {Builder{Columns: columns}, false}, "a number searched for": {Builder{Dialects: numbered}, false},
		"a word with one": {Builder{Dialects: worded}, true}, "a listener's number": {Builder{Also: []Listener{{Words: []string{"signal 9"}}}}, false}} {
		c.b.dialects = c.b.Dialects.joinBuiltin(c.b.Also...)
		if c.b.usesForms() != c.want {
			t.Errorf("%s: forms %v, expected %v", name, !c.want, c.want)
		}
	}
}

// FuzzForms reads by forms as without.
func FuzzForms(f *testing.F) {
	for i, d := range standard().list {
		f.Add(d.Sample, uint64(i))
	}
	f.Add("[12/10] time: 0.5\nstep 3 loss 2", uint64(1))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		if len(text) > 1000 {
			return
		}
		sameByForms(t, varied(text, 12, rand.New(rand.NewPCG(seed, 0))))
	})
}
