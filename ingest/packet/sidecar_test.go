package packet

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/ingesttest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
)

// table gives windows as a table does, which holds no epochs and no arrivals.
type table struct{ windows []*trace.Window }

func (s *table) Next() (*trace.Window, error) {
	if len(s.windows) == 0 {
		return nil, io.EOF
	}
	w := *s.windows[0]
	s.windows = s.windows[1:]
	w.Epochs, w.Arrivals = nil, nil
	return &w, nil
}

func (*table) Close() error { return nil }

// arrived are three windows: with epochs and arrivals of two of its three ranks, with neither,
// and with the epoch of one rank. The last continues the number of the first.
func arrived(t testing.TB) []*trace.Window {
	windows := ingesttest.Windows(1, 3, ingesttest.Shape{Ranks: 3, Steps: 2, Stages: 2})
	packets, err := ingesttest.ReadAll(open(map[string]string{"x": full}, Options{}))
	if err != nil {
		t.Fatal(err)
	}
	first := windows[0]
	first.Epochs = []int64{1700000000000000000, 0, 1700000000000000007}
	for _, r := range []int{0, 2} {
		c := *packets[0].Arrivals[0]
		c.Run = first.Run
		c.Processes = []comms.Process{{Rank: r, Host: first.Ranks[r].Host, LocalRank: first.Ranks[r].LocalRank, Device: -1, Lost: int64(r)}}
		c.Calls = append([]comms.Call(nil), c.Calls...)
		c.Calls[0].Stage = first.Schema.Stages[1]
		c.Stacks = [][]comms.Frame{{{File: "train.py", Line: 66}}}
		c.Groups = append([]comms.Group(nil), c.Groups...)
		for i := range c.Groups {
			c.Groups[i].Rank = -1
			for at, id := range c.Groups[i].Members {
				if id == r {
					c.Groups[i].Rank = at
				}
			}
		}
		first.Arrivals = append(first.Arrivals, &c)
	}
	windows[2].Index = first.Index
	windows[2].Epochs = []int64{0, 9, 0}
	return windows
}

// sidecarOf returns the lines beside a table of the windows.
func sidecarOf(t testing.TB, windows []*trace.Window) string {
	var b strings.Builder
	out := NewSidecarWriter(&b)
	for _, w := range windows {
		if err := out.Write(w); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func TestBeside(t *testing.T) {
	windows := arrived(t)
	text := sidecarOf(t, windows)
	if n := strings.Count(text, "\n"); n != 3 {
		t.Errorf("%d lines, want one for each of 3 ranks:\n%s", n, text)
	}
	ingesttest.Reader(t, windows, func() (ingest.WindowReader, error) {
		return JoinSidecar(&table{windows}, strings.NewReader(text), "x", ingest.Limits{}), nil
	})
	for i, want := range []bool{true, false, true} {
		if got := NeedsSidecar(windows[i]); got != want {
			t.Errorf("window %d has something to lie beside: %t, want %t", i, got, want)
		}
	}
}

func TestBesideRefused(t *testing.T) {
	windows := arrived(t)
	lines := strings.SplitAfter(sidecarOf(t, windows), "\n")
	all := strings.Join(lines, "")
	for name, c := range map[string]struct {
		text string
		line int64
		kind error
	}{
		"a window that the table does not have": {strings.Replace(all, `"window":0`, `"window":5`, 1), 1, input.ErrMissing},
		"another order":                         {lines[2] + lines[0] + lines[1], 2, input.ErrMissing},
		"another first step":                    {strings.Replace(all, `"first_step":0`, `"first_step":1`, 1), 1, input.ErrMissing},
		"a rank that the window does not have":  {strings.Replace(all, `"rank":2`, `"rank":3`, 1), 2, input.ErrMissing},
		"a rank twice":                          {lines[0] + all, 2, input.ErrDuplicate},
		"ranks that descend":                    {lines[1] + lines[0] + lines[2], 2, input.ErrFormat},
		"another schema":                        {strings.Replace(all, SidecarSchema, Schema, 1), 1, input.ErrFormat},
		"no run":                                {strings.Replace(all, `"run"`, `"ran"`, 1), 1, input.ErrMissing},
		"a stage that is not there":             {strings.Replace(all, `"stage":[1,`, `"stage":[2,`, 1), 1, input.ErrTooLarge},
		"no JSON":                               {lines[0] + "x", 2, input.ErrFormat},
		"cut off":                               {all[:len(all)-4], 3, input.ErrTruncated},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ingesttest.ReadAll(JoinSidecar(&table{windows}, strings.NewReader(c.text), "x", ingest.Limits{}))
			var placed *input.Error
			if !errors.As(err, &placed) || placed.Pos.Line != c.line || !errors.Is(err, c.kind) {
				t.Errorf("%v, want line %d and %v", err, c.line, c.kind)
			}
		})
	}
}

func FuzzBeside(f *testing.F) {
	windows := arrived(f)
	text := sidecarOf(f, windows)
	f.Add([]byte(text))
	f.Add([]byte(strings.Replace(text, `"rank":2`, `"rank":1`, 1)))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := ingesttest.ReadAll(JoinSidecar(&table{windows}, bytes.NewReader(b), "x", ingest.Limits{Line: 1 << 16}))
		if err != nil {
			ingesttest.CheckPosition(t, err, "x")
			return
		}
		again, err := ingesttest.ReadAll(JoinSidecar(&table{windows}, strings.NewReader(sidecarOf(t, got)), "x", ingest.Limits{}))
		if diff := gocmp.Diff(got, again); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	})
}
