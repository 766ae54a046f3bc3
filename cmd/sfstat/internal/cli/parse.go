package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xrash/smetrics"
)

// Request is a command line, understood as far as the command.
type Request struct {
	Name    string // of the command, "campaign run"; "" where none was named
	Help    bool   // is asked for
	Version bool   // is asked for
	context *Context
}

// Context returns the command to carry out; nil where the command line names nothing.
func (r *Request) Context(ctx context.Context) *Context {
	if r.context != nil {
		r.context.Context = ctx
	}
	return r.context
}

// FlagsTopic is what help has besides commands: the flags that they have in common.
const FlagsTopic = "flags"

// Parse understands the words behind the name of the program.
func (a *App) Parse(words []string) (Request, error) {
	w := a.scan(words)
	req, operands := Request{Help: w.help, Version: w.version}, w.operands
	if len(operands) > 0 && operands[0] == "help" {
		req.Help, operands = true, operands[1:]
		if slices.Equal(operands, []string{FlagsTopic}) {
			req.Name = FlagsTopic
			return req, nil
		}
	}
	if len(operands) == 1 && operands[0] == "version" && !isPath(operands[0]) {
		req.Version, operands = true, nil
	}
	if len(operands) > 0 && a.Command(operands[0]) == nil && isPath(operands[0]) {
		operands = slices.Insert(operands, 0, a.Usual)
	}
	c, rest := a.lookUp(operands)
	req.Name = c.Name
	alone := len(operands) == 0
	switch {
	case alone && len(w.flags) == 1 && w.flags[0] == typed{name: "v"}:
		req.Version = true
		return req, nil
	case alone && (req.Help || req.Version):
		return req, nil
	case alone && slices.ContainsFunc(w.flags, a.isProgramFlag):
	case c == a.program:
		if err := a.refuseUnowned(w.flags); err != nil || alone { // its value would be taken for the command
			return req, err
		}
		return req, a.unknownCommand(operands[0])
	case c.group != nil && (len(rest) > 0 || !req.Help):
		return req, incomplete(c, rest)
	case req.Help:
		return req, nil
	}
	if w.err != nil {
		return req, w.err
	}
	var err error
	req.context, err = a.fillCommand(c, w.flags, rest)
	return req, err
}

// fillCommand returns a command with the values of its flags, and its arguments.
func (a *App) fillCommand(c *Command, flags []typed, operands []string) (*Context, error) {
	to := &Context{Command: c, texts: make(map[string]string)}
	var words []string
	for _, t := range flags {
		f := c.Flag(t.name)
		switch {
		case f == nil:
			return to, a.unknownFlag(c, t.name)
		case t.valued:
		case f.takesValue():
			return to, fmt.Errorf("flag %s needs a value", addDashes(t.name))
		default:
			t.value = "true"
		}
		more, err := f.words(t.value)
		var share notShare
		if errors.As(err, &share) {
			return to, fmt.Errorf("%w; see sfstat %s --help", err, c.Name)
		} else if err != nil {
			return to, err
		}
		words, to.texts[f.Name] = append(words, more...), t.value
	}
	return to, to.readWords(slices.Concat(words, []string{"--"}, operands))
}

// typed is a flag as it stands on a command line.
type typed struct {
	name, value string
	valued      bool
}

// scanned is the words of a command line by what they are.
type scanned struct {
	flags         []typed
	operands      []string
	ended         bool   // by "--"
	help, version bool   // were asked for
	pending       string // the last flag, if the value that it needs does not follow
	err           error  // a flag stands where the value of another should be
}

func (a *App) scan(words []string) (s scanned) {
	for i := 0; i < len(words); i++ {
		switch word := words[i]; {
		case word == "--":
			s.operands, s.ended = append(s.operands, words[i+1:]...), true
			return s
		case word == "-" || !strings.HasPrefix(word, "-"):
			s.operands = append(s.operands, word)
		case slices.Contains([]string{"-h", "-help", "--help"}, word):
			s.help = true
		case slices.Contains([]string{"-V", "-version", "--version"}, word):
			s.version = true
		default:
			t := a.flagIn(word)
			switch {
			case t.valued:
			case t.name == "no-color": // of this and --color the last one counts
				t = typed{"color", "never", true}
			case !a.anywhere(t.name).takesValue():
			case i+1 == len(words):
				s.pending = t.name
			default:
				i++
				t.value, t.valued = words[i], true
				if t.value != "-" && strings.HasPrefix(t.value, "-") && len(a.owners(a.flagIn(t.value).name)) > 0 {
					s.err = fmt.Errorf("flag %s needs a value, found the flag %s", addDashes(t.name), t.value)
				}
			}
			s.flags = append(s.flags, t)
		}
	}
	return s
}

// flagIn splits a word that begins with a dash. "-oFILE" is "-o FILE", unless a flag has that name.
func (a *App) flagIn(word string) (t typed) {
	t.name, t.value, t.valued = strings.Cut(strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-"), "=")
	if single := !strings.HasPrefix(word, "--"); single && len(t.name) > 1 && len(a.owners(t.name)) == 0 && a.anywhere(t.name[:1]).takesValue() {
		return typed{t.name[:1], word[2:], true}
	}
	return t
}

// isProgramFlag reports whether a flag is the program's alone.
func (a *App) isProgramFlag(t typed) bool {
	return a.program.Flag(t.name) != nil && len(a.owners(t.name)) == 0
}

// isPath reports whether a word where a command should be names an input. A file that has the name of a command is given as ./NAME.
func isPath(word string) bool {
	if word == "-" || strings.ContainsAny(word, "./"+string(filepath.Separator)) {
		return true
	}
	_, err := os.Stat(word)
	return err == nil
}

// refuseUnowned refuses flags that nothing has.
func (a *App) refuseUnowned(flags []typed) error {
	for _, t := range flags {
		if a.anywhere(t.name) == nil {
			return a.unknownFlag(a.program, t.name)
		}
	}
	return nil
}

func (a *App) unknownCommand(name string) error {
	if like := Suggestion(name, wordsOf(a.first()), ""); like != "" {
		return fmt.Errorf("unknown command %q%s; see sfstat --help", name, like)
	}
	return fmt.Errorf("%q is no command, and no file or folder here; see sfstat --help", name)
}

// incomplete returns the error of a group without a command.
func incomplete(group *Command, after []string) error {
	names := wordsOf(group.group)
	if len(after) == 0 {
		return fmt.Errorf("needs a command: %s; see sfstat %s --help", OrList(names), group.Name)
	}
	return fmt.Errorf("%q is not a command of it, expected %s%s", after[0], OrList(names), Suggestion(after[0], names, ""))
}

// unknownFlag returns the error of an unknown flag, with the flag that was probably meant.
func (a *App) unknownFlag(c *Command, name string) error {
	flag, of := addDashes(name), a.owners(name)
	if c == a.program {
		if len(of) > 0 {
			return fmt.Errorf("flag %s belongs to commands: give one; see sfstat --help", flag)
		}
		known := c.flagNames()
		for _, each := range a.Runnable() {
			known = append(known, each.flagNames()...)
		}
		return fmt.Errorf("unknown flag %s%s; see sfstat --help", flag, Suggestion(name, known, "--"))
	}
	// As --json stands for --format json in other programs.
	meant := slices.IndexFunc(c.Flags, func(f *Flag) bool { return slices.Contains(f.Choices, name) })
	switch {
	case meant >= 0:
		return fmt.Errorf("unknown flag %s; did you mean --%s %s?", flag, c.Flags[meant].Name, name)
	case len(of) > 0:
		instead := ""
		if f := a.anywhere(name); f.Instead != "" {
			instead = ": " + f.Instead
		}
		return fmt.Errorf("flag %s belongs to %s, not to %s%s", flag, strings.Join(of, ", "), c.Name, instead)
	case a.program.Flag(name) != nil:
		return fmt.Errorf("flag %s stands without a command: sfstat %s", flag, flag)
	}
	like := Suggestion(name, c.flagNames(), "--")
	if like == "" {
		for _, each := range a.Runnable() {
			if like = Suggestion(name, each.flagNames(), "--"); like != "" && !each.Hidden {
				like = strings.TrimSuffix(like, "?") + " of " + each.Name + "?"
				break
			}
		}
	}
	return fmt.Errorf("unknown flag %s%s; see sfstat %s --help", flag, like, c.Name)
}

func addDashes(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// near is the least similarity of words that are taken for each other.
const near = 0.8

// Nearest returns the candidate that is most similar to the typed word (Jaro and Winkler), "" where none is near.
func Nearest(typed string, candidates []string) (best string) {
	most := near
	for _, c := range candidates {
		if like := smetrics.JaroWinkler(strings.ToLower(typed), strings.ToLower(c), 0.7, 4); like > most {
			best, most = c, like
		}
	}
	return best
}

// Suggestion returns "; did you mean …?" with the nearest candidate, "" where none is near.
func Suggestion(typed string, candidates []string, dashes string) string {
	if best := Nearest(typed, candidates); best != "" {
		return "; did you mean " + dashes + best + "?"
	}
	return ""
}

// OrList writes choices as a person would: "text, json or csv".
func OrList(choices []string) string {
	if len(choices) < 2 {
		return strings.Join(choices, "")
	}
	n := len(choices) - 1
	return strings.Join(choices[:n], ", ") + " or " + choices[n]
}
