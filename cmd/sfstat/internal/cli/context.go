package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	library "github.com/urfave/cli/v2"
)

// Context is a command that is carried out, with its arguments and the values of its flags. Of a flag that the command does not
// have, values are zero.
type Context struct {
	context.Context
	Command *Command
	Args    []string
	flags   *library.Context
	texts   map[string]string // of flags, as they were typed
}

// readWords lets the library read words: the flags of the command, each with its value, "--", and arguments.
func (c *Context) readWords(words []string) error {
	app := &library.App{HideHelp: true, HideVersion: true, DisableSliceFlagSeparator: true, Writer: io.Discard, ErrWriter: io.Discard}
	for _, f := range c.Command.Flags {
		app.Flags = append(app.Flags, f.libraryFlag())
	}
	app.Action = func(read *library.Context) error {
		c.flags, c.Args = read, read.Args().Slice()
		return nil
	}
	return app.Run(append([]string{"sfstat"}, words...))
}

// libraryFlag returns the flag as the library knows it.
func (f *Flag) libraryFlag() library.Flag {
	switch f.Is {
	case "bool":
		return &library.BoolFlag{Name: f.Name}
	case "int":
		return &library.Int64Flag{Name: f.Name, Value: defaultOf[int64](f)}
	case "uint":
		return &library.Uint64Flag{Name: f.Name, Value: defaultOf[uint64](f)}
	case "number", "share":
		return &library.Float64Flag{Name: f.Name, Value: defaultOf[float64](f)}
	case "time":
		return &library.DurationFlag{Name: f.Name, Value: defaultOf[time.Duration](f)}
	case "list":
		return &library.StringSliceFlag{Name: f.Name}
	case "ints":
		return &library.IntSliceFlag{Name: f.Name}
	}
	return &library.StringFlag{Name: f.Name, Value: f.Default}
}

func defaultOf[T any](f *Flag) T {
	v, _ := f.value(f.Default) // of no default there is none
	d, _ := v.(T)
	return d
}

// words returns a flag and its value in the library's syntax, repeated for each of several values.
func (f *Flag) words(text string) ([]string, error) {
	value, err := f.value(text)
	if err != nil {
		return nil, err
	}
	parts := []string{text}
	switch v := value.(type) {
	case []int:
		parts = nil
		for _, n := range v {
			parts = append(parts, strconv.Itoa(n))
		}
	case float64:
		parts[0] = strconv.FormatFloat(v, 'g', -1, 64)
	}
	for i, part := range parts {
		parts[i] = "--" + f.Name + "=" + part
	}
	return parts, nil
}

// Title returns the name of the command behind that of the program.
func (c *Context) Title() string { return "sfstat " + c.Command.Name }

// IsSet reports whether a flag was typed.
func (c *Context) IsSet(name string) bool { return c.flags.IsSet(name) }

// Text returns the value of a flag as typed.
func (c *Context) Text(name string) string {
	if text, typed := c.texts[name]; typed {
		return text
	}
	if f := c.Command.Flag(name); f != nil {
		return f.Default
	}
	return ""
}

// String returns the value of a flag for text, or one of its choices.
func (c *Context) String(name string) string { return c.flags.String(name) }

// Choice returns the number of the value of a flag among its choices.
func (c *Context) Choice(name string) int {
	return slices.Index(c.Command.Flag(name).Choices, c.String(name))
}

// Bool reports whether a flag without a value was given.
func (c *Context) Bool(name string) bool { return c.flags.Bool(name) }

// Int64 returns the value of a flag for whole numbers.
func (c *Context) Int64(name string) int64 { return c.flags.Int64(name) }

// Int returns the value of a flag for whole numbers as an int.
func (c *Context) Int(name string) int { return int(c.Int64(name)) }

// Uint64 returns the value of a flag for seeds.
func (c *Context) Uint64(name string) uint64 { return c.flags.Uint64(name) }

// Float64 returns the value of a flag for numbers or shares.
func (c *Context) Float64(name string) float64 { return c.flags.Float64(name) }

// Duration returns the value of a flag for times.
func (c *Context) Duration(name string) time.Duration { return c.flags.Duration(name) }

// List returns the values of a flag that may be repeated.
func (c *Context) List(name string) []string { return c.flags.StringSlice(name) }

// Ints returns the whole numbers of a flag that may be repeated.
func (c *Context) Ints(name string) []int { return c.flags.IntSlice(name) }

// kinds are what values of flags are.
var kinds = map[string]struct {
	parse   func(string) (any, error)
	expects string
}{
	"":       {func(s string) (any, error) { return s, nil }, ""},
	"list":   {func(s string) (any, error) { return []string{s}, nil }, ""},
	"bool":   {func(s string) (any, error) { return strconv.ParseBool(s) }, "true or false"},
	"int":    {func(s string) (any, error) { return strconv.ParseInt(s, 0, strconv.IntSize) }, "a whole number"},
	"uint":   {func(s string) (any, error) { return strconv.ParseUint(s, 0, 64) }, "a whole number"},
	"number": {func(s string) (any, error) { return strconv.ParseFloat(s, 64) }, "a number"},
	"time":   {func(s string) (any, error) { return time.ParseDuration(s) }, "a time such as 500ms, 10s or 5m"},
	"ints":   {parseInts, "a whole number"},
	"share":  {parseShare, "a share such as 5% or 0.05"},
}

func parseInts(text string) (any, error) {
	var all []int
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

// notShare is a number that is probably meant in percent.
type notShare float64

func (s notShare) Error() string {
	x := float64(s)
	return fmt.Sprintf("%s is %s %%: write %s%% or %s", formatFloat(x), formatFloat(100*x), formatFloat(x), formatFloat(x/100))
}

func formatFloat(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

// parseShare reads a part of a whole, as people write it: 0.05, 5% or 5 %.
func parseShare(text string) (any, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	switch {
	case err != nil:
		return nil, err
	case math.IsNaN(x) || math.IsInf(100*x, 0):
		return nil, strconv.ErrRange
	case percent:
		x /= 100
	case x > 1:
		return nil, notShare(x)
	}
	return x, nil
}

// value reads a value of the flag.
func (f *Flag) value(text string) (any, error) {
	if f.Choices != nil {
		if !slices.Contains(f.Choices, text) {
			return nil, fmt.Errorf("%s is %q, expected %s%s", addDashes(f.Name), text, OrList(f.Choices), Suggestion(text, f.Choices, ""))
		}
		return text, nil
	}
	kind := kinds[f.Is]
	v, err := kind.parse(text)
	if share, is := err.(notShare); is {
		return nil, fmt.Errorf("invalid value %q for %s: %w", text, addDashes(f.Name), share)
	} else if err != nil {
		return nil, fmt.Errorf("%s is %q, expected %s", addDashes(f.Name), text, kind.expects)
	}
	if f.Within != "" && !f.inRange(v) {
		shown := fmt.Sprint(v)
		if f.Is == "share" {
			shown = strconv.Quote(text)
		}
		return nil, fmt.Errorf("%s is %s, expected %s", addDashes(f.Name), shown, f.Expected)
	}
	return v, nil
}

// inRange reports whether a value lies in the interval of its flag.
func (f *Flag) inRange(v any) bool {
	var x float64
	switch v := v.(type) {
	case int64:
		x = float64(v)
	case float64:
		x = v
	case time.Duration:
		x = v.Seconds()
	}
	var least, most float64
	if _, err := fmt.Sscanf(f.Within[1:len(f.Within)-1], "%g, %g", &least, &most); err != nil {
		return false
	}
	return (x > least || x == least && f.Within[0] == '[') && (x < most || x == most && f.Within[len(f.Within)-1] == ']') && !math.IsNaN(x)
}
