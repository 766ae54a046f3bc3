package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
)

var manPage = flag.String("man", "", "write the manual page to this file")

// TestManPage makes sfstat(1) of the table of commands, with every command that
// people call in it; make man writes it.
func TestManPage(t *testing.T) {
	app := testApp()
	var page strings.Builder
	inMan := strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", "\n.br\n")
	say := func(format string, args ...any) {
		for i, x := range args {
			args[i] = inMan.Replace(fmt.Sprint(x))
		}
		fmt.Fprintf(&page, format+"\n", args...)
	}
	flags := func(of []*cli.Flag) {
		for _, f := range of {
			say(".TP\n\\fB%s\\fP %s\n%s", "--"+f.Name, strings.Join(append(f.Choices, f.Value()), " "), strings.ReplaceAll(f.Usage, "`", ""))
		}
	}
	say(".nh\n.TH sfstat 1\n.SH NAME\n%s - %s\n.SH SYNOPSIS\n%s\n.SH DESCRIPTION\n%s\n.SH FLAGS", app.Name, app.Usage, strings.Join(app.Calls, "\n"), app.About)
	flags(app.Flags)
	for _, c := range app.Commands {
		if c.Hidden {
			continue
		}
		say(".SH %s\n%s\n.PP\n%s\n.PP\nsfstat %s [FLAGS] %s", c.Name, c.Usage, c.About, c.Name, c.Arguments)
		flags(c.Flags)
		say(".PP\n%s", strings.TrimSpace(c.Examples))
	}
	for _, c := range app.Runnable() {
		if want := "\n.SH " + c.Name + "\n"; !c.Hidden && !strings.Contains(page.String(), want) {
			t.Errorf("command %s is not in it", c.Name)
		}
	}
	if *manPage == "" {
		return
	}
	if err := os.WriteFile(*manPage, []byte(page.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}
