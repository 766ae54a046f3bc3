package main

import (
	"os"
	"strconv"

	"golang.org/x/term"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/report"
)

// format returns the value of --format.
func format(c *cli.Context) report.Format {
	var f report.Format
	_ = f.UnmarshalText([]byte(c.String("format")))
	return f
}

// style returns the style of text for the destination of --output.
func (p *program) style(c *cli.Context) report.Style { return p.styleOn(c, p.destination(c)) }

// styleOn returns the style of text on to.
func (p *program) styleOn(c *cli.Context, to any) report.Style {
	s := report.Style{Width: p.screen(to), Verbose: c.Bool("verbose"), Labels: c.Bool("labels"), Explain: c.Bool("explain")}
	if c.IsSet("width") {
		s.Width = c.Int("width")
	}
	switch _, isTerminal := terminal(to); {
	case c.String("color") == "never":
	case c.String("color") == "always", isTerminal && p.getenv("NO_COLOR") == "" && p.getenv("TERM") != "dumb":
		s.Color = true
	}
	return s
}

// usualWidth is the width of text where nothing says how wide it should be, and
// longLine how wide it gets on a wide terminal.
const usualWidth, longLine = 80, 120

// screen returns the width of text that goes to w, in columns.
func (p *program) screen(w any) int {
	if n, err := strconv.Atoi(p.getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if fd, ok := terminal(w); ok {
		if n, _, err := term.GetSize(fd); err == nil && n > 0 {
			return min(n, longLine)
		}
	}
	return usualWidth
}

// terminal reports whether w is one, and its descriptor.
func terminal(w any) (fd int, ok bool) {
	f, ok := w.(*os.File)
	if !ok {
		return 0, false
	}
	return int(f.Fd()), term.IsTerminal(int(f.Fd()))
}

// Help is as wide as its screen within these bounds, in columns.
const narrowest, widest = 40, 100

func (p *program) helpWidth() int { return min(max(p.screen(p.out), narrowest), widest) }
