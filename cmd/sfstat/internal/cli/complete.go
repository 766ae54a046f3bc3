package cli

import (
	"slices"
	"strings"
)

// Candidate is a word that may stand at the cursor.
type Candidate struct{ Word, Meaning string }

// Candidates returns the completions of the last word on the command line; without any, file names are completed. Arguments of
// some commands are of closed sets.
func (a *App) Candidates(words []string, arguments map[string][]string) []Candidate {
	if len(words) == 0 {
		words = []string{""}
	}
	before, last := words[:len(words)-1], words[len(words)-1]
	scanned := a.scan(before)
	operands := scanned.operands
	if len(operands) > 0 && operands[0] == "help" {
		operands = operands[1:]
	}
	c, operands := a.lookUp(operands)
	find := c.Flag
	if c == a.program {
		find = a.anywhere
	}
	var all []Candidate
	switch flag, value, inline := strings.Cut(last, "="); {
	case scanned.pending != "":
		all = candidatesOf(find(scanned.pending), "")
	case scanned.ended:
	case inline && strings.HasPrefix(flag, "--"):
		last = flag + "=" + value
		all = candidatesOf(find(strings.TrimLeft(flag, "-")), flag+"=")
	case strings.HasPrefix(last, "-"):
		all = a.flagCandidates(c)
	case c == a.program:
		all = commandCandidates(a.first())
	case len(operands) == 0:
		all = append(commandCandidates(c.group), plain(arguments[c.Name], "")...)
	}
	return slices.DeleteFunc(all, func(c Candidate) bool { return !strings.HasPrefix(c.Word, last) })
}

// candidatesOf returns the values of a flag; one of which any may be given has none to offer.
func candidatesOf(f *Flag, before string) []Candidate {
	if f == nil {
		return nil
	}
	return plain(slices.Concat(f.Choices, f.Offers), before)
}

func plain(words []string, before string) (all []Candidate) {
	for _, w := range words {
		all = append(all, Candidate{before + w, ""})
	}
	return all
}

func commandCandidates(commands []*Command) (all []Candidate) {
	for _, c := range commands {
		all = append(all, Candidate{c.Word(), c.Usage})
	}
	return all
}

func (a *App) flagCandidates(c *Command) []Candidate {
	all := []Candidate{{"--help", "explain"}}
	if c == a.program {
		all = append(all, Candidate{"--version", "print the version"})
	}
	for _, f := range c.Flags {
		_, meaning := f.placeholder()
		all = append(all, Candidate{addDashes(f.Name), meaning})
	}
	return all
}
