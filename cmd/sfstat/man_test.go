//go:build !urfave_cli_no_docs

package main

import (
	"flag"
	"io"
	"os"
	"strings"
	"testing"
)

var manPage = flag.String("man", "", "write the manual page to this file")

// TestManPage makes sfstat(1) of the table of commands, with every command that
// people call in it; make man writes it.
func TestManPage(t *testing.T) {
	app := newProgram(strings.NewReader(""), io.Discard, io.Discard).app()
	app.UsageText = "sfstat COMMAND [FLAGS] [ARGUMENTS...]"
	page, err := app.ToManWithSection(1)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(page, ".nh\n.TH sfstat 1") {
		t.Errorf("it begins %.80q", page)
	}
	for _, c := range app.Commands {
		if !c.Hidden && !strings.Contains(page, "\n.SH "+c.Name) {
			t.Errorf("command %s is not in it", c.Name)
		}
	}
	if *manPage == "" {
		return
	}
	if err := os.WriteFile(*manPage, []byte(page), 0o666); err != nil {
		t.Fatal(err)
	}
}
