package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/sfstat/sfstat/report"
)

// choiceFlag is a flag with a closed set of values, which completion offers.
type choiceFlag struct {
	*cli.GenericFlag
	choices []string
}

// choice makes such a flag. The first choice is the default; "" there means
// that the flag may be absent.
func choice(name, usage string, choices ...string) *choiceFlag {
	value := &chosen{value: choices[0], of: choices}
	if choices[0] == "" {
		value.of = choices[1:]
	}
	return &choiceFlag{&cli.GenericFlag{Name: name, Value: value, Usage: usage}, value.of}
}

// chosen is a value of a closed set.
type chosen struct {
	value string
	of    []string
}

func (c *chosen) Set(value string) error {
	if !slices.Contains(c.of, value) {
		return fmt.Errorf("expected %s%s", orList(c.of), suggestion(value, c.of, ""))
	}
	c.value = value
	return nil
}

func (c *chosen) String() string { return c.value }

// offers are the values that completion shows.
func (f *choiceFlag) offers() []string { return f.choices }

// choiceFor puts such a flag under a heading.
func choiceFor(category string, f *choiceFlag) *choiceFlag {
	f.Category = category
	return f
}

// listFlag is a flag that may stand several times. (The slices of cli/v2 would
// split a value at its commas.)
type listFlag struct {
	*cli.GenericFlag
	begins []string // values, as completion offers them
}

func (f *listFlag) offers() []string { return f.begins }

// list makes such a flag.
func list(category, name, usage string, begins ...string) *listFlag {
	return &listFlag{&cli.GenericFlag{Name: name, Value: &stringList{}, Category: category, Usage: usage}, begins}
}

type stringList []string

func (l *stringList) Set(value string) error { *l = append(*l, value); return nil }
func (l *stringList) String() string         { return strings.Join(*l, " ") }

// listed are the values of a flag that may stand several times, as they were typed.
func listed(c *cli.Context, name string) []string {
	if l, ok := c.Generic(name).(*stringList); ok {
		return *l
	}
	return nil
}

// The headings under which help lists flags.
const (
	forOutput = "Output"
	forInput  = "Input"
)

// only is the action of a flag that refuses values which are not good.
func only[T any](name string, good func(T) bool, expected string) func(*cli.Context, T) error {
	return func(_ *cli.Context, v T) error {
		if good(v) {
			return nil
		}
		return badUsage("--%s is %v, expected %s", name, v, expected)
	}
}

// notNegative is for counts.
func notNegative(n int) bool { return n >= 0 }

// share is a part of a whole, as people write it: 0.05, 5% or 5 %.
type share struct {
	x    float64
	text string
	good func(float64) bool
	must string // what is good
}

func (s *share) Set(text string) error {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	switch {
	case err != nil:
		return fmt.Errorf("expected a share such as 5%% or 0.05")
	case percent:
		x /= 100
	case x > 1:
		return fmt.Errorf("%s is %s %%: write %s%% or %s", text, formatted(100*x), formatted(x), formatted(x/100))
	}
	if !s.good(x) {
		return fmt.Errorf("expected %s", s.must)
	}
	s.x, s.text = x, text
	return nil
}

func formatted(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

func (s *share) String() string {
	if s.text != "" || s.x == 0 {
		return s.text
	}
	return formatted(s.x)
}

// shareFlag is a share, which is good between bounds, both excluded.
func shareFlag(name string, value float64, usage string) *cli.GenericFlag {
	return shareWithin(name, value, usage, func(x float64) bool { return x > 0 && x < 1 }, "more than 0 and less than 1")
}

func shareWithin(name string, value float64, usage string, good func(float64) bool, must string) *cli.GenericFlag {
	return &cli.GenericFlag{Name: name, Value: &share{x: value, good: good, must: must}, Usage: usage}
}

// shareOf is the value of such a flag.
func shareOf(c *cli.Context, name string) float64 {
	if s, ok := c.Generic(name).(*share); ok {
		return s.x
	}
	return 0
}

// lengthFlag is a time that must not be negative.
func lengthFlag(name, usage string) cli.Flag {
	return &cli.DurationFlag{Name: name, Usage: usage, Action: only(name, func(d time.Duration) bool { return d >= 0 }, "no negative time")}
}

func confidenceFlag(value float64, usage string) cli.Flag {
	return shareWithin("confidence", value, usage, func(x float64) bool { return x > 0.5 && x < 1 }, "above 0.5 and below 1")
}

// everyFlag is how often a command looks.
func everyFlag(category string, value time.Duration, usage string) cli.Flag {
	return &cli.DurationFlag{Name: "every", Value: value, Category: category, Usage: usage,
		Action: only("every", func(d time.Duration) bool { return d >= 10*time.Millisecond }, "10ms or more")}
}

func outputFlag(usage string) cli.Flag {
	return &cli.StringFlag{Name: "output", Aliases: []string{"o"}, Category: forOutput, Usage: usage}
}

// screenFlags are what every command has.
func screenFlags() []cli.Flag {
	return []cli.Flag{
		choiceFor(forOutput, choice("color", "colour the output: auto does so on a terminal unless NO_COLOR is set", "auto", "always", "never")),
		&cli.BoolFlag{Name: "no-color", Category: forOutput, Usage: "the same as --color never"},
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Category: forOutput, Usage: "print only errors on standard error: no progress, no warnings"},
		&cli.BoolFlag{Name: "no-progress", Category: forOutput, Usage: "no progress bar"},
	}
}

// resultFlags are for commands that write a result.
func resultFlags() []cli.Flag {
	return join([]cli.Flag{
		choiceFor(forOutput, choice("format", "output format", "text", "json", "csv", "md")),
		outputFlag("write to `FILE` instead of standard output; it is written atomically"),
		widthFlag(),
	}, screenFlags())
}

func widthFlag() cli.Flag {
	return &cli.IntFlag{Name: "width", Category: forOutput, Usage: "wrap text at `N` columns, 40 or more; by default COLUMNS, else the terminal's width, else 80"}
}

func strictFlag() cli.Flag {
	return &cli.BoolFlag{Name: "strict", Category: forInput, Usage: "stop if any input cannot be read"}
}

// profileFlags say how profiler traces are read.
func profileFlags() []cli.Flag {
	return []cli.Flag{
		stageMapFlag(),
		choiceFor(forInput, choice("timeline", "clock the stages of profiler traces on the device or on the host; auto uses the device where most ranks recorded one", "auto", "device", "host")),
		choiceFor(forInput, choice("unit", "time unit of a CSV or Parquet table whose column names have none (as data_ms has); ns by default", "", "ns", "us", "ms", "s")),
	}
}

// timeZoneFlag is for commands that read what monitoring recorded.
func timeZoneFlag() cli.Flag {
	return &cli.StringFlag{Name: "time-zone", Category: forInput, Usage: "`ZONE` of times of nvidia-smi and kernel logs that name none, such as Europe/Berlin, local or +02:00", DefaultText: "UTC"}
}

// timeZone reads the flag; nil is UTC.
func timeZone(name string) (*time.Location, error) {
	switch name {
	case "", "UTC":
		return nil, nil
	case "local":
		return time.Local, nil
	}
	if t, err := time.Parse("-07:00", name); err == nil {
		return t.Location(), nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, badUsage("--time-zone is %q, expected a name such as Europe/Berlin (which this system must know), local, or +02:00", name)
	}
	return zone, nil
}

func stageMapFlag() cli.Flag {
	return &cli.StringFlag{Name: "stage-map", Category: forInput, Usage: "map annotations of profiler traces to stages as in `FILE` (YAML)"}
}

func gatesFlag() cli.Flag {
	return &cli.StringFlag{Name: "gates", Category: forInput, Usage: "read thresholds from `FILE`; sfstat --print-gates prints a template"}
}

// failOnFlag asks for exit code 3 when something is found at least so surely, or one of more values.
func failOnFlag(usage string, more ...string) cli.Flag {
	return choiceFor(forOutput, choice("fail-on", usage, append([]string{"", "strong", "supported", "ambiguous"}, more...)...))
}

// join puts lists of flags together.
func join(lists ...[]cli.Flag) []cli.Flag { return slices.Concat(lists...) }

// format is what --format says.
func format(c *cli.Context) report.Format {
	var f report.Format
	_ = f.UnmarshalText([]byte(c.String("format")))
	return f
}

// style is how text should look where --output sends it.
func (p *program) style(c *cli.Context) report.Style { return p.styleOn(c, p.destination(c)) }

// styleOn is how text looks on to.
func (p *program) styleOn(c *cli.Context, to any) report.Style {
	s := report.Style{Width: p.screen(to), Verbose: c.Bool("verbose"), Labels: c.Bool("labels")}
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

// screen is the width of text that goes to w, in columns.
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

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// placeholder splits the usage of a flag: "read from `FILE`" has the
// placeholder FILE.
func placeholder(usage string) (name, text string) {
	before, rest, ok := strings.Cut(usage, "`")
	if !ok {
		return "", usage
	}
	name, after, _ := strings.Cut(rest, "`")
	return name, before + name + after
}
